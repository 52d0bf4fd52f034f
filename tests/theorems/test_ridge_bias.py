from dataclasses import replace

import numpy as np
import pytest

from twofold.theorems import ridge_bias


def draw(seed=0, count=2000, r=4, m=16, ridge=1e-3):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((count, m, r)) * np.geomspace(1, 0.03, r) / np.sqrt(m)
    H = np.swapaxes(G, 1, 2) @ G
    return 0.5 * (H + np.swapaxes(H, 1, 2)) + ridge * np.eye(r), rng.standard_normal((count, r))


@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 1.0])
def test_holds_on_two_thousand_tasks_and_needs_its_rounding(ridge):
    H, z = draw(ridge=ridge)
    proof = ridge_bias.certify(H, z, ridge)
    assert proof.counts == {"holds": 2000, "violated": 0, "silent": 0}
    without = replace(proof, bound=0 * proof.bound, rounding=0 * proof.rounding)
    assert without.counts["violated"] > 1000
    assert np.max(proof.rounding / np.linalg.norm(z, axis=1)) < 1e-9


def steep(count=50, r=20):
    rng = np.random.default_rng(6)
    Q = np.linalg.qr(rng.standard_normal((count, r, r)))[0]
    H = (Q * np.logspace(0, -5, r)) @ np.swapaxes(Q, 1, 2)
    return 0.5 * (H + np.swapaxes(H, 1, 2)), rng.standard_normal((count, r))


@pytest.mark.parametrize("scale", [1e-290, 1e-200, 1e-170, 1e170, 1e290])
def test_squares_that_underflow_or_overflow_cost_nothing(scale):
    H, z = steep()
    proof = ridge_bias.certify(scale * H, z, 1e-7 * scale)
    assert proof.counts["holds"] == 50
    assert np.min(proof.value) > 1e-14 and np.max(proof.rounding) < 1e-8


@pytest.mark.parametrize("power", [-900, -700, -560, 560, 900])
def test_powers_of_two_change_neither_gap_nor_rounding(power):
    H, z = steep()
    one = ridge_bias.certify(H, z, 1e-7)
    other = ridge_bias.certify(np.ldexp(H, power), z, np.ldexp(1e-7, power))
    small = ridge_bias.certify(H, np.ldexp(z, -600), 1e-7)
    np.testing.assert_array_equal(other.value, one.value)
    np.testing.assert_array_equal(small.value, np.ldexp(one.value, -600))
    np.testing.assert_allclose(other.rounding, one.rounding, rtol=1e-12)
    np.testing.assert_allclose(small.rounding, np.ldexp(one.rounding, -600), rtol=1e-12)


def test_products_that_underflow_are_inside_the_rounding():
    """The system loses most of its digits in c = A z, and says so."""
    H, z = steep()
    proof = ridge_bias.certify(1e-160 * H, 1e-160 * z, 1e-167)
    assert proof.counts["holds"] == 50
    assert np.max(proof.value / np.linalg.norm(1e-160 * z, axis=1)) > 1e-3


def test_products_that_all_underflow_one_way_are_inside_the_rounding():
    """Every product off the diagonal is 0.49 of the smallest float, and lost."""
    H = np.ldexp(64 * np.eye(20) + 1.0, -500)[None]
    proof = ridge_bias.certify(H, np.full((1, 20), np.ldexp(0.49, -574)), 0.0)
    assert proof.counts["holds"] == 1 and proof.value[0] > 0.1 * np.ldexp(1.0, -574)


def test_attained_where_the_arithmetic_is_exact():
    H = np.broadcast_to(np.diag([2.0, 4.0, 8.0]), (1, 3, 3))
    z = np.array([[16.0, -8.0, 64.0]])
    proof = ridge_bias.certify(H, z, 1.0)
    assert proof.value[0] == 0.0 and proof.counts["holds"] == 1
    np.testing.assert_array_equal(ridge_bias.bias(H, z, 1.0), [[-8.0, 2.0, -8.0]])


def test_the_bias_is_what_ridge_regression_on_noise_free_samples_has():
    rng = np.random.default_rng(1)
    G, z = rng.standard_normal((12, 3)), rng.standard_normal(3)
    stacked = np.vstack([G, np.sqrt(0.1) * np.eye(3)])
    z_enc = np.linalg.lstsq(stacked, np.concatenate([G @ z, np.zeros(3)]), rcond=None)[0]
    found = ridge_bias.bias((G.T @ G + 0.1 * np.eye(3))[None], z[None], 0.1)
    np.testing.assert_allclose(found[0], z_enc - z, rtol=1e-10)


@pytest.mark.parametrize("form", ["noise", "wrong ridge"])
def test_a_false_statement_is_refused(form, monkeypatch):
    H, z = draw(2, count=100)
    if form == "noise":
        exact = ridge_bias.noise_free
        monkeypatch.setattr(ridge_bias, "noise_free", lambda H, z, ridge: exact(H, z, ridge) + 1e-9)
    else:
        monkeypatch.setattr(
            ridge_bias, "noise_free", lambda H, z, ridge: (H @ z[..., None])[..., 0]
        )
    assert ridge_bias.certify(H, z, 1e-3).counts["violated"] == 100


def test_singular_and_broken_rows_are_silent():
    H, z = draw(3, count=5)
    H[1] = 1.0
    H[2, 0, 0] = np.nan
    z[3, 1] = np.inf
    proof = ridge_bias.certify(H, z, 1e-3)
    assert list(proof.verdict) == ["holds", "silent", "silent", "silent", "holds"]
    assert proof.reason[1] == ridge_bias.NOT_INVERTIBLE


def test_the_norm_of_the_inverse_is_covered():
    H, _ = draw(4, count=300)
    true = 1 / np.linalg.eigvalsh(H)[:, 0]
    bound = ridge_bias.inverse_norm(H)
    hilbert = 1.0 / (1 + np.add.outer(np.arange(14), np.arange(14)))
    for singular in (np.ones((4, 4)), hilbert):
        assert ridge_bias.inverse_norm(singular[None])[0] == np.inf
    assert np.all(bound >= true * (1 - 1e-12)) and np.all(bound < true * (1 + 1e-8))


def test_bad_input():
    H, z = draw(5, count=2)
    with pytest.raises(ValueError, match="z: expected shape"):
        ridge_bias.certify(H, z[:, :2], 0.1)
    with pytest.raises(ValueError, match="ridge"):
        ridge_bias.certify(H, z, -0.1)
    H[0, 0, 1] += 1e-3
    with pytest.raises(ValueError, match="H.*not symmetric"):
        ridge_bias.certify(H, z, 0.1)
