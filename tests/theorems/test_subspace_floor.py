from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from twofold.measures.overlaps import sin2_frobenius
from twofold.theorems import subspace_floor

K, R = 8, 3


def covariance(rng, size):
    root = rng.standard_normal((size, size))
    return root @ root.T / size


def subspaces(seed, count=2000, near=None):
    rng = np.random.default_rng(seed)
    U_star = np.linalg.qr(rng.standard_normal((K, R)))[0]
    spread = np.ones((count, 1, 1)) if near is None else 10.0 ** rng.uniform(*near, (count, 1, 1))
    moved = (near is not None) * U_star + spread * rng.standard_normal((count, K, R))
    return np.linalg.qr(moved)[0], U_star, covariance(rng, K), covariance(rng, R)


@pytest.mark.parametrize("near", [None, (-9, -1), (-16, -12)])
def test_holds_on_two_thousand_subspaces(near):
    U, U_star, sigma_x, sigma_z = subspaces(0, near=near)
    proof = subspace_floor.certify(U, U_star, sigma_x, sigma_z)
    assert proof.counts == {"holds": 2000, "violated": 0, "silent": 0}
    assert np.max(proof.rounding) < 1e-11 * np.linalg.norm(sigma_x, 2) * np.linalg.norm(sigma_z, 2)


@pytest.mark.parametrize("near", [None, (-3, -1)])
def test_attained_for_isotropic_laws_and_rounding_is_needed_there(near):
    U, U_star, _, _ = subspaces(1, near=near)
    proof = subspace_floor.certify(U, U_star, 0.3 * np.eye(K), 0.7 * np.eye(R))
    assert proof.counts["holds"] == 2000
    np.testing.assert_allclose(proof.tightness, 1.0, rtol=1e-9)
    tight = 0.3 * 0.7 * np.sum(subspace_floor.missed(U, U_star) ** 2, axis=(1, 2))
    assert replace(proof, bound=tight, rounding=0 * tight).counts["violated"] > 0


def test_value_and_bound_are_the_risk_and_the_angle():
    U, U_star, sigma_x, sigma_z = subspaces(2, count=50)
    proof = subspace_floor.certify(U, U_star, sigma_x, sigma_z)
    angle = sin2_frobenius(U, np.broadcast_to(U_star, U.shape))
    norms = np.linalg.norm(sigma_x, 2) * np.linalg.norm(sigma_z, 2)
    np.testing.assert_allclose(proof.bound, norms * angle, rtol=1e-10)
    root = np.linalg.cholesky(sigma_z)
    for n in range(50):
        missed = (np.eye(K) - U[n] @ U[n].T) @ U_star @ root
        assert proof.value[n] == pytest.approx(np.trace(missed.T @ sigma_x @ missed))


def test_the_form_with_the_trace_is_implied():
    U, U_star, sigma_x, sigma_z = subspaces(3, count=200)
    M = subspace_floor.missed(U, U_star)
    norms = np.linalg.norm(sigma_x, 2), np.linalg.norm(sigma_z, 2)
    assert np.all(
        subspace_floor.bound(M, *norms) <= subspace_floor.bound(M, norms[0], np.trace(sigma_z))
    )


@pytest.mark.parametrize("factor", [0.5, 1 - 1e-9])
def test_a_smaller_constant_is_false(factor):
    U, U_star, _, _ = subspaces(4, count=200)
    proof = subspace_floor.certify(U, U_star, np.eye(K), np.eye(R))
    assert replace(proof, bound=factor * proof.bound).counts["violated"] == 200


def test_the_largest_angle_alone_is_false():
    U, U_star, _, _ = subspaces(5, count=200)
    proof = subspace_floor.certify(U, U_star, np.eye(K), np.eye(R))
    largest = np.linalg.norm(subspace_floor.missed(U, U_star), 2, axis=(1, 2)) ** 2
    assert replace(proof, bound=largest).counts["violated"] == 200


@pytest.mark.parametrize("near", [(-9, -8), (-15, -14)])
def test_forming_the_missed_part_is_inside_the_rounding(near):
    U, U_star, _, _ = subspaces(6, count=10, near=near)
    one = np.eye(K), np.eye(R)
    proof = subspace_floor.certify(U, U_star, *one)
    star = [[Fraction(x) for x in row] for row in U_star]
    for n in range(10):
        u = [[Fraction(x) for x in row] for row in U[n]]
        cross = [[sum(u[k][i] * star[k][j] for k in range(K)) for j in range(R)] for i in range(R)]
        exact = sum(
            (star[k][j] - sum(u[k][i] * cross[i][j] for i in range(R))) ** 2
            for k in range(K)
            for j in range(R)
        )
        assert abs(exact - Fraction(proof.value[n])) <= Fraction(proof.rounding[n])
        assert abs(exact - Fraction(proof.bound[n])) <= Fraction(proof.rounding[n])


@pytest.mark.parametrize("powers", [(-1030, 996), (996, -1030), (-1070, 1000), (-500, -530)])
def test_powers_of_two_change_neither_side_nor_rounding(powers):
    """Also where Sigma_x M underflows, or Sigma_x has a single bit, and where the floor is tiny."""
    U, U_star, _, _ = subspaces(10, count=200, near=(-7, -5))
    a, b = (np.ldexp(1.0, p) for p in powers)
    one = subspace_floor.certify(U, U_star, np.eye(K), np.eye(R))
    proof = subspace_floor.certify(U, U_star, a * np.eye(K), b * np.eye(R))
    assert proof.counts["holds"] == 200
    for field in ("value", "bound", "rounding"):
        exact = np.ldexp(getattr(one, field), sum(powers))
        np.testing.assert_allclose(getattr(proof, field), exact, rtol=1e-12, atol=2.0**-1072)
    tiny = subspace_floor.certify(U, U_star, 1e-310 * np.eye(K), 1e300 * np.eye(R))
    assert tiny.counts["holds"] == 200


def test_a_floor_that_underflows_keeps_the_last_bit_inside_the_rounding():
    U, U_star, _, _ = subspaces(11, count=200)
    proof = subspace_floor.certify(U, U_star, 1e-160 * np.eye(K), 1e-163 * np.eye(R))
    true = np.sum(subspace_floor.missed(U, U_star) ** 2, axis=(1, 2))
    assert proof.counts["holds"] == 200 and np.max(proof.rounding) < 2.0**-1070
    for n in range(200):
        exact = Fraction(true[n]) * Fraction(1e-160) * Fraction(1e-163)
        assert abs(exact - Fraction(proof.value[n])) <= Fraction(proof.rounding[n])


def test_numbers_that_overflow_are_silent():
    U, U_star, _, _ = subspaces(12, count=4)
    proof = subspace_floor.certify(U, U_star, 1e200 * np.eye(K), 1e200 * np.eye(R))
    assert not proof.applies.any() and set(proof.reason) == {subspace_floor.NOT_FINITE}


def test_a_frame_of_the_same_span_has_no_floor_within_the_rounding():
    """The exact floor is 0 however U and U* are scaled; forming (I - UU')U* says otherwise."""
    _, U_star, _, _ = subspaces(13, count=1)
    for u, star in ((1 + 2e-9, 1), (1, 1 - 2e-9), (1 - 1e-9, 1 + 1e-9)):
        proof = subspace_floor.certify(u * U_star, star * U_star, np.eye(K), np.eye(R))
        assert proof.counts["holds"] == 1 and proof.value[0] <= proof.rounding[0] < 1e-15


@pytest.mark.parametrize("near", [-9.0, -6.0, 0.0])
def test_a_defect_of_either_frame_is_inside_the_rounding(near):
    """One column: the projector uu'/u'u and the sine are rational."""
    rng = np.random.default_rng(14)
    for u_off, star_off in ((2e-9, 0), (0, 2e-9), (-2e-9, 1e-9)):
        star = np.linalg.qr(rng.standard_normal((K, 1)))[0]
        u = np.linalg.qr(star + 10**near * rng.standard_normal((K, 1)))[0]
        u, star = (1 + u_off) * u, (1 + star_off) * star
        proof = subspace_floor.certify(u, star, np.eye(K), np.eye(1))
        v, w = ([Fraction(x) for x in y[:, 0]] for y in (u, star))
        vv, vw, ww = (sum(a * b for a, b in zip(*p, strict=True)) for p in ((v, v), (v, w), (w, w)))
        floor = ww - vw * vw / vv
        assert abs(floor - Fraction(proof.value[0])) <= Fraction(proof.rounding[0])
        assert abs(floor / ww - Fraction(proof.bound[0])) <= Fraction(proof.rounding[0])


def test_broken_hypotheses_are_silent_or_refused():
    U, U_star, sigma_x, sigma_z = subspaces(7, count=4)
    U = U.copy()
    U[1] *= 1.01
    U[2, 0, 0] = np.nan
    proof = subspace_floor.certify(U, U_star, sigma_x, sigma_z)
    assert list(proof.verdict) == ["holds", "silent", "silent", "holds"]
    assert proof.reason[1] == subspace_floor.NOT_ORTHONORMAL
    assert subspace_floor.certify(U, 2 * U_star, sigma_x, sigma_z).counts["silent"] == 4
    lopsided = sigma_x.copy()
    lopsided[0, 1] += 1e-3
    with pytest.raises(ValueError, match="sigma_x.*not symmetric"):
        subspace_floor.certify(U, U_star, lopsided, sigma_z)
    with pytest.raises(ValueError, match="U: expected shape"):
        subspace_floor.certify(U[:, :, :2], U_star, sigma_x, sigma_z)


def test_one_subspace_and_the_same_subspace():
    U, U_star, sigma_x, sigma_z = subspaces(8, count=1)
    assert len(subspace_floor.certify(U[0], U_star, sigma_x, sigma_z)) == 1
    same = subspace_floor.certify(U_star, U_star, sigma_x, sigma_z)
    assert same.value[0] < 1e-28 and same.counts["holds"] == 1
