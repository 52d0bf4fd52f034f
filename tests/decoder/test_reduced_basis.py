import numpy as np
import pytest

from twofold.decoder import reduced_basis
from twofold.decoder.fast_poisson import FastPoisson
from twofold.encoder.operator import OperatorSystem
from twofold.tasks import families, forcing

FAMILY = families.diffusion(side=15)
MODES = forcing.field(15, axes=2, modes=3)


def system(N, seed=0, spread=0.2):
    rng = np.random.default_rng(seed)
    z = np.clip(spread * rng.standard_normal((N, 4)), -0.7, 2.0)
    return OperatorSystem(FAMILY, z, rng.standard_normal((N, 9)) @ MODES)


SNAPSHOTS = system(150, seed=1).exact()
SYSTEM = system(60, seed=2)


def relative(u, system=SYSTEM):
    x = system.exact()
    return np.linalg.norm(u - x, axis=1) / np.linalg.norm(x, axis=1)


def test_the_basis_is_orthonormal_and_its_error_falls_with_the_rank():
    errors = []
    for rank in (5, 15, 45):
        basis = reduced_basis.fitted(FAMILY, SNAPSHOTS, rank=rank)
        np.testing.assert_allclose(basis.V.T @ basis.V, np.eye(rank), atol=1e-12)
        errors.append(np.max(relative(basis(SYSTEM))))
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_the_galerkin_solution_is_the_best_in_the_energy():
    basis = reduced_basis.fitted(FAMILY, SNAPSHOTS, rank=8)
    u, x = basis(SYSTEM), SYSTEM.exact()
    rng = np.random.default_rng(0)

    def energy(e):
        return np.einsum("nk,nk->n", e, SYSTEM.matvec(e))

    for _ in range(20):
        other = u + 0.01 * rng.standard_normal((60, 8)) @ basis.V.T
        assert np.all(energy(u - x) <= energy(other - x))


def test_a_basis_that_holds_the_solution_finds_it():
    basis = reduced_basis.fitted(FAMILY, SYSTEM.exact(), rank=60)
    assert np.max(relative(basis(SYSTEM))) < 1e-10


@pytest.mark.parametrize("rank", [None, 4, 60])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-9])
def test_every_answer_is_proved_whatever_it_started_from(rank, tolerance):
    start = None if rank is None else reduced_basis.fitted(FAMILY, SNAPSHOTS, rank=rank)
    found = reduced_basis.solve_proved(SYSTEM, FastPoisson(15), tolerance=tolerance, start=start)
    assert found.reached(tolerance).all()
    x, own = SYSTEM.enclosure()
    assert np.all(np.linalg.norm(found.u - x, axis=1) <= found.radius + own)
    assert np.all(found.steps == 0) == (rank == 60 and tolerance == 1e-4)


def test_too_few_steps_leave_an_honest_radius():
    found = reduced_basis.solve_proved(SYSTEM, FastPoisson(15), tolerance=1e-12, most=3)
    assert not found.reached(1e-12).any() and np.all(found.steps == 3)
    gap = np.linalg.norm(found.u - SYSTEM.exact(), axis=1)
    assert np.all(gap <= found.radius) and np.all(found.radius < 100 * gap)


def test_broken_rows_have_no_radius_and_are_alone():
    z, d = SYSTEM.z.copy(), SYSTEM.d.copy()
    z[1], z[2, 0], d[3, 5] = -1.5, np.nan, np.nan
    basis = reduced_basis.fitted(FAMILY, SNAPSHOTS, rank=30)
    broken = OperatorSystem(FAMILY, z, d)
    found = reduced_basis.solve_proved(broken, FastPoisson(15), tolerance=1e-9, start=basis)
    assert np.isinf(found.radius[1:4]).all()
    assert found.reached(1e-9)[[0, *range(4, 60)]].all()


def test_snapshots_that_are_not_finite_are_left_out():
    u = SNAPSHOTS.copy()
    u[::3] = np.nan
    basis = reduced_basis.fitted(FAMILY, u, rank=20)
    assert basis.V.shape == (225, 20)
    few = reduced_basis.fitted(FAMILY, SNAPSHOTS[:7], rank=20)
    assert few.V.shape == (225, 7)
    twice = np.vstack([SNAPSHOTS[:4], 2 * SNAPSHOTS[:4], np.zeros((2, 225))])
    assert reduced_basis.fitted(FAMILY, twice, rank=20).V.shape == (225, 4)


def test_bad_input():
    with pytest.raises(ValueError, match="snapshots: none is finite"):
        reduced_basis.fitted(FAMILY, np.full((3, 225), np.nan), rank=2)
    with pytest.raises(ValueError, match="snapshots: expected shape"):
        reduced_basis.fitted(FAMILY, SNAPSHOTS[:, :-1], rank=2)
    with pytest.raises(ValueError, match="rank: expected a whole number"):
        reduced_basis.fitted(FAMILY, SNAPSHOTS, rank=0)
    for tolerance in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="tolerance"):
            reduced_basis.solve_proved(SYSTEM, FastPoisson(15), tolerance=tolerance)
