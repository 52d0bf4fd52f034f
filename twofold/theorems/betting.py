r"""The betting bound on a clipped mean.

For independent losses of one law, l_c = min(l, c), Y = l_c / c and any m in (0, 1), the capital
K_t(m) = prod_{i<=t} (1 - lambda_i(m) (Y_i - m)) with predictable 0 <= lambda_i < 1 / (1 - m) is a
non-negative martingale started at 1 when m = E Y, so by Ville's inequality it ever reaches 1/delta
with probability at most delta. K does not decrease in m: the mean is below the least m that does.

Nothing is asked of the losses beyond l >= 0 and that the order does not know them; the bound is on
the *clipped* risk, so print ``tail.upper`` with it and halve delta between the two (or say that two
are spent). Nothing valid beats ``floor`` on a sample of zeros, where this is a few per cent above.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate
from twofold.rigor import inputs
from twofold.theorems import capital, heldout

STATEMENT = (
    r"R_c \le c\,\inf\Bigl\{m:\max_{t\le n}\sum_{i\le t}\ln\bigl(1-\lambda_i(m)(Y_i-m)\bigr)"
    r"\ge\ln\tfrac1\delta\Bigr\}"
)
REFERENCE = "waudbysmith2024betting"


def upper(losses: Any, *, clip: float, delta: float, ids: Any = None, family: int = 1) -> float:
    r"""U with P(E min(l, c) > U) <= delta, in the losses' unit, rounding included.

    lambda_t(m) = min{sqrt(2 ln(1/delta) / (n var_{t-1})), .99 / (1 - m)}. Rows are taken in the
    order of a hash of ``ids`` (of the row number without ids: see ``heldout.order``). ``family`` is
    how many candidates were compared on these same losses: delta is split over them.
    """
    clip, delta = heldout.ceiling(clip), heldout.share(delta, family)
    loss = heldout.sample(losses, clip)
    n = len(loss)
    weight = np.full(n, 2 * math.log(1 / delta) / n)
    loss, c, k = heldout.scaled(loss[heldout.order(n, ids)], clip)
    bet = capital.bets(loss, c, weight)
    return heldout.raised(capital.least(loss, bet, c, capital.goal(delta, n), c), k)


def running(losses: Any, *, clip: float, delta: float, family: int = 1) -> Float[np.ndarray, " n"]:
    r"""U_t for every t at once: P(some U_t < E min(l, c)) <= delta, so stop whenever you like.

    Rows in order of arrival. The bets sqrt(2 ln(1/delta) / (t ln(1+t) var_{t-1})) do not know how
    long the run will be, so U_t never changes when more losses come.
    """
    clip, delta = heldout.ceiling(clip), heldout.share(delta, family)
    loss, c, k = heldout.scaled(heldout.sample(losses, clip), clip)
    t = np.arange(1, len(loss) + 1)
    bet = capital.bets(loss, c, 2 * math.log(1 / delta) / (t * np.log1p(t)))
    path = capital.least_so_far(loss, bet, c, capital.goal(delta, len(loss)))
    return np.array([heldout.raised(m, k) for m in path])


def floor(count: int, *, clip: float, delta: float) -> float:
    """What no valid method undercuts on a sample of n zeros: c (1 - delta^(1/n))."""
    n = inputs.whole("count", count, low=1)
    return heldout.ceiling(clip) * -math.expm1(math.log(heldout.share(delta)) / n)


def certify(
    losses: Any, *, clip: float, delta: float, ids: Any = None, family: int = 1, risk: Any = None
) -> Certificate:
    """One row per sample in ``losses`` (n,) or (R, n); ``risk`` is the true risk where known."""
    heldout.share(delta, family)

    def bound(row: np.ndarray) -> float:
        return upper(row, clip=clip, delta=delta, ids=ids, family=family)

    return heldout.certify(
        "betting", losses, bound, risk, clip=heldout.ceiling(clip), delta=float(delta),
        kind="confidence", statement=STATEMENT, reference=REFERENCE,
    )  # fmt: skip
