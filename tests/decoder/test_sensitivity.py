"""Tangent and cotangent of x_L in P against their plain twins, each other, and the complex step."""

import numba
import numpy as np
import pytest

from twofold.decoder import adjoint_kernel, richardson, sensitivity

SHAPES = [(1, 1, 1), (3, 2, 3), (70, 9, 4), (200, 16, 6), (33, 33, 5), (9, 17, 1), (40, 64, 8)]


def problem(N, K, seed=0):
    """Neither H nor P symmetric."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4 * K + 4, K))
    H = np.matmul(X.transpose(0, 2, 1), X) / X.shape[1] + 0.1 * rng.normal(size=(N, K, K)) / K
    P = 0.5 * np.eye(K) + 0.05 * rng.normal(size=(K, K)) / np.sqrt(K)
    return P, H, rng.normal(size=(N, K)), rng


def twin_tangent(P, H, d, depth, dP):
    """Forward differentiation as the formula stands."""
    x, v = np.zeros_like(d), np.zeros_like(d)
    for _ in range(depth):
        r = d - np.einsum("nij,nj->ni", H, x)
        v = v - np.einsum("nij,nj->ni", H, v) @ P.T + r @ dP.T
        x = x + r @ P.T
    return x, v


def twin_cotangent(P, H, d, depth, last):
    """Seed 002, eq. 22 and 23."""
    x, residuals = np.zeros_like(d), []
    for _ in range(depth):
        residuals.append(d - np.einsum("nij,nj->ni", H, x))
        x = x + residuals[-1] @ P.T
    dP, lam = np.zeros_like(P), last
    for r in reversed(residuals):
        dP += lam.T @ r
        lam = lam - np.einsum("nji,nj->ni", H, lam @ P)
    return x, dP


def close(ours, theirs, scale=None):
    scale = np.linalg.norm(theirs) if scale is None else scale
    return np.linalg.norm(ours - theirs) <= 1e-13 * scale


@pytest.mark.parametrize(("N", "K", "depth"), SHAPES)
def test_both_directions_match_their_twins(N, K, depth):
    P, H, d, rng = problem(N, K)
    turn, last = rng.normal(size=(K, K)), rng.normal(size=(N, K))
    for ours, theirs in (
        (sensitivity.tangent(P, H, d, depth, turn), twin_tangent(P, H, d, depth, turn)),
        (sensitivity.cotangent(P, H, d, depth, last), twin_cotangent(P, H, d, depth, last)),
    ):
        assert close(ours[0], theirs[0]) and close(ours[1], theirs[1])
    assert close(sensitivity.cotangent(P, H, d, depth, last)[0], richardson.iterate(P, H, d, depth))


@pytest.mark.parametrize(("N", "K", "depth"), SHAPES)
def test_they_are_adjoint(N, K, depth):
    P, H, d, rng = problem(N, K, seed=1)
    turn, last = rng.normal(size=(K, K)), rng.normal(size=(N, K))
    v = sensitivity.tangent(P, H, d, depth, turn)[1]
    dP = sensitivity.cotangent(P, H, d, depth, last)[1]
    gap = abs(np.sum(v * last) - np.sum(turn * dP))
    assert gap <= 1e-13 * np.linalg.norm(v) * np.linalg.norm(last)


def test_a_transposed_system_would_be_seen():
    """H' for H on the way back is wrong by far more than rounding."""
    P, H, d, rng = problem(20, 9)
    last = rng.normal(size=d.shape)
    right = sensitivity.cotangent(P, H, d, 4, last)[1]
    x, wrong = twin_cotangent(P, np.swapaxes(H, 1, 2), d, 4, last)
    assert not close(wrong, right, 1e6)


def test_fitted_is_the_cotangent_of_its_own_error():
    P, H, d, rng = problem(90, 16)
    target = rng.normal(size=d.shape)
    x, dP = sensitivity.fitted(P, H, d, 5, target, 0.25)
    assert close(dP, sensitivity.cotangent(P, H, d, 5, 0.25 * (x - target))[1])


def test_the_bits_do_not_depend_on_the_threads(monkeypatch):
    P, H, d, rng = problem(700, 16)
    target, before = rng.normal(size=d.shape), numba.get_num_threads()
    results = []
    for alone in (True, False):
        monkeypatch.setattr(adjoint_kernel, "small", lambda N, K, depth, alone=alone: alone)
        results.append(sensitivity.fitted(P, H, d, 5, target, 1.0))
        results[-1] += sensitivity.tangent(P, H, d, 5, P)
    for threads in {1, before}:
        numba.set_num_threads(threads)
        results.append(sensitivity.fitted(P, H, d, 5, target, 1.0))
        results[-1] += sensitivity.tangent(P, H, d, 5, P)
    numba.set_num_threads(before)
    for one in results:
        assert all(np.array_equal(a, b) for a, b in zip(one, results[0], strict=True))


def test_blocks_fill_the_cache_and_no_more():
    for K in (1, 8, 16, 64, 128, 500):
        B = adjoint_kernel.block_size(K)
        assert B % 8 == 0 and (B == 8 or 8 * B * K * K <= 2 * adjoint_kernel.CACHE)
    assert adjoint_kernel.chunks(1, 64) == 1 and adjoint_kernel.chunks(10**6, 64) == 8


def test_no_step_moves_nothing():
    P, H, d, rng = problem(5, 4)
    turn, last = rng.normal(size=(4, 4)), rng.normal(size=(5, 4))
    for x, change in (
        sensitivity.tangent(P, H, d, 0, turn),
        sensitivity.cotangent(P, H, d, 0, last),
    ):
        assert not x.any() and not change.any()


def test_a_run_that_overflows_is_not_finite():
    P, H, d, rng = problem(30, 8)
    x, dP = sensitivity.cotangent(1e200 * P, H, d, 6, d)
    assert not np.isfinite(x).any() and not np.isfinite(dP).any()
    assert not np.isfinite(sensitivity.tangent(1e200 * P, H, d, 6, P)[1]).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
@pytest.mark.parametrize("where", ["P", "H", "d", "last", "dP"])
def test_one_bad_entry_is_named(where, depth, bad):
    P, H, d, rng = problem(20, 9)
    given = {"P": P, "H": H, "d": d, "last": d.copy(), "dP": P.copy()}
    given[where].reshape(-1)[40] = bad
    calls = [] if where == "dP" else [(sensitivity.cotangent, "last")]
    calls += [] if where == "last" else [(sensitivity.tangent, "dP")]
    for call, name in calls:
        with pytest.raises(ValueError, match=f"^{where}: "):
            call(given["P"], given["H"], given["d"], depth, given[name])


def test_bad_shapes_are_refused():
    P, H, d, _ = problem(6, 4)
    for wrong, name in (
        ((np.stack([P] * 6), H, d, 2, d), "P"),
        ((P, H[0], d, 2, d), "H"),
        ((P, H, d[:3], 2, d), "d"),
        ((P, H[:0], d[:0], 2, d[:0]), "d"),
        ((P, H, d, -1, d), "depth"),
        ((P, H, d, 2, d[:, :2]), "last"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            sensitivity.cotangent(*wrong)
    with pytest.raises(ValueError, match="^weight: "):
        sensitivity.fitted(P, H, d, 2, d, 0.0)


def test_narrow_and_strided_input_is_the_same_problem():
    P, H, d, rng = problem(12, 10)
    P, H, d = (a.astype(np.float32) for a in (P, H, d))
    wide = [a.astype(np.float64) for a in (P, H, d)]
    expected = sensitivity.cotangent(*wide, 3, wide[2])
    odd = (P[::-1][::-1], np.asfortranarray(H), d)
    for one in (sensitivity.cotangent(P, H, d, 3, d), sensitivity.cotangent(*odd, 3, d)):
        assert all(np.array_equal(a, b) for a, b in zip(one, expected, strict=True))
