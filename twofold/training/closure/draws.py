r"""Risk and gradient on given matrices W: what quadrature and pool both average.

The error e_l = x_l - x* obeys e_{l+1} = e_l - P (H e_l - f), f = d - H x*: zero where d = H x*, and
[-lambda beta, noise] where d = X'y/M. All columns of a root of its covariance run at once, the loss
is |e_L|_F^2 / K per W, and its gradient the adjoint sweep.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.tasks import laws
from twofold.training.closure.case import Case


def losses(
    P: Float[np.ndarray, "K K"],
    W: Float[np.ndarray, "N K K"],
    case: Case,
    forcing: Float[np.ndarray, "N K c"] | None = None,
) -> Float[np.ndarray, " N"]:
    """|p(T) S^{1/2}|_F^2 / K for each W."""
    E = _errors(P, W, case, forcing)[0]
    return np.sum(_polynomial(E, case) ** 2, axis=(1, 2)) / case.dim


def by_depth(
    P: Float[np.ndarray, "K K"], W: Float[np.ndarray, "N K K"], case: Case
) -> Float[np.ndarray, "N l"]:
    """|T^l S^{1/2}|_F^2 / K for every l up to the case's depth."""
    E = _errors(P, W, case, None)[0]
    return np.array([np.sum(e**2, axis=(1, 2)) for e in E]).T / case.dim


def errors(
    P: np.ndarray, W: np.ndarray, case: Case, forcing: np.ndarray | None = None
) -> Float[np.ndarray, "N K c"]:
    """e_L, a column for each column of the roots."""
    return _polynomial(_errors(P, W, case, forcing)[0], case)


def gradients(
    P: Float[np.ndarray, "K K"],
    W: Float[np.ndarray, "N K K"],
    case: Case,
    weight: Float[np.ndarray, " N"],
    forcing: Float[np.ndarray, "N K c"] | None = None,
) -> tuple[float, Float[np.ndarray, "K K"]]:
    """(sum of weight loss, its gradient in P)."""
    E, H = _errors(P, W, case, forcing)
    top = _polynomial(E, case)
    value = float(weight @ np.sum(top**2, axis=(1, 2))) / case.dim
    outer = (2.0 / case.dim) * weight[:, None, None] * top
    bar, back = np.zeros_like(P), np.zeros_like(top)
    for ell in range(case.depth, 0, -1):
        back = back + case.weights[ell] * outer
        seen = _residual(H, E[ell - 1], forcing)
        bar -= np.tensordot(back, seen, axes=((0, 2), (0, 2)))
        back = back - H @ (P.T @ back)
    return value, bar


def _residual(H: np.ndarray, E: np.ndarray, forcing: np.ndarray | None) -> np.ndarray:
    return H @ E if forcing is None else H @ E - forcing


def _errors(
    P: np.ndarray, W: np.ndarray, case: Case, forcing: np.ndarray | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """E_0 = [-S^{1/2}, 0], E_{l+1} = E_l - P (H E_l - forcing), and H."""
    H = W + case.ridge * np.eye(case.dim)
    columns = 0 if forcing is None else forcing.shape[2] - case.dim
    start = np.pad(-laws.matrix(laws.root(case.prior)), ((0, 0), (0, columns)))
    E = [np.broadcast_to(start, (len(W), *start.shape))]
    for _ in range(case.depth):
        E.append(E[-1] - P @ _residual(H, E[-1], forcing))
    return E, H


def _polynomial(E: list[np.ndarray], case: Case) -> np.ndarray:
    used = [ell for ell in range(len(E)) if case.weights[ell]]
    return sum((case.weights[ell] * E[ell] for ell in used), np.zeros(E[0].shape))
