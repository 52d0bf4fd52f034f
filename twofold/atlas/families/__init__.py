"""Families of latent coordinates: values, jets, proved sup bounds."""

from twofold.atlas.families.kit import Trial as Trial
from twofold.atlas.families.kit import check as check
from twofold.atlas.families.protocol import Family as Family
from twofold.atlas.families.protocol import admit as admit
from twofold.atlas.families.sphere import Sphere as Sphere
from twofold.atlas.families.tensor import Affine as Affine
from twofold.atlas.families.tensor import Cylinder as Cylinder
from twofold.atlas.families.tensor import Patch as Patch
from twofold.atlas.families.tensor import Periodic as Periodic
from twofold.atlas.families.tensor import Tensor as Tensor
from twofold.atlas.families.tensor import Torus as Torus
