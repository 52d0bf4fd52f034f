r"""A lower bound on the loss I(X;Y|U) of a discrete encoder, uniform over tables, paired.

q(y|x) is any predictor fixed beforehand with -ln q <= c, a = ln q(Y|X). For the true conditional
r* = mu_{Y|U},  E[a - ln r*(Y|U)] = H(Y|U) - E[-ln q] <= I(X;Y|U), as E[-ln q] >= H(Y|X). If this is
at most m, then for every 0 < lambda <= 1/(1 + c + ln K), J of them averaged,

    K(r) = (1/J) sum_j prod_i (1 + lambda_j (a_i - ln r(y_i|u_i) - m)),       E K(r*) <= 1,

is at least 1/delta with probability at most delta at r = r*: so is min_r K(r), over *all* tables r.
Nothing is paid for not knowing r*, however many cells there are: the minimum overfits and that
alone lowers the bound, by about |U|(|Y|-1)/2n. ``table_capital`` proves the minimum by convexity.

Without q (a = 0, c = 0) it is a lower bound on H(Y|U). The encoder and q have not seen these rows;
Y has K values, U any number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.measures.cells import whole
from twofold.rigor import inputs
from twofold.theorems import heldout
from twofold.theorems.table_capital import averaged

STATEMENT = (
    r"I(X;Y|U)\ge H(Y|U)-\mathbb E[-\ln q(Y|X)]\ge\inf\{m:\min_r\tfrac1J\sum_j\prod_i"
    r"(1+\lambda_j(\ln q(y_i|x_i)-\ln r(y_i|u_i)-m))<\tfrac1\delta\}"
)
REFERENCE = "waudbysmith2024betting"
BETS, MARGIN, RESOLUTION = 8, 1e-9, 2.0**-16
Layout = tuple[Float[np.ndarray, " n"], np.ndarray, np.ndarray]


def lower(u: Any, y: Any, *, classes: int, delta: float, losses: Any = None, clip: float = 0.0
          ) -> float:  # fmt: skip
    """L with P(L > H(Y|U) - E loss) <= delta, in [0, ln K]; ``losses`` are -ln q <= clip."""
    classes, delta = inputs.whole("classes", classes, low=2), heldout.share(delta)
    layout = _sorted(u, y, losses, clip, classes)
    top, goal = math.log(classes), math.log(1 / delta) + MARGIN
    most = (1 - 2.0**-40) / (1 + clip + top)
    bets = most / 2.0 ** np.arange(BETS)

    def refuted(m: float) -> bool:
        return averaged(*layout, bets, m) >= goal

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, top
    while high - low > RESOLUTION * top:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _sorted(u: Any, y: Any, losses: Any, clip: float, classes: int) -> Layout:
    """(a by cell and label, where labels start, where cells start)."""
    u, y = whole("u", u), whole("y", y)
    if u.shape != y.shape or u.ndim != 1 or not len(u):
        raise ValueError(f"u, y: expected n >= 1 labels each, got shapes {u.shape}, {y.shape}")
    if y.max() >= classes:
        raise ValueError(f"classes: a label is {y.max()}, expected below {classes}")
    loss = np.zeros(len(u)) if losses is None else heldout.sample(losses)
    if loss.shape != u.shape or loss.max() > clip * (1 + 2.0**-41):
        raise ValueError(
            f"losses, clip: {len(loss)} losses up to {loss.max():.6g} for {len(u)} rows and clip "
            f"{clip:.6g}; mix the predictor with the uniform one, see paired.mixed"
        )
    key = u * classes + y
    order = np.argsort(key, kind="stable")
    pairs, first = np.unique(key[order], return_index=True)
    starts = np.append(np.unique(pairs // classes, return_index=True)[1], len(pairs))
    edges = np.append(first, len(u)).astype(np.int64)
    return -loss[order], edges, starts.astype(np.int64)


def certify(
    u: Any, y: Any, *, classes: int, delta: float, losses: Any, clip: float, truth: Any
) -> Certificate:
    """One row per sample (R,n); ``truth`` is the true I(X;Y|U), or H(Y|U) without losses."""
    u, y = np.atleast_2d(whole("u", u)), np.atleast_2d(whole("y", y))
    loss = [None] * len(u) if losses is None else np.atleast_2d(losses)
    bound = [lower(a, b, classes=classes, delta=delta, losses=c, clip=clip)
             for a, b, c in zip(u, y, loss, strict=True)]  # fmt: skip
    return certificate(
        "encoder loss", statement=STATEMENT, kind="confidence", side="lower", delta=delta,
        value=np.broadcast_to(truth, len(u)), bound=bound, reference=REFERENCE,
        source=fingerprint(u, y, *([] if losses is None else [loss])),
    )  # fmt: skip
