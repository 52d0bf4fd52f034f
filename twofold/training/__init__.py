"""Outer time s: how the parts move while they are trained, predicted exactly and observed."""

from __future__ import annotations

from twofold.training import adjoint as adjoint
from twofold.training import band as band
from twofold.training import closure as closure
from twofold.training import complex_step as complex_step
from twofold.training import eigenbasis as eigenbasis
from twofold.training import error_bar as error_bar
from twofold.training import factored as factored
from twofold.training import finite_set as finite_set
from twofold.training import latent as latent
from twofold.training import online as online
from twofold.training import rates as rates
from twofold.training import scalar as scalar
from twofold.training import stop_gradient as stop_gradient
from twofold.training import traces as traces
from twofold.training import trajectory as trajectory
from twofold.training import triangular as triangular
