"""`solve`: every method, on matrices, systems and step maps; what it refuses; who falls back."""

import numpy as np
import pytest

from twofold import decoder
from twofold.decoder import krylov, preconditioner, richardson, solving
from twofold.encoder.dense import DenseSystem
from twofold.tasks import regression

METHODS = ("richardson", "heavy_ball", "chebyshev", "pcg", "certified")
FAST = METHODS[1:]


@pytest.fixture(scope="module")
def tasks():
    return regression.sample(seed=1, dim=8, prompt=64, count=60, ridge=0.05)


class Sparse:
    """The same systems, never formed."""

    def __init__(self, H, d):
        self.H, self.d = H, d

    def matvec(self, v):
        return (self.H @ v[..., None])[..., 0]

    def dense(self):
        return None

    def exact(self):
        return None

    def lift(self, x):
        return x


@pytest.mark.parametrize("method", METHODS)
def test_all_ways_to_pose_a_problem_agree(tasks, method):
    H, d, P = tasks.H, tasks.d, 0.8 * np.eye(8)
    ends = None if method in ("richardson", "pcg") else (0.05, 4.0)
    given = dict(method=method, depth=5, interval=ends)
    path = decoder.solve(H, d, P=P, **given)
    assert path.shape == (6, 60, 8) and not path[0].any()
    for system, way in [(DenseSystem(H, d), P), (Sparse(H, d), P),
                        (DenseSystem(H, d), preconditioner.Free(P)),
                        (Sparse(H, d), lambda system, r: 0.8 * r)]:  # fmt: skip
        assert np.allclose(decoder.solve(system, P=way, **given), path, atol=1e-12)
    assert np.allclose(decoder.solve(H, d, P=np.broadcast_to(P, H.shape), **given), path)


@pytest.mark.parametrize("method", FAST)
def test_the_fast_ones_converge_with_their_own_intervals(tasks, method):
    path = decoder.solve(tasks.H, tasks.d, P=np.eye(8), method=method, depth=60)
    x = np.linalg.solve(tasks.H, tasks.d[..., None])[..., 0]
    assert np.abs(path[-1] - x).max() < 1e-6


def test_richardson_is_the_kernel(tasks):
    P = np.eye(8) * 0.5
    path = decoder.solve(tasks.H, tasks.d, P=P, depth=4)
    assert np.array_equal(path.swapaxes(0, 1), richardson.iterates(P, tasks.H, tasks.d, 4))


def test_rows_fall_back_exactly_where_the_interval_misses_the_spectrum(tasks):
    """Too short at the top, heavy ball blows up on the rows that reach beyond it."""
    H, d, P = tasks.H, tasks.d, np.eye(8)
    top = np.linalg.eigvalsh(H)[:, -1]
    ends = (0.9 * float(np.linalg.eigvalsh(H)[:, 0].min()), float(np.median(top)))
    found = solving.solved(H, d, P=P, method="certified", depth=24, interval=ends)
    assert 0 < found.fallen.sum() < 60
    assert not found.fallen[top < ends[1]].any()
    assert found.fallen[top > 1.5 * ends[1]].all()
    kept = decoder.solve(H, d, P=P, method="heavy_ball", depth=24, interval=ends)
    rest = decoder.solve(H, d, P=P, method="pcg", depth=24)
    assert np.array_equal(found.path[:, ~found.fallen], kept[:, ~found.fallen])
    assert np.allclose(found.path[:, found.fallen], rest[:, found.fallen])


def test_rows_fall_back_where_the_interval_starts_too_high(tasks):
    """Nothing blows up there: slow modes only lag behind the envelope, by a factor of ten."""
    ends = (0.5, 1.01 * float(np.linalg.eigvalsh(tasks.H)[:, -1].max()))
    given = dict(P=np.eye(8), method="certified", depth=8)
    found = solving.solved(tasks.H, tasks.d, interval=ends, **given)
    assert found.fallen.mean() > 0.5 and np.isfinite(found.path).all()
    assert not solving.solved(tasks.H, tasks.d, **given).fallen.any()


def test_a_residual_beyond_overflow_falls_back_too(tasks):
    found = solving.solved(
        tasks.H, tasks.d, P=1e6 * np.eye(8), method="certified", depth=64, interval=(0.1, 0.2)
    )
    assert found.fallen.all() and np.isfinite(found.path).all()


def test_bad_rows_come_out_as_nan_and_alone(tasks):
    H, d = tasks.H.copy(), tasks.d.copy()
    H[3, 0, 0], d[5, 1] = np.nan, np.inf
    for method in METHODS:
        path = decoder.solve(H, d, P=np.eye(8) * 0.5, method=method, depth=3)
        bad = ~np.isfinite(path[-1]).all(axis=1)
        assert np.flatnonzero(bad).tolist() == [3, 5]


@pytest.mark.parametrize("method", FAST)
def test_an_indefinite_p_is_refused(tasks, method):
    for P in (-np.eye(8), np.diag([1.0] * 7 + [-1.0]), np.eye(8) + np.triu(np.ones((8, 8)), 1)):
        with pytest.raises(ValueError, match="^P: .* symmetric positive definite"):
            decoder.solve(tasks.H, tasks.d, P=P, method=method, depth=3)


def test_other_refusals(tasks):
    H, d, P = tasks.H, tasks.d, np.eye(8)
    for words, match in [
        (dict(method="newton", depth=1), "^method"),
        (dict(depth=-1), "^depth"),
        (dict(depth=1, interval=(1, 2)), "^interval"),
        (dict(depth=1, method="pcg", interval=(1, 2)), "^interval"),
        (dict(depth=1, method="chebyshev", interval=np.ones((3, 2))), "^interval"),
    ]:
        with pytest.raises(ValueError, match=match):
            decoder.solve(H, d, P=P, **words)
    with pytest.raises(ValueError, match="^d"):
        decoder.solve(H, P=P, depth=1)
    with pytest.raises(ValueError, match="^P"):
        decoder.solve(Sparse(H, d), P=np.eye(3), depth=1)
    with pytest.raises(ValueError, match="^interval: needed"):
        decoder.solve(Sparse(H, d), P=P, method="chebyshev", depth=1)


def test_pcg_needs_no_interval_and_no_matrix(tasks):
    path = decoder.solve(Sparse(tasks.H, tasks.d), P=lambda s, r: r, method="pcg", depth=4)
    sought = krylov.pcg(tasks.d, Sparse(tasks.H, tasks.d).matvec, lambda r: r, 4)
    assert np.array_equal(path, sought)
