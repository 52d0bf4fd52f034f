import numpy as np
import pytest
from flint import acb, arb, ctx
from scipy.integrate import quad
from scipy.stats import norm

from twofold.information import exact
from twofold.information.exact import gaussian

W, SIGMA = [1, 0.5, -0.25], [[1, 0.3, 0], [0.3, 1, 0.2], [0, 0.2, 1]]


def test_known_values():
    line = exact.linear_gaussian(W, SIGMA, 0.5, [1, 0, 0])
    pair = exact.two_class_gaussian([1, 0.5], [1, 0])
    whole = exact.two_class_gaussian([1, 0.5], [1, 0.5])
    for found, wanted in (
        (line, (0.990500734433, 0.654028497812, 0.336472236621)),
        (pair, (0.388412519763, 0.336830820347, 0.051581699416)),
        (whole, (0.388412519763, 0.388412519763, 0)),
    ):
        got = (found.mutual_information, found.encoded_information, found.loss)
        assert np.allclose(got, wanted, rtol=0, atol=6e-13) and found.error < 1e-12


def test_the_linear_model_agrees_with_covariances_formed_in_floats():
    rng = np.random.default_rng(0)
    for _ in range(50):
        B, w, A = rng.standard_normal((4, 4)), rng.standard_normal(4), rng.standard_normal((2, 4))
        S, s = B @ B.T, 0.7
        G = np.block([[S, (S @ w)[:, None]], [(w @ S)[None], np.array([[w @ S @ w + s * s]])]])
        T = np.block([[A, np.zeros((2, 1))], [np.zeros((1, 4)), np.ones((1, 1))]])
        coded = T @ G @ T.T
        ratio = [np.linalg.slogdet(M[:-1, :-1])[1] + np.log(M[-1, -1]) - np.linalg.slogdet(M)[1]
                 for M in (G, coded)]  # fmt: skip
        found = exact.linear_gaussian(w, S, s, A)
        both = 2 * np.array([found.mutual_information, found.encoded_information])
        assert np.allclose(both, ratio, atol=1e-9)
        assert found.loss == pytest.approx(both[0] / 2 - both[1] / 2, abs=1e-15)


@pytest.mark.parametrize("t", [1e-3, 0.1, 0.9, 3.0, 12.0])
def test_the_quadrature_contains_what_a_rigorous_integrator_contains(t):
    def f(z, analytic):
        w = -2 * t * t - 2 * t * z
        return (-z * z / 2).exp() * (1 + w.exp()).log(analytic=analytic)

    ctx.prec = 120
    integral = acb.integral(f, -12, 12) / (2 * acb.pi()).sqrt()
    other = arb(2).log() - integral.real
    ctx.prec = 192
    ours = gaussian._information(arb(t))
    ctx.prec = 53
    assert ours.overlaps(other + arb(0).union(arb(1e-25))) or abs(ours - other) < arb("1e-25")
    assert float(ours.rad()) < 1e-11
    loose = np.log(2) - quad(lambda z: norm.pdf(z) * np.logaddexp(0, -2 * t * (t + z)), -12, 12)[0]
    assert float(ours) == pytest.approx(loose, abs=1e-7)


def test_far_classes_and_equal_classes():
    assert exact.two_class_gaussian([60.0], [1.0]).mutual_information == np.log(2)
    near = exact.two_class_gaussian([0.0, 0.0], [1.0, 0.0])
    assert abs(near.mutual_information) <= near.error < 1e-11
    edge = [exact.two_class_gaussian([t], [1.0]).mutual_information for t in (39.9, 40.1)]
    assert np.ptp(edge) < 1e-11


def test_more_rows_lose_less_and_the_identity_loses_nothing():
    A = np.eye(3)
    losses = [exact.linear_gaussian(W, SIGMA, 0.5, A[:k]).loss for k in (1, 2, 3)]
    assert losses[0] > losses[1] > losses[2] and abs(losses[2]) < 1e-15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise": 0.0}, "noise, covariance"), ({"encoder": [1, 0]}, "encoder: expected rows"),
        ({"encoder": [[1, 0, 0], [2, 0, 0]]}, "encoder: its rows are dependent"),
        ({"covariance": np.eye(2)}, "noise, covariance"),
        ({"covariance": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "covariance: matrix 0 is not"),
        ({"covariance": -np.eye(3)}, "covariance: not positive semidefinite"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change, message):
    given = {"w": W, "covariance": SIGMA, "noise": 0.5, "encoder": [1, 0, 0]} | change
    with pytest.raises(ValueError, match=message):
        exact.linear_gaussian(**given)
