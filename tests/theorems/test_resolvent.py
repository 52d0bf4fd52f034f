import numpy as np
import pytest

from twofold.theorems import resolvent


def prompts(count=2000, K=5, M=60, condition=10.0, ridge=1e-3, seed=0):
    rng = np.random.default_rng(seed)
    root = np.linalg.qr(rng.standard_normal((K, K)))[0] * np.sqrt(np.geomspace(1, 1 / condition, K))
    X = rng.standard_normal((count, M, K)) @ root.T
    H_inf = root @ root.T + ridge * np.eye(K)
    return np.swapaxes(X, 1, 2) @ X / M + ridge * np.eye(K), (H_inf + H_inf.T) / 2


def test_the_expansion_is_an_identity_on_two_thousand_prompts():
    H_M, H_inf = prompts()
    identity, bound = resolvent.certify(H_M, H_inf)
    assert identity.kind == "identity"
    assert identity.counts == {"holds": 2000, "violated": 0, "silent": 0}
    X, Y = np.linalg.inv(H_M), np.linalg.inv(H_inf)
    D = H_M - H_inf
    scale = np.linalg.norm(Y @ D @ X @ D @ Y, axis=(1, 2)) + np.linalg.norm(Y)
    assert np.max(identity.rounding / scale) < 1e-11
    assert np.any(identity.value > 0)
    assert bound.counts["violated"] == 0


def test_the_bound_holds_where_it_speaks_and_says_why_where_not():
    H_M, H_inf = prompts(M=400, condition=2.0)
    _, bound = resolvent.certify(H_M, H_inf)
    assert bound.counts["violated"] == 0
    assert bound.counts["holds"] > 1900
    D = H_M - H_inf
    a, d = np.linalg.norm(np.linalg.inv(H_inf), 2), np.linalg.norm(D, 2, axis=(1, 2))
    said = bound.applies
    assert np.array_equal(said, a * d < 1)
    assert np.allclose(bound.bound[said], (a * a * d / (1 - a * d))[said], rtol=1e-9)
    true = np.linalg.norm(np.linalg.inv(H_M) - np.linalg.inv(H_inf), 2, axis=(1, 2))
    assert np.allclose(bound.value, true)


def test_the_bound_is_attained():
    """D = -delta v v', v the eigenvector of the smallest eigenvalue: equality for every delta."""
    H_inf = prompts(1, ridge=0.1)[1]
    low, v = (x[..., 0] for x in np.linalg.eigh(H_inf))
    delta = low * np.array([1e-9, 1e-3, 0.5, 0.99])
    H_M = H_inf - delta[:, None, None] * np.outer(v, v)
    H_M = (H_M + np.swapaxes(H_M, 1, 2)) / 2
    _, bound = resolvent.certify(H_M, H_inf)
    assert bound.counts["holds"] == 4
    assert np.allclose(bound.tightness, 1, atol=1e-6)
    assert np.allclose(bound.tightness[2:], 1, atol=1e-11)


def test_attained_in_one_dimension_by_rounding_alone():
    """1/(h - e) - 1/h = e / (h (h - e)): a bare comparison would fail on many of these rows."""
    rng = np.random.default_rng(1)
    h = rng.uniform(1, 2, (500, 1, 1))
    _, bound = resolvent.certify(h * (1 - rng.uniform(0, 0.9, (500, 1, 1))), h)
    assert bound.counts["holds"] == 500
    assert np.allclose(bound.tightness, 1, atol=1e-12)


def test_the_hypothesis_is_checked_upward():
    """a d = 1 and beyond: silent with its reason, though the expansion still holds."""
    H_inf = np.eye(2)
    H_M = np.stack([np.diag([2.0, 1.0]), np.diag([2.5, 1.0]), np.diag([2.0 - 2.0**-52, 1.0])])
    identity, bound = resolvent.certify(H_M, H_inf)
    assert identity.counts["holds"] == 3
    assert bound.verdict.tolist() == ["silent"] * 3
    assert all("< 1" in reason for reason in bound.reason)


def test_without_the_hypothesis_the_formula_is_false():
    """a d > 1 makes the right-hand side negative."""
    a, d = 1.0, 1.5
    assert a * a * d / (1 - a * d) < abs(1 / 2.5 - 1)
    assert np.isinf(resolvent.bound(np.array([1.0]), np.array([1.5]))).all()


def test_a_wrong_expansion_is_refuted():
    """The wrong sign, or the last term with H_inf^-1 for H_M^-1, is far outside the rounding."""
    H_M, H_inf = prompts(50)
    X, Y = resolvent.inverse(H_M), resolvent.inverse(H_inf[None])
    D = resolvent.enc.exact(H_M) - resolvent.enc.exact(H_inf)
    true = resolvent.expansion_gap(X, Y, D)
    assert np.all(np.linalg.norm(true.mid, axis=(1, 2)) <= true.radius)
    for X_, Y_, D_ in ((X, Y, resolvent.enc.exact(-D.mid)), (Y, X, D)):
        false = resolvent.expansion_gap(X_, Y_, D_)
        assert np.all(np.linalg.norm(false.mid, axis=(1, 2)) > 1e3 * false.radius)


def test_the_inverse_is_enclosed():
    from fractions import Fraction

    H = np.array([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.5], [0.5, 0.2500001]]])
    ball = resolvent.inverse(H)
    for n in range(2):
        (p, q), (_, s) = [[Fraction(float(x)) for x in row] for row in H[n]]
        det = p * s - q * q
        true = [s / det, -q / det, -q / det, p / det]
        mid = [Fraction(float(x)) for x in ball.mid[n].ravel()]
        gap = sum((a - b) ** 2 for a, b in zip(true, mid, strict=True))
        assert 0 < gap <= Fraction(float(ball.radius[n])) ** 2


@pytest.mark.parametrize("condition", (1e3, 1e6))
def test_the_rounding_stays_small_at_high_condition(condition):
    H_M, H_inf = prompts(20, K=16, M=64, condition=condition, ridge=0.0)
    identity, bound = resolvent.certify(H_M, H_inf)
    assert identity.counts["holds"] == 20
    X, Y = np.linalg.inv(H_M), np.linalg.inv(H_inf)
    D = H_M - H_inf
    scale = np.linalg.norm(Y, 2) * np.linalg.norm(D, 2, axis=(1, 2))
    scale = np.linalg.norm(X, 2, axis=(1, 2)) * (1 + scale) ** 2
    assert np.max(identity.rounding / scale) < 1e-9
    assert np.max(bound.rounding / np.linalg.norm(X, 2, axis=(1, 2))) < 1e-9


def test_a_singular_prompt_is_silent_and_the_others_go_on():
    H_M, H_inf = prompts(3, ridge=0.5)
    H_M = H_M.copy()
    H_M[1] = np.outer(np.ones(5), np.ones(5))
    identity, bound = resolvent.certify(H_M, H_inf)
    assert identity.verdict.tolist() == ["holds", "silent", "holds"]
    assert identity.reason[1] == resolvent.UNSOLVED
    assert bound.verdict[1] == "silent"
    for proof in resolvent.certify(H_M, np.zeros((5, 5))):
        assert proof.counts["silent"] == 3


def test_a_row_that_the_solve_leaves_open_is_silent_although_the_hypothesis_is_met(monkeypatch):
    H_M, H_inf = prompts(3, M=4000, condition=2.0)
    solve = resolvent.solve

    def gives_up(H, d):
        x, radius = solve(H, d)
        radius = np.array(radius)
        if len(H) == 3:
            radius[1] = np.inf
        return x, radius

    monkeypatch.setattr(resolvent, "solve", gives_up)
    for proof in resolvent.certify(H_M, H_inf):
        assert proof.verdict.tolist() == ["holds", "silent", "holds"]
        assert proof.reason[1] == resolvent.UNSOLVED


def test_equal_matrices_have_no_gap():
    _, H_inf = prompts(1)
    identity, bound = resolvent.certify(H_inf[None], H_inf)
    assert identity.verdict[0] == bound.verdict[0] == "holds"
    assert bound.bound[0] < 1e-12


def test_bad_input_is_named():
    for H_M, H_inf, name in (
        (np.eye(2), np.eye(2), "H_M"),
        (np.zeros((0, 2, 2)), np.eye(2), "H_M"),
        (np.eye(2)[None], np.eye(3), "H_inf"),
        (np.full((1, 2, 2), np.nan), np.eye(2), "H_M"),
        (np.eye(2)[None], np.eye(2) * 1j, "H_inf"),
        (np.array([[[1.0, 1e-3], [0.0, 1.0]]]), np.eye(2), "H_M"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            resolvent.certify(H_M, H_inf)
