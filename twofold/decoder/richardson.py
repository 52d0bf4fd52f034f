r"""Richardson's iteration with a frozen preconditioner: x_0 = 0, x_{l+1} = x_l + P (d - H x_l).

Its error obeys e_{l+1} = T e_l with T = I - P H exactly. Narrow floats are upcast exactly. A row of
H or d that holds NaN or Inf comes out as NaN, and no other row is touched by it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from twofold.decoder import kernel
from twofold.decoder.lanes import padded, scratch
from twofold.protocol import System
from twofold.rigor import inputs

NOWHERE = np.empty((0, 0))


def iterate(P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int) -> Float[np.ndarray, "N K"]:
    """x_L after ``depth`` = L steps; P is (K,K), shared, or (N,K,K)."""
    P, H, d, depth = checked(P, H, d, depth)
    path, _ = swept(P, H, d, NOWHERE, depth, kept=1)
    return path[0, :, 0]


def iterates(P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int) -> Float[np.ndarray, "N l K"]:
    """All of x_0, ..., x_L, along axis 1."""
    P, H, d, depth = checked(P, H, d, depth)
    path, _ = swept(P, H, d, NOWHERE, depth, kept=depth + 1)
    return path[0]


def error_norms(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, x_star: np.ndarray
) -> Float[np.ndarray, "N l"]:
    r"""\|x_l - x_star\| for l = 0, ..., L, in one pass over the tasks and without storing x_l."""
    P, H, d, depth = checked(P, H, d, depth)
    x_star = inputs.real("x_star", x_star, shape=d.shape, finite=False)
    _, errors = swept(P, H, d, x_star, depth, kept=0)
    return errors[0]


@dataclass(frozen=True, eq=False)
class Richardson:
    """The decoder: ``depth`` steps with the frozen ``P``, on any system with a matvec."""

    P: np.ndarray
    depth: int

    def matrix(self, system: System) -> np.ndarray:
        """P, which does not look at the system."""
        return self.P

    def step(self, system: System, x: np.ndarray) -> Float[np.ndarray, "N K"]:
        """P (d - H x), the move that ``x`` gets."""
        residual = inputs.real("system.d", system.d, ndim=2, finite=False) - system.matvec(x)
        return np.matmul(self.P, residual[..., None])[..., 0]

    def __call__(self, system: System) -> Float[np.ndarray, "N K"]:
        """x_L; the batched kernel where H is at hand, else ``depth`` matvecs."""
        H = system.dense()
        if H is not None:
            return iterate(self.P, H, system.d, self.depth)
        x = np.zeros(np.shape(system.d))
        for _ in range(inputs.whole("depth", self.depth)):
            x = x + self.step(system, x)
        return x


def checked(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The arguments as float64, a shared P finite; ValueError says what is wrong."""
    P, H, right = inputs.systems(P, H, d, finite=False)
    d = np.empty((0, 0)) if right is None else right
    if d.size == 0:
        raise ValueError(f"d: nothing to solve in shape {d.shape}; pass at least one task")
    if P.ndim == 2:
        P = inputs.real("P", P)
    return P, H, d, inputs.whole("depth", depth)


def swept(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, x_star: np.ndarray, depth: int, kept: int
) -> tuple[Float[np.ndarray, "S N T K"], Float[np.ndarray, "S N l"]]:
    """(the last ``kept`` iterates, all error norms if ``x_star`` is given) of each checkpoint.

    P is (K,K), or (N,K,K) with one for each task, or (S,1,K,K) with one for each checkpoint.
    """
    N, K = d.shape
    own = P.ndim == 3
    P = P.reshape(-1, K, K)
    several, B = 1 if own else len(P), kernel.block_size(K)
    path, errors = np.empty((several, N, kept, K)), np.empty((several, N, depth + 1))
    A, Q = (scratch(count, padded(K), K) for count in (B, B if own else several))
    X, R, Y = (scratch(several * B, K) for _ in range(3))
    kernel.sweep(P, own, H, d, x_star, A, Q, X, R, Y, scratch(1, K), path, errors)
    if depth < 2:
        _poison(P if own else d, H, d, path, errors)
    return path, errors


def _poison(P: np.ndarray, H: np.ndarray, d: np.ndarray, *outputs: np.ndarray) -> None:
    """So few steps never read all of a row's input: let what is bad in it show all the same."""
    bad = np.zeros(len(d), dtype=bool)
    for array in (P, H, d):
        bad |= ~np.isfinite(array.reshape(len(d), -1)).all(axis=1)
    for output in outputs:
        output[:, bad] = np.nan
