r"""Is an update map one matrix? Delta(z, H, d) = P (d - H z) for all (z, H, d), or for none.

Statement. One such P exists if and only if Delta(0) = 0 and the Jacobian in the residual is the
same everywhere, J(r) = P. Two residuals whose Jacobians differ by more than rounding refute it:
the premise is printed, and a row that is `violated` is a proof that no P exists. Attention whose
scores cannot see the residual is one matrix by its form (`Attention.global_matrix`); no number of
points could prove that.

The Jacobians are enclosed entry by entry, exp included: |J(r) - J(r')|_F is known within
``rounding``, and 0 is what the premise demands of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.decoder import attention
from twofold.decoder.attention import Attention
from twofold.rigor import entrywise, inputs

STATEMENT = r"\Delta=P\,r\ \forall r\iff\Delta(0)=0,\ J\equiv P:\qquad\|J(r)-J(r')\|_F=0"
PREMISE = "one matrix P with Delta(z, H, d) = P (d - H z) for all z, H and d"
REFERENCE = "horn2012matrix"
REASON = "a residual, a score or a Jacobian is not finite"


def decide(
    model: Attention, r: Any, other: Any = None
) -> tuple[Float[np.ndarray, "K K"] | None, Certificate]:
    """(P if the map is one by its form, the test of the premise at r (N,K) against ``other``).

    ``other`` is the residual zero unless given. Without a P and without a refutation nothing is
    decided.
    """
    r = inputs.real("r", r, shape=(None, len(model.diagonal)), finite=False)
    other = np.zeros_like(r) if other is None else other
    other = inputs.real("other", other, shape=r.shape, finite=False)
    s = model.scores
    pair = [attention.jacobian(entrywise, s, entrywise.exact(x)) for x in (r, other)]
    gap = pair[0] - pair[1]
    flat = entrywise.Enclosure(*(x.reshape(len(r), -1) for x in (gap.mid, gap.radius)))
    value, rounding = entrywise.length(flat)
    return model.global_matrix(), certificate(
        "One matrix", statement=STATEMENT, kind="assumption", about="exact", value=value, bound=0.0,
        rounding=rounding, applies=np.isfinite(value) & np.isfinite(rounding), reason=REASON,
        premise=PREMISE, reference=REFERENCE,
        source=fingerprint(model.kernel, model.value, model.output, model.diagonal, r, other),
    )  # fmt: skip
