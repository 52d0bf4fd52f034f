"""What each preconditioner does to the spectrum it was built for."""

import numpy as np
import pytest

from twofold.decoder import preconditioner as pre
from twofold.encoder.dense import DenseSystem
from twofold.protocol import System
from twofold.tasks import regression


@pytest.fixture(scope="module")
def system():
    tasks = regression.sample(seed=0, dim=12, prompt=48, count=30, ridge=0.05)
    return DenseSystem(tasks.H, tasks.d)


def spectrum(P, H):
    return np.sort(np.linalg.eigvals(P @ H).real, axis=-1)


def test_scalar_is_the_best_multiple(system):
    ends = spectrum(pre.Scalar().matrix(system), system.H)[:, [0, -1]]
    assert np.allclose(ends.sum(axis=1), 2)


def test_blocks_nest_between_jacobi_and_the_inverse(system):
    H = system.H
    diagonal = np.einsum("nii->ni", pre.Jacobi().matrix(system) * H)
    assert np.allclose(diagonal, 1)
    P = pre.BlockJacobi(5).matrix(system)
    for i in (0, 5, 10):
        rows = slice(i, min(i + 5, 12))
        assert np.allclose(P[:, rows, rows] @ H[:, rows, rows], np.eye(len(range(12)[rows])))
    assert np.allclose(pre.BlockJacobi(12).matrix(system), pre.Inverse().matrix(system))


def test_low_rank_turns_the_top_into_ones_and_centres_the_rest(system):
    t = spectrum(pre.LowRank(4).matrix(system), system.H)
    assert np.allclose(np.sort(np.abs(t - 1), axis=1)[:, :4], 0)
    assert np.allclose(t[:, 0] + t[:, -1], 2)
    assert np.allclose(pre.LowRank(0).matrix(system), pre.Scalar().matrix(system))


def test_nystrom_of_full_rank_is_the_inverse_and_of_low_rank_is_exact(system):
    assert np.allclose(pre.Nystrom(12).matrix(system) @ system.H, np.eye(12))
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 3)))[0]
    thin = DenseSystem(((U * [3.0, 2.0, 1.0]) @ U.T)[None] + 1e-13 * np.eye(12), np.zeros((1, 12)))
    P = pre.Nystrom(3).matrix(thin)[0]
    assert np.allclose(U.T @ P @ U, np.diag([1 / 3, 1 / 2, 1.0]), atol=1e-9)


@pytest.mark.parametrize(
    "one", [pre.Scalar(), pre.Jacobi(), pre.BlockJacobi(5), pre.LowRank(3), pre.Nystrom(4),
            pre.Inverse()]
)  # fmt: skip
def test_all_are_symmetric_positive_definite_and_step_by_their_matrix(one, system):
    P = one.matrix(system)
    assert np.array_equal(P, P.swapaxes(1, 2)) and np.linalg.eigvalsh(P).min() > 0
    r = np.random.default_rng(1).normal(size=system.d.shape)
    assert np.allclose(one(system, r), np.einsum("nij,nj->ni", P, r))
    shared = pre.frozen(one, system.H[3]).matrix(system)
    assert np.allclose(shared, P[3], rtol=1e-10)


def test_scaled_centres_any_preconditioner(system):
    P = pre.scaled(pre.Jacobi().matrix(system), system.H)
    assert np.allclose(spectrum(P, system.H)[:, [0, -1]].sum(axis=1), 2)


class Hidden:
    """A system that is never formed."""

    d = np.ones((1, 3))

    def matvec(self, v):
        return v

    def dense(self):
        return None

    def exact(self):
        return None

    def lift(self, x):
        return x


def test_bad_input_names_the_argument(system):
    assert isinstance(Hidden(), System)
    with pytest.raises(ValueError, match="^system"):
        pre.Jacobi().matrix(Hidden())
    with pytest.raises(ValueError, match="^system: H is singular"):
        pre.Inverse().matrix(DenseSystem(np.zeros((1, 3, 3)), np.ones((1, 3))))
    for one in (pre.LowRank(12), pre.Nystrom(13)):
        with pytest.raises(ValueError, match="^rank"):
            one.matrix(system)
    with pytest.raises(ValueError, match="^size"):
        pre.BlockJacobi(0).matrix(system)
    with pytest.raises(ValueError, match="^P"):
        pre.Free(np.full((3, 3), np.nan)).matrix(system)
