import numpy as np
import pytest

from twofold.anatomy import take_apart
from twofold.encoder.ridge import Ridge, estimate, normal_equations
from twofold.protocol import EncoderDecoder, Tasks

N, M, K = 5, 12, 4


def draw(seed=0, M=M):
    rng = np.random.default_rng(seed)
    X, beta = rng.standard_normal((N, M, K)), rng.standard_normal((N, K))
    return {"X": X, "y": np.einsum("nmk,nk->nm", X, beta)}, beta


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_samples_become_their_normal_equations(ridge):
    prompt, _ = draw()
    H, c = normal_equations(prompt, ridge)
    for n in range(N):
        X, y = prompt["X"][n], prompt["y"][n]
        np.testing.assert_allclose(H[n], X.T @ X / M + ridge * np.eye(K), rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(c[n], X.T @ y / M, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(H, np.swapaxes(H, 1, 2))


def test_given_normal_equations_are_taken_and_the_ridge_is_added_to_theirs():
    prompt, _ = draw()
    H, c = normal_equations(prompt, 0.1)
    again = normal_equations({"H": H, "d": c, **prompt}, 0.2)
    np.testing.assert_array_equal(again[0], H + 0.2 * np.eye(K))
    np.testing.assert_array_equal(again[1], c)
    np.testing.assert_array_equal(normal_equations({"H": H, "d": c})[0], H)


def test_the_estimate_is_ridge_regression():
    prompt, beta = draw()
    np.testing.assert_allclose(estimate(prompt), beta, rtol=1e-11)
    for n, found in enumerate(estimate(prompt, 0.5)):
        X, y = prompt["X"][n], prompt["y"][n]
        stacked = np.vstack([X, np.sqrt(0.5 * M) * np.eye(K)])
        expected = np.linalg.lstsq(stacked, np.concatenate([y, np.zeros(K)]), rcond=None)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_fewer_samples_than_coordinates_without_ridge_have_no_estimate():
    """A plain solve returns finite numbers here."""
    prompt, _ = draw(M=K - 1)
    assert np.isnan(estimate(prompt)).all()
    assert np.isfinite(estimate(prompt, 1e-3)).all()


def test_a_bad_prompt_is_silent_and_the_others_go_on():
    prompt, beta = draw()
    prompt["X"][1, 0, 0] = np.nan
    prompt["y"][3, 0] = np.inf
    found = take_apart(EncoderDecoder(Ridge(), lambda s: s.d), Tasks(prompt, beta))
    assert list(found.applies) == [True, False, True, False, True]
    assert "encoder returned NaN" in found.reason[1]
    assert np.isfinite(list(found.mean.values())).all()


def test_noise_free_prompts_have_no_floor():
    prompt, beta = draw()
    found = take_apart(EncoderDecoder(Ridge(), lambda s: s.d), Tasks(prompt, beta))
    assert np.max(found.parts["floor"]) < 1e-25 < np.min(found.parts["decoder"])
    assert found.radius is not None and np.max(found.radius) < 1e-12


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ({"H": np.eye(2)[None]}, r"prompt: expected H and d, or X and y, got \['H'\]"),
        ({"X": np.ones((1, 2, 2))}, "prompt: expected H and d, or X and y"),
        ({"X": np.ones((2, 2)), "y": np.ones(2)}, "X: expected 3 axes"),
        ({"X": np.ones((1, 0, 2)), "y": np.ones((1, 0))}, "X: expected .* without an empty axis"),
        ({"X": np.ones((1, 3, 2)), "y": np.ones((1, 2))}, "y: expected shape"),
    ],
)
def test_prompts_that_are_none(prompt, message):
    with pytest.raises(ValueError, match=message):
        Ridge()(prompt)


@pytest.mark.parametrize("ridge", [-1e-9, np.nan, np.inf, "much", 1j])
def test_ridges_that_are_none(ridge):
    with pytest.raises(ValueError, match="ridge"):
        Ridge(ridge)
