import numpy as np
import pytest

from twofold.tasks import gp
from twofold.tasks.matern import Matern
from twofold.tasks.mercer import RBF
from twofold.theorems import posterior_sides, primal_dual


def prompts(N=2000, M=9, R=5, Q=2, seed=0):
    rng = np.random.default_rng(seed)
    Phi, y = rng.standard_normal((N, M, R)), rng.standard_normal((N, M))
    return Phi, y, rng.standard_normal((N, Q, R)), rng.uniform(0.1, 1, R)


@pytest.mark.parametrize(("M", "R"), [(9, 5), (4, 7), (1, 3)])
def test_holds_on_random_prompts_with_a_small_rounding(M, R):
    Phi, y, Phi_q, prior = prompts(M=M, R=R, N=800)
    proof = primal_dual.certify(Phi, y, Phi_q, prior=prior, noise=0.1)
    assert proof.counts["holds"] == 800
    found = gp.posterior(Phi, y, prior=prior, noise=0.1, queries=Phi_q).mean
    assert np.all(proof.rounding <= 1e-9 * np.abs(found).max(axis=1) + 1e-12)
    assert proof.value.max() < 1e-12 and np.any(proof.value > 0)


@pytest.mark.parametrize("basis", [RBF(16), Matern(33)])
@pytest.mark.parametrize("prompt", [16, 64])
def test_the_seeds_prompts_are_below_the_seeds_limit(basis, prompt):
    tasks = gp.sample(seed=0, count=60, prompt=prompt, basis=basis, noise=0.1)
    proof = primal_dual.certify(tasks.Phi, tasks.y, tasks.Phi_q, prior=basis.prior, noise=0.1)
    assert proof.counts["holds"] == 60 and proof.value.max() < 1e-13


def test_attained_where_the_arithmetic_is_exact():
    Phi, y = np.eye(3)[None], np.array([[2.0, -4.0, 8.0]])
    proof = primal_dual.certify(Phi, y, np.eye(3), prior=np.ones(3), noise=1.0)
    assert proof.value[0] == 0.0 and proof.counts["holds"] == 1


@pytest.mark.parametrize("part", ["primal", "dual"])
def test_a_false_statement_is_refused(part, monkeypatch):
    """One of the two systems with another noise: its residual is no longer that of the theorem."""
    Phi, y, Phi_q, prior = prompts(N=50)
    right = getattr(posterior_sides, part)
    monkeypatch.setattr(
        posterior_sides, part, lambda Phi, y, prior, noise: right(Phi, y, prior, noise * (1 + 1e-9))
    )
    proof = primal_dual.certify(Phi, y, Phi_q, prior=prior, noise=0.1)
    assert proof.counts["violated"] >= 49


@pytest.mark.parametrize("size", [5, 9])
def test_the_residual_pays_for_a_wrong_solution(size, monkeypatch):
    """z (5) and c (9) may come from anywhere: what is off by 1e-7 is enclosed, not believed."""
    Phi, y, Phi_q, prior = prompts(N=200)
    exact = primal_dual.certify(Phi, y, Phi_q, prior=prior, noise=0.1)
    solve = posterior_sides.solve

    def wrong(H, d):
        x = solve(H, d)[0]
        return (x * (1 + 1e-4 * np.arange(size)) if d.shape[1] == size else x), None

    monkeypatch.setattr(posterior_sides, "solve", wrong)
    proof = primal_dual.certify(Phi, y, Phi_q, prior=prior, noise=0.1)
    assert proof.counts["holds"] == 200
    assert np.median(proof.value) > 10 * np.median(exact.value)
    monkeypatch.setattr(posterior_sides, "length_upper", lambda v: np.zeros(len(v)))
    assert primal_dual.certify(Phi, y, Phi_q, prior=prior, noise=0.1).counts["violated"] > 150


def test_bad_rows_are_silent_and_extreme_scales_too():
    Phi, y, Phi_q, prior = prompts(N=6)
    Phi[1, 0, 0], y[3, 2] = np.nan, np.inf
    proof = primal_dual.certify(Phi, y, Phi_q, prior=prior, noise=0.1)
    assert list(proof.verdict) == ["holds", "silent", "holds", "silent", "holds", "holds"]
    assert proof.reason[1] == primal_dual.WHY
    for noise in (1e-120, 1e120):
        assert primal_dual.certify(Phi, y, Phi_q, prior=prior, noise=noise).counts["holds"] == 0
    scaled = primal_dual.certify(1e60 * Phi, y, Phi_q, prior=1e-60 * prior, noise=1e20)
    assert scaled.counts["violated"] == 0


def test_ill_conditioned_prompts_hold_with_an_honest_rounding():
    Phi, y, Phi_q, prior = prompts(N=100, M=6, R=6)
    proof = primal_dual.certify(Phi, y, Phi_q, prior=prior, noise=1e-7)
    assert proof.counts["violated"] == 0
    steep = primal_dual.certify(Phi, y, Phi_q, prior=np.geomspace(1, 1e-14, 6), noise=0.01)
    assert steep.counts["holds"] == 100


def test_bad_input():
    Phi, y, Phi_q, prior = prompts(N=3)
    for change, message in (
        ({"prior": np.zeros(5)}, "prior: A needs variances > 0"),
        ({"prior": np.eye(5)}, "prior: expected shape"),
        ({"noise": 0.0}, "noise"),
        ({"Phi_q": Phi_q[:2]}, "Phi_q: expected shape"),
    ):
        given = {"Phi": Phi, "y": y, "Phi_q": Phi_q, "prior": prior, "noise": 0.1} | change
        with pytest.raises(ValueError, match=message):
            primal_dual.certify(**given)
