"""The selector: its predictions against fresh tasks, its choices against brute force."""

import numpy as np
import pytest

from twofold import choose, decoder
from twofold.protocol import Law
from twofold.tasks import moments, samplers
from twofold.theorems import polynomial_identity, trace_risk

LAW = Law(np.geomspace(1, 0.05, 8), prompt=64, ridge=1e-2, prior=np.linspace(0.5, 2, 8))
P = np.eye(8) * 1.2


@pytest.fixture(scope="module")
def options():
    return choose.table(LAW, P, depth=6, count=400, seed=3)


def test_every_method_at_every_depth_once(options):
    found = [(o.method, o.depth) for o in options]
    assert found == [(m, L) for m in choose.METHODS for L in range(1, 7)]


@pytest.mark.parametrize("method", choose.METHODS)
def test_the_prediction_is_what_fresh_tasks_show(options, method):
    fresh = samplers.draw(LAW, 4000, seed=99)
    ends = choose.interval(LAW, P, count=400, seed=4)
    given = {} if method in ("richardson", "pcg") else {"interval": ends}
    path = decoder.solve(fresh.H, fresh.d, P=P, method=method, depth=6, **given)
    losses = np.mean((path - fresh.truth) ** 2, axis=2)
    for o in (o for o in options if o.method == method):
        error = np.hypot(losses[o.depth].std() / np.sqrt(4000), o.standard_error)
        assert abs(losses[o.depth].mean() - o.risk) < 5 * error
        assert o.exact == (method != "pcg")


def test_traces_are_the_certified_ones():
    H = samplers.draw(LAW, 20, seed=0).H
    S, ends = LAW.prior, (0.01, 3.0)
    found = choose.traces(decoder.polynomial.chebyshev(ends, 4), P, H, S)
    value, slack = polynomial_identity.risk(P, H, 4, "chebyshev", ends, S)
    assert np.all(np.abs(found[4] - value) <= slack + 1e-12 * value)
    found = choose.traces(decoder.polynomial.richardson(5), P, H, np.diag(S))
    assert np.allclose(found[5], trace_risk.risk(P, H, 5, S)[0], rtol=1e-12)


def test_the_best_is_the_best_by_brute_force(options):
    speed = {"richardson": (1e-6, 1e-6), "heavy_ball": (0.0, 2e-6), "chebyshev": (0.0, 2e-6),
             "pcg": (5e-6, 4e-6)}  # fmt: skip
    timed = choose.timed(options, speed)
    for budget in (4e-6, 9e-6, 2e-5, 1.0):
        chosen = choose.best(timed, seconds=budget)
        assert chosen.seconds <= budget
        upper = [o.risk + 2 * o.standard_error for o in timed if o.seconds <= budget]
        assert chosen.risk + 2 * chosen.standard_error == min(upper)
    target = choose.best(timed, seconds=1.0)
    quick = choose.best(timed, risk=target.risk * 2)
    assert quick.seconds <= target.seconds and quick.risk <= 2 * target.risk
    with pytest.raises(ValueError, match="^seconds: no option"):
        choose.best(timed, seconds=1e-9)
    with pytest.raises(ValueError, match="^risk: no option"):
        choose.best(timed, risk=1e-30)
    with pytest.raises(ValueError, match="^seconds, risk"):
        choose.best(timed)


def test_diverging_methods_are_never_chosen():
    options = choose.table(LAW, 500 * P, depth=400, methods=("richardson",), count=4)
    with pytest.raises(ValueError, match="^(options|risk)"):
        choose.best(options[-1:], risk=1.0)


def test_a_target_that_is_not_solved_for_is_sampled():
    law = Law(LAW.sigma, prompt=64, noise=0.1, target="coefficients")
    found = choose.table(law, moments.of(law).full().oracle, depth=2, count=50)
    assert not any(o.exact for o in found) and all(o.standard_error > 0 for o in found)


def test_latencies_are_times():
    tasks = samplers.draw(LAW, 50, seed=0)
    found = choose.latencies(tasks.H, tasks.d, P, interval=(0.01, 3.0), depth=4, repeats=2)
    assert set(found) == set(choose.METHODS)
    assert all(start >= 0 and step >= 0 for start, step in found.values())


def test_a_spectrum_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="^P: P H has an eigenvalue"):
        choose.interval(LAW, -P)
