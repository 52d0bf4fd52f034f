r"""A decoder that learns while its encoder moves: the oracle it follows moves too.

    P_{s+1} = P_s - eta (P_s C_s - B_s),   P*_s C_s = B_s,   E_s = P_s - P*_s,
    E_{s+1} = E_s (I - eta C_s) + D_s,     D_s = P*_s - P*_{s+1}

(tracking error = contraction + drift). The encoder drives (C_s, B_s), the decoder never answers:
the joint system is triangular. Where the C_s do not commute the products are ordered,
prod_{t=a}^b M_t = M_a M_{a+1} ... M_b, and no fixed set of scalar modes closes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs


@dataclass(frozen=True, eq=False)
class Tracking:
    """A decoder's path beside its oracle's; index s = 0 .. S-1 is the outer time."""

    P: Float[np.ndarray, "S m r"]
    oracle: Float[np.ndarray, "S m r"]
    eta: float

    @property
    def E(self) -> Float[np.ndarray, "S m r"]:
        """The tracking error P_s - P*_s."""
        return self.P - self.oracle

    @property
    def drift(self) -> Float[np.ndarray, "T m r"]:
        """D_s = P*_s - P*_{s+1}; one fewer than there are states."""
        return self.oracle[:-1] - self.oracle[1:]

    @property
    def error(self) -> Float[np.ndarray, " S"]:
        """|P_s - P*_s|_F / |P*_s|_F."""
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.linalg.norm(self.oracle, axis=(1, 2))
            return np.linalg.norm(self.E, axis=(1, 2)) / size


def track(P0: Any, C: Any, B: Any, *, eta: float) -> Tracking:
    """P_0 .. P_{S-1} along given moments C (S,r,r), B (S,m,r), each with its oracle.

    The last moments only define the last oracle: P_{S-1} was reached by S - 1 steps. What leaves
    the range of float64, as a diverging P does, is inf or NaN from there on.
    """
    C = inputs.symmetric("C", inputs.real("C", C, ndim=3))
    P0 = inputs.real("P0", P0, shape=(None, C.shape[-1]))
    B = inputs.real("B", B, shape=(len(C), *P0.shape))
    if not C.size or not len(P0):
        raise ValueError(f"C, P0: expected at least one of each, got {C.shape}, {P0.shape}")
    M = contractions(C[None, :-1], eta)[0]
    P = np.empty_like(B)
    P[0] = P0
    with np.errstate(over="ignore", invalid="ignore"):
        for s in range(len(M)):
            P[s + 1] = P[s] @ M[s] + eta * B[s]
        return Tracking(P, oracles(C, B), float(eta))


def oracles(C: Float[np.ndarray, "S r r"], B: Float[np.ndarray, "S m r"]) -> np.ndarray:
    """P*_s = B_s C_s^+, the eigenvalues of C_s below r eps of the largest taken for zero."""
    values, Q = np.linalg.eigh(C)
    floor = 4 * C.shape[-1] * np.finfo(float).eps * np.maximum(values[:, -1:], 0.0)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > floor)
    return (B @ Q * inverse[:, None, :]) @ np.swapaxes(Q, 1, 2)


def contractions(C: Float[np.ndarray, "N S r r"], eta: float) -> Float[np.ndarray, "N S r r"]:
    """M_s = I - eta C_s."""
    eta = float(inputs.real("eta", eta, ndim=0))
    if not eta > 0:
        raise ValueError(f"eta: expected a positive step size, got {eta}")
    with np.errstate(over="ignore", invalid="ignore"):
        return np.eye(C.shape[-1]) - eta * C


def recursion(
    E0: Float[np.ndarray, "N m r"], M: Float[np.ndarray, "N S r r"], D: Float[np.ndarray, "N S m r"]
) -> Float[np.ndarray, "N s m r"]:
    """E_0 .. E_S by E_{s+1} = E_s M_s + D_s."""
    E = np.empty((len(E0), M.shape[1] + 1, *E0.shape[1:]))
    E[:, 0] = E0
    for s in range(M.shape[1]):
        E[:, s + 1] = E[:, s] @ M[:, s] + D[:, s]
    return E


def suffix_products(M: Float[np.ndarray, "N S r r"]) -> Float[np.ndarray, "N s r r"]:
    """Pi_t = M_t M_{t+1} ... M_{S-1} in this order, t = 0 .. S; Pi_S = I."""
    N, S, r, _ = M.shape
    Pi = np.empty((N, S + 1, r, r))
    Pi[:, S] = np.eye(r)
    for t in range(S - 1, -1, -1):
        Pi[:, t] = M[:, t] @ Pi[:, t + 1]
    return Pi


def unrolled(
    E0: Float[np.ndarray, "N m r"],
    D: Float[np.ndarray, "N S m r"],
    Pi: Float[np.ndarray, "N s r r"],
) -> Float[np.ndarray, "N m r"]:
    """E_S = E_0 Pi_0 + sum_tau D_tau Pi_{tau+1}."""
    return E0 @ Pi[:, 0] + np.sum(D @ Pi[:, 1:], axis=1)


def runs(E0: Any, C: Any, D: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Checked batches of runs: E0 (N,m,r), C (N,S,r,r), D (N,S,m,r); non-finite entries pass."""
    E0 = inputs.real("E0", E0, ndim=3, finite=False)
    N, m, r = E0.shape
    C = inputs.real("C", C, shape=(N, None, r, r), finite=False)
    D = inputs.real("D", D, shape=(N, C.shape[1], m, r), finite=False)
    if not C.size or not E0.size:
        raise ValueError(
            f"E0, C: expected at least one run and one step, got {E0.shape}, {C.shape}"
        )
    return E0, C, D
