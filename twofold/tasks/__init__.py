"""One task = one latent z = one prompt: laws, their samplers and their population moments."""

from __future__ import annotations

from twofold.tasks import affine as affine
from twofold.tasks import elimination as elimination
from twofold.tasks import families as families
from twofold.tasks import features as features
from twofold.tasks import fluctuation as fluctuation
from twofold.tasks import forcing as forcing
from twofold.tasks import fourier as fourier
from twofold.tasks import gp as gp
from twofold.tasks import laws as laws
from twofold.tasks import matern as matern
from twofold.tasks import mercer as mercer
from twofold.tasks import moments as moments
from twofold.tasks import pde as pde
from twofold.tasks import regression as regression
from twofold.tasks import samplers as samplers
from twofold.tasks import sparse_kernel as sparse_kernel
from twofold.tasks import tridiagonal as tridiagonal
from twofold.tasks import woodbury as woodbury
