from fractions import Fraction

import flint
import numpy as np
import pytest

from twofold.measures import enclosures as enc


def fractions(A):
    return [[Fraction(float(x)) for x in row] for row in A]


def product(A, B):
    columns = list(zip(*B, strict=True))
    return [[sum(a * b for a, b in zip(row, col, strict=True)) for col in columns] for row in A]


def squared_distance(A, B):
    return sum((a - b) ** 2 for r, s in zip(A, B, strict=True) for a, b in zip(r, s, strict=True))


def true_spectrum(S):
    """Eigenvalues of a float matrix to 60 digits, descending."""
    with flint.ctx.workprec(400):
        K = len(S)
        found = flint.acb_mat(K, K, [float(x) for x in S.ravel()]).eig(multiple=True)
        return sorted(map(exact_mid, found), reverse=True)


def exact_mid(x):
    mantissa, exponent = x.real.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@pytest.mark.parametrize("scale", (1.0, 1e-160, 1e150, 5e-324))
def test_sums_and_products_enclose_exact_arithmetic(scale):
    rng = np.random.default_rng(0)
    inexact = 0
    for _ in range(40):
        A, B = rng.standard_normal((3, 4)) * scale, rng.standard_normal((4, 2))
        ball = enc.exact(A) @ enc.exact(B)
        error = squared_distance(product(fractions(A), fractions(B)), fractions(ball.mid))
        inexact += error > 0
        assert error <= Fraction(float(ball.radius)) ** 2
        C = rng.standard_normal((3, 4)) * scale
        total = enc.exact(A) - enc.exact(C)
        pairs = zip(fractions(A), fractions(C), strict=True)
        exact = [[a - c for a, c in zip(r, s, strict=True)] for r, s in pairs]
        assert squared_distance(exact, fractions(total.mid)) <= Fraction(float(total.radius)) ** 2
    assert inexact > 10


def test_radii_travel_through_products():
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((4, 4)), rng.standard_normal((4, 4))
    ball = enc.Ball(A, np.asarray(0.5)) @ enc.Ball(B, np.asarray(0.25))
    for _ in range(50):
        X, Y = rng.standard_normal((2, 4, 4))
        # aligned worst cases and random ones
        X, Y = 0.5 * X / np.linalg.norm(X), 0.25 * Y / np.linalg.norm(Y)
        assert np.linalg.norm((A + X) @ (B + Y) - ball.mid) <= ball.radius
    X = 0.5 * np.outer([1, 0, 0, 0], [1, 0, 0, 0])
    Y = 0.25 * np.outer([1, 0, 0, 0], [1, 0, 0, 0])
    E = np.outer([1, 0, 0, 0], [1, 0, 0, 0]) * 1.0
    sharp = enc.Ball(E, np.asarray(0.5)) @ enc.Ball(E, np.asarray(0.25))
    assert np.linalg.norm((E + X) @ (E + Y) - E) == pytest.approx(float(sharp.radius))


def test_the_frobenius_norm_is_bounded_at_every_scale():
    rng = np.random.default_rng(2)
    for scale in (1.0, 1e-200, 1e-320, 1e200, 1e307):
        for _ in range(20):
            A = rng.standard_normal((3, 5)) * scale
            upper = Fraction(float(enc.frobenius_upper(A)))
            true = squared_distance(fractions(A), fractions(0 * A))
            assert true <= upper**2
            assert scale < 1e-300 or upper**2 <= true * (1 + Fraction(1, 10**12))
    assert enc.frobenius_upper(np.zeros((2, 2))) == 0
    assert not np.isfinite(enc.frobenius_upper(np.array([[np.nan, 1.0]])))
    assert enc.frobenius_upper(np.array([[np.inf, 1.0]])) == np.inf


def test_norms_of_rectangles():
    A = np.random.default_rng(3).standard_normal((7, 5, 2))
    true = np.linalg.norm(A, 2, axis=(1, 2))
    for ball in (enc.exact(A), enc.exact(A).T):
        assert np.allclose(enc.norm_upper(ball), true, rtol=1e-12)
        assert np.all(enc.norm_upper(ball) >= true * (1 - 1e-14))
    assert np.allclose(enc.norm_upper(enc.Ball(A, np.full(7, 0.5))), true + 0.5)


@pytest.mark.parametrize("K", (1, 2, 5, 12))
@pytest.mark.parametrize("spread", (0, 6, 15))
def test_eigenvalues_lie_within_the_radius(K, spread):
    """Against 120 digits; LAPACK's own values are off by a part of the radius."""
    rng = np.random.default_rng(K + spread)
    Q = np.linalg.qr(rng.standard_normal((6, K, K)))[0]
    S = (Q * np.geomspace(1, 10.0**-spread, K)) @ np.swapaxes(Q, 1, 2)
    S = (S + np.swapaxes(S, 1, 2)) / 2
    values, radius, _ = enc.eigenvalues(S)
    for n in range(len(S)):
        true = true_spectrum(S[n])
        worst = max(abs(Fraction(float(v)) - t) for v, t in zip(values[n], true, strict=True))
        assert worst <= Fraction(float(radius[n]))
    assert np.all(radius < 1e-13 * (K + 4))


def test_neither_the_eigenvalues_nor_the_frame_of_the_eigensolver_is_trusted(monkeypatch):
    S = np.diag([2.0, 1.0])
    c, s = np.cos(1e-6), np.sin(1e-6)
    liars = (
        (np.array([1.0, 2.0 + 1e-6]), np.eye(2)[:, ::-1]),  # a wrong eigenvalue
        (np.array([1.0, 2.0]), np.array([[-s, c], [c, s]])),  # a turned frame
        (np.array([1.0, 2.0]) / (1 + 1e-6) ** 2, np.eye(2)[:, ::-1] * (1 + 1e-6)),  # a long frame
    )
    for lie in liars:
        monkeypatch.setattr(np.linalg, "eigh", lambda S, lie=lie: lie)
        values, radius, _ = enc.eigenvalues(S)
        assert np.max(np.abs(values - [2, 1])) <= radius
        assert radius > 1e-7
    monkeypatch.setattr(np.linalg, "eigh", lambda S: (np.zeros(2), 3 * np.eye(2)))
    assert np.isnan(enc.eigenvalues(S)[1])


def test_a_sum_that_always_rounds_down_is_still_covered():
    """Each small square is lost against the large one in its running sum."""
    A = np.full((1, 128), 0.999 * 2.0**-26.5)
    A[0, 0] = 1.0
    true = squared_distance(fractions(A), fractions(0 * A))
    plain = np.sqrt(np.sum(A**2))
    assert Fraction(float(plain)) ** 2 * (1 + Fraction(8, 2**53)) < true
    assert Fraction(float(enc.frobenius_upper(A))) ** 2 >= true


def test_rows_that_are_not_finite_have_no_radius():
    S = np.stack([np.eye(3), np.full((3, 3), np.nan), np.diag([1.0, np.inf, 1.0])])
    assert np.isnan(enc.eigenvalues(S)[1]).tolist() == [False, True, True]


def test_the_top_subspace_knows_how_far_it_may_be():
    gap = np.array([1.0, 1e-4, 1e-8, 1e-12, 0.0])
    S = np.stack([np.diag([1.0, 1 - g, 0.1]) for g in gap])
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((3, 3)))[0]
    moved = turn @ S @ turn.T
    V, radius = enc.top_subspace((moved + np.swapaxes(moved, 1, 2)) / 2, 1)
    assert np.all(np.diff(radius) > 0)
    assert radius[0] < 1e-13
    assert radius[-1] == np.inf
    true = turn[:, :1]
    off = np.linalg.norm(V - true @ (true.T @ V), axis=(1, 2))
    assert np.all(off[:4] <= radius[:4] + 1e-15 / gap[:4])
    assert np.all(enc.top_subspace(S, 3)[1] == 0)


def test_sines_and_their_rounding():
    theta = np.array([1e-12, 1e-6, 0.3, 1.5])
    U = np.stack([np.cos(theta), np.sin(theta), 0 * theta], axis=1)[:, :, None]
    base = np.broadcast_to(np.eye(3)[:, :1], U.shape)
    value, rounding = enc.sine(base, U)
    assert np.all(np.abs(value - np.sin(theta)) <= rounding)
    assert np.all(rounding < 2e-14)
    assert np.allclose(enc.sine(U, base)[0], value, atol=1e-15)
    assert np.isinf(enc.sine(base, 1.5 * U)[1]).all()


def test_a_sine_of_rounding_alone_is_within_its_rounding(monkeypatch):
    """The frames are taken as orthonormal here, so only the enclosed product can pay."""
    rng = np.random.default_rng(5)
    U = np.linalg.qr(rng.standard_normal((50, 6, 2)))[0]
    monkeypatch.setattr(enc, "orthonormal_defect", lambda Q: np.zeros(len(Q)))
    value, rounding = enc.sine(U, U)
    assert np.all(value <= rounding)
    assert np.max(value) > 1e-17


def test_a_sloppy_frame_pays_for_its_defect():
    U = np.array([[1.0 + 1e-6], [0.0]])
    V = np.array([[0.6], [0.8]])
    value, rounding = enc.sine(U, V)
    assert rounding > 1e-6
    assert value - rounding <= 0.8 <= value + rounding


def test_quotients_and_gaps_are_safe():
    assert np.all(enc.quotient_upper(np.ones(2), np.array([0.0, -1.0])) == np.inf)
    third = Fraction(float(enc.quotient_upper(np.array(1.0), np.array(3.0))))
    assert Fraction(1, 3) <= third <= Fraction(1, 3) * (1 + Fraction(1, 10**14))
    assert np.isinf(enc.quotient_upper(np.array(1.0), np.array(np.nan)))
    gap = enc.gap_lower(np.array(0.3), np.array(0.1), np.array(0.05))
    assert Fraction(float(gap)) <= Fraction(0.3) - Fraction(0.1) - Fraction(0.05)


def test_pairs_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="^H: "):
        enc.symmetric_pair("S", np.eye(2), "H", np.zeros((0, 2, 2)))
    with pytest.raises(ValueError, match="^S: "):
        enc.symmetric_pair("S", np.zeros((3, 2, 2)), "H", np.zeros((2, 2, 2)))
