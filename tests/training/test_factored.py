"""Factored linear attention: its gradient, its limit, and the conserved imbalance."""

import numpy as np
import pytest

from twofold.measures import attention_kernel
from twofold.tasks import moments, regression
from twofold.training import factored


@pytest.fixture(scope="module")
def known():
    law = regression.regression_law(dim=6, prompt=64, ridge=1e-3, prior=np.geomspace(1, 0.1, 6))
    return moments.of(law).full()


def loss(state, C, B):
    P = state.matrix
    return np.trace(P @ C @ P.T - 2 * P @ B.T) / 2


def test_one_step_is_along_the_gradient_of_the_loss(known):
    begun = factored.start(seed=0, dim=6, size=0.5)
    (after,) = factored.states(begun, known.C, known.B, eta=1e-6, times=[1])
    rng = np.random.default_rng(1)
    for name in ("query", "key"):
        e = rng.normal(size=begun.query.shape)
        at = [loss(factored.Factors(0, **({"query": begun.query, "key": begun.key}
                   | {name: getattr(begun, name) + s * 1e-5 * e})), known.C, known.B)
              for s in (1, -1)]  # fmt: skip
        slope = (at[0] - at[1]) / 2e-5
        moved = (getattr(after, name) - getattr(begun, name)) / 1e-6
        assert -np.sum(moved * e) == pytest.approx(slope, rel=1e-6)


def test_wide_factors_reach_the_oracle(known):
    begun = factored.start(seed=0, dim=6, heads=2, width=6, size=0.2)
    (last,) = factored.states(begun, known.C, known.B, eta=0.5, times=[20000])
    assert np.linalg.norm(last.matrix - known.oracle) < 1e-3 * np.linalg.norm(known.oracle)


def test_the_imbalance_drifts_in_proportion_to_the_step(known):
    """Gradient flow conserves it: half the step, half the drift at the same time."""
    begun = factored.start(seed=0, dim=6, size=0.3)
    before = attention_kernel.imbalance(begun.query, begun.key)
    drifts = []
    for eta, steps in ((0.02, 500), (0.01, 1000)):
        (last,) = factored.states(begun, known.C, known.B, eta=eta, times=[steps])
        drifts.append(np.linalg.norm(attention_kernel.imbalance(last.query, last.key) - before))
    assert drifts[0] / drifts[1] == pytest.approx(2.0, rel=0.05)


def test_states_do_not_depend_on_where_they_are_asked_for(known):
    begun, given = factored.start(seed=0, dim=6), (known.C, known.B)
    few = list(factored.states(begun, *given, eta=0.1, times=[10, 20]))
    resumed = list(factored.states(few[0], *given, eta=0.1, times=[20]))
    np.testing.assert_array_equal(few[1].query, resumed[0].query)
    assert few[1].s == resumed[0].s == 20


def test_bad_input_is_refused(known):
    begun = factored.start(seed=0, dim=6)
    with pytest.raises(ValueError, match="^C"):
        list(factored.states(begun, known.C[:5], known.B, eta=0.1, times=[1]))
    with pytest.raises(ValueError, match="^eta"):
        list(factored.states(begun, known.C, known.B, eta=0.0, times=[1]))
    with pytest.raises(ValueError, match="^times"):
        list(factored.states(begun, known.C, known.B, eta=0.1, times=[np.nan]))
    with pytest.raises(ValueError, match="^dim"):
        factored.start(seed=0, dim=0)
