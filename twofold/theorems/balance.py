r"""Factor balancing: gradient flow conserves W_Q W_Q' - W_K W_K', a step of descent almost does.

Statement. For a loss of M = W_Q' W_K with gradient G in M, one step

    W_Q^+ = W_Q - eta W_K G',   W_K^+ = W_K - eta W_Q G

changes the imbalance D = W_Q W_Q' - W_K W_K' by second order only, exactly:

    D^+ - D = eta^2 (W_K G' G W_K' - W_Q G G' W_Q').

The first-order terms cancel, whatever G is; in gradient flow D stays for ever. Hence factors that
grow from small weights become balanced *relative to their size*. Nothing is assumed. Both sides are
enclosed (`measures.enclosures`), the left through the step itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.certificate import Certificate, fingerprint, identity
from twofold.measures.enclosures import Ball, exact, frobenius_upper
from twofold.rigor import inputs
from twofold.rigor.roundoff import up

STATEMENT = (
    r"W_Q^+=W_Q-\eta W_KG^\top,\ W_K^+=W_K-\eta W_QG:\quad D^+-D=\eta^2("
    r"W_KG^\top GW_K^\top-W_QGG^\top W_Q^\top),\quad D=W_QW_Q^\top-W_KW_K^\top"
)
REFERENCE = "arora2018optimization"


def imbalance(query: Ball, key: Ball) -> Ball:
    """D = W_Q W_Q' - W_K W_K'."""
    return query @ query.T - key @ key.T


def second_order(query: Ball, key: Ball, G: Ball, eta: Ball) -> Ball:
    """eta^2 (W_K G'G W_K' - W_Q G G' W_Q'), with ``eta`` times the identity given."""
    right, left = key @ G.T, query @ G
    return eta @ eta @ (right @ right.T - left @ left.T)


def certify(query: Any, key: Any, G: Any, eta: Any) -> Certificate:
    """The gap between both sides for W_Q, W_K (N,m,K) and gradients G (N,K,K); one ``eta``."""
    query = inputs.real("query", query, ndim=3, finite=False)
    key = inputs.real("key", key, shape=query.shape, finite=False)
    N, m, K = query.shape
    G = inputs.real("G", G, shape=(N, K, K), finite=False)
    eta = inputs.real("eta", eta, ndim=0)
    if not query.size:
        raise ValueError(f"query: expected at least one pair of factors, got shape {query.shape}")
    q, k, g, step = exact(query), exact(key), exact(G), exact(eta * np.eye(m)[None])
    with np.errstate(over="ignore", invalid="ignore"):
        moved = imbalance(q - step @ (k @ g.T), k - step @ (q @ g)) - imbalance(q, k)
        gap = moved - second_order(q, k, g, step)
        value = frobenius_upper(gap.mid)
        rounding = up(gap.radius, 2 * m * m + 4)
    return identity(
        "Balance", statement=STATEMENT, about="exact", gap=value, rounding=rounding,
        applies=np.isfinite(value) & np.isfinite(rounding), reference=REFERENCE,
        reason="a factor or a gradient is not finite, or overflows",
        source=fingerprint(query, key, G, eta),
    )  # fmt: skip
