import numpy as np
import pytest
import scipy.sparse as sp

from twofold.measures import coercivity
from twofold.tasks import families
from twofold.tasks.affine import Sparse, Tridiagonal

ELLIPTIC = families.elliptic(dim=15, latent=3)
MESH = families.diffusion(side=7, blocks=2)
each = pytest.mark.parametrize("family", [ELLIPTIC, MESH], ids=["tridiagonal", "sparse"])


def latents(family, N=2000, size=0.3):
    return np.random.default_rng(0).uniform(-size, size, (N, family.size[1]))


@each
def test_the_bound_is_below_every_smallest_eigenvalue(family):
    z = latents(family, 300)
    alpha, true = coercivity.lowest(family, z), np.linalg.eigvalsh(family.dense(z))[:, 0]
    assert np.all(alpha <= true) and np.all(alpha > 0.05 * true)


@each
def test_it_is_attained_where_the_coefficient_is_constant(family):
    zero = np.zeros((1, family.size[1]))
    true = np.linalg.eigvalsh(family.dense(zero))[0, 0]
    alpha = coercivity.lowest(family, zero)[0]
    assert true * (1 - 1e-9) < alpha < true


@each
def test_no_positive_bound_where_the_operator_may_be_singular(family):
    z = latents(family, 5)
    z[1], z[2, 0], z[3] = -1.5, np.nan, 1e300
    alpha = coercivity.lowest(family, z)
    assert list(alpha > 0) == [True, False, False, False, True]


def test_discs_are_below_the_spectrum_and_sharp_for_the_ground_state():
    rng = np.random.default_rng(1)
    for _ in range(200):
        B = rng.standard_normal((6, 6))
        B, w = B + B.T, rng.uniform(0.1, 2.0, 6)
        assert coercivity.gershgorin(B, w) <= np.linalg.eigvalsh(B)[0]
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(20, 20))
    ground = np.sin(np.pi * np.arange(1, 21) / 21)
    true = 4 * np.sin(np.pi / 42) ** 2
    assert true * (1 - 1e-11) < coercivity.gershgorin(line, ground) <= true * (1 + 1e-15)
    assert coercivity.gershgorin(line, np.zeros(20)) == -np.inf


def test_pieces_that_are_not_semidefinite_pay_for_it():
    bent = sp.csc_matrix(np.diag([1.0, 1.0, -0.25]))
    family = Sparse((2 * sp.eye(3, format="csc"), bent), np.array([[1.0, 1.0], [0.0, 1.0]]))
    z = np.array([[0.0], [2.0], [3.0]])
    true = np.linalg.eigvalsh(family.dense(z))[:, 0]
    assert np.all(coercivity.lowest(family, z) <= true)


@each
def test_the_residual_s_bound_covers_twice_the_precision(family):
    z = latents(family, 40)
    rng = np.random.default_rng(2)
    u, f = rng.standard_normal((2, 40, family.size[0]))
    upper = coercivity.residual_upper(family, z, u, f)
    for n in range(40):
        exact = exact_residual(family, z[n], u[n], f[n])
        assert exact <= upper[n] <= exact * (1 + 1e-9)


@each
def test_a_residual_of_rounding_is_not_called_zero(family):
    z = latents(family, 20)
    f = np.random.default_rng(3).standard_normal((20, family.size[0]))
    u = family.solve(z, f[:, None])[:, 0]
    upper = coercivity.residual_upper(family, z, u, f)
    for n in range(20):
        exact = exact_residual(family, z[n], u[n], f[n])
        assert 0 < exact <= upper[n] < 1e-11 * np.linalg.norm(f[n])


def exact_residual(family, z, u, f):
    """||f - A(z) u|| in rational arithmetic."""
    from fractions import Fraction as F

    a = [F(x) + sum(F(c) * F(y) for c, y in zip(z, column, strict=True))
         for x, column in zip(family.a[0], family.a[1:].T, strict=True)]  # fmt: skip
    v, r = [F(x) for x in u], [F(x) for x in f]
    if isinstance(family, Tridiagonal):
        n, ends = len(v), [F(0), *v, F(0)]
        slope = [a[i] * (ends[i + 1] - ends[i]) * (n + 1) ** 2 for i in range(n + 1)]
        r = [x + slope[i + 1] - slope[i] for i, x in enumerate(r)]
    else:
        for c, E in zip(a, family.E, strict=True):
            E = E.tocoo()
            for i, j, x in zip(E.row, E.col, E.data, strict=True):
                r[i] -= c * F(x) * v[j]
    return float(sum(x * x for x in r)) ** 0.5


@each
@pytest.mark.parametrize("power", [-1000, -600, 600, 900])
def test_answers_at_any_scale(family, power):
    z = latents(family, 5)
    f = np.random.default_rng(4).standard_normal((5, family.size[0]))
    one = coercivity.residual_upper(family, z, 0.01 * f, f)
    other = coercivity.residual_upper(family, z, np.ldexp(0.01 * f, power), np.ldexp(f, power))
    np.testing.assert_allclose(other, np.ldexp(one, power), rtol=1e-10)


@each
def test_what_is_not_finite_is_inf(family):
    z = latents(family, 4)
    u, f = np.ones((2, 4, family.size[0]))
    z[0, 0], u[1, 0], f[2, 0] = np.nan, np.inf, np.nan
    upper = coercivity.residual_upper(family, z, u, f)
    assert list(np.isinf(upper)) == [True, True, True, False]
