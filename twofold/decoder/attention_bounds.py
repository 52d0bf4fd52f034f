r"""How fast attention can leave its preconditioner at rest: proved bounds over a ball of residuals.

Let |r|_2 <= R, and osc x = max x - min x. Three facts do it all.

(1) |softmax(s) - softmax(s')|_1 <= osc(s - s') / 2. Along s' + t (s - s') the derivative of a is
    a (delta - E_a delta), whose 1-norm, a mean absolute deviation, is at most osc(delta) / 2.
(2) A vector that sums to zero has |x|_2 <= |x|_1 / sqrt 2; |Cov_a(x, y)| <= osc(x) osc(y) / 4.
(3) osc(r) <= sqrt 2 |r|_2, and osc_j(r_i p_j + q_i r_j + g r_i r_j) is at most
    |r_i| osc(p) + (|q_i| + |g| |r_i|) sqrt 2 R.

With v, o the largest |value|, |output|, a row of N(r) - N(0) is at most v |o_i| / (2 sqrt 2) times
(3), so in the Frobenius norm, averaged over the heads,

    |N(r) - N(0)| <= v R / (2 sqrt 2) (o (osc p + sqrt 2 |g| R) + sqrt 2 |o q|_2)
    |J(r) - N(r)| <= v R / 2 (|o q|_2 + |g| o R) + v R o (osc p + sqrt 2 |g| R) sqrt 2 / 4

and for linear attention, entry by entry,

    |N(r) - N(0)| <= v R (o |p|_2 + |o q|_2 + |g| o R)
    |J(r) - N(r)| <= v R (|o q|_2 + |g| o R) + v R o (|p|_2 + |g| R).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.decoder import attention
from twofold.decoder.attention import Scores
from twofold.decoder.drift import norm_upper
from twofold.rigor import entrywise
from twofold.rigor.roundoff import up

ROOT = 1.4142135623730951
"""The double above sqrt 2."""
Radii = Float[np.ndarray, " N"]


def matrix_variation(s: Scores, R: Radii) -> Radii:
    """At least |N(r) - N(0)|_2 for every |r|_2 <= R."""
    v, o, p, oq, g = _sizes(s)
    R = R[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        if s.soft:
            each = v * R * ROOT / 4 * (o * (p + ROOT * g * R) + ROOT * oq)
        else:
            each = v * R * (o * p + oq + g * o * R)
        return up(np.mean(each, axis=1), len(v) + 16)


def jacobian_variation(s: Scores, R: Radii) -> Radii:
    """At least |J(r) - J(0)|_2 for every |r|_2 <= R."""
    v, o, p, oq, g = _sizes(s)
    first, R = matrix_variation(s, R), R[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        if s.soft:
            each = v * R / 2 * (oq + g * o * R) + v * R * o * (p + ROOT * g * R) * ROOT / 4
        else:
            each = v * R * (oq + g * o * R) + v * R * o * (p + g * R)
        return up(first + up(np.mean(each, axis=1), len(v) + 20), 1)


def at_rest(s: Scores) -> tuple[Float[np.ndarray, "K K"], float]:
    """(N(0) = J(0), its distance at most in the Frobenius norm)."""
    zero = entrywise.exact(np.zeros((1, len(s.diagonal))))
    found = attention.matrix(entrywise, s, zero)
    return found.mid[0], float(norm_upper(found.radius.reshape(-1)))


def _sizes(s: Scores) -> tuple[np.ndarray, ...]:
    """(max |v|, max |o|, osc p or |p|, |o q|, |g|) of each head, rounded up."""
    K = len(s.diagonal)
    osc = np.max(s.by_query, axis=1) - np.min(s.by_query, axis=1)
    p = osc if s.soft else norm_upper(s.by_query)
    tops = (np.max(np.abs(x), axis=1) for x in (s.value, s.output))
    return *tops, up(p, 1), up(norm_upper(s.output * s.by_key), K), np.abs(s.by_both[:, 0])
