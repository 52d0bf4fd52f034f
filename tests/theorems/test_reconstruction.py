"""The logged risk against the rebuilt one, and both against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from twofold.theorems import reconstruction

exactly = np.vectorize(Fraction, otypes=[object])


def log(S=40, N=50, K=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5 * K, K))
    H = X.swapaxes(1, 2) @ X / (5 * K)
    d = (H @ rng.normal(size=(N, K, 1)))[..., 0]
    P = np.linspace(0, 0.8, S)[:, None, None] * (np.eye(K) + 0.1 * rng.normal(size=(S, K, K)))
    return P, H, d


@pytest.mark.parametrize("depth", [0, 1, 4, 9])
def test_holds_on_two_thousand_iterations_to_eleven_digits(depth):
    P, H, d = log()
    proof = reconstruction.certify(P, H, d, depth)
    (risk, _), _ = reconstruction.risks(P, H, d, depth)
    assert proof.counts == {"holds": 40, "violated": 0, "silent": 0}
    assert np.all(proof.bound <= 1e-11 * risk)


def test_each_side_is_within_its_error_of_the_exact_number():
    """x* = e_1 exactly, so that rationals can follow both sides."""
    rng = np.random.default_rng(1)
    P, H = rng.normal(size=(6, 3, 3)), rng.integers(-3, 9, size=(5, 3, 3)) / 4.0
    d, x = H[..., 0].copy(), exactly(np.eye(3)[0])
    sides = reconstruction.risks(P, H, d, 3)
    for s, p in enumerate(P):
        exact = Fraction(0)
        for h in H:
            T, e = exactly(np.eye(3)) - exactly(p) @ exactly(h), x
            for _ in range(3):
                e = T @ e
            exact += np.sum(e * e)
        for risk, error in sides:
            assert abs(Fraction(risk[s]) - exact / 15) <= Fraction(error[s])


def test_equality_case():
    """P = I/2, H = I: the risk is 4^-L |x|^2 / K on both sides."""
    d = np.ones((7, 4))
    (one, _), (two, _) = reconstruction.risks(np.eye(4) / 2, np.tile(np.eye(4), (7, 1, 1)), d, 5)
    assert one[0] == two[0] == pytest.approx(4.0**-5, rel=1e-13)


@pytest.mark.parametrize("lost", [1e-10, 0.1])
def test_a_false_reconstruction_is_violated(monkeypatch, lost):
    true = reconstruction.transport

    def wrong(P, H, e, depth, growth):
        moved, error = true(P, H, e, depth, growth)
        return moved * (1 + lost), error

    monkeypatch.setattr(reconstruction, "transport", wrong)
    P, H, d = log()
    assert reconstruction.certify(P, H, d, 4).counts["violated"] == 40


def test_a_rounding_of_zero_is_refuted(monkeypatch):
    """What the iteration may have drifted is needed: without it the equality fails somewhere."""
    monkeypatch.setattr(reconstruction, "mean_square", lambda a, e, K: (np.mean(a * a) / K, 0.0))
    monkeypatch.setattr(reconstruction, "U", 0.0)
    P, H, d = log()
    assert reconstruction.certify(P, H, d, 4).counts["violated"] > 0


def test_a_system_without_a_solution_silences_the_log():
    P, H, d = log(S=3)
    H[4] = 1.0
    proof = reconstruction.certify(P, H, d, 4)
    assert set(proof.verdict) == {"silent"} and "solved" in proof.reason[0]
    H[4] = np.nan
    assert set(reconstruction.certify(P, H, d, 4).verdict) == {"silent"}


def test_wrong_arguments_are_refused():
    P, H, d = log(S=3)
    for bad, name in (((P[:, :5, :5], H, d), "P"), ((P, H[0], d), "H"), ((P, H, d[:3]), "d")):
        with pytest.raises(ValueError, match=f"^{name}"):
            reconstruction.certify(*bad, 4)
    with pytest.raises(ValueError, match="^H"):
        reconstruction.certify(P, H[:0], d[:0], 4)
    with pytest.raises(ValueError, match="^depth"):
        reconstruction.certify(P, H, d, 1.5)


@pytest.mark.parametrize("side", [0, 1])
def test_what_is_not_known_of_the_solution_is_in_the_error(side):
    """A center off by all of its radius moves both sides by as much as they allow."""
    P, H, d = log(S=1)
    x = np.linalg.solve(H, d[..., None])[..., 0]
    for sign in (-1e-4, 1e-4):
        near = (x + sign * np.eye(6)[0], np.full(len(x), 1e-4))
        exact = reconstruction.norms(P[0], H, d, 3, (x, np.full(len(x), 1e-12)))[side][0]
        norm, error = reconstruction.norms(P[0], H, d, 3, near)[side]
        assert np.all(np.abs(norm - exact) <= error) and np.all(error < 1e-3)
        assert np.any(np.abs(norm - exact) > 1e-9)
