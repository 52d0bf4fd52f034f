import numpy as np
import pytest

from twofold.measures import overlaps
from twofold.theorems import davis_kahan as dk

FORMS = ("separation", "population gap", "residual")


def tasks(count=2000, K=6, prompt=80, seed=0):
    """Random covariances, each with its own spectrum and basis, and a sample covariance of each."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((count, K, K)))[0]
    root = Q * np.exp(rng.uniform(-2, 1, (count, 1, K)))
    sigma = root @ np.swapaxes(root, 1, 2)
    X = rng.standard_normal((count, prompt, K)) @ np.swapaxes(root, 1, 2)
    estimate = np.swapaxes(X, 1, 2) @ X / prompt
    return sigma, estimate


def by_form(sigma, estimate, rank):
    return dict(zip(FORMS, dk.certify(sigma, estimate, rank), strict=True))


def plane(theta):
    return np.array([[np.cos(theta)], [np.sin(theta)]])


def test_all_three_forms_hold_on_two_thousand_tasks():
    sigma, estimate = tasks()
    found = by_form(sigma, estimate, 2)
    for form, proof in found.items():
        assert proof.counts["violated"] == 0, form
        assert np.array_equal(proof.verdict == "silent", ~proof.applies), form
        assert np.max(proof.rounding[proof.applies]) < 1e-9
    assert found["population gap"].counts["silent"] == 0
    assert found["residual"].counts["holds"] > 1500
    spoken = np.logical_and.reduce([proof.applies for proof in found.values()])
    sharp = {form: np.median(proof.tightness[spoken]) for form, proof in found.items()}
    assert sharp["residual"] > sharp["separation"] > sharp["population gap"]


def test_the_value_is_the_sine_between_the_top_subspaces():
    sigma, estimate = tasks(50)
    V = np.linalg.eigh(sigma)[1][:, :, -2:]
    U = np.linalg.eigh(estimate)[1][:, :, -2:]
    value = by_form(sigma, estimate, 2)["residual"].value
    assert np.allclose(value**2, overlaps.sin2_norm(U, V), atol=1e-13)


def test_the_bounds_are_the_formulas():
    sigma, estimate = tasks(50, seed=5)
    mine, theirs = np.linalg.eigvalsh(sigma)[:, ::-1], np.linalg.eigvalsh(estimate)[:, ::-1]
    error = np.linalg.norm(estimate - sigma, 2, axis=(1, 2))
    separation = np.maximum(theirs[:, 1] - mine[:, 2], mine[:, 1] - theirs[:, 2])
    found = by_form(sigma, estimate, 2)
    said = found["separation"].applies
    assert np.allclose(found["separation"].bound[said], (error / separation)[said], rtol=1e-9)
    gap = mine[:, 1] - mine[:, 2]
    assert np.allclose(found["population gap"].bound, 2 * error / gap, rtol=1e-9)


def test_separation_is_attained():
    """E = s (the reflection that swaps U with e2): sin = s = ||E||, separation 1."""
    theta = np.array([1e-6, 1e-3, 0.3, 0.9, 1.4])
    sigma = np.diag([1.0, 0.0])
    c, s = np.cos(theta), np.sin(theta)
    axis = np.stack([c, s - 1], axis=1)  # the reflection's normal: U - e2
    axis /= np.linalg.norm(axis, axis=1)[:, None]
    swap = np.eye(2) - 2 * axis[:, :, None] * axis[:, None, :]
    proof = by_form(sigma, sigma + s[:, None, None] * swap, 1)["separation"]
    assert np.allclose(proof.value, s, rtol=1e-9)
    assert np.allclose(proof.tightness, 1, atol=1e-8)
    assert proof.counts["holds"] == len(theta)


def test_population_gap_is_attained_in_the_limit():
    """||E|| = gap/2 + eta turns the top vector by 90 degrees; the bound is 1 + 2 eta."""
    eta = 1e-6
    proof = by_form(np.diag([1.0, 0.0]), np.diag([0.5 - eta, 0.5 + eta])[None], 1)["population gap"]
    assert proof.value[0] == pytest.approx(1)
    assert proof.tightness[0] == pytest.approx(1 / (1 + 2 * eta), abs=1e-12)
    assert proof.verdict[0] == "holds"


def test_residual_is_the_tangent_in_the_plane():
    """With Sigma = diag(1, 0) the bound is tan(theta) exactly: sharp as theta -> 0."""
    theta = np.array([1e-5, 0.1, 0.7])
    U = np.stack([plane(t) for t in theta])
    proof = by_form(np.diag([1.0, 0.0]), U @ np.swapaxes(U, 1, 2), 1)["residual"]
    assert np.allclose(proof.bound, np.tan(theta), rtol=1e-9)
    assert np.allclose(proof.value, np.sin(theta), rtol=1e-9)
    assert proof.counts["holds"] == 3


@pytest.mark.parametrize("epsilon", (0.01, 0.1, 0.3, 0.49))
def test_the_seeds_form_is_refuted_in_two_dimensions(epsilon):
    """E = eps [[-c, s], [s, c]], c = 2 eps: sin(2 theta) = 2 eps, so sin(theta) > eps."""
    c = 2 * epsilon
    s = np.sqrt(1 - c * c)
    sigma, E = np.diag([1.0, 0.0]), epsilon * np.array([[-c, s], [s, c]])
    found = by_form(sigma, (sigma + E)[None], 1)
    seed = dk.seed_bound(epsilon, 1.0)
    value = found["residual"].value[0]
    assert value == pytest.approx(np.sin(0.5 * np.arcsin(2 * epsilon)), rel=1e-6)
    assert value > seed * (1 + epsilon**2 / 4)
    assert all(proof.counts["violated"] == 0 for proof in found.values())


def test_with_lambda_r_in_place_of_the_ritz_value_the_residual_form_is_false():
    theta = 1.2
    sigma, U = np.diag([1.0, 0.0]), plane(1.2)
    M = U.T @ sigma @ U
    wrong = np.linalg.norm(sigma @ U - U @ M, 2) / (1.0 - 0.0)
    assert np.sin(theta) > wrong
    assert by_form(sigma, (U @ U.T)[None], 1)["residual"].verdict[0] == "holds"


def test_a_closed_gap_is_silent_with_its_reason():
    sigma = np.stack([np.diag([1.0, 1.0, 0.5]), np.diag([1.0, 0.2, 0.1])])
    estimate = np.stack([np.diag([1.1, 0.9, 0.5]), np.diag([1.0, 0.2, 0.1])])
    for proof in dk.certify(sigma, estimate, 1):
        assert proof.verdict.tolist() == ["silent", "holds"]
        assert ("gap" in proof.reason[0]) or ("rounding" in proof.reason[0])
        assert proof.reason[1] == ""
    crossed = by_form(np.diag([1.0, 0.9]), np.diag([0.9, 1.0])[None], 1)
    assert crossed["separation"].verdict[0] == "holds"  # sin = 1 = 0.1 / (1 - 0.9)
    assert crossed["separation"].tightness[0] == pytest.approx(1)
    assert crossed["residual"].verdict[0] == "silent"
    assert crossed["residual"].reason[0] == dk.SILENT[0]


def test_an_unresolved_gap_is_silent():
    sigma = np.diag([1.0, 1.0 - 2.0**-53, 0.5])
    for proof in dk.certify(sigma, sigma[None], 1):
        assert proof.verdict[0] == "silent"
        assert np.isinf(proof.bound[0])


def test_equal_matrices_hold_by_their_rounding_alone():
    """Sine and bound are both of rounding size: without the rounding term some rows would fail."""
    sigma, _ = tasks(500, seed=3)
    for proof in dk.certify(sigma, sigma, 2)[:2]:
        assert proof.counts["violated"] == 0
        assert np.any(proof.value > proof.bound)


@pytest.mark.parametrize("scale", (1e-300, 1e-150, 1.0, 1e150, 1e300))
def test_scale_changes_nothing(scale):
    sigma, estimate = tasks(20, seed=4)
    for proof, plain in zip(
        dk.certify(scale * sigma, scale * estimate, 2), dk.certify(sigma, estimate, 2), strict=True
    ):
        assert proof.counts["violated"] == 0
        both = proof.applies & plain.applies
        assert np.array_equal(proof.applies, plain.applies)
        loss = 1e-9 if scale > 1e-200 else 1e-2  # underflow is paid for near 2^-1022
        assert np.allclose(proof.bound[both], plain.bound[both], rtol=loss)
        assert np.all(proof.bound[both] >= plain.bound[both] * (1 - 1e-9))


def test_bad_input_is_named():
    good = np.eye(3)[None]
    for sigma, estimate, rank, name in (
        (np.eye(2), good, 1, "sigma"),
        (np.eye(3) * np.nan, good, 1, "sigma"),
        (np.eye(3), good * 1j, 1, "estimate"),
        (np.eye(3), np.eye(3), 1, "estimate"),
        (np.eye(3), np.zeros((0, 3, 3)), 1, "estimate"),
        (np.eye(3), good, 3, "rank"),
        (np.eye(3), good, 0, "rank"),
        (np.eye(3), good, 1.5, "rank"),
        (np.eye(1), np.eye(1)[None], 1, "rank"),
        (np.array([[1.0, 1e-3], [0, 1]]), np.eye(2)[None], 1, "sigma"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            dk.certify(sigma, estimate, rank)
