"""The batched kernel against its plain NumPy twin, on every shape and on bad input."""

from dataclasses import dataclass

import numpy as np
import pytest

from twofold.decoder import kernel
from twofold.decoder.richardson import Richardson, error_norms, iterate, iterates
from twofold.protocol import System


def twin(P, H, d, depth):
    """All iterates, by the formula."""
    x, out = np.zeros_like(d), [np.zeros_like(d)]
    for _ in range(depth):
        x = x + np.matmul(P, (d - np.matmul(H, x[..., None])[..., 0])[..., None])[..., 0]
        out.append(x)
    return np.stack(out, axis=1)


def systems(N, K, seed=0, own=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4 * K + 4, K))
    H = np.matmul(X.transpose(0, 2, 1), X) / X.shape[1]
    P = 0.5 * np.eye(K) + 0.02 * rng.normal(size=(N, K, K) if own else (K, K))
    x_star = rng.normal(size=(N, K))
    return P, H, np.matmul(H, x_star[..., None])[..., 0], x_star


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("K", [1, 2, 7, 8, 9, 16, 33, 64])
@pytest.mark.parametrize("N", [1, 2, 64, 130])
def test_kernel_matches_its_twin(N, K, own):
    P, H, d, x_star = systems(N, K, own=own)
    expected = twin(P, H, d, 5)
    norms = np.linalg.norm(expected - x_star[:, None], axis=2)
    np.testing.assert_allclose(iterates(P, H, d, 5), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(iterate(P, H, d, 5), expected[:, -1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(error_norms(P, H, d, 5, x_star), norms, rtol=0, atol=1e-13)


def test_no_symmetry_is_assumed():
    rng = np.random.default_rng(3)
    H, P = rng.normal(size=(9, 20, 20)), rng.normal(size=(20, 20))
    d = rng.normal(size=(9, 20))
    np.testing.assert_allclose(iterate(P / 20, H, d, 3), twin(P / 20, H, d, 3)[:, 3], rtol=1e-11)


def test_depth_zero_and_one():
    P, H, d, x_star = systems(5, 6)
    assert not iterate(P, H, d, 0).any()
    np.testing.assert_allclose(iterate(P, H, d, 1), d @ P.T, rtol=1e-13)
    assert error_norms(P, H, d, 0, x_star).shape == (5, 1)


def test_rows_do_not_depend_on_their_neighbours():
    P, H, d, _ = systems(40, 17)
    alone = np.concatenate([iterate(P, H[n : n + 1], d[n : n + 1], 7) for n in range(40)])
    assert np.array_equal(iterate(P, H, d, 7), alone)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("depth", [0, 1, 2, 6])
@pytest.mark.parametrize("where", ["H", "d", "P"])
def test_a_bad_row_comes_out_as_nan_and_alone(where, depth, bad):
    P, H, d, x_star = systems(20, 9, own=where == "P")
    good = iterate(P, H, d, depth)
    {"P": P, "H": H, "d": d}[where].reshape(20, -1)[4, 5] = bad
    x, norms = iterate(P, H, d, depth), error_norms(P, H, d, depth, x_star)
    assert not np.isfinite(x[4]).any() and not np.isfinite(norms[4, -1])
    others = np.arange(20) != 4
    assert np.array_equal(x[others], good[others]) and np.isfinite(norms[others]).all()


def test_same_bits_from_any_layout_and_exact_upcast():
    P, H, d, _ = systems(6, 10)
    P, H, d = (a.astype(np.float32) for a in (P, H, d))
    expected = iterate(*(a.astype(np.float64) for a in (P, H, d)), 4)
    swapped = [a.astype(">f4") for a in (P, H, d)]
    strided = np.asfortranarray(H), d[::-1][::-1]
    assert np.array_equal(iterate(P, H, d, 4), expected)
    assert np.array_equal(iterate(*swapped, 4), expected)
    assert np.array_equal(iterate(P, *strided, 4), expected)


def test_integers_are_taken():
    assert iterate(np.array([[1]]), np.array([[[1]]]), np.array([[3]]), 2).tolist() == [[3.0]]


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_norms_neither_underflow_nor_overflow(scale):
    P, H, d, x_star = systems(4, 9)
    unit = error_norms(P, H, d, 3, x_star)
    np.testing.assert_allclose(error_norms(P, H, d * scale, 3, x_star * scale) / scale, unit, 1e-8)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda P, H, d: (P, H[0], d, 2), "H"),
        (lambda P, H, d: (P, H[:0], d[:0], 2), "d"),
        (lambda P, H, d: (P, H, d[:, :1], 2), "d"),
        (lambda P, H, d: (P[:1], H, d, 2), "P"),
        (lambda P, H, d: (P * np.nan, H, d, 2), "P"),
        (lambda P, H, d: (P, H + 0j, d, 2), "H"),
        (lambda P, H, d: (P, H, d.astype(object), 2), "d"),
        (lambda P, H, d: (P, H, d, -1), "depth"),
        (lambda P, H, d: (P, H, d, 1.5), "depth"),
        (lambda P, H, d: (P[:0, :0], H[:, :0, :0], d[:, :0], 2), "d"),
    ],
)
def test_bad_input_names_the_argument(change, word):
    P, H, d, _ = systems(3, 4)
    with pytest.raises(ValueError, match=rf"^{word}"):
        iterate(*change(P, H, d))
    with pytest.raises(ValueError, match="x_star"):
        error_norms(P, H, d, 2, d[:1])


@dataclass
class Implicit:
    """A System that never forms H."""

    H: np.ndarray
    d: np.ndarray
    formed: bool

    def matvec(self, v):
        return np.matmul(self.H, v[..., None])[..., 0]

    def dense(self):
        return self.H if self.formed else None

    def exact(self):
        return None

    def lift(self, x):
        return x


@pytest.mark.parametrize("own", [False, True])
def test_decoder_runs_on_dense_and_on_implicit_systems(own):
    P, H, d, _ = systems(11, 12, own=own)
    decoder = Richardson(P, 6)
    formed, implicit = Implicit(H, d, True), Implicit(H, d, False)
    assert isinstance(implicit, System)
    np.testing.assert_allclose(decoder(formed), decoder(implicit), atol=1e-13)
    x = iterate(P, H, d, 2)
    np.testing.assert_allclose(x + decoder.step(implicit, x), iterate(P, H, d, 3), atol=1e-13)
    assert decoder.matrix(formed) is P


def test_blocks_fit_the_cache_and_are_odd():
    for K in (1, 16, 64, 100, 256, 2048):
        B = kernel.block_size(K)
        assert B % 6 == 3
        assert B == 3 or 8 * K * K * B <= kernel.CACHE
