"""Values at the ends of the range, and systems that are hardly or not at all solvable."""

from fractions import Fraction

import numpy as np
import pytest

import twofold
from twofold import rigor
from twofold.decoder import richardson
from twofold.encoder.dense import DenseSystem
from twofold.measures import difficulty, overlaps, spectra
from twofold.tasks import moments, regression
from twofold.theorems import davis_kahan
from twofold.training import trajectory

SCALES = [5e-324, 1e-310, 1e-300, 1e-160, 1.0, 1e160, 1e300]
K = 4
rng = np.random.default_rng(1)


def rotated(values):
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    A = Q * np.asarray(values) @ Q.T
    return 0.5 * (A + A.T)


def solved(H, d):
    """H^-1 d in exact rational arithmetic, None for a singular H."""
    n = len(d)
    A = [[Fraction(x) for x in row] + [Fraction(y)] for row, y in zip(H, d, strict=True)]
    for j in range(n):
        pivot = next((i for i in range(j, n) if A[i][j]), None)
        if pivot is None:
            return None
        A[j], A[pivot] = A[pivot], A[j]
        for i in range(n):
            if i != j and A[i][j]:
                ratio = A[i][j] / A[j][j]
                A[i] = [x - ratio * y for x, y in zip(A[i], A[j], strict=True)]
    return [A[i][n] / A[i][i] for i in range(n)]


def holds(x, radius, H, d):
    """Whether the true solution lies within ``radius`` of x; nothing is claimed by inf."""
    true = solved(H, d)
    if np.isinf(radius):
        return True
    assert true is not None
    gap = sum((Fraction(a) - b) ** 2 for a, b in zip(x, true, strict=True))
    return gap <= Fraction(radius) ** 2


@pytest.mark.parametrize("scale", SCALES)
def test_norms_at_the_ends_of_the_range(scale):
    T = np.diag([1.0, -3.0, 2.0, 0.0]) * scale
    top = 3.0 * scale
    bound = float(rigor.norm2_upper(T[None])[0])
    assert top <= bound <= top * (1 + 1e-14) + 5e-322
    assert rigor.contraction_upper(np.eye(K), T[None])[0] >= max(1.0, top)
    power = rigor.power_upper(np.eye(K), T[None], 2)[0]
    assert power >= 1.0 and (power >= top * (1 - 1e-15) * top or scale > 1e150)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("right", SCALES)
def test_a_solve_is_true_or_silent_at_the_ends_of_the_range(scale, right):
    H, d = rotated([1.0, 0.5, 2.0, 3.0]) * scale, rng.standard_normal(K) * right
    (x,), (radius,) = rigor.solve(H[None], d[None])
    assert holds(x, radius, H, d) and not np.isnan(radius)
    if scale >= 1e-160 and 1e-160 <= right and right / scale <= 1e300:
        assert np.isfinite(radius)


@pytest.mark.parametrize("decades", [0, 6, 10, 13, 14, 15, 17, 20])
def test_a_solve_is_true_or_silent_at_any_condition(decades):
    for _ in range(5):
        H, d = rotated(np.logspace(0, -decades, 6)), rng.standard_normal(6)
        (x,), (radius,) = rigor.solve(H[None], d[None])
        assert holds(x, radius, H, d)
        if decades <= 10:
            assert radius <= 1e-6 * np.linalg.norm(x)


def test_a_singular_system_is_silent_and_an_indefinite_one_is_solved():
    singular = np.ones((3, 3)), np.zeros((3, 3)), np.diag([1.0, 1.0, 0.0])
    H = np.stack([*singular, np.diag([1.0, -2.0, 3.0]), np.eye(3)])
    x, radius = rigor.solve(H, np.ones((5, 3)))
    assert np.all(np.isinf(radius[:3])) and np.all(np.isfinite(radius[3:]))
    assert all(holds(*case) for case in zip(x[3:], radius[3:], H[3:], np.ones((2, 3)), strict=True))
    assert np.isnan(DenseSystem(H, np.ones((5, 3))).exact()[:3]).all()


def test_a_right_side_of_zeros_does_not_make_a_singular_system_solvable():
    counting = np.arange(1.0, 10.0).reshape(3, 3)  # singular, though elimination does not see it
    H = np.stack([np.ones((3, 3)), counting, counting / 7, np.eye(3)])
    x, radius = rigor.solve(H, np.zeros((4, 3)))
    assert np.isinf(radius[:2]).all() and radius[3] == 0.0 and not x[3].any()


@pytest.mark.parametrize("rho", [1.0, 1.5, 40.0, 1e30])
def test_a_step_that_diverges_is_bounded_all_the_same_or_silent(rho):
    H = rotated([1.0, 0.9, 0.8, 1.0 + rho])[None]
    assert rigor.contraction_upper(np.eye(K), H)[0] >= rho * (1 - 1e-15)
    x = richardson.iterate(np.eye(K), H, np.ones((1, K)), 12)
    assert np.isfinite(x).all() or rho > 1e20
    tasks = twofold.Tasks({"H": H, "d": np.ones((1, K))}, np.ones((1, K)))
    decode = richardson.Richardson(np.eye(K), 12)
    model = twofold.EncoderDecoder(twofold.encoder.ridge.Ridge(), decode)
    proofs = twofold.certify(twofold.take_apart(model, tasks))
    assert all(proof.counts["violated"] == 0 for proof in proofs)
    if rho > 1e20:
        silent = [p for p in proofs if p.kind in ("identity", "bound")]
        assert all(p.counts["silent"] or np.isfinite(p.bound).all() for p in silent)


def test_a_closed_eigengap_is_silent():
    S = np.diag([1.0, 1.0, 0.5])
    for record in davis_kahan.certify(S, S[None], 1):
        assert record.verdict[0] == "silent" and "gap" in record.reason[0]
    assert all(record.verdict[0] == "holds" for record in davis_kahan.certify(S, S[None], 2))
    assert difficulty.encoder_difficulty(S, S, S[:, :1], S[:, :1]).inverse_gap == np.inf


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e300])
def test_measures_are_free_of_scale(scale):
    H = rotated([4.0, 3.0, 2.0, 1.0])[None]
    H = np.round(H * 2**40) * 2.0**-40 if scale > 1e-320 else np.diag([4.0, 3, 2, 1])[None]
    digits = 1e-12 if scale > 1e-305 or scale < 1e-320 else 1e-9
    for measure in (
        spectra.condition, spectra.stable_rank, lambda h: spectra.top_energy(h, 2),
        difficulty.effective_rank, difficulty.diversity_entropy,
        lambda h: spectra.preconditioned_condition(np.eye(4), h),
        lambda h: overlaps.cosine_defect(h, np.diag([4.0, 3, 2, 1])),
        lambda h: overlaps.overlap_weights(h, np.eye(4)).max(),
    ):  # fmt: skip
        np.testing.assert_allclose(measure(H * scale), measure(H), rtol=digits, atol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_no_measure_of_a_matrix_that_is_not_finite_is_a_number(bad):
    H = np.eye(3)[None].repeat(2, axis=0)
    H[0, 0, 0] = bad
    for measure in (
        spectra.condition, spectra.norm2, spectra.radius, spectra.stable_rank, spectra.spectrum,
        spectra.singular_values, difficulty.effective_rank, difficulty.diversity_entropy,
        lambda h: spectra.top_energy(h, 1), lambda h: spectra.product(np.eye(3), h),
        lambda h: spectra.sample_contraction(np.eye(3), h).norm,
        lambda h: difficulty.effective_dimension(h, 0.1),
        lambda h: spectra.whiten(h, np.eye(3)), lambda h: overlaps.cosine_defect(h, np.eye(3)),
        lambda h: overlaps.overlap_weights(h, np.eye(3)),
    ):  # fmt: skip
        try:
            found = np.asarray(measure(H))
        except ValueError as error:
            assert "finite" in str(error)
        else:
            assert not np.isfinite(found[0]).any() and np.isfinite(found[1]).all()


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (lambda: spectra.singular_values(np.array([[2**53 + 1]])), "T: integers"),
        (lambda: spectra.singular_values([[1j]]), "T: expected real"),
        (lambda: spectra.singular_values(np.ma.masked_less(np.eye(2), 0.5)), "T: masked"),
        (lambda: spectra.radius(np.ones((3, 2))), "T: expected square"),
        (lambda: spectra.spectrum([[1.0], [1.0, 2.0]]), "S: not an array"),
        (lambda: spectra.condition([[1.0], [1.0, 2.0]]), "H: not an array"),
        (lambda: overlaps.principal_angles(1e300 * np.eye(3), np.eye(3)), "U: columns are not"),
    ],
)
def test_a_measure_refuses_by_name(measure, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        measure()


def test_overflow_is_infinite_and_does_not_warn():
    huge = np.full((2, 2), 1e300)
    assert np.isinf(spectra.latent_matrix(huge, np.eye(2))).all()
    assert not np.isfinite(spectra.whiten(np.eye(2), 5e-324 * np.eye(2))).all()
    assert difficulty.effective_dimension(5e-324 * np.eye(2), 1.0) == 0.0


SAMPLE = dict(seed=0, dim=3, prompt=5, count=2)
BAD_LAWS = [
    ("dim", 0), ("dim", 2.0), ("prompt", 0), ("prompt", True), ("prompt", "5"), ("count", 0),
    ("count", -1), ("seed", -1), ("seed", 1.5), ("seed", None), ("condition", 0.5),
    ("condition", np.nan), ("condition", np.inf), ("ridge", -1e-9), ("ridge", np.nan),
    ("ridge", 1e300), ("noise", -1.0), ("noise", np.inf), ("noise", 1e-300), ("noise", 1j),
    ("rank", 0), ("rank", 4), ("rank", 1.0), ("kurtosis", -2.1), ("kurtosis", np.nan),
    ("target", "truth"), ("target", None), ("spectrum", "pink"), ("spectrum", np.ones(4)),
    ("spectrum", -np.ones(3)), ("spectrum", np.array([1.0, np.nan, 1.0])), ("spectrum", 3),
    ("spectrum", np.triu(np.ones((3, 3)))), ("spectrum", np.ones((3, 3)) - 2 * np.eye(3)),
    ("spectrum", 1e300 * np.ones(3)), ("spectrum", 1e-310 * np.ones(3)),
    ("spectrum", np.ones(3) + 0j), ("prior", np.ones(2)), ("prior", -np.eye(3)),
    ("prior", np.array([1.0, None, 1.0])), ("prior", np.full(3, 2**60)), ("needs", "Z"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), BAD_LAWS)
def test_a_law_that_is_none_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=rf"^{name}: "):
        regression.sample(**(SAMPLE | {name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [(n, v) for n, v in BAD_LAWS if n in ("prompt", "ridge", "noise", "target", "kurtosis")]
    + [("sigma" if n == "spectrum" else n, v) for n, v in BAD_LAWS
       if n in ("spectrum", "prior") and np.shape(v)[:1] != (4,) and not isinstance(v, str)],
)  # fmt: skip
def test_moments_of_no_law_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=rf"^{name}: "):
        moments.regression(**({"sigma": np.ones(3), "prompt": 5} | {name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("eta", 0.0), ("eta", -1.0), ("eta", np.nan), ("eta", np.inf), ("eta", "1"),
        ("steps", []), ("steps", -1), ("steps", 0.5), ("steps", np.nan), ("steps", [[1]]),
        ("C", -np.eye(3)), ("C", np.eye(3)[:2]), ("C", 1e300 * np.eye(3)),
        ("C", np.eye(3) + 1e-3 * np.triu(np.ones((3, 3)), 1)), ("C", np.zeros((0, 0))),
        ("P0", 1e300 * np.eye(3)), ("B", np.eye(2)),
    ],
)  # fmt: skip
def test_a_path_that_cannot_be_walked_is_refused_by_name(name, value):
    fine = dict(P0=np.zeros((3, 3)), C=np.eye(3), B=np.eye(3), eta=0.1, steps=[0, 5])
    with pytest.raises(ValueError, match=rf"^{name}: "):
        trajectory.decoder(**(fine | {name: value}))


def test_a_singular_second_moment_needs_a_target_in_its_range():
    C = np.diag([1.0, 0.5, 0.0])
    seen = trajectory.decoder(np.zeros((3, 3)), C, C, eta=0.1, steps=[10])
    assert np.isfinite(seen.P).all() and seen.excess[0] >= 0
    with pytest.raises(ValueError, match="^B: no P solves"):
        trajectory.decoder(np.zeros((3, 3)), C, np.eye(3), eta=0.1, steps=[10])
