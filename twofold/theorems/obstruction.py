r"""The spectra of P are no state: equal eigenvalues and singular values, another risk and gradient.

Let P' be P with its coordinates reordered, P'_ij = P_{o(i) o(j)}: no entry is rounded, so both have
the same eigenvalues and singular values exactly. With R_1(P) = tr((I-PH) S (I-PH)')/K,

    K (R_1(P) - R_1(P')) = -2 tr((P - P') H S) + tr(P H S H' P^T) - tr(P' H S H' P'^T)
    K |G(P)|_F / 2 = |(I - PH) S H'|_F = |S H' - P (H S H')|_F,        G = dR_1/dP.

Whatever is a function of the spectra, and of H and S, has one value at P and P'; where the right
sides differ, R_1 and the speed -|G|_F^2 of the gradient flow have two. Measured through T = I - PH,
compared with the overlaps. Where (p_1+p_2)(h_1+h_2) = 2 in two commuting
dimensions the risks agree as well, and still the gradients differ: (spectra, risk) do not close.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.measures.enclosures import Ball, exact, frobenius_upper
from twofold.rigor import inputs
from twofold.rigor.roundoff import U, gamma, up
from twofold.theorems import trace_risk

RISK = (
    r"P'=\Pi P\Pi^\top:\ \lambda(P)=\lambda(P'),\ \sigma(P)=\sigma(P'),\quad |R_1(P)-R_1(P')|"
    r"=\tfrac1K|2\operatorname{tr}((P-P')HS)-\operatorname{tr}(PCP^\top-P'CP'^\top)|>0,\ C=HSH^\top"
)
STATEMENT = (
    r"P'=\Pi P\Pi^\top:\ \lambda(P)=\lambda(P'),\ \sigma(P)=\sigma(P'),\quad"
    r"\bigl|\|\nabla R_1(P)\|_F-\|\nabla R_1(P')\|_F\bigr|>0"
)
REFERENCE = "horn2012matrix"
SAME = "the two agree within rounding, or are not finite: this pair refutes nothing"
Pair = tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]


def reordered(P: Any, order: Any) -> Float[np.ndarray, "*N K K"]:
    """P'_ij = P_{o(i) o(j)}: similar to P by a permutation, entry for entry the same numbers."""
    P, order = inputs.square("P", P, finite=False), np.asarray(order)
    if order.dtype.kind not in "iu" or sorted(order.ravel()) != list(range(P.shape[-1])):
        raise ValueError(f"order: expected each of 0 .. {P.shape[-1] - 1} once, got {order}")
    return np.ascontiguousarray(P[..., order, :][..., :, order])


def overlaps(P: Ball, H: Ball, S: Ball) -> Pair:
    """((-2 tr(PHS) + tr(PHSH'P')) / K, its rounding): R_1 but for the constant tr S / K."""
    K = H.mid.shape[-1]
    first = P @ H @ S
    second = first @ H.T @ P.T
    one, two = (np.trace(ball.mid, axis1=-2, axis2=-1) for ball in (first, second))
    size = 2 * frobenius_upper(first.mid) + frobenius_upper(second.mid)
    spent = 2 * first.radius + second.radius + gamma(K + 3) * size
    return (two - 2 * one) / K, up(np.sqrt(float(K)) * spent / K, 8)


def gradient_norm(G: Ball) -> Pair:
    """(2 |G|_F / K, its rounding), G known up to its radius."""
    K, size = G.mid.shape[-1], frobenius_upper(G.mid)
    return 2 * size / K, up((G.radius + 4 * (K + 2) ** 2 * U * size) * 2 / K, 4)


def certify(P: Any, H: Any, order: Any, prior: Any = None) -> list[Certificate]:
    """(Risks, gradients) of P (K,K) or (N,K,K) and its reordering, under systems H (N,K,K)."""
    P, H, _ = inputs.systems(P, H, finite=False)
    S = trace_risk.covariance("prior", prior, H.shape[-1])
    both = [P, reordered(P, order)]
    source = fingerprint(P, H, np.asarray(order), np.eye(1) if prior is None else prior)
    h, s, one = exact(H), exact(S), exact(np.eye(H.shape[-1]))
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        risks = _apart([trace_risk.risk(p, H, 1, prior) for p in both])
        states = _apart([overlaps(exact(p), h, s) for p in both])
        direct = [gradient_norm((one - exact(p) @ h) @ s @ h.T) for p in both]
        moments = [gradient_norm(s @ h.T - exact(p) @ (h @ s @ h.T)) for p in both]
        speeds = _apart(direct), _apart(moments)
    return [
        _certificate("Spectral obstruction, risk", RISK, risks, states, source),
        _certificate("Spectral obstruction, gradient", STATEMENT, *speeds, source),
    ]


def _apart(pair: list[Pair]) -> Pair:
    """(|x - y|, its rounding)."""
    (x, a), (y, b) = pair
    return np.abs(x - y), up(a + b + 4 * U * (np.abs(x) + np.abs(y)), 4)


def _certificate(name: str, statement: str, left: Pair, right: Pair, source: str) -> Certificate:
    (value, a), (bound, b) = left, right
    spent = up(a + b, 2)
    with np.errstate(invalid="ignore"):
        applies = np.isfinite(spent) & (bound > 2 * spent)
    return certificate(
        name, statement=statement, kind="bound", side="lower", about="exact", value=value,
        bound=bound, rounding=spent, applies=applies, reason=SAME, reference=REFERENCE,
        source=source,
    )  # fmt: skip
