import dataclasses

import flint
import numpy as np
import pytest

from twofold.theorems import encoder_rate
from twofold.training import trajectory

STEPS = np.array([0, 1, 2, 3, 5, 9, 30, 100, 1000, 10**6])


def path(seed, K=4, r=3, eta=0.5, condition=None, steps=STEPS):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((r, r)))[0]
    condition = condition or 10 ** rng.uniform(0, 4)
    Sigma = (Q * np.geomspace(1, 1 / condition, r)) @ Q.T
    Sigma = (Sigma + Sigma.T) / 2
    G0, Sigma_bz = rng.standard_normal((2, K, r))
    return trajectory.encoder(G0, Sigma, Sigma_bz, eta=eta, steps=steps)


def isotropic(seed, eta=0.3, steps=STEPS):
    G0, Sigma_bz = np.random.default_rng(seed).standard_normal((2, 4, 3))
    return trajectory.encoder(G0, 0.7 * np.eye(3), Sigma_bz, eta=eta, steps=steps)


def test_holds_on_two_thousand_rows():
    proofs = [encoder_rate.certify(path(seed, eta=0.2 + 0.008 * seed)) for seed in range(200)]
    counts = [proof.counts for proof in proofs]
    assert sum(c["violated"] for c in counts) == 0 and sum(c["silent"] for c in counts) == 0
    assert sum(c["holds"] for c in counts) == 2000
    tight = np.concatenate([proof.tightness for proof in proofs])
    assert np.all(tight[::10] == 1) and np.all(tight[tight == tight] <= 1 + 1e-6)


def test_attained_for_an_isotropic_covariance():
    for seed in range(50):
        proof = encoder_rate.certify(isotropic(seed))
        visible = proof.bound > 1e-290
        assert np.all(proof.verdict == "holds")
        np.testing.assert_allclose(proof.tightness[visible], 1, rtol=1e-11)


def test_rounding_is_small_and_needed():
    over = 0
    for seed in range(50):
        proof = encoder_rate.certify(isotropic(seed, steps=np.arange(40)))
        assert np.all(proof.rounding <= 1e-9 * proof.bound[0])
        over += np.sum(proof.value > proof.bound)
    assert over > 100  # a bare comparison would fail


def test_decay_rounding_covers_the_true_norm_and_is_needed():
    """eta lambda near 2: one rounding of the product moves rho^{2s} by 4 s u, not by a few u."""
    flint.ctx.prec = 400
    beyond = 0
    for lam in np.random.default_rng(0).uniform(0.5, 3.0, 200):
        eta = (2 - 5e-7) / lam
        run = trajectory.encoder([[1.0]], [[lam]], [[0.0]], eta=eta, steps=[10**6])
        true = (1 - flint.arb(float(eta)) * flint.arb(float(lam))) ** (2 * 10**6)
        miss = abs(float(true - flint.arb(float(encoder_rate.decay(run)[0]))))
        assert miss <= encoder_rate.decay_rounding(run)[0]
        beyond += miss > 100 * 2.0**-53
    assert beyond > 50


def test_the_error_bar_of_the_curve_is_paid_for():
    for seed in range(20):
        run = path(seed)
        assert np.all(encoder_rate.certify(run).rounding >= run.error_bar)


@pytest.mark.parametrize("slip", [1.02, 1 + 1e-6])
def test_a_faster_rate_is_violated(monkeypatch, slip):
    """rho^{2s} with the exponent a little larger is false where the bound is attained."""
    true = encoder_rate.bound

    def faster(run, start):
        return true(dataclasses.replace(run, s=run.s * slip), start)

    monkeypatch.setattr(encoder_rate, "bound", faster)
    verdict = encoder_rate.certify(isotropic(0)).verdict
    assert list(verdict[1:8]) == ["violated"] * 7


def test_too_long_a_step_is_refused():
    for eta in (2.0, 2.5, 2 * (1 - 1e-17)):
        proof = encoder_rate.certify(path(1, eta=eta, condition=10.0, steps=[0, 5]))
        assert set(proof.verdict) == {"silent"} and proof.reason[0] == encoder_rate.TOO_LONG
    assert encoder_rate.certify(path(1, eta=1.99, condition=10.0)).counts["silent"] == 0


def test_a_singular_covariance_has_rate_one():
    G0 = np.ones((2, 2))
    run = trajectory.encoder(G0, np.diag([1.0, 0.0]), np.diag([1.0, 0.0]), eta=0.5, steps=[0, 9])
    assert encoder_rate.rate(run) == 1 and encoder_rate.certify(run).counts["holds"] == 2


def test_the_dead_beat_step():
    run = trajectory.encoder([[3.0]], [[2.0]], [[1.0]], eta=0.5, steps=[0, 1, 7])
    proof = encoder_rate.certify(run)
    assert list(proof.verdict) == ["holds"] * 3 and list(proof.bound[1:]) == [0, 0]


def test_gradient_flow_is_refused():
    run = trajectory.flow([[3.0]], [[2.0]], [[1.0]], times=[1.0])
    with pytest.raises(ValueError, match="path: expected discrete steps"):
        encoder_rate.certify(run)


def test_a_covariance_that_may_be_singular_is_a_printed_premise():
    """Where rounding cannot tell C from singular, no bar can know P* there."""
    given = ([[1.0, 1e10]], np.diag([1.0, 1e-17]), [[1.0, 0.0]])
    path = trajectory.decoder(*given, eta=0.5, steps=[0, 10])
    c = encoder_rate.certify(path)
    assert c.kind == "assumption" and "singular" in c.premise
    regular = trajectory.decoder(
        [[1.0, 1.0]], np.diag([1.0, 0.5]), [[1.0, 0.0]], eta=0.5, steps=[0]
    )
    assert encoder_rate.certify(regular).kind == "bound"
