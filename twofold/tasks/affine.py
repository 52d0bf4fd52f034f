r"""Affine operators A(z) = A_0 + sum_k z_k A_k on R^n, shared by all tasks of a law; symmetric.

`Dense` holds the matrices. `Tridiagonal` and `Sparse` hold a coefficient a(z) = a_0 + sum_k z_k a_k
on p pieces and positive semidefinite E_p with A(z) = sum_p a_p(z) E_p: definite where a(z) > 0.
All of them: ``terms(u)`` the A_k u, ``matvec(z, v)``, ``dense(z)``, ``solve(z, f)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.sparse.linalg import splu

from twofold.rigor import inputs
from twofold.rigor.linear import solve as verified
from twofold.tasks import sparse_kernel, tridiagonal

NOT_ELLIPTIC = "the coefficient of A(z) is not positive everywhere: the operator is not elliptic"
SINGULAR = "A(z) could not be proved regular"


@dataclass(frozen=True, eq=False)
class Dense:
    """Plain symmetric matrices: A_0, ..., A_K (K+1, n, n)."""

    A: Float[np.ndarray, "K1 n n"]

    def __post_init__(self) -> None:
        A = inputs.symmetric("A", inputs.real("A", self.A, ndim=3))
        if len(A) < 2 or A.shape[-1] == 0:
            raise ValueError(f"A: expected A_0 and at least one A_k, got shape {A.shape}")
        object.__setattr__(self, "A", A)

    @property
    def size(self) -> tuple[int, int]:
        """(n, K): unknowns and latent coordinates."""
        return self.A.shape[1], len(self.A) - 1

    def terms(self, u: Float[np.ndarray, "*N n"]) -> Float[np.ndarray, "K1 *N n"]:
        """A_k u for k = 0, ..., K."""
        return np.stack([u @ A for A in self.A])

    def dense(self, z: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N n n"]:
        """A(z) as matrices."""
        n, K = self.size
        return self.A[0] + (z @ self.A[1:].reshape(K, n * n)).reshape(-1, n, n)

    def matvec(self, z: np.ndarray, v: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N n"]:
        """A(z) v, row by row."""
        return combined(z, self.terms(v))

    def solve(self, z: np.ndarray, f: Float[np.ndarray, "N m n"]) -> Float[np.ndarray, "N m n"]:
        """A(z)^-1 f for m right-hand sides each; NaN where A(z) is not proved regular."""
        A, (N, m, n) = self.dense(z), f.shape
        x, radius = verified(np.repeat(A, m, axis=0), f.reshape(-1, n))
        return np.where(np.isfinite(radius)[:, None], x, np.nan).reshape(N, m, n)

    def reasons(self, z: np.ndarray) -> tuple[str, ...]:
        """Why A(z) is no operator to sample from, '' where it is."""
        x = self.solve(z, np.ones((len(z), 1, self.size[0])))
        return tuple("" if np.isfinite(row).all() else SINGULAR for row in x)

    def gram(self) -> Float[np.ndarray, "K K"]:
        """<A_k, A_l> in the Frobenius inner product, k, l >= 1."""
        flat = self.A[1:].reshape(self.size[1], -1)
        return flat @ flat.T


@dataclass(frozen=True, eq=False)
class Tridiagonal:
    r"""-(a u')' on n inner points of (0, 1), u = 0 at both ends; a (K+1, n+1) at the midpoints.

    A u = (a_{i-1/2} (u_i - u_{i-1}) - a_{i+1/2} (u_{i+1} - u_i)) (n + 1)^2.
    """

    a: Float[np.ndarray, "K1 cells"]

    def __post_init__(self) -> None:
        a = inputs.real("a", self.a, ndim=2)
        if len(a) < 2 or a.shape[1] < 2:
            raise ValueError(f"a: expected (K+1, n+1) with K, n >= 1, got shape {a.shape}")
        object.__setattr__(self, "a", a)

    @property
    def size(self) -> tuple[int, int]:
        """(n, K): unknowns and latent coordinates."""
        return self.a.shape[1] - 1, len(self.a) - 1

    def coefficient(self, z: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N p"]:
        """a(z) on every cell."""
        return self.a[0] + z @ self.a[1:]

    def bands(self, z: np.ndarray) -> tuple[Float[np.ndarray, "N n"], Float[np.ndarray, "N k"]]:
        """The diagonal and the off-diagonal of A(z)."""
        a = self.coefficient(z) * float(self.a.shape[1]) ** 2
        return a[:, :-1] + a[:, 1:], -a[:, 1:-1]

    def terms(self, u: Float[np.ndarray, "*N n"]) -> Float[np.ndarray, "K1 *N n"]:
        """A_k u for k = 0, ..., K."""
        ends = [(0, 0)] * (u.ndim - 1) + [(1, 1)]
        slope = np.diff(np.pad(u, ends), axis=-1) * float(self.a.shape[1]) ** 2
        return np.stack([-np.diff(a * slope, axis=-1) for a in self.a])

    def dense(self, z: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N n n"]:
        """A(z) as matrices."""
        (main, off), n = self.bands(z), self.size[0]
        A, i = np.zeros((len(z), n, n)), np.arange(n)
        A[:, i, i], A[:, i[1:], i[:-1]], A[:, i[:-1], i[1:]] = main, off, off
        return A

    def matvec(self, z: np.ndarray, v: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N n"]:
        """A(z) v, row by row."""
        main, off = self.bands(z)
        out = main * v
        out[:, :-1] += off * v[:, 1:]
        out[:, 1:] += off * v[:, :-1]
        return out

    def solve(self, z: np.ndarray, f: Float[np.ndarray, "N m n"]) -> Float[np.ndarray, "N m n"]:
        """A(z)^-1 f for m right-hand sides each; NaN where the operator is not elliptic."""
        (main, off), m = self.bands(z), f.shape[1]
        good = np.array([not why for why in self.reasons(z)])
        main = np.repeat(np.where(good[:, None], main, np.nan), m, axis=0)
        return tridiagonal.solve(main, np.repeat(off, m, axis=0), f.reshape(len(main), -1)).reshape(
            f.shape
        )

    def reasons(self, z: np.ndarray) -> tuple[str, ...]:
        """Why A(z) is no operator to sample from, '' where it is."""
        return elliptic(self.coefficient(z))

    def gram(self) -> Float[np.ndarray, "K K"]:
        """<A_k, A_l> in the Frobenius inner product, k, l >= 1."""
        unit = np.eye(self.size[1])
        main, off = (band - zero for band, zero in
                     zip(self.bands(unit), self.bands(0 * unit), strict=True))  # fmt: skip
        return main @ main.T + 2 * off @ off.T


@dataclass(frozen=True, eq=False)
class Sparse:
    """Sum over p pieces of a_p(z) E_p; ``E`` are sparse (n, n), a (K+1, p)."""

    E: tuple[Any, ...]
    a: Float[np.ndarray, "K1 p"]

    def __post_init__(self) -> None:
        a = inputs.real("a", self.a, shape=(None, len(self.E)))
        if len(a) < 2 or not self.E:
            raise ValueError(f"a: expected (K+1, p) with K, p >= 1, got shape {a.shape}")
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "E", tuple(_symmetric(i, E) for i, E in enumerate(self.E)))

    @property
    def size(self) -> tuple[int, int]:
        """(n, K): unknowns and latent coordinates."""
        return self.E[0].shape[0], len(self.a) - 1

    def coefficient(self, z: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N p"]:
        """a(z) on every piece."""
        return self.a[0] + z @ self.a[1:]

    @cached_property
    def pattern(self) -> tuple[Any, Float[np.ndarray, "p nnz"]]:
        """The union of the patterns (csc, zeros kept), and the entries of each E_p on it."""
        union: Any = abs(self.E[0])
        for E in self.E[1:]:
            union = union + abs(E)
        union = union.tocsc()
        union.sort_indices()
        union.data[:] = 1.0
        rows = [_on(union, E) for E in self.E]
        return union, np.array(rows)

    def terms(self, u: Float[np.ndarray, "*N n"]) -> Float[np.ndarray, "K1 *N n"]:
        """A_k u for k = 0, ..., K."""
        flat = u.reshape(-1, u.shape[-1]).T
        pieces = np.stack([(E @ flat).T for E in self.E])
        return np.tensordot(self.a, pieces, 1).reshape(len(self.a), *u.shape)

    def matrix(self, z: Float[np.ndarray, " K"]) -> Any:
        """A(z) of one task as a sparse matrix (csc)."""
        union, entries = self.pattern
        data = self.coefficient(z[None])[0] @ entries
        return sp.csc_matrix((data, union.indices, union.indptr), shape=union.shape)

    def dense(self, z: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N n n"]:
        """A(z) as matrices."""
        return np.stack([self.matrix(row).toarray() for row in z])

    def matvec(self, z: np.ndarray, v: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N n"]:
        """A(z) v, row by row."""
        union, entries = self.pattern
        return sparse_kernel.matvec((union.indptr, union.indices, entries), self.coefficient(z), v)

    @cached_property
    def order(self) -> np.ndarray:
        """A fill-reducing order of the unknowns, found once for the pattern."""
        n = self.size[0]
        dominant = (n * sp.eye(n, format="csc") - self.pattern[0]).tocsc()
        found = splu(dominant, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        return found.perm_c.argsort()

    def factor(self, z: Float[np.ndarray, " K"]) -> Any:
        """SuperLU of A(z), rows and columns in the order found once."""
        A = self.matrix(z)[self.order][:, self.order]
        return splu(A.tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0.0,
                    options={"SymmetricMode": True})  # fmt: skip

    def solve(self, z: np.ndarray, f: Float[np.ndarray, "N m n"]) -> Float[np.ndarray, "N m n"]:
        """A(z)^-1 f for m right-hand sides each; NaN where the operator is not elliptic."""
        x, good = np.full(f.shape, np.nan), [not why for why in self.reasons(z)]
        for i in np.flatnonzero(np.array(good) & np.isfinite(f).all(axis=(1, 2))):
            x[i][:, self.order] = self.factor(z[i]).solve(f[i][:, self.order].T.copy()).T
        return x

    def reasons(self, z: np.ndarray) -> tuple[str, ...]:
        """Why A(z) is no operator to sample from, '' where it is."""
        return elliptic(self.coefficient(z))

    def gram(self) -> Float[np.ndarray, "K K"]:
        """<A_k, A_l> in the Frobenius inner product, k, l >= 1."""
        A = self.a[1:] @ self.pattern[1]
        return A @ A.T


Operators = Dense | Tridiagonal | Sparse


def combined(z: Float[np.ndarray, "N K"], terms: Float[np.ndarray, "K1 N n"]) -> np.ndarray:
    """terms_0 + sum_k z_k terms_k."""
    return terms[0] + np.einsum("nk,kni->ni", z, terms[1:])


def elliptic(a: Float[np.ndarray, "N p"]) -> tuple[str, ...]:
    """'' where the coefficient is positive on every piece."""
    return tuple("" if np.all(row > 0) else NOT_ELLIPTIC for row in a)


def _symmetric(i: int, E: Any) -> Any:
    """One E_p as an exactly symmetric csc matrix."""
    E = sp.csc_matrix(E, dtype=np.float64)
    if E.shape[0] != E.shape[1] or (E != E.T).nnz or not np.isfinite(E.data).all():
        raise ValueError(f"E: matrix {i} is not square, symmetric and finite; pass (E + E.T) / 2")
    return E


def _on(union: Any, E: Any) -> Float[np.ndarray, " nnz"]:
    """The entries of E at the places of ``union``, zeros where it has none."""
    n = union.shape[0]
    columns = np.repeat(np.arange(n), np.diff(union.indptr))
    return np.asarray(E.tocsr()[union.indices, columns]).ravel()
