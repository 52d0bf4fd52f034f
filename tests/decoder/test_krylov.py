"""Conjugate gradients against the best of each Krylov space, and against bad input."""

import numpy as np
import pytest

from twofold.decoder import krylov, polynomial


def spd(rng, *shape):
    A = rng.normal(size=(*shape, 3 * shape[-1]))
    return A @ A.swapaxes(-1, -2) / (3 * shape[-1])


def maps(P, H):
    return lambda v: (H @ v[..., None])[..., 0], lambda r: (P @ r[..., None])[..., 0]


def test_each_iterate_is_the_best_of_its_krylov_space():
    rng = np.random.default_rng(0)
    N, K, L = 40, 7, 4
    d = rng.normal(size=(N, K))
    P = spd(rng, K)
    H = np.stack([spd(rng, K) for _ in range(N)])
    path = krylov.pcg(d, *maps(P, H), L)
    for n in range(N):
        basis = [P @ d[n]]
        for ell in range(1, L + 1):
            V = np.linalg.qr(np.stack(basis, axis=1))[0]
            best = V @ np.linalg.solve(V.T @ H[n] @ V, V.T @ d[n])
            assert np.allclose(path[ell, n], best, atol=1e-7)
            basis.append(P @ (H[n] @ basis[-1]))


def test_k_steps_solve_and_chebyshev_is_never_better():
    rng = np.random.default_rng(1)
    N, K = 200, 6
    H = np.stack([spd(rng, K) for _ in range(N)])
    d = rng.normal(size=(N, K))
    path = krylov.pcg(d, *maps(np.eye(K), H), K)
    x = np.linalg.solve(H, d[..., None])[..., 0]
    assert np.abs(path[-1] - x).max() < 1e-8 * np.abs(x).max()
    ends = np.linalg.eigvalsh(H)[:, [0, -1]]
    other = polynomial.walk(polynomial.chebyshev(ends, 4), d, *maps(np.eye(K), H))
    energy = [np.einsum("nk,nkj,nj->n", e, H, e) for e in (path[4] - x, other[4] - x)]
    assert np.all(energy[0] <= energy[1] * (1 + 1e-9))


def test_a_solved_row_stays_and_a_bad_one_falls_alone():
    H = np.stack([np.eye(3), np.eye(3), np.diag([1.0, 1.0, -4.0]), np.eye(3), np.eye(3) * np.nan])
    d = np.ones((5, 3))
    d[1] = 0.0
    d[3, 0] = np.inf
    path = krylov.pcg(d, *maps(np.eye(3), H), 4)
    assert np.array_equal(path[1:, 0], np.ones((4, 3))) and not path[:, 1].any()
    assert np.isnan(path[1:, [2, 3, 4]]).any(axis=2).all()


@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e140])
def test_scale_does_not_matter(scale):
    rng = np.random.default_rng(2)
    H, d = spd(rng, 5)[None], rng.normal(size=(1, 5))
    one = krylov.pcg(d, *maps(np.eye(5), H), 3)
    assert np.allclose(krylov.pcg(scale * d, *maps(np.eye(5), H), 3), scale * one, rtol=1e-9)
