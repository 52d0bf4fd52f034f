"""Encoder and decoder together: closed forms against Monte Carlo, the recursion against a run."""

import numpy as np
import pytest

from twofold.tasks import laws
from twofold.tasks.regression import regression_law
from twofold.training import complex_step
from twofold.training.closure import joint, joint_path
from twofold.training.closure.joint_path import Recipe

LAW = regression_law(dim=6, prompt=20, noise=0.3, rank=2, prior=np.array([1.0, 0.4]),
                     target="coefficients", ridge=0.05)  # fmt: skip
RNG = np.random.default_rng(0)
U0 = joint_path.polar(RNG.standard_normal((6, 2)))
P0 = np.array([[1.0, 0.1], [-0.2, 0.8]])


@pytest.mark.parametrize("target", ["projection", "coefficients", "latent"])
def test_moments_and_risk_lie_within_five_standard_errors(target):
    recipe = Recipe(LAW, 0.3, 0.05, target)
    seen = joint_path.sampled(recipe, U0, P0, depth=4, count=40000, seed=0)
    given = {"sigma": LAW.sigma, "loading": laws.loading(LAW), "latent": LAW.prior,
             "prompt": 20, "noise": 0.3}  # fmt: skip
    C, B = joint.moments(U0, target=target, **given)
    for known, (mean, error) in ((C, seen.C), (B, seen.B)):
        assert np.max(np.abs(mean - known) / error) < 5
    for L in range(1, 5):
        risk = joint.risk(U0, P0, ridge=0.05, depth=L, **given)
        assert abs(seen.risk[0][L - 1] - risk) < 5 * seen.risk[1][L - 1]


def test_routes_to_the_risk_agree_and_the_pool_states_its_error():
    s = Recipe(LAW, 1, 1).setting(U0)
    for L in (1, 2, 3):
        words = joint.split(s, P0, ridge=0.05, depth=L)
        case = joint.Case(s.S_U, s.Z_0, s.M, 0.05, np.eye(L + 1)[-1])
        assert "words" in words.route
        assert joint._by_quadrature(P0, case, s) == pytest.approx(words.decoder, rel=1e-11)
        pool = joint.split(s, P0, ridge=0.05, depth=L, engine="pool", count=20000)
        assert abs(pool.decoder - words.decoder) < 5 * pool.standard_error
    assert joint._by_equivalent(P0, joint.Case(s.S_U, s.Z_0, s.M, 0.05, np.eye(2)[-1]), s) == (
        pytest.approx(joint.split(s, P0, ridge=0.05, depth=1).decoder, rel=1e-11)
    )


def test_depth_one_in_closed_form_and_its_minimiser():
    s = Recipe(LAW, 1, 1).setting(U0)
    C, B = s.C, s.B("coefficients")
    star = np.linalg.solve(C, B.T).T
    power = float(np.sum(s.Sigma * s.S_b))
    for P in (P0, star):
        closed = power - 2 * np.sum(P * s.J) + np.trace(s.S_U @ P @ C @ P.T)
        assert joint.split(s, P, depth=1).total == pytest.approx(closed, rel=1e-11)
    best = joint.split(s, star, depth=1).total
    for _ in range(5):
        moved = star + 0.01 * RNG.standard_normal((2, 2))
        assert joint.split(s, moved, depth=1).total > best


def test_the_seeds_split_has_a_cross_term_and_adds_up():
    s = Recipe(LAW, 1, 1).setting(U0)
    for L in (1, 2):
        split = joint.split_at_solution(s, P0, depth=L)
        assert split.total == pytest.approx(joint.split(s, P0, depth=L).total, rel=1e-11)
        assert split.cross != 0 and split.decoder > 0
        n, M, r = 20000, s.M, 2
        A = np.linalg.cholesky(s.S_U)
        X = RNG.standard_normal((n, M, r)) @ A.T
        H = X.swapaxes(1, 2) @ X / M
        z0 = RNG.multivariate_normal(np.zeros(r), s.Z_0, n)
        e = np.sqrt(s.latent_noise) * RNG.standard_normal((n, M))
        d = np.einsum("nij,nj->ni", H, z0) + np.einsum("nmi,nm->ni", X, e) / M
        dagger = np.linalg.solve(H, d[..., None])[..., 0]
        z = np.zeros_like(d)
        for _ in range(L):
            z = z + (d - np.einsum("nij,nj->ni", H, z)) @ P0.T
        cross = 2 * np.einsum("ni,ij,nj->n", z - dagger, s.S_U, dagger - z0)
        assert abs(cross.mean() - split.cross) < 5 * cross.std() / np.sqrt(len(cross))
    with pytest.raises(ValueError, match="M > r"):
        joint.split_at_solution(s, P0, depth=3)


def test_the_recursion_follows_training_and_the_tracking_identity_is_exact():
    for stop, target in ((True, "coefficients"), (False, "latent"), (False, "projection")):
        recipe = Recipe(LAW, 0.3, 0.05, target, stop)
        path = joint_path.predicted(recipe, U0, np.zeros((2, 2)), steps=60)
        U, P = joint_path.trained(recipe, U0, np.zeros((2, 2)), steps=60, batch=4096, seed=0)
        assert np.linalg.norm(P[-1] - path.tracking.P[-1]) < 0.02 * np.linalg.norm(P[-1])
        assert np.linalg.norm(U[-1] - path.U[-1]) < 0.03
        assert path.identity_gap < 1e-14


@pytest.mark.parametrize("target", ["latent", "projection"])
def test_the_leak_is_the_gradient_of_the_decoder_s_loss(target):
    s = Recipe(LAW, 1, 1).setting(U0)

    def loss(U):
        seen = U @ P0.T
        square = np.sum(seen * (s.C_full @ seen))
        if target == "latent":
            cross = np.sum(seen * (s.Sigma @ s.loading @ s.latent))
            return square / 2 - cross
        return square / 2 - np.sum(seen * (s.Sigma @ s.S_b @ U)) + np.sum(U * (s.S_b @ U)) / 2

    got = joint_path._leak(s, P0, target)
    np.testing.assert_allclose(got, complex_step.gradient(loss, U0), atol=1e-13)


def test_what_is_refused():
    given = {"sigma": LAW.sigma, "loading": laws.loading(LAW), "latent": LAW.prior, "prompt": 20}
    with pytest.raises(ValueError, match="orthonormalise"):
        joint.moments(2 * U0, **given)
    with pytest.raises(ValueError, match="target"):
        joint.moments(U0, target="z", **given)
    with pytest.raises(ValueError, match="stop"):
        Recipe(LAW, 1, 1, "coefficients", stop=False)
    with pytest.raises(ValueError, match="rank"):
        Recipe(regression_law(dim=4, prompt=9), 1, 1)
    s = joint.setting(U0, **given)
    with pytest.raises(ValueError, match="no route"):
        joint.split(joint.setting(np.eye(6)[:, :5], **given), np.eye(5), depth=4, engine="exact")
    assert s.floor > 0
