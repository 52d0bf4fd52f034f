"""The envelopes: on random systems, where they are attained, and where a hypothesis is broken."""

import numpy as np
import pytest

from twofold.decoder import polynomial, semi_drift
from twofold.rigor.pencil import pencil_bounds
from twofold.theorems import semi_iteration
from twofold.theorems.semi_iteration import MISSED, NAMES, NOT_SPD, certify, factor

FORMS = tuple(NAMES)


def spd(rng, N, K, condition):
    Q = np.linalg.qr(rng.normal(size=(N, K, K)))[0]
    A = (Q * np.geomspace(1, 1 / condition, K)) @ Q.swapaxes(1, 2)
    return 0.5 * (A + A.swapaxes(1, 2))


def batch(N=2000, K=6, seed=0):
    rng = np.random.default_rng(seed)
    return spd(rng, 1, K, 10.0)[0], spd(rng, N, K, 200.0), rng.normal(size=(N, K))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", [0, 1, 5, 16])
def test_holds_on_random_systems(form, depth):
    P, H, d = batch()
    c = certify(P, H, d, depth, form)
    assert c.counts["holds"] == 2000
    size = c.bound / factor(form, np.stack(pencil_bounds(P, H), axis=1), depth)
    assert np.all(c.rounding <= 1e-9 * size)


@pytest.mark.parametrize("form", FORMS)
def test_attained_at_the_end_of_the_interval(form):
    """H diagonal, d along its top eigenvector: the error is the polynomial at M."""
    H = np.broadcast_to(np.diag([1.0, 3.0, 9.0]), (2, 3, 3)).copy()
    c = certify(np.eye(3), H, np.array([[0, 0, 1.0], [0, 0, -7.0]]), 9, form)
    assert c.counts["holds"] == 2 and np.all(c.value / c.bound > 1 - 1e-9)


def test_the_bare_rate_is_false_for_heavy_ball(monkeypatch):
    P, H, d = np.eye(3), np.diag([1.0, 3.0, 9.0])[None], np.array([[0, 0, 1.0]])
    true = semi_iteration.factor
    bare = {"heavy_ball": lambda ends, L: polynomial.rate(ends) ** L}
    monkeypatch.setattr(semi_iteration, "factor", lambda form, *rest: (
        bare[form](*rest) if form in bare else 0.9 * true(form, *rest)))  # fmt: skip
    for form in FORMS:
        assert certify(P, H, d, 9, form).counts["violated"] == 1


def test_without_rounding_an_attained_bound_fails_somewhere(monkeypatch):
    rng = np.random.default_rng(3)
    H = rng.uniform(0.5, 2, size=(2000, 1, 1))
    d, ends = rng.normal(size=(2000, 1)), np.broadcast_to([0.1, 2.0], (2000, 2)).copy()
    ends[:, 0] = H[:, 0, 0]
    for form in FORMS[1:]:
        assert certify(np.eye(1), H, d, 5, form, ends * [1 - 1e-12, 1]).counts["violated"] == 0
    monkeypatch.setattr(semi_iteration, "up", lambda x, k: x)
    c = certify(np.eye(1), H, d, 5, "heavy_ball", ends * [1 - 1e-12, 1])
    assert np.any(c.value > c.bound)


@pytest.mark.parametrize("form", FORMS)
def test_an_interval_that_misses_the_spectrum_is_silent(form):
    P, H, d = batch(50)
    for ends in ((1e-9, 0.05), (0.2, 5.0)):
        c = certify(P, H, d, 4, form, ends)
        assert c.counts["silent"] == 50 and set(c.reason) == {MISSED}
    assert certify(P, H, d, 4, form, (1e-4, 5.0)).counts["holds"] == 50


def test_indefinite_and_bad_rows_are_silent_alone():
    P, H, d = batch(9)
    H[1] *= -1
    H[2, 0, 1] += 1e-3
    H[3, 0, 0], d[4, 0] = np.nan, np.inf
    c = certify(P, H, d, 4, "chebyshev", (1e-6, 2.0))
    assert np.flatnonzero(c.verdict == "silent").tolist() == [1, 2, 3, 4]
    assert c.reason[1] == NOT_SPD and c.counts["holds"] == 5
    assert certify(P + np.triu(np.ones((6, 6)), 1), H, d, 4, "chebyshev").counts["silent"] == 9


@pytest.mark.parametrize("form", FORMS)
def test_the_computed_iterate_is_within_its_drift_of_the_exact_one(form):
    """Exact: the same recurrence in long double, from coefficients in long double."""
    P, H, d = batch(300)
    ends, depth = np.array([2e-4, 1.2]), 20
    schedule = getattr(polynomial, form)(np.broadcast_to(ends, (300, 2)), depth)
    path = polynomial.walk(schedule, d, lambda v: (H @ v[..., None])[..., 0], lambda r: r @ P.T)
    exact = long_path(form, P, H, d, ends.astype(np.longdouble), depth)
    gap = path[-1] - exact
    off = np.sqrt(np.einsum("nk,nkj,nj->n", gap, H.astype(np.longdouble), gap))
    top = np.sqrt(np.linalg.norm(H, 2, axis=(1, 2))) * (1 + 1e-9)
    bound = semi_drift.drift(P, H, d, path, schedule, top)
    assert np.all(off <= bound) and off.max() > 0
    assert np.all(bound < 1e-10 * np.sqrt(np.einsum("nk,nkj,nj->n", path[-1], H, path[-1])))


def long_path(form, P, H, d, ends, depth):
    P, H, d = (A.astype(np.longdouble) for A in (P, H, d))
    m, M = ends
    theta, delta, root = (M + m) / 2, (M - m) / 2, (np.sqrt(M) + np.sqrt(m)) ** 2
    x = before = np.zeros_like(d)
    tau = 1 / theta
    for ell in range(depth):
        alpha, beta = {"scaled": (1 / theta, 0), "heavy_ball": (4 / root, ((M - m) / root) ** 2),
                       "chebyshev": (tau, 0)}[form]  # fmt: skip
        if form == "chebyshev" and ell:
            last, tau = tau, 1 / (2 * theta - delta**2 * tau)
            alpha, beta = 2 * tau, delta**2 * tau * last
        r = d - np.einsum("nij,nj->ni", H, x)
        x, before = x + alpha * np.einsum("ij,nj->ni", P, r) + beta * (x - before), x
    return x


def test_bad_forms_are_refused():
    with pytest.raises(ValueError, match="^form"):
        certify(*batch(3), 2, "nesterov")
