"""The curve without a Jacobian against the dense one, and its two bounds."""

import numpy as np
import pytest

from twofold.decoder import sensitivity
from twofold.learned import ntk
from twofold.learned.flexformer import Flexformer
from twofold.learned.free import Free
from twofold.learned.softmax_spd import SoftmaxSPD
from twofold.tasks import regression
from twofold.training import finite_set

FAMILIES = [Flexformer(5, "stationary", 2, 3), Flexformer(5, "softmax", 2), SoftmaxSPD(5, 2)]
STEPS = np.r_[0, 1, 2, 5, 20, 100, 1000, 10_000]


def data(count=30, dim=5):
    drawn = regression.sample(seed=1, dim=dim, prompt=20, ridge=1e-3, count=count)
    return drawn.H, drawn.d, drawn.truth


def jacobian(family, theta, H, d, depth):
    """(N K, n), column by column."""
    P = family.matrix(theta)
    columns = [
        np.ravel(sensitivity.tangent(P, H, d, depth, family.push_forward(theta, e))[1])
        for e in np.eye(len(theta))
    ]
    return np.transpose(columns)


def dense(family, theta, H, d, target, depth, eta, steps):
    """L_s by the eigenvalues of the formed J J'/m."""
    J, m = jacobian(family, theta, H, d, depth), d.size
    x = sensitivity.tangent(family.matrix(theta), H, d, depth, np.zeros((H.shape[1],) * 2))[0]
    r = np.ravel(x - target)
    values, V = np.linalg.eigh(J @ J.T / m)
    powers = (1 - eta * values) ** (2 * steps[:, None])
    return powers @ (V.T @ r) ** 2 / (2 * m), J, r


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("eta", [0.5, 1.5])
def test_the_curve_is_the_dense_one_and_lies_between_its_bounds(family, eta):
    theta = family.start(0)
    found = ntk.curve(family, theta, *data(), depth=4, eta=eta, steps=STEPS, tolerance=1e-10)
    expected, J, r = dense(family, theta, *data(), 4, eta, STEPS)
    np.testing.assert_allclose(found.loss, expected, rtol=1e-8)
    slack = 1e-12 * expected[0]
    assert np.all(found.low <= expected + slack) and np.all(expected <= found.high + slack)
    assert np.all(found.error <= 1e-10 * found.low) and found.stable and found.kind == "estimate"
    assert found.top == pytest.approx(np.linalg.norm(J, 2) ** 2 / r.size, rel=1e-6)


@pytest.mark.parametrize("most", [2, 3, 6, 10])
def test_few_steps_leave_an_error_and_both_bounds_hold(most):
    family = FAMILIES[0]
    theta = family.start(0)
    for eta in (0.5, 1.5):
        found = ntk.curve(family, theta, *data(), depth=4, eta=eta, steps=STEPS, most=most)
        expected, _, _ = dense(family, theta, *data(), 4, eta, STEPS)
        assert len(found.alpha) == most
        slack = 1e-12 * expected[0]
        assert np.all(found.low <= expected + slack) and np.all(expected <= found.high + slack)
        np.testing.assert_allclose(found.low[STEPS < most], expected[STEPS < most], rtol=1e-11)


@pytest.mark.parametrize("most", [2, 5, 9])
def test_gauss_lobatto_has_both_ends_among_its_nodes_and_keeps_the_moments(most):
    """Both quadratures integrate polynomials of degree 2k - 1 alike: moments are kept."""
    family = FAMILIES[0]
    found = ntk.curve(
        family, family.start(0), *data(), depth=4, eta=0.5, steps=[10**4], most=most, tolerance=-1
    )
    T = found._prolonged()
    nodes, vectors = np.linalg.eigh(T)
    assert abs(nodes[0]) <= 1e-12 * nodes[-1]
    assert nodes[-1] >= (1 + ntk.MARGIN) * found.top * (1 - 1e-12)
    end = (1 + ntk.MARGIN) * found.top + found.beta[-1] * abs(found._ritz[1][-1, -1])
    assert nodes[-1] == pytest.approx(end, rel=1e-11)
    inner, weights = found._ritz
    for degree in range(2 * most):
        gauss = weights[0] ** 2 @ (inner / end) ** degree
        assert vectors[0] ** 2 @ (nodes / end) ** degree == pytest.approx(gauss, rel=1e-9)


def test_the_residuals_are_those_of_the_recursion():
    family, eta = FAMILIES[1], 1.5
    theta = family.start(0)
    found = ntk.curve(family, theta, *data(), depth=3, eta=eta, steps=[40], tolerance=1e-15)
    _, J, r = dense(family, theta, *data(), 3, eta, np.array([40]))
    for _ in range(40):
        r = r - eta * J @ (J.T @ r) / r.size
    np.testing.assert_allclose(found.residual(40), r, atol=1e-9)
    assert np.sum(found.residual(40) ** 2) / (2 * r.size) == pytest.approx(found.loss[0], rel=1e-8)


def test_the_free_decoder_at_depth_one_is_linear_so_the_curve_is_the_run():
    """x_1 = P d is linear in P: training and its linearisation are one."""
    H, d, target = data()
    family, eta = Free(5, 0.3), 3.0
    theta = family.start(0)
    times = np.array([0, 3, 30, 200])
    found = ntk.curve(family, theta, H, d, target, depth=1, eta=eta, steps=times, tolerance=0)
    learner = finite_set.FiniteSet(family, H, d, target, 1, eta)
    run = finite_set.train(family, theta, H, d, target, depth=1, eta=eta, steps=200, times=times)
    np.testing.assert_allclose(found.loss, [learner.loss(state) for state in run], rtol=1e-9)
    assert len(found.alpha) <= 25


def test_a_short_run_is_the_curve_and_a_long_one_is_not():
    family, eta = FAMILIES[0], 0.05
    theta = family.start(0)
    times = np.array([0, 1, 400])
    found = ntk.curve(family, theta, *data(), depth=4, eta=eta, steps=times)
    learner = finite_set.FiniteSet(family, *data(), 4, eta)
    run = finite_set.train(family, theta, *data(), depth=4, eta=eta, steps=400, times=times)
    gap = np.abs(found.loss / [learner.loss(state) for state in run] - 1)
    assert gap[0] < 1e-12 and gap[1] < 1e-3 and gap[2] > 10 * gap[1]


def test_the_largest_eigenvalue_is_a_good_guide():
    for family in FAMILIES:
        theta = family.start(0)
        J, r = dense(family, theta, *data(), 4, 1.0, STEPS)[1:]
        expected = np.linalg.norm(J, 2) ** 2 / r.size
        found = ntk.largest(family, theta, *data(), 4)
        assert 0.9 * expected < found <= expected * (1 + 1e-12)


def test_the_discrepancy_is_over_all_steps_so_far():
    found = ntk.discrepancy(np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 5.0]))
    np.testing.assert_allclose(found, [0, 0, 1])
    with pytest.raises(ValueError, match="^predicted: "):
        ntk.discrepancy(np.ones(3), np.ones(2))


def test_one_parameter_is_exhausted_in_two_steps():
    """J J' has rank one: r_0 has a part in its range and one in its null space."""
    H, d, target = data(dim=1)
    found = ntk.curve(Free(1, 0.3), np.array([0.3]), H, d, target, depth=3, eta=0.1, steps=STEPS)
    assert len(found.alpha) == 2 and found.exhausted and found.stable and not found.error.any()


def test_too_large_a_step_is_said():
    family = FAMILIES[0]
    found = ntk.curve(family, family.start(0), *data(), depth=4, eta=1e4, steps=[0, 5])
    assert not found.stable and found.loss[1] > found.loss[0]
    most = ntk.curve(family, family.start(0), *data(), depth=4, eta=1e4, steps=[10**4], most=9)
    assert most.loss[0] == most.error[0] == np.inf


def call(**changed):
    H, d, target = data()
    given = {"family": Free(5, 0.3), "theta0": Free(5, 0.3).start(0), "H": H, "d": d}
    given |= {"target": target, "depth": 2, "eta": 0.1, "steps": [0, 1]} | changed
    return ntk.curve(**given)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"eta": 0.0}, "eta"), ({"steps": [0.5]}, "steps"), ({"steps": [-1]}, "steps"),
        ({"steps": []}, "steps"), ({"most": 0}, "most"), ({"depth": 0}, "theta0"),
        ({"theta0": np.full(25, np.nan)}, "theta"), ({"target": np.zeros((2, 5))}, "target"),
        ({"H": np.full((30, 5, 5), np.nan)}, "H"), ({"theta0": np.full(25, 1e300)}, "theta0"),
    ],
)  # fmt: skip
def test_bad_input_is_named(changed, name):
    if changed.get("depth") == 0:
        changed = changed | {"target": np.zeros((30, 5))}
    with pytest.raises(ValueError, match=f"^{name}: "):
        call(**changed)
