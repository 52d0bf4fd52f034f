r"""Risk and gradient on given matrices W: what quadrature and pool both average.

For each W the answer to d = A z is x_L = G d with x_{l+1} = x_l + P (d - H x_l), run on all columns
of [A, noise] at once; the loss is |x_L - target|_F^2 / K and its gradient the adjoint sweep.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.tasks import laws
from twofold.training.closure.case import Case


def losses(
    P: Float[np.ndarray, "K K"], W: Float[np.ndarray, "N K K"], case: Case
) -> Float[np.ndarray, " N"]:
    """|p(T) S^{1/2}|_F^2 / K for each W."""
    E = _errors(P, W, case)[0]
    return np.sum(_polynomial(E, case) ** 2, axis=(1, 2)) / case.dim


def gradients(
    P: Float[np.ndarray, "K K"],
    W: Float[np.ndarray, "N K K"],
    case: Case,
    weight: Float[np.ndarray, " N"],
) -> tuple[float, Float[np.ndarray, "K K"]]:
    """(sum of weight loss, its gradient in P)."""
    E, H = _errors(P, W, case)
    top = _polynomial(E, case)
    value = float(weight @ np.sum(top**2, axis=(1, 2))) / case.dim
    outer = (2.0 / case.dim) * weight[:, None, None] * top
    bar, back = np.zeros_like(P), np.zeros_like(top)
    for ell in range(case.depth, 0, -1):
        back = back + case.weights[ell] * outer
        seen = H @ E[ell - 1]
        bar -= np.einsum("nik,njk->ij", back, seen, optimize=True)
        back = back - H @ (P.T @ back)
    return value, bar


def _errors(
    P: Float[np.ndarray, "K K"], W: Float[np.ndarray, "N K K"], case: Case
) -> tuple[list[np.ndarray], Float[np.ndarray, "N K K"]]:
    """T^l S^{1/2}, l = 0 .. L, and H."""
    H = W + case.ridge * np.eye(case.dim)
    E = [np.broadcast_to(laws.matrix(laws.root(case.prior)), W.shape)]
    for _ in range(case.depth):
        E.append(E[-1] - P @ (H @ E[-1]))
    return E, H


def _polynomial(E: list[np.ndarray], case: Case) -> Float[np.ndarray, "N K K"]:
    used = [ell for ell in range(len(E)) if case.weights[ell]]
    return sum((case.weights[ell] * E[ell] for ell in used), np.zeros(E[0].shape))
