import numpy as np
import pytest
import scipy.sparse as sp

from twofold.tasks import families
from twofold.tasks.affine import NOT_ELLIPTIC, SINGULAR, Dense, Sparse, Tridiagonal, combined

FAMILIES = {
    "dense": families.gaussian(seed=0, dim=9, latent=3),
    "tridiagonal": families.elliptic(dim=9, latent=3),
    "sparse": families.diffusion(side=3, blocks=2),
}
each = pytest.mark.parametrize("name", FAMILIES)


def drawn(name, N=20, seed=1):
    family, rng = FAMILIES[name], np.random.default_rng(seed)
    n, K = family.size
    return family, rng.uniform(-0.25, 0.25, (N, K)), rng.standard_normal((N, n))


@each
def test_every_verb_agrees_with_the_dense_matrices(name):
    family, z, v = drawn(name)
    A, scale = family.dense(z), np.abs(family.dense(z)).max()
    product = np.einsum("nij,nj->ni", A, v)
    np.testing.assert_array_equal(A, np.swapaxes(A, 1, 2))
    np.testing.assert_allclose(family.matvec(z, v), product, atol=1e-13 * scale)
    np.testing.assert_allclose(combined(z, family.terms(v)), product, atol=1e-13 * scale)
    f = np.stack([v, 2 * v], axis=1)
    x = family.solve(z, f)
    np.testing.assert_allclose(x[:, 0], np.linalg.solve(A, v[..., None])[..., 0], rtol=1e-10)
    np.testing.assert_allclose(x[:, 1], 2 * x[:, 0], rtol=1e-12)
    unit = np.eye(family.size[1])
    each_k = family.dense(unit) - family.dense(0 * unit)
    np.testing.assert_allclose(
        family.gram(), np.einsum("kij,lij->kl", each_k, each_k), rtol=1e-10, atol=1e-10 * scale
    )


@each
def test_the_operator_is_affine_in_z(name):
    family, z, v = drawn(name)
    zero = family.matvec(0 * z, v)
    twice, once = family.matvec(2 * z, v) - zero, family.matvec(z, v) - zero
    np.testing.assert_allclose(twice, 2 * once, atol=1e-12 * np.abs(zero).max())


@each
def test_operators_that_are_no_operators_are_marked_and_the_others_go_on(name):
    family, z, v = drawn(name)
    z[3] = np.nan
    if name == "dense":
        family = Dense(np.array([np.eye(9), np.eye(9), np.zeros((9, 9)), np.zeros((9, 9))]))
        z[5, 0] = -1.0
    else:
        z[5] = -2.0
    x, why = family.solve(z, v[:, None])[:, 0], family.reasons(z)
    assert [i for i, text in enumerate(why) if text] == [3, 5]
    assert why[5] == (SINGULAR if name == "dense" else NOT_ELLIPTIC)
    assert np.isnan(x[[3, 5]]).all() and np.isfinite(np.delete(x, [3, 5], axis=0)).all()


def test_the_mesh_gives_the_five_point_stencil():
    A = FAMILIES["sparse"].dense(np.zeros((1, 4)))[0] / 16
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(3, 3)).toarray()
    np.testing.assert_array_equal(A, np.kron(line, np.eye(3)) + np.kron(np.eye(3), line))
    for E in FAMILIES["sparse"].E:
        assert np.linalg.eigvalsh(E.toarray())[0] > -1e-12


def test_pieces_of_unequal_width_add_up_to_the_same_laplacian():
    for side, blocks in ((4, 2), (5, 4), (3, 3)):
        family = families.diffusion(side=side, blocks=blocks)
        whole = families.diffusion(side=side, blocks=1)
        zero = np.zeros((1, blocks**2))
        np.testing.assert_array_equal(family.dense(zero), whole.dense(np.zeros((1, 1))))
        assert all(E.nnz for E in family.E)


def test_the_tridiagonal_family_is_the_second_difference():
    A = FAMILIES["tridiagonal"].dense(np.zeros((1, 3)))[0] / 100
    np.testing.assert_array_equal(A, 2 * np.eye(9) - np.eye(9, k=1) - np.eye(9, k=-1))


def test_a_smooth_solution_converges_at_second_order():
    """-(a u')' = f with a = 1 + .3 cos(pi x), u = sin(pi x)."""
    errors = []
    for n in (31, 63, 127):
        x = np.arange(1, n + 1) / (n + 1)
        sine, cosine = np.sin(np.pi * x), np.cos(np.pi * x)
        f = np.pi**2 * ((1 + 0.3 * cosine) * sine + 0.3 * sine * cosine)
        u = families.elliptic(dim=n, latent=1).solve(np.array([[0.3]]), f[None, None])[0, 0]
        errors.append(np.max(np.abs(u - sine)))
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(rates, 2.0, atol=0.02)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Dense(np.eye(3)[None]), "A: expected A_0"),
        (lambda: Dense(np.triu(np.ones((2, 3, 3)))), "A: matrix 0 is not symmetric"),
        (lambda: Tridiagonal(np.ones((1, 5))), "a: expected"),
        (lambda: Tridiagonal(np.full((2, 5), np.nan)), "a: 10 of 10 entries"),
        (lambda: Sparse((sp.eye(3),), np.ones((2, 2))), "a: expected shape"),
        (lambda: Sparse((sp.csc_matrix(np.triu(np.ones((3, 3)))),), np.ones((2, 1))), "symmetric"),
        (lambda: families.diffusion(side=2, blocks=3), "blocks: expected at most"),
        (lambda: families.gaussian(seed=0, dim=0), "dim: expected a whole number"),
        (lambda: families.elliptic(dim=3, latent=True), "latent"),
    ],
)
def test_bad_input(make, why):
    with pytest.raises(ValueError, match=why):
        make()
