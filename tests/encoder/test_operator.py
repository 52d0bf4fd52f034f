import numpy as np
import pytest

from twofold.encoder.operator import OperatorSystem
from twofold.protocol import System
from twofold.tasks import families

ELLIPTIC = families.elliptic(dim=15, latent=3)
MESH = families.diffusion(side=7, blocks=2)
each = pytest.mark.parametrize("family", [ELLIPTIC, MESH], ids=["tridiagonal", "sparse"])


def system(family, N=30, seed=0):
    rng = np.random.default_rng(seed)
    n, K = family.size
    return OperatorSystem(family, rng.uniform(-0.3, 0.3, (N, K)), rng.standard_normal((N, n)))


@each
def test_it_is_a_system_whose_exact_solution_is_proved(family):
    s = system(family)
    assert isinstance(s, System) and s.dense() is None and len(s) == 30
    x, radius = s.enclosure()
    dense = np.linalg.solve(family.dense(s.z), s.d[..., None])[..., 0]
    assert np.all(np.linalg.norm(x - dense, axis=1) <= radius + 1e-12)
    assert np.all(radius < 1e-10 * np.linalg.norm(x, axis=1))
    np.testing.assert_array_equal(s.lift(x), x)
    np.testing.assert_allclose(s.matvec(x), s.d, atol=1e-9)


@each
def test_the_distance_covers_any_answer(family):
    s = system(family)
    x = s.exact()
    for size in (1e-9, 1e-3, 1.0, 1e6):
        wrong = x + size * np.random.default_rng(1).standard_normal(x.shape)
        assert np.all(np.linalg.norm(wrong - x, axis=1) <= s.distance(wrong))


@each
def test_broken_rows_are_nan_and_alone(family):
    s = system(family)
    z, d = s.z.copy(), s.d.copy()
    z[2], z[3, 1], d[4, 0] = -3.0, np.nan, np.inf
    other = OperatorSystem(family, z, d)
    x, radius = other.enclosure()
    assert [*np.flatnonzero(np.isinf(radius))] == [2, 3, 4] and np.isnan(x[2:5]).all()
    np.testing.assert_array_equal(np.delete(x, [2, 3, 4], 0), np.delete(s.exact(), [2, 3, 4], 0))


def test_bad_input():
    s = system(ELLIPTIC)
    with pytest.raises(ValueError, match="d: expected shape"):
        OperatorSystem(ELLIPTIC, s.z, s.d[:, :-1])
    with pytest.raises(ValueError, match="z: expected shape"):
        OperatorSystem(ELLIPTIC, s.z[:-1], s.d)
    with pytest.raises(ValueError, match="d: nothing to solve"):
        OperatorSystem(ELLIPTIC, s.z[:0], s.d[:0])
