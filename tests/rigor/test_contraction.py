from __future__ import annotations

import numpy as np
import pytest

from twofold.rigor import balls, contraction, kernel, norms
from twofold.rigor.contraction import contraction_upper
from twofold.rigor.ieee import probe

U = 2.0**-53


def systems(K, seed):
    """P and H where the bound is hard: name -> ((K, K), (K, K))."""
    rng = np.random.default_rng(seed)
    Q, S = (np.linalg.qr(rng.normal(size=(K, K)))[0] for _ in range(2))
    A, B = rng.normal(size=(2, K, K))
    spd = Q @ np.diag(10.0 ** -np.linspace(0, 6, K)) @ Q.T
    return {
        "random": (A, B),
        "contracting": (0.5 * np.eye(K), A @ A.T / (2 * K)),
        "large": (1e8 * A, B),
        "inverse": (np.linalg.inv(spd), spd),
        "inverse of a bad one": (np.linalg.inv(spd @ spd + 1e-12 * np.eye(K)), spd @ spd),
        "orthogonal": (0.5 * Q, S),
        "reflection": (2 * np.outer(Q[0], Q[0]), np.eye(K)),
        "graded": (10.0 ** -np.linspace(0, 8, K)[:, None] * A, B * 10.0 ** np.linspace(0, 8, K)),
        "opposite scales": (1e300 * A, 1e-300 * B),
        "overflow on the way": (1e200 * np.abs(A), 1e108 * np.abs(B)),
        "subnormal H": (1e300 * A, 3e-310 * B),
        "underflow": (1e-200 * A, 1e-200 * B),
        "rank one": (np.outer(A[0], A[-1]), np.outer(B[0], B[-1])),
        "nilpotent": (np.eye(K), np.eye(K) - np.triu(A, 1)),
        "identity": (np.eye(K), np.eye(K)),
        "zero": (np.zeros((K, K)), B),
    }


@pytest.mark.parametrize("K", [1, 2, 4, 9, 20])
def test_proved_in_balls(K):
    cases = systems(K, K)
    with np.errstate(under="ignore"):
        P, H = (np.stack(side) for side in zip(*cases.values(), strict=True))
    bound = contraction_upper(P, H)
    for name, p, h, value in zip(cases, P, H, bound, strict=True):
        with balls.precision():
            T = balls.residual(p, h)
        assert balls.norm_at_most(T, value), name
        assert np.isfinite(value) or name == "overflow on the way", name


@pytest.mark.parametrize("K", [2, 8, 24, 64])
def test_sharp_where_the_norms_are_of_one_size(K):
    cases = systems(K, 7)
    allowed = 1e-12 * max(1.0, (K / 64) ** 1.5)
    for name in ("random", "contracting", "orthogonal", "reflection", "zero"):
        P, H = cases[name]
        value = contraction_upper(P, H[None])[0]
        with balls.precision():
            T = balls.residual(P, H)
        assert balls.norm_at_most(T, value), name
        assert balls.norm_at_most(T, value * (1 - allowed)) is False, name


@pytest.mark.parametrize("K", [1, 3, 8, 21])
def test_the_kernel_matches_its_numpy_twin(K):
    P, H = np.random.default_rng(K).normal(size=(2, 4, K, K))
    C, parts = np.empty((4, K, K)), kernel.table(4)
    kernel.contraction_parts(P, H, norms.start(K), np.zeros(4), parts, C, probe())
    np.testing.assert_allclose(C, np.eye(K) - P @ H, atol=1e-14 * K)
    both = np.abs(P) @ np.abs(H)
    np.testing.assert_allclose(parts[:, kernel.ROWS], both.sum(2).max(1), rtol=1e-14 * K)
    np.testing.assert_allclose(parts[:, kernel.COLUMNS], both.sum(1).max(1), rtol=1e-14 * K)
    diagonal = np.abs(np.diagonal(C, axis1=1, axis2=2)).max(1)
    np.testing.assert_array_equal(parts[:, kernel.CORNER], diagonal)


def test_a_shared_P_is_every_row_s_P_to_the_bit():
    rng = np.random.default_rng(1)
    P, H = rng.normal(size=(6, 6)), rng.normal(size=(5, 6, 6))
    repeated = np.broadcast_to(P, (5, 6, 6))
    np.testing.assert_array_equal(contraction_upper(P, H), contraction_upper(repeated, H))


def test_bad_rows_are_silent_and_the_others_go_on():
    rng = np.random.default_rng(2)
    P, H = rng.normal(size=(4, 5, 5)), rng.normal(size=(4, 5, 5))
    clean = contraction_upper(P, H)
    P[1, 0, 0], H[2, 4, 4] = np.nan, np.inf
    bound = contraction_upper(P, H)
    np.testing.assert_array_equal(bound, [clean[0], np.inf, np.inf, clean[3]])
    H[:] = 0.0
    H[0, 0, 0] = np.nan
    assert contraction_upper(np.zeros((5, 5)), H)[0] == np.inf
    assert contraction_upper(P[:1] * 1e300, 1e300 * np.ones((1, 5, 5)))[0] == np.inf


def test_empty_and_misshapen():
    assert contraction_upper(np.eye(3), np.zeros((0, 3, 3))).shape == (0,)
    np.testing.assert_array_equal(contraction_upper(np.zeros((0, 0)), np.zeros((2, 0, 0))), 0.0)
    for P, H in ((np.eye(2), np.ones((1, 3, 3))), (np.eye(3) * 1j, np.ones((1, 3, 3)))):
        with pytest.raises(ValueError, match="^P: "):
            contraction_upper(P, H)
    with pytest.raises(ValueError, match="^H: "):
        contraction_upper(np.eye(3), np.ones((3, 3)))


def test_E1_dropped_is_refuted_by_a_product_rounded_downwards(monkeypatch):
    """(PH)_00 = 1 + 63 d^2 is computed as 1: the rounding of PH, and nothing else, hides it."""
    K, d = 64, 2.0**-27 * 0.99
    P, H = np.eye(K), np.eye(K)
    P[0, 1:] = H[1:, 0] = d
    with balls.precision():
        T = balls.residual(P, H)
    assert balls.norm_at_most(T, contraction_upper(P, H[None])[0])
    monkeypatch.setattr(contraction, "gamma", lambda k: U)
    assert balls.norm_at_most(T, contraction_upper(P, H[None])[0]) is False


def test_E1_pays_for_the_subtraction_from_one():
    """1 - x with x = -u (1 - 2u): the product is exact and its sum with 1 loses all of x."""
    x = np.array([[[-U * (1 - 2 * U)]]])
    _, C, error = contraction.formed(np.eye(1), x, keep=True)
    assert C[0, 0, 0] == 1.0 and error[0] >= -x[0, 0, 0]
    parts = kernel.table(1)
    kernel.contraction_parts(np.eye(1)[None], x, np.ones(1), np.ones(1), parts, C, probe())
    parts[:, kernel.CORNER] = 0.0
    assert contraction.formation_error(parts, 1)[0] < -x[0, 0, 0]
