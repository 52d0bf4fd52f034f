r"""Families of affine operators: the seeds' dense one, 1-D elliptic, 2-D diffusion on a mesh.

gaussian    A_0 = 2 I, A_k symmetric Gaussian of Frobenius norm .25 sqrt(n): A(z) is drawn as it
            comes, also where it is nearly singular.
elliptic    -(a u')' on (0, 1), a(z) = 1 + sum_k z_k cos(k pi x).
diffusion   -div(a grad u) on the unit square, a(z) = 1 + z_k on piece k of a q x q checkerboard,
            linear elements on a uniform triangulation of scikit-fem, divided by the
            mesh width squared: the 5-point stencil.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from twofold.rigor import inputs
from twofold.tasks.affine import Dense, Sparse, Tridiagonal


def gaussian(
    *, seed: int, dim: int = 16, latent: int = 4, base: float = 2.0, size: float = 0.25
) -> Dense:
    """A_0 = base I and ``latent`` symmetric Gaussian A_k with |A_k|_F = size sqrt(dim)."""
    n, K = inputs.whole("dim", dim, low=1), inputs.whole("latent", latent, low=1)
    B = np.random.default_rng(inputs.whole("seed", seed)).standard_normal((K, n, n))
    S = (B + np.swapaxes(B, 1, 2)) / 2
    norms = np.linalg.norm(S, axis=(1, 2), keepdims=True)
    return Dense(np.concatenate([base * np.eye(n)[None], size * np.sqrt(n) * S / norms]))


def elliptic(*, dim: int, latent: int = 4) -> Tridiagonal:
    """a(z) = 1 + sum_k z_k cos(k pi x) at the dim + 1 midpoints between ``dim`` inner points."""
    n, K = inputs.whole("dim", dim, low=1), inputs.whole("latent", latent, low=1)
    x = (np.arange(n + 1) + 0.5) / (n + 1)
    return Tridiagonal(np.cos(np.pi * np.arange(K + 1)[:, None] * x))


def diffusion(*, side: int, blocks: int = 2) -> Sparse:
    """``side``^2 inner points, ``blocks``^2 pieces of constant coefficient 1 + z_k.

    Pieces end at mesh lines, so every triangle lies in one; they are equal where ``blocks`` divides
    ``side`` + 1.
    """
    n, q = inputs.whole("side", side, low=1), inputs.whole("blocks", blocks, low=1)
    if q > n:
        raise ValueError(f"blocks: expected at most side = {n} pieces in a row, got {q}")
    pieces = tuple(_stiffness(n, q, p) for p in range(q * q))
    return Sparse(pieces, np.concatenate([np.ones((1, q * q)), np.eye(q * q)]))


def _stiffness(n: int, q: int, piece: int) -> sp.csc_matrix:
    """Stiffness of the inner points from the triangles of one piece: halves times (n + 1)^2."""
    import skfem
    from skfem.models.poisson import laplace

    line = np.linspace(0.0, 1.0, n + 2)
    mesh = skfem.MeshTri.init_tensor(line, line)
    i, j = np.floor(mesh.p[:, mesh.t].mean(axis=1) * (n + 1)).astype(int) * q // (n + 1)
    cells = np.flatnonzero(i + q * j == piece)
    basis = skfem.Basis(mesh, skfem.ElementTriP1(), elements=cells)
    inner = _inner(mesh.p, n)
    A = laplace.assemble(basis).tocsc()[inner][:, inner]
    A.data = np.round(2.0 * A.data) / 2.0 * float(n + 1) ** 2
    A.eliminate_zeros()
    return A


def _inner(points: np.ndarray, n: int) -> np.ndarray:
    """The inner mesh points, row by row of the grid."""
    i, j = np.round(points * (n + 1)).astype(int)
    order = np.lexsort((i, j))
    return order[((i > 0) & (i <= n) & (j > 0) & (j <= n))[order]]
