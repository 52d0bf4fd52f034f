"""Certified encode against a frozen dictionary: every row proved, globally where possible."""

from twofold.atlas import families as families
from twofold.atlas.atlas import Atlas as Atlas
from twofold.atlas.atlas import build as build
from twofold.atlas.encoding import Codes as Codes
from twofold.atlas.objective import Atom as Atom
from twofold.atlas.objective import Priors as Priors
