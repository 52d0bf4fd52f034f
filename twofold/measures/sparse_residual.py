r"""Numba kernel: residuals of many sparse systems on one pattern, with what rounding may cost.

With d, D the entries of A(z) and of sum_p |a_p| |E_p| on the pattern, row i of one task gives

    s_i = f_i - sum_j d_ij u_j,    t_i = |f_i| + sum_j D_ij |u_j|

and what is returned is sum_i (|s_i| + c t_i + tiny)^2.
"""

from __future__ import annotations

import numba
import numpy as np
from jaxtyping import Float


@numba.njit(cache=True, fastmath=False, nogil=True)
def squares(indptr, indices, d, D, u, f, c, tiny, out):
    """One number per task: rows of d and D hold the entries, rows of u and f the vectors."""
    for task in range(len(u)):
        total = 0.0
        for i in range(u.shape[1]):
            s, t = f[task, i], abs(f[task, i])
            for k in range(indptr[i], indptr[i + 1]):
                v = u[task, indices[k]]
                s -= d[task, k] * v
                t += D[task, k] * abs(v)
            total += (abs(s) + c * t + tiny) ** 2
        out[task] = total


def squared_lengths(
    pattern: tuple[np.ndarray, np.ndarray, Float[np.ndarray, "p nnz"]],
    a: Float[np.ndarray, "N p"],
    size: Float[np.ndarray, "N p"],
    u: Float[np.ndarray, "N n"],
    f: Float[np.ndarray, "N n"],
    c: float,
    tiny: float,
) -> Float[np.ndarray, " N"]:
    """The squares for coefficients a and their absolute sizes, a few tasks at a time.

    ``pattern`` is (indptr, indices, entries of each E_p); each square is summed in n + 4 roundings.
    """
    indptr, indices, entries = pattern
    absolute, out = np.abs(entries), np.empty(len(u))
    for start in range(0, len(u), 16):
        rows = slice(start, start + 16)
        d, D = a[rows] @ entries, size[rows] @ absolute
        squares(indptr, indices, d, D, u[rows], f[rows], c, tiny, out[rows])
    return out
