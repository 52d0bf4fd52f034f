r"""How x_L of Richardson's iteration moves with its preconditioner, forwards and backwards.

With x_0 = 0, r_l = d - H x_l, x_{l+1} = x_l + P r_l, one P for all N tasks:

tangent     v_0 = 0, v_{l+1} = (I - P H) v_l + P' r_l: the derivative of x_L along P'
cotangent   lambda_l = (I - P H)' lambda_{l+1} from a given lambda_L;
            sum_n sum_l lambda_{l+1} r_l' is the gradient in P of sum_n <lambda_L, x_L>

They are adjoint: <tangent(P'), lambda_L> = <P', cotangent(lambda_L)>. No symmetry is assumed.
A run that overflows comes out as Inf or NaN, never as a finite number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.decoder import adjoint_kernel as kernel
from twofold.rigor import inputs


def tangent(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, dP: np.ndarray
) -> tuple[Float[np.ndarray, "N K"], Float[np.ndarray, "N K"]]:
    """(x_L, its derivative along ``dP``)."""
    P, H, d, depth = checked(P, H, d, depth)
    dP = inputs.real("dP", dP, shape=P.shape)
    (N, K), moved = d.shape, np.empty_like(d)
    x = np.empty_like(d)
    push = kernel.push_alone if kernel.small(N, K, depth) else kernel.push
    push(P, H, d, dP, depth, kernel.block_size(K), kernel.chunks(N, K), x, moved)
    explained(P, H, d, depth, x, moved)
    return x, moved


def cotangent(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, last: np.ndarray
) -> tuple[Float[np.ndarray, "N K"], Float[np.ndarray, "K K"]]:
    r"""(x_L, the gradient in P of sum_n <last_n, x_L>), ``last`` being lambda_L, held fixed."""
    P, H, d, depth = checked(P, H, d, depth)
    return pulled(P, H, d, depth, inputs.real("last", last, shape=d.shape), 0.0)


def fitted(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, target: np.ndarray, weight: float
) -> tuple[Float[np.ndarray, "N K"], Float[np.ndarray, "K K"]]:
    """(x_L, the gradient in P of weight/2 sum_n |x_L - target|^2), in one pass over the tasks."""
    P, H, d, depth = checked(P, H, d, depth)
    target = inputs.real("target", target, shape=d.shape)
    if not 0 < weight < np.inf:
        raise ValueError(f"weight: expected a positive number such as 1/(N K), got {weight!r}")
    return pulled(P, H, d, depth, target, float(weight))


def checked(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The arguments as float64, P finite; whether H and d are is asked where the answer is not."""
    P, H, d_ = inputs.systems(P, H, d, finite=False)
    if P.ndim == 3:
        raise ValueError(f"P: expected one shared (K, K), got shape {P.shape}; call once per task")
    if d_ is None or d_.size == 0:
        raise ValueError(f"d: nothing to solve in shape {np.shape(d)}; pass at least one task")
    return inputs.real("P", P), H, d_, inputs.whole("depth", depth)


def pulled(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, given: np.ndarray, weight: float
) -> tuple[Float[np.ndarray, "N K"], Float[np.ndarray, "K K"]]:
    """(x_L, sum of lambda r'), the chunks' sums added in their order."""
    N, K = d.shape
    x, sums = np.zeros_like(d), np.zeros((kernel.chunks(N, K), K, K))
    if depth:
        pull = kernel.pull_alone if kernel.small(N, K, depth) else kernel.pull
        pull(P, H, d, given, weight, depth, kernel.block_size(K), x, sums)
    with np.errstate(over="ignore", invalid="ignore"):
        dP = -np.sum(sums, axis=0)
    explained(P, H, d, depth, x, dP)
    return x, dP


def explained(P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, *found: Any) -> None:
    """NaN or Inf that came in is an error (every step meets all of H); an overflow is an answer."""
    if depth == 0 or not all(np.all(np.isfinite(array)) for array in found):
        inputs.systems(P, H, d)
