"""Paths of every family: against training on fresh batches, and what is read off them."""

import numpy as np
import pytest

from twofold.decoder import richardson
from twofold.learned.flexformer import Flexformer
from twofold.learned.free import Free
from twofold.protocol import Law
from twofold.tasks import moments, samplers
from twofold.tasks.regression import regression_law
from twofold.training import closure, trajectory
from twofold.training.closure import case as cases
from twofold.training.closure import observed, pool


def test_depth_one_is_the_linear_recursion():
    law = regression_law(dim=6, prompt=24, ridge=0.01)
    known = moments.of(law).full()
    run = closure.path(np.zeros(36), Free(6), law, depth=1, eta=0.3, steps=40, times=[0, 7, 40])
    want = trajectory.decoder(np.zeros((6, 6)), known.C, known.B, eta=0.3, steps=[0, 7, 40])
    np.testing.assert_allclose(run.P, want.P, atol=1e-12)
    np.testing.assert_allclose(run.risk, known.floor + want.excess, rtol=1e-11)


def test_a_flexformer_in_a_turned_basis_follows_its_prediction():
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    law = Law(Q * np.logspace(0, -1, 6) @ Q.T, 24, 1e-3)
    model = Flexformer(6, scale=0.3)
    start = model.start(0)
    run = closure.path(start, model, law, depth=2, eta=0.1, steps=30, times=[0, 10, 30])
    assert run.choice.drift == "exact" and np.all(np.diff(run.risk) < 0)
    seen = observed.train(start, model, law, depth=2, eta=0.1, steps=30, batch=2048, seed=0,
                          times=[0, 10, 30])  # fmt: skip
    P = np.array([model.matrix(t) for t in seen])
    gap = np.linalg.norm(P - run.P, axis=(1, 2)) / np.linalg.norm(run.P, axis=(1, 2))
    assert gap.max() < 5e-3


def test_engines_agree_on_the_path_within_one_percent():
    law = regression_law(dim=32, prompt=128, ridge=1e-3)
    runs = {
        engine: closure.path(
            np.zeros(32),
            closure.Diagonal(32),
            law,
            depth=3,
            eta=0.2,
            steps=40,
            engine=engine,
            times=[20],
        )  # fmt: skip
        for engine in ("exact", "equivalent", "corrected")
    }
    for engine in ("equivalent", "corrected"):
        gap = np.linalg.norm(runs[engine].P - runs["exact"].P) / np.linalg.norm(runs["exact"].P)
        assert gap < 0.01


def test_a_diagonal_path_is_the_free_path():
    law = regression_law(dim=4, prompt=16, ridge=0.01)
    one = closure.path(np.zeros(4), closure.Diagonal(4), law, depth=2, eta=0.2, steps=20)
    two = closure.path(np.zeros(16), Free(4), law, depth=2, eta=0.2, steps=20)
    assert np.abs(two.P - np.array([np.diag(p) for p in one.P])).max() < 1e-12
    order = two.order_parameters()
    assert np.abs(order["skew"]).max() < 1e-12 and order["distance"][0] == pytest.approx(1.0)


def test_momentum_and_adam_move_and_momentum_zero_is_descent():
    law = regression_law(dim=4, prompt=16)
    given = {"depth": 2, "eta": 0.05, "steps": 30}
    plain = closure.path(np.zeros(4), closure.Diagonal(4), law, **given)
    still = closure.path(
        np.zeros(4), closure.Diagonal(4), law, rule="momentum", momentum=0, **given
    )
    np.testing.assert_array_equal(plain.P, still.P)
    for rule in ("momentum", "adam"):
        run = closure.path(np.zeros(4), closure.Diagonal(4), law, rule=rule, **given)
        assert run.risk[-1] < run.risk[0]
    with pytest.raises(ValueError, match="rule"):
        closure.path(np.zeros(4), closure.Diagonal(4), law, rule="newton", **given)


def test_the_stability_limit_of_eta_is_where_descent_leaves():
    law = regression_law(dim=4, prompt=40, ridge=0.01)
    model = closure.Diagonal(4)
    end = closure.path(np.full(4, 0.9), model, law, depth=1, eta=0.5, steps=800, times=[800])
    curvature, _ = closure.modes(end.theta[-1], model, law, depth=1)
    np.testing.assert_allclose(curvature, np.sort(np.diagonal(moments.of(law).full().C)), rtol=1e-6)
    limit = 2 / curvature[-1]
    for eta, stable in ((0.98 * limit, True), (1.02 * limit, False)):
        run = closure.path(end.theta[-1] + 1e-6, model, law, depth=1, eta=eta, steps=400)
        assert (run.risk[-1] <= run.risk[0]) == stable


def test_a_run_that_diverges_says_so_and_stays():
    law = regression_law(dim=4, prompt=16)
    run = closure.path(np.zeros(4), closure.Diagonal(4), law, depth=3, eta=50.0, steps=40)
    assert np.isnan(run.risk[-1]) and run.time_to(-1.0) is None
    assert run.time_to(run.risk[0]) == 0.0


def test_best_depth_and_eta_by_predicted_risk():
    law = regression_law(dim=4, prompt=16)
    table = closure.compared(np.zeros(4), closure.Diagonal(4), law, depths=(1, 2),
                             etas=(0.1, 0.3, 60.0), steps=20)  # fmt: skip
    assert table.shape == (2, 3) and np.isinf(table[1, 2]) and table[1, 1] < table[0, 0]


def test_what_has_no_closed_moments_goes_to_the_pool_with_its_reason():
    uniform = regression_law(dim=4, prompt=24, kurtosis=-1.2)
    run = closure.path(np.zeros(4), closure.Diagonal(4), uniform, depth=2, eta=0.1, steps=5)
    assert run.choice.drift == "pool" and "kurtosis" in run.choice.reason
    noisy = regression_law(dim=4, prompt=24, noise=0.2, target="coefficients")
    run = closure.path(np.zeros(16), Free(4), noisy, depth=2, eta=0.1, steps=5, count=512)
    assert "depends on H" in run.choice.reason and run.risk[-1] < run.risk[0]
    deep = closure.path(np.zeros(6), closure.Diagonal(6), regression_law(dim=6, prompt=24),
                        depth=6, eta=0.02, steps=2, count=512)  # fmt: skip
    assert deep.choice.drift == "pool" and "no exact route" in deep.choice.reason
    with pytest.raises(ValueError, match="use engine 'pool'"):
        closure.risk(np.ones(4), sigma=np.ones(4), prompt=9, depth=2, kurtosis=1.0)


def test_the_pool_agrees_with_the_exact_engine_and_control_variates_help():
    law = regression_law(dim=8, prompt=40, ridge=0.01)
    P, case = cases.of(np.full(8, 0.8), sigma=law.sigma, prompt=40, ridge=0.01, depth=3)
    found = pool.draw(law, case, count=4000, seed=0).estimate(P)
    exact = closure.risk(P, sigma=law.sigma, prompt=40, ridge=0.01, depth=3)
    assert abs(found.value - exact) < 5 * found.standard_error
    assert found.standard_error < found.plain_error / 2


def test_the_pool_s_gradient_is_that_of_its_controlled_estimate():
    law = regression_law(dim=3, prompt=20, noise=0.3, target="coefficients", ridge=0.1)
    P = np.diag([0.5, 0.6, 0.7])
    case = cases.of(P, sigma=law.sigma, prompt=20, ridge=0.1, depth=3)[1]
    drawn = pool.draw(law, case, count=400, seed=0)
    bar, h = drawn.gradient(P)[1], 1e-6
    from twofold.training.closure import draws

    for i, j in np.ndindex(3, 3):
        e = np.zeros((3, 3))
        e[i, j] = h
        up, down = (
            np.mean(draws.losses(P + q, drawn.W, drawn.case, drawn.forcing)) for q in (e, -e)
        )
        assert bar[i, j] == pytest.approx((up - down) / (2 * h), abs=1e-7)


def test_the_pool_refuses_a_tail():
    law = regression_law(dim=4, prompt=6)
    P, case = cases.of(np.ones(4), sigma=law.sigma, prompt=6, depth=8)
    with pytest.raises(pool.Refusal, match="sd / mean"):
        pool.draw(law, case, count=500, seed=0).estimate(P)


def test_kurtosis_is_closed_at_depth_one():
    P = np.array([0.5, 0.7, 0.9])
    law = Law(np.array([1.0, 0.6, 0.3]), 12, 0.0, kurtosis=-1.2)
    got = closure.risk(P, sigma=law.sigma, prompt=12, depth=1, kurtosis=-1.2)
    mean, error = observed.sampled(P, law, (1,), feature="uniform", count=20000, seed=0)
    assert abs(mean[0] - got) < 5 * error[0]


def test_the_pool_of_an_H_dependent_target_is_what_richardson_does():
    law = regression_law(dim=3, prompt=20, noise=0.3, target="coefficients", ridge=0.2)
    P = np.diag([0.5, 0.6, 0.7])
    case = cases.of(P, sigma=law.sigma, prompt=20, ridge=0.2, depth=3)[1]
    found = pool.draw(law, case, count=8000, seed=0).estimate(P)
    tasks = samplers.draw(law, 40000, seed=5)
    x = richardson.iterate(P, tasks.H, tasks.d, 3)
    loss = np.mean((x - tasks.truth) ** 2, axis=1)
    error = np.hypot(loss.std() / 200, found.standard_error)
    assert abs(loss.mean() - found.value) < 5 * error
