import numpy as np
import pytest

from twofold.tasks import families, forcing, pde
from twofold.tasks.affine import NOT_ELLIPTIC

GAUSSIAN = families.gaussian(seed=3)


def test_the_pairs_and_the_query_solve_their_operator():
    tasks = pde.sample(GAUSSIAN, seed=0, count=100)
    A = GAUSSIAN.dense(tasks.latent)
    for i in range(8):
        product = np.einsum("nij,nj->ni", A, tasks.u[:, i])
        np.testing.assert_allclose(product, tasks.f[:, i], atol=1e-13)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", A, tasks.truth), tasks.query, atol=1e-13)
    assert tasks.u.shape == (100, 8, 16) and tasks.scale == 1 / 16
    assert not any(tasks.facts["reason"]) and tasks.facts["forcing"] == "white"


def test_the_seed_s_family_has_the_size_that_was_declared():
    norms = np.linalg.norm(GAUSSIAN.A[1:], axis=(1, 2))
    np.testing.assert_allclose(norms, 0.25 * 4.0, rtol=1e-14)
    np.testing.assert_array_equal(GAUSSIAN.A[0], 2 * np.eye(16))
    tasks = pde.sample(GAUSSIAN, seed=0, count=5000, pairs=1)
    np.testing.assert_allclose(np.cov(tasks.latent.T), 0.25 * np.eye(4), atol=0.02)
    np.testing.assert_allclose(np.cov(tasks.query.T), np.eye(16), atol=0.09)


def test_a_task_does_not_hang_on_the_count_and_seeds_differ():
    few, many = (pde.sample(GAUSSIAN, seed=5, count=n, pairs=2) for n in (70, 150))
    for name in ("u", "f", "query"):
        np.testing.assert_array_equal(few.prompt[name], many.prompt[name][:70])
    np.testing.assert_array_equal(few.ids, many.ids[:70])
    other = pde.sample(GAUSSIAN, seed=6, count=70, pairs=2)
    assert not np.any(other.latent == few.latent)
    assert not set(other.ids) & set(few.ids)


def test_no_operator_is_shifted_drawn_again_or_hidden():
    family = families.elliptic(dim=7, latent=2)
    tasks = pde.sample(family, seed=0, count=400, pairs=1, spread=0.6)
    bad = (family.coefficient(tasks.latent) <= 0).any(axis=1)
    assert 5 < bad.sum() < 200
    assert [text == NOT_ELLIPTIC for text in tasks.facts["reason"]] == list(bad)
    np.testing.assert_array_equal(np.isnan(tasks.truth).all(axis=1), bad)
    np.testing.assert_allclose(np.std(tasks.latent), 0.6, rtol=0.1)


def test_a_field_is_smooth_and_has_unit_variance():
    for axes, n in ((1, 63), (2, 15)):
        modes = forcing.field(n, axes=axes, modes=6)
        np.testing.assert_allclose(np.mean(np.sum(modes**2, axis=0)), 1.0, rtol=1e-14)
        gram = modes @ modes.T / (n + 1) ** axes
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-14)
        assert np.all(np.diff(np.diag(gram)[:6]) < 0)
    tasks = pde.sample(families.elliptic(dim=63), seed=0, count=3000, pairs=1, spread=0.1,
                       forcing=forcing.field(63))  # fmt: skip
    np.testing.assert_allclose(
        np.cov(tasks.query.T), forcing.field(63).T @ forcing.field(63), atol=0.15
    )
    assert tasks.facts["forcing"] == "field"


def test_the_field_s_spectrum_is_that_of_matern():
    """mu_j / mu_1 by its formula, j pi the frequency of mode j."""
    modes = forcing.field(31, modes=5, length=0.2, smoothness=2.5)
    weight = np.sum(modes**2, axis=1)
    mu = (0.2**-2 + (np.pi * np.arange(1, 6)) ** 2) ** -3.0
    np.testing.assert_allclose(weight / weight[0], mu / mu[0], rtol=1e-13)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"count": 0}, "count: expected a whole number"),
        ({"pairs": 0}, "pairs: expected a whole number"),
        ({"spread": -1.0}, "spread: a standard deviation"),
        ({"spread": np.nan}, "spread: 1 of 1 entries"),
        ({"forcing": np.ones((2, 5))}, "forcing: expected shape"),
        ({"forcing": np.ones((0, 16))}, "forcing: no mode"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_input(change, why):
    given = {"seed": 0, "count": 2, "pairs": 1} | change
    with pytest.raises(ValueError, match=why):
        pde.sample(GAUSSIAN, **given)


def test_a_law_without_one_usable_operator_is_refused():
    from twofold.tasks.affine import Tridiagonal

    with pytest.raises(ValueError, match="no z of 5 gives a usable operator"):
        pde.sample(Tridiagonal(-np.ones((2, 4))), seed=0, count=5, spread=0.0)
    for wrong in ({"axes": 3}, {"modes": 9}, {"length": 0.0}, {"smoothness": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            forcing.field(8, **wrong)
