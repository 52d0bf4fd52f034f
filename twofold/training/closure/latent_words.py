r"""E|z_L - z_0|^2 in the metric S_U, exactly, to depth 3: words in W with matrices between them.

z_L - z_0 = (G_L W - I) z_0 + G_L eta, G_L = sum_{j < L} T^j P, T = D - P W. A word A_0 W A_1 ...
W A_n is kept as the list of its A; products of sums of words are sums of words.
"""

from __future__ import annotations

import numpy as np

from twofold.training.closure import words
from twofold.training.closure.case import Case

DEEPEST = 3
Words = list[tuple[float, list[np.ndarray]]]


def error(P: np.ndarray, case: Case, noise: float) -> float:
    """tr(S_U E[(GW - I) Z_0 (GW - I)']) + (noise/M) tr(S_U E[G W G'])."""
    eye = np.eye(len(P))
    D, G = eye - case.ridge * P, [(0.0, [eye])]
    T: Words = [(1.0, [D]), (-1.0, [P, eye])]
    for _ in range(case.depth):
        G = _merged([(1.0, [P]), *_product(T, G)])
    W: Words = [(1.0, [eye, eye])]
    bias = [*_product(G, W), (-1.0, [eye])]
    spread = _product(_product(G, W), _turned(G))
    signal = _product(_product(bias, [(1.0, [case.prior])]), _turned(bias))
    return mean_trace(signal, case.sigma, case) + noise / case.prompt * mean_trace(
        spread, case.sigma, case
    )


def mean_trace(words_: Words, metric: np.ndarray, case: Case) -> float:
    """E tr(metric word), summed."""
    total = 0.0
    for weight, letters in _merged(words_):
        first, *rest = letters
        if not rest:
            total += weight * float(np.sum(metric.T * first))
            continue
        cycle = [rest[-1] @ metric @ first, *rest[:-1]]
        total += weight * float(np.real(words.expected(cycle, case, len(rest))[0]))
    return total


def _product(a: Words, b: Words) -> Words:
    return [(u * v, [*x[:-1], x[-1] @ y[0], *y[1:]]) for u, x in a for v, y in b]


def _turned(a: Words) -> Words:
    return [(u, [m.T for m in x[::-1]]) for u, x in a]


def _merged(a: Words) -> Words:
    return [(u, x) for u, x in a if u != 0.0]
