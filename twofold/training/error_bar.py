r"""How far the computed excess risk can be from the true one, proved, at every outer time.

The computed modes are exact for C~ = Q~ diag(lambda) Q~' with |C - C~| <= delta. Let
A = I - eta C, A~ = I - eta C~, X = sum_i w_i q~_i' (range of C only), m the rows of P. The true
excess is |C^{1/2} A^s E_0'|^2/m, the computed one |C~^{1/2} A~^s X'|^2/m up to rounding, and

    |C^{1/2} A^s (E_0 - X)'| <= |(E_0 - X) C|_F max_j |mu_j|^s / sqrt(lambda_j)           (start)
    |C^{1/2} (A^s - A~^s) X'| <= eta delta sum_{t<s} |C^{1/2} A^{s-1-t}| |A~^t X'|         (Duhamel)
    | |C^{1/2} A~^s X'|^2 - |C~^{1/2} A~^s X'|^2 | <= delta |A~^s X'|^2                    (metric)

so a mode's relative error is about 2 s eta delta / (1 - eta lambda), and a slow mode receives what
leaks from fast ones. The sums over t are geometric, taken over groups of modes whose lambda agree
within a factor 4. Trusted: IEEE sums and products, and exp and log1p within 4 ulp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from twofold.training.eigenbasis import UNIT, Eigenbasis
from twofold.training.rates import products, widening

if TYPE_CHECKING:
    from twofold.training.trajectory import Trajectory

GROUP = 4.0
TINY = 2.0**-1020
"""No power is taken to be smaller than this inside the bar, nor the bar itself: what underflows is
not zero. Inputs within 1e-60 .. 1e60 (``check_scale``) keep every square of theirs above it."""
SLACK = 1 + 1e-8
"""Covers the rounding of the bar itself: all its terms are positive."""


def excess(path: Trajectory) -> Float[np.ndarray, " S"]:
    """|computed excess - true excess| is at most this, for each s."""
    basis, rates, m = path.basis, path.rates, len(path.modes)
    if not basis.rank:
        return np.zeros(len(path.s))
    seen = basis.values > 0
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        slower = np.maximum(np.exp(products(path.s, rates.slower[seen])), TINY)
        start = path.misfit * np.max(slower / np.sqrt(lowest(basis)[seen]), axis=1)
        moved = start + duhamel(path) + TINY
        metric = basis.distance * (np.maximum(path.squared, TINY)[:, seen] @ path.mass[seen])
        noise = rounding(path)
        norm = np.sqrt(m * path.excess + metric + noise)
        bar = SLACK * (metric + moved * (2 * norm + moved) + noise) / m + TINY
    return np.where(np.isnan(bar), np.inf, bar)


def lowest(basis: Eigenbasis) -> Float[np.ndarray, " K"]:
    """A lower bound of the eigenvalue of C that each computed one stands for."""
    return np.maximum((basis.values - basis.distance) * (1 - 1e-12), TINY)


def duhamel(path: Trajectory) -> Float[np.ndarray, " S"]:
    r"""Eta delta sum_{j,i} sqrt(lambda_j) |w_i| sum_{t<s} mu_j^{s-1-t} mu_i^t, over groups."""
    groups = grouped(path)
    total = np.zeros(len(path.s))
    for top, _, log_j in groups:
        for _, mass, log_i in groups:
            total += np.sqrt(top * mass) * geometric(path.s, log_j, log_i, path.rates.step)
    return widening(path.eta, path.basis) * total


def grouped(path: Trajectory) -> list[tuple[float, float, float]]:
    """(largest lambda, total |w|^2, slowest log|mu|) of each group of modes of similar lambda."""
    basis = path.basis
    seen = basis.values > 0
    values, mass, logs = basis.values[seen], path.mass[seen], path.rates.slower[seen]
    label = np.floor(np.log(values[-1] / values) / np.log(GROUP))
    parts = [label == k for k in np.unique(label)]
    return [
        (float(values[p].max() + basis.distance), float(mass[p].sum()), float(logs[p].max()))
        for p in parts
    ]


def geometric(s: Float[np.ndarray, " S"], a: float, b: float, step: int) -> Float[np.ndarray, " S"]:
    """An upper bound of sum_{t<s} e^{a (s-1-t) + b t}; of the integral over [0, s] if step = 0."""
    slow, gap = max(a, b), abs(a - b)
    lead = np.maximum(np.exp(products(np.maximum(s - step, 0), np.array([slow]))[:, 0]), TINY)
    count = np.minimum(s, 1 / -np.expm1(-gap)) if step and gap else s
    count = np.minimum(s, 1 / gap) if gap and not step else count
    return SLACK * lead * count


def rounding(path: Trajectory) -> Float[np.ndarray, " S"]:
    """What float64 costs in sum_i lambda_i mu_i^{2s} |w_i|^2: 6u |2 s log mu_i| of each term."""
    weight = path.basis.values * path.mass
    live = weight > 0
    powers, weight = path.squared[:, live], weight[live]
    size = np.minimum(np.abs(path.rates.exponents(path.s, 2)[:, live]), 1e6)
    fixed = (sum(path.modes.shape) + 16) * (powers @ weight)
    return 2 * UNIT * (6 * ((powers * size) @ weight) + fixed) + 2 * TINY * np.sum(weight)


def misfit(
    P0: np.ndarray, B: np.ndarray, start: np.ndarray, modes: np.ndarray, basis: Eigenbasis
) -> float:
    r"""A bound of |(E_0 - X) C|_F, X the matrix that the modes on the range of C stand for.

    In the basis Q~ its columns are (P_0 q_i - w_i) lambda_i - B q_i up to delta |P_0 - X|; computed
    start = P_0 Q and turned = B Q carry gamma_K each.
    """
    lam, K = basis.values, len(basis.values)
    seen = lam > 0
    turned = B @ basis.vectors
    column = (start - modes) * lam - turned
    size_P, size_B = float(np.linalg.norm(P0)), float(np.linalg.norm(B))
    product = 2 * (K + 6) * UNIT * np.sqrt(K) + basis.defect
    made = product * (size_P * lam[-1] + size_B)
    made += 4 * UNIT * float(np.linalg.norm((np.abs(start) + np.abs(modes)) * lam))
    far = float(np.linalg.norm(start - np.where(seen, modes, 0.0))) + size_P * product
    return SLACK * (float(np.linalg.norm(column)) + made + 2 * basis.distance * far)
