r"""What clipping hides: an upper bound on P(l > c) from the number k of n losses above c.

Clopper and Pearson: the p with P(Binomial(n, p) <= k) = delta exceeds P(l > c) with probability at
least 1 - delta, for independent losses of equal law. With R_c <= U this leaves of the raw risk only
E (l - c)_+, about which no distribution-free bound exists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, ctx
from scipy.special import betainccinv

from twofold.certificate import Certificate
from twofold.theorems import heldout

STATEMENT = (
    r"\Pr(\ell>c) \le \sup\{p:\sum_{i\le k}\binom ni p^i(1-p)^{n-i}\ge\delta\},"
    r"\quad k=\#\{\ell_i>c\}"
)
REFERENCE = "clopper1934use"


def share_upper(k: int, n: int, delta: float) -> float:
    """The Clopper-Pearson upper limit for k of n; balls prove P(Binomial(n, p) <= k) <= delta.

    The lower tail is the regularised beta I_{1-p}(n-k, k+1), decreasing in p: a guess is raised
    until the whole ball lies below delta, or to 1, which is always a bound.
    """
    p, step = float(betainccinv(k + 1, n - k, delta)) if k < n else 1.0, 2.0**-48
    with ctx.workprec(128):
        while p < 1:
            if (1 - arb(p)).beta_lower(n - k, k + 1, regularized=True) <= arb(delta):
                return p
            p, step = p * (1 + step), 2 * step
    return 1.0


def upper(losses: Any, *, clip: float, delta: float) -> float:
    """U with P(P(l > c) > U) <= delta: the companion to print with a bound on the clipped risk."""
    clip, delta = heldout.ceiling(clip), heldout.share(delta)
    loss = heldout.sample(losses)
    return share_upper(int(np.sum(loss > clip)), len(loss), delta)


def certify(losses: Any, *, clip: float, delta: float, risk: Any = None) -> Certificate:
    """One row per sample (n,) or (R, n); ``value`` is the share above c, or the known ``risk``."""
    clip = heldout.ceiling(clip)
    heldout.share(delta)
    if risk is None:
        risk = np.mean(heldout.table(losses) > clip, axis=1)
    return heldout.certify(
        "tail", losses, lambda row: upper(row, clip=clip, delta=delta), risk, delta=float(delta),
        kind="confidence", statement=STATEMENT, reference=REFERENCE,
    )  # fmt: skip
