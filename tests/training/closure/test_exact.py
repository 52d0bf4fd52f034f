"""The exact engine: by three routes, by rational enumeration, by Monte Carlo."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from twofold.protocol import Law
from twofold.tasks import moments
from twofold.training import closure, complex_step
from twofold.training.closure import case as cases
from twofold.training.closure import exact, observed, quadrature, wick, words

RNG = np.random.default_rng(0)


def setting(K, M, L, full=False, ridge=0.05, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.3, 1.0, K)
    P = np.diag(p) + 0.2 * rng.standard_normal((K, K)) if full else p
    sigma, prior = np.linspace(1.0, 0.2, K), rng.uniform(0.5, 2.0, K)
    return cases.of(P, sigma=sigma, prior=prior, prompt=M, ridge=ridge, depth=L)


# Polynomials in the M K Gaussians, in exact rationals: another route altogether.
def times(a, b):
    out = {}
    for (m, u), (n, v) in itertools.product(a.items(), b.items()):
        key = tuple(map(sum, zip(m, n, strict=True)))
        out[key] = out.get(key, 0) + u * v
    return out


def plus(*terms):
    out = {}
    for term in terms:
        for m, u in term.items():
            out[m] = out.get(m, 0) + u
    return out


def expectation(poly):
    total = Fraction(0)
    for powers, u in poly.items():
        if all(n % 2 == 0 for n in powers):
            for n in powers:
                for k in range(1, n, 2):
                    u = u * k
            total += u
    return total


def rational_risk(P, s, b, M, ridge, L):
    K, n = len(s), len(s) * M
    one = tuple([0] * n)
    x = [[{tuple(int(i == m * K + k) for i in range(n)): Fraction(1)} for k in range(K)]
         for m in range(M)]  # fmt: skip

    # W_ij carries sqrt(s_i s_j); kept rational by H = S^{1/2} W' S^{1/2} with s = squares
    def H(i, j):
        terms = [times(x[m][i], x[m][j]) for m in range(M)]
        scaled = {k: v * s[i] * s[j] / M for k, v in plus(*terms).items()}
        return plus(scaled, {one: ridge}) if i == j else scaled

    grid = [[H(i, j) for j in range(K)] for i in range(K)]
    T = [[plus({one: Fraction(int(i == j))}, *({k: -P[i][a] * v for k, v in grid[a][j].items()}
          for a in range(K))) for j in range(K)] for i in range(K)]  # fmt: skip
    A = [[{one: Fraction(int(i == j))} for j in range(K)] for i in range(K)]
    for _ in range(L):
        A = [[plus(*(times(T[i][a], A[a][j]) for a in range(K))) for j in range(K)]
             for i in range(K)]  # fmt: skip
    return sum(b[j] * expectation(times(A[i][j], A[i][j])) for i in range(K) for j in range(K)) / K


@pytest.mark.parametrize(
    ("M", "L", "full"), [(2, 1, True), (2, 2, False), (1, 2, True), (1, 3, False)]
)
def test_the_enumeration_in_rationals_agrees_to_the_last_digits(M, L, full):
    roots = [Fraction(1), Fraction(1, 2)]
    P = [[Fraction(3, 4), Fraction(1, 8)], [Fraction(-1, 4), Fraction(1, 2)]]
    if not full:
        P[0][1] = P[1][0] = Fraction(0)
    prior, ridge = [Fraction(1), Fraction(3, 2)], Fraction(1, 16)
    want = float(rational_risk(P, roots, prior, M, ridge, L))
    given = np.array(P, float) if full else np.array([0.75, 0.5])
    got = closure.risk(given, sigma=[1.0, 0.25], prior=[1.0, 1.5], prompt=M, ridge=1 / 16, depth=L)
    assert got == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize(("K", "M", "L"), [(2, 5, 4), (3, 5, 3), (3, 1, 2), (2, 1, 4)])
def test_pairings_and_quadrature_agree_on_risk_and_gradient(K, M, L):
    P, case = setting(K, M, L)
    (one, g), (two, h) = wick.gradient(P, case), quadrature.gradient(P, case)
    assert one == pytest.approx(two, rel=1e-12)
    np.testing.assert_allclose(g, h, rtol=0, atol=1e-11 * np.abs(h).max())


@pytest.mark.parametrize(("K", "M", "L"), [(2, 5, 1), (3, 4, 2), (2, 1, 2)])
def test_words_and_quadrature_agree_for_any_P(K, M, L):
    P, case = setting(K, M, L, full=True)
    (one, g), (two, h) = words.gradient(P, case), quadrature.gradient(P, case)
    assert one == pytest.approx(two, rel=1e-12)
    np.testing.assert_allclose(g, h, rtol=0, atol=1e-11 * np.abs(h).max())


@pytest.mark.parametrize("L", [1, 2, 3, 4])
def test_gradient_is_that_of_the_complex_step(L):
    P, case = setting(5, 9, L)
    bar = wick.gradient(P, case)[1]
    step = complex_step.gradient(lambda P: wick.risk(P, case), P)
    np.testing.assert_allclose(bar, step, rtol=0, atol=1e-12 * np.abs(step).max())
    if L <= 2:
        P, case = setting(4, 9, L, full=True)
        step = complex_step.gradient(lambda P: words.risk(P, case), P)
        np.testing.assert_allclose(words.gradient(P, case)[1], step, rtol=0,
                                   atol=1e-12 * np.abs(step).max())  # fmt: skip


def test_a_diagonal_P_stays_diagonal():
    P, case = setting(6, 11, 2)
    bar = words.gradient(np.diag(P), case.full())[1]
    assert np.abs(bar - np.diag(np.diagonal(bar))).max() < 1e-12 * np.abs(bar).max()
    np.testing.assert_allclose(np.diagonal(bar), wick.gradient(P, case)[1], rtol=1e-11)


def test_depth_one_is_the_law_s_own_closed_form():
    law = Law(np.linspace(1, 0.1, 6), 17, 0.02, prior=RNG.uniform(0.5, 2, 6))
    P = RNG.standard_normal((6, 6))
    got = closure.risk(P, sigma=law.sigma, prior=law.prior, prompt=17, ridge=0.02, depth=1)
    assert got == pytest.approx(moments.of(law).risk(P), rel=1e-12)


def test_monte_carlo_lies_within_five_standard_errors():
    for full in (False, True):
        law = Law(np.linspace(1, 0.2, 6), 24, 0.05)
        P = np.diag(np.full(6, 0.8)) + 0.1 * full * RNG.standard_normal((6, 6))
        P = P if full else np.diagonal(P)
        mean, error = observed.sampled(P, law, (1, 2), count=20000, seed=1)
        for L, m, e in zip((1, 2), mean, error, strict=True):
            exact = closure.risk(P, sigma=law.sigma, prompt=24, ridge=0.05, depth=L)
            assert abs(m - exact) < 5 * e


def test_other_polynomials_than_richardson_s():
    from twofold.decoder import polynomial

    c = cases.polynomial(polynomial.heavy_ball((0.2, 1.5), 3))
    rng = np.random.default_rng(2)
    T = np.eye(3) - 0.3 * (A := rng.standard_normal((3, 3)) @ np.eye(3))
    schedule = polynomial.heavy_ball((0.2, 1.5), 3)
    x = polynomial.walk(schedule, np.ones((1, 3)), lambda v: v @ (0.3 * A).T, lambda r: r)[-1]
    solution = np.linalg.solve(0.3 * A, np.ones(3))
    p = sum(a * np.linalg.matrix_power(T, j) for j, a in enumerate(c))
    np.testing.assert_allclose(x[0] - solution, -p @ solution, rtol=1e-10)
    kw = {"sigma": [1.0, 0.5], "prompt": 4, "weights": c}
    P, case = cases.of(np.array([0.9, 1.1]), **kw)
    assert wick.risk(P, case) == pytest.approx(quadrature.risk(P, case), rel=1e-12)


def test_where_no_exact_route_reaches_the_reason_is_told():
    P, case = setting(5, 9, 3, full=True)
    with pytest.raises(ValueError, match="P is full, K = 5 and depth 3 > 2"):
        exact.risk(P, case)
    with pytest.raises(ValueError, match="expected"):
        cases.of(np.ones(3), sigma=np.ones(4), prompt=3, depth=1)
    with pytest.raises(ValueError, match="depth: give"):
        cases.of(np.ones(3), sigma=np.ones(3), prompt=3)
    with pytest.raises(ValueError, match="leaves float64"):
        closure.risk(np.full(3, 1e60), sigma=np.ones(3), prompt=3, depth=4)
