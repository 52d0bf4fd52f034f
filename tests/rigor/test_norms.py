from __future__ import annotations

import numpy as np
import pytest

from twofold.rigor import balls, kernel, norms, tiles
from twofold.rigor.ieee import probe
from twofold.rigor.norms import norm2_upper

U = 2.0**-53


def sharp(K: int) -> float:
    return 1e-12 * max(1.0, (K / 64) ** 1.5)


def orthogonal(rng, K):
    return np.linalg.qr(rng.normal(size=(K, K)))[0]


def shapes(rng, K):
    """Matrices on which a norm bound is hard: name -> (K, K)."""
    Q, S = orthogonal(rng, K), orthogonal(rng, K)
    random = rng.normal(size=(K, K))
    return {
        "random": random,
        "positive": np.abs(random),
        "orthogonal": 0.9 * Q,
        "hadamard-like": np.sign(random) / np.sqrt(K),
        "rank one": np.outer(random[0], random[-1]),
        "identity": 0.3 * np.eye(K),
        "graded": Q @ np.diag(10.0 ** -np.linspace(0, 14, K)) @ S,
        "graded rows": 10.0 ** -np.linspace(0, 200, K)[:, None] * random,
        "clustered": Q @ np.diag(1 - 1e-9 * np.arange(K)) @ S,
        "two close": Q @ np.diag([1.0, 1 - 1e-13] + [0.5] * (K - 2))[:K, :K] @ S,
        "nilpotent": np.triu(random, 1) + 1e3 * np.diag(np.ones(K - 1), 1),
        "one entry": np.eye(1, K * K, K - 1).reshape(K, K),
        "skew": random - random.T,
        "lower ones": np.tril(np.ones((K, K))),
        "last column": np.eye(K)[:, -1:] @ np.ones((1, K)),
    }


@pytest.mark.parametrize("K", [2, 3, 5, 9, 24])
@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300, 3e-310, 2.0**1000])
def test_proved_in_balls_on_adversarial_shapes_and_scales(K, scale):
    rng = np.random.default_rng(K)
    with np.errstate(under="ignore"):
        T = scale / 1e5 * np.stack(list(shapes(rng, K).values()))
    bound = norm2_upper(T)
    for name, matrix, value in zip(shapes(rng, K), T, bound, strict=True):
        exact = balls.matrix(matrix)
        assert balls.norm_at_most(exact, value), name
        if scale > 1e-300:
            assert balls.norm_at_most(exact, value * (1 - 2 * sharp(K))) is False, name


def test_a_true_norm_is_never_proved_to_be_less():
    T = np.diag([1.0, 0.5])
    assert balls.norm_at_most(balls.matrix(T), 1.0 - U) is False
    assert balls.norm_at_most(balls.matrix(T), 1.0 + 2 * U) is True


def test_lapack_alone_is_not_a_bound_but_this_is():
    T = np.random.default_rng(5).normal(size=(40, 24, 24))
    lapack = np.linalg.svd(T, compute_uv=False)[:, 0]
    below = sum(
        balls.norm_at_most(balls.matrix(t), b) is False for t, b in zip(T, lapack, strict=True)
    )
    assert below > 0
    assert np.all(norm2_upper(T) > lapack)
    assert np.all(norm2_upper(T) < lapack * (1 + 1e-13))


@pytest.mark.parametrize("K", [2, 7, 8, 17, 64])
def test_the_kernel_matches_its_numpy_twin(K):
    scales = np.array([1, 8.0, 2.0**-9])[:, None, None]
    T = scales * np.random.default_rng(K).normal(size=(3, K, K))
    parts = kernel.table(3)
    kernel.norm_parts(T, norms.start(K), np.zeros(3), parts, probe())
    for matrix, part in zip(T, parts, strict=True):
        C = np.ldexp(matrix, -int(part[kernel.EXPONENT]))
        assert 0.5 <= np.abs(C).max() < 1
        G = C.T @ C
        top = np.linalg.eigvalsh(G)[-1]
        assert top < part[kernel.TAU] < top * (1 + 20 * (K + 8) * U)
        A = part[kernel.TAU] * np.eye(K) - G
        R = np.abs(np.linalg.cholesky(A + 1e-16 * A.max() * np.eye(K)))
        np.testing.assert_allclose(part[kernel.GRAM], (np.abs(C).T @ np.abs(C)).sum(1).max())
        np.testing.assert_allclose(part[kernel.FACTOR], (R @ R.T).sum(1).max(), rtol=1e-5)
        np.testing.assert_allclose(part[kernel.DIAGONAL], np.diag(A).max(), rtol=1e-9)


def test_batch_and_single_rows_agree_to_the_bit():
    T = np.random.default_rng(2).normal(size=(9, 12, 12))
    whole = norm2_upper(T)
    assert norm2_upper(T[4]) == whole[4]
    np.testing.assert_array_equal(norm2_upper(T[::-2]), whole[::-2])
    np.testing.assert_array_equal(norm2_upper(T.astype(">f8")), whole)


def test_only_the_bad_rows_are_silent():
    T = np.random.default_rng(3).normal(size=(5, 6, 6))
    clean = norm2_upper(T)
    T[1, 2, 3], T[2, 0, 0], T[3] = np.nan, -np.inf, np.nan
    bound = norm2_upper(T)
    assert np.all(bound[1:4] == np.inf)
    np.testing.assert_array_equal(bound[[0, 4]], clean[[0, 4]])


def test_ends_of_the_range():
    assert norm2_upper(np.zeros((0, 4, 4))).shape == (0,)
    np.testing.assert_array_equal(norm2_upper(np.zeros((3, 0, 0))), 0.0)
    np.testing.assert_array_equal(norm2_upper(np.zeros((2, 5, 5))), 0.0)
    one = norm2_upper(np.array([[[-3.0]], [[5e-324]], [[1.7e308]]]))
    assert np.all(one >= [3, 5e-324, 1.7e308]) and one[0] < 3 * (1 + 1e-14)
    assert one[1] <= 3 * 5e-324
    top = np.finfo(float).max
    assert norm2_upper(np.full((2, 2), top)) == np.inf
    for bad in (np.ones((2, 3)), np.ones(3), np.ones((2, 2), complex)):
        with pytest.raises(ValueError, match="^T: "):
            norm2_upper(bad)


# Each E-term has a constructed case that a bound without it gets wrong.


def test_E2_dropped_is_refuted_by_a_column_whose_square_is_rounded_downwards():
    """Column 0 is (1, d, ..., d), d^2 below half an ulp of its sum: 127 d^2 vanish from G_00.

    G is nearly a multiple of I, so Cholesky's own error is far too small to make up for it.
    """
    K, d = 128, 2.0**-27 * 0.99
    C = 0.5 * np.eye(K)
    C[1:, 0] = 0.5 * d
    G, R, parts = tiles.room(K), tiles.room(K), kernel.table(1)
    kernel.gram(tiles.copied(C), K, G)
    parts[0, kernel.SOUND], parts[0, kernel.GRAM] = 1.0, kernel.abs_square(tiles.copied(C), K)
    assert G[0, 0] == 0.25
    tau = 0.25 * (1 + d * np.sqrt(K - 1) + 2 * U)
    parts[0, kernel.TAU] = tau
    parts[0, kernel.FACTOR], parts[0, kernel.DIAGONAL] = kernel.cholesky(G, K, tau, R)
    assert parts[0, kernel.FACTOR] > 0
    true = balls.matrix(C)
    assert balls.norm_at_most(true, norms.assemble(parts, K)[0])
    parts[0, kernel.GRAM] /= K
    assert balls.norm_at_most(true, norms.assemble(parts, K)[0]) is False


def test_E3_dropped_is_refuted_by_a_pivot_rounded_upwards():
    """55 squares, each below half an ulp of the first, vanish beside it; A is not definite."""
    K = 64
    A = np.eye(K)
    A[-1, 1:56] = A[1:56, -1] = 2.0**-27 * 0.99
    A[-1, 0] = A[0, -1] = 1 - 2.0**-53
    G, R, parts = tiles.copied(np.eye(K) - A), tiles.room(K), kernel.table(1)
    parts[0, kernel.FACTOR], parts[0, kernel.DIAGONAL] = kernel.cholesky(G, K, 1.0, R)
    assert parts[0, kernel.FACTOR] > 0
    with balls.precision():
        exact = balls.matrix(A)
        assert balls.positive(exact) is False
        lift = balls.identity(K) * float(norms.factor_error(parts, K)[0])
        assert balls.positive(exact + lift)
        parts[0, kernel.FACTOR] /= K
        lift = balls.identity(K) * float(norms.factor_error(parts, K)[0])
        assert balls.positive(exact + lift) is False


def test_E3_pays_for_rounding_the_diagonal():
    """The float tau - G_ii is off by nearly u A_ii, and E3 alone may have to pay for it."""
    tau, g = 1.0, 2.0**-54 * 0.999
    assert tau - g == 1.0
    parts = kernel.table(1)
    parts[0, kernel.DIAGONAL] = tau - g
    assert norms.factor_error(parts, 2)[0] >= g


def test_a_flushing_thread_is_refused():
    parts = kernel.table(2)
    with pytest.raises(ArithmeticError, match="worker threads"):
        norms.assemble(parts, 3)


def test_every_fallback_is_as_proved(monkeypatch):
    """A guess of tau that is hopelessly low costs time, never truth."""
    T = np.stack(list(shapes(np.random.default_rng(8), 9).values()))
    parts = kernel.table(len(T))
    kernel.norm_parts(T, norms.start(9), np.full(len(T), 1e-8), parts, probe())
    assert np.isnan(parts[:, kernel.TAU]).all()
    norms.retry(lambda rows: T[rows], parts)
    bound = norms.assemble(parts, 9)
    np.testing.assert_allclose(bound, norm2_upper(T), rtol=1e-12)
    parts[:, kernel.TAU] = np.nan
    monkeypatch.setattr(np.linalg, "eigvalsh", lambda G: np.zeros(G.shape[:-1]))
    norms.retry(lambda rows: T[rows], parts)
    loose = norms.assemble(parts, 9)
    assert all(balls.norm_at_most(balls.matrix(t), b) for t, b in zip(T, loose, strict=True))
    parts[:, kernel.TAU] = np.nan
    assert np.all(norms.assemble(parts, 9) == np.inf)
