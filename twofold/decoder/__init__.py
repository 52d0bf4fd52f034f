"""Decoders: from a system H x = d to an answer, by a fixed number of matrix-vector products."""

from __future__ import annotations

from twofold.decoder import adjoint_kernel as adjoint_kernel
from twofold.decoder import attention as attention
from twofold.decoder import attention_bounds as attention_bounds
from twofold.decoder import checkpoints as checkpoints
from twofold.decoder import closed_form as closed_form
from twofold.decoder import drift as drift
from twofold.decoder import enclosure as enclosure
from twofold.decoder import fast_poisson as fast_poisson
from twofold.decoder import kernel as kernel
from twofold.decoder import krylov as krylov
from twofold.decoder import lanes as lanes
from twofold.decoder import polynomial as polynomial
from twofold.decoder import preconditioner as preconditioner
from twofold.decoder import reduced_basis as reduced_basis
from twofold.decoder import richardson as richardson
from twofold.decoder import semi_drift as semi_drift
from twofold.decoder import sensitivity as sensitivity
from twofold.decoder import solving as solving
from twofold.decoder import transport as transport
from twofold.decoder.solving import solve as solve
