"""Where every term is exact: finite models, orbits, and two Gaussian ones."""

from __future__ import annotations

from twofold.information.exact.finite import Channel as Channel
from twofold.information.exact.finite import channel as channel
from twofold.information.exact.gaussian import Gaussian as Gaussian
from twofold.information.exact.gaussian import linear_gaussian as linear_gaussian
from twofold.information.exact.gaussian import two_class_gaussian as two_class_gaussian
from twofold.information.exact.orbits import coordinates as coordinates
from twofold.information.exact.orbits import hypercube as hypercube
from twofold.information.exact.orbits import orbits as orbits
from twofold.information.exact.projection import divergence as divergence
from twofold.information.exact.projection import project as project
from twofold.information.exact.projection import sample as sample
from twofold.information.exact.sparse import SparseSoftmax as SparseSoftmax

__all__ = [
    "Channel",
    "Gaussian",
    "SparseSoftmax",
    "channel",
    "coordinates",
    "divergence",
    "hypercube",
    "linear_gaussian",
    "orbits",
    "project",
    "sample",
    "two_class_gaussian",
]
