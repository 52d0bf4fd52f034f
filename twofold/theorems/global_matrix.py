r"""Is an update map one matrix? Delta(z, H, d) = P (d - H z) for all (z, H, d), or for none.

Statement. One such P exists if and only if Delta(0) = 0 and the Jacobian in the residual is the
same everywhere, J(r) = P. For any two residuals and *every* P,

    max(|J(r) - P|_F, |J(r') - P|_F) >= |J(r) - J(r')|_F / 2,

with equality for the P halfway. Where the right side is proved to be positive no P exists; else the
row is silent: two points can refute, never confirm. Attention whose scores cannot see the residual
is one matrix by its form (`Attention.global_matrix`), and only that decides the other way.

The P in the value is the projection over the residuals given, or any other. The Jacobians are
enclosed entry by entry, exp included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.decoder import attention
from twofold.decoder.attention import Attention
from twofold.measures.projection import projection
from twofold.rigor import entrywise, inputs
from twofold.rigor.roundoff import up

STATEMENT = (
    r"\Delta=P\,r\ \forall r\iff\Delta(0)=0,\ J\equiv P;\qquad"
    r"\max(\|J(r)-P\|_F,\|J(r')-P\|_F)\ge\tfrac12\|J(r)-J(r')\|_F>0\quad\forall P"
)
REFERENCE = "horn2012matrix"
ALIKE = "the two Jacobians agree within rounding, or are not finite: this pair refutes nothing"


def decide(
    model: Attention, r: Any, other: Any = None, P: Any = None
) -> tuple[Float[np.ndarray, "K K"] | None, Certificate]:
    """(P if the map is one by its form, the refutation at the residuals r and ``other`` (N,K)).

    ``other`` is the residual zero unless given. Without a P and without a row that holds nothing is
    decided.
    """
    K = len(model.diagonal)
    r = inputs.real("r", r, shape=(None, K), finite=False)
    other = np.zeros_like(r) if other is None else other
    other = inputs.real("other", other, shape=r.shape, finite=False)
    fine = np.isfinite(r).all(axis=1)
    fitted = projection(model.move(r[fine]), r[fine]) if fine.any() else np.zeros((K, K))
    P = fitted if P is None else inputs.real("P", P, shape=(K, K))
    s = model.scores
    J, rest = (attention.jacobian(entrywise, s, entrywise.exact(x)) for x in (r, other))
    (a, da), (b, db), (gap, spent) = (_norm(x) for x in (J - P, rest - P, J - rest))
    bound, rounding = gap / 2, up(np.maximum(da, db) + spent, 2)
    with np.errstate(invalid="ignore"):
        applies = np.isfinite(rounding) & (bound > rounding)
    return model.global_matrix(), certificate(
        "No one matrix", statement=STATEMENT, kind="bound", side="lower", about="exact",
        value=np.maximum(a, b), bound=bound, rounding=rounding, applies=applies, reason=ALIKE,
        reference=REFERENCE,
        source=fingerprint(*s.arrays().values(), r, other, P),
    )  # fmt: skip


def _norm(x: entrywise.Enclosure) -> tuple[np.ndarray, np.ndarray]:
    """(The Frobenius norm, its error) of each matrix."""
    return entrywise.length(
        entrywise.Enclosure(*(a.reshape(len(a), -1) for a in (x.mid, x.radius)))
    )
