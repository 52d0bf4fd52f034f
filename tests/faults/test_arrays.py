"""What no array may be, at every public function that proves or solves something."""

from typing import NamedTuple

import numpy as np
import pytest

from twofold import rigor
from twofold.certificate import Certificate
from twofold.decoder import checkpoints, richardson
from twofold.encoder.ridge import estimate
from twofold.encoder.weak_form import WeakForm
from twofold.tasks import tridiagonal
from twofold.tasks.affine import Dense
from twofold.theorems import (
    bernstein,
    betting,
    covariance_rate,
    davis_kahan,
    decoder_bound,
    encoded_floor,
    excess_risk,
    finite_task,
    mp_window,
    nonclosure,
    power,
    resolvent,
    ridge_bias,
    subspace_floor,
    tail,
    trace_risk,
    tracking,
)
from twofold.theorems import richardson as rate
from twofold.training import trajectory

N, K, BAD = 6, 4, 2
rng = np.random.default_rng(0)
X = rng.standard_normal((N, 12, K))
H = np.swapaxes(X, 1, 2) @ X / 12
H = 0.5 * (H + np.swapaxes(H, 1, 2))
d, P, LOSSES = rng.standard_normal((N, K)), 0.4 * np.eye(K), rng.exponential(size=40)
S = np.diag([1.0, 0.7, 0.4, 0.2]) + 0.05
EYES, SS = (np.broadcast_to(A, (N, K, K)).copy() for A in (np.eye(K), S))

PIECES = Dense(np.array([2 * np.eye(K), S, np.diag([1.0, -1.0, 1.0, -1.0])]))


class Entry(NamedTuple):
    """A public function, its batched arguments, its shared ones, its plain ones."""

    call: object
    rows: dict
    shared: dict = {}
    plain: dict = {}


def excess(**arguments):
    return trajectory.decoder(**arguments).excess


def last_error(**arguments):
    """Earlier ones do not depend on all of H and d."""
    return richardson.error_norms(**arguments)[:, -1]


ENTRIES = {
    "iterate": Entry(richardson.iterate, {"H": H, "d": d}, {"P": P}, {"depth": 5}),
    "error_norms": Entry(last_error, {"H": H, "d": d, "x_star": d}, {"P": P}, {"depth": 5}),
    "norm2_upper": Entry(rigor.norm2_upper, {"T": H}),
    "contraction_upper": Entry(rigor.contraction_upper, {"H": H}, {"P": P}),
    "power_upper": Entry(rigor.power_upper, {"H": H}, {"P": P}, {"depth": 5}),
    "solve": Entry(rigor.solve, {"H": H, "d": d}),
    "identity": Entry(rate.certify_identity, {"H": H, "d": d}, {"P": P}, {"depth": 5}),
    "rate": Entry(rate.certify, {"H": H, "d": d}, {"P": P}, {"depth": 5}),
    "power": Entry(power.certify, {"H": H, "d": d}, {"P": P}, {"depth": 5}),
    "trace_risk": Entry(trace_risk.certify, {"H": H}, {"P": P, "prior": S}, {"depth": 5}),
    "decoder_bound": Entry(
        decoder_bound.certify, {}, {"P": P, "H": H, "d": d, "sigma": S}, {"depth": 5}
    ),
    "decoder_power": Entry(
        decoder_bound.certify_power, {}, {"P": P, "H": H, "d": d, "sigma": S}, {"depth": 5}
    ),
    "resolvent": Entry(resolvent.certify, {"H_M": H}, {"H_inf": S}),
    "encoded_floor": Entry(encoded_floor.certify, {"A_enc": H + 1e-3 * np.eye(K), "A": H, "f": d}),
    "tridiagonal": Entry(
        tridiagonal.solve, {"main": 3.0 + d**2, "off": d[:, 1:] / 9, "right": d}
    ),
    "weak_form": Entry(
        lambda u, f, query: WeakForm(PIECES)({"u": u, "f": f, "query": query}).exact(),
        {"u": X, "f": X[:, ::-1].copy(), "query": d},
    ),
    "davis_kahan": Entry(davis_kahan.certify, {"estimate": H}, {"sigma": S}, {"rank": 2}),
    "covariance_rate": Entry(
        covariance_rate.certify, {"estimate": H}, {"sigma": S}, {"count": 50, "delta": 0.05}
    ),
    "excess_risk": Entry(excess_risk.certify, {"P": EYES, "P_star": EYES, "C": SS, "B": SS}),
    "tracking": Entry(
        tracking.certify, {"E0": EYES, "C": SS[:, None], "D": EYES[:, None]}, {}, {"eta": 0.1}
    ),
    "ridge_bias": Entry(ridge_bias.certify, {"H": H, "z": d}, {}, {"ridge": 0.1}),
    "subspace_floor": Entry(
        subspace_floor.certify, {"U_s": EYES[:, :, :2]},
        {"U_star": np.eye(K)[:, :2], "sigma_x": S, "sigma_z": np.eye(2)},
    ),
    "mp_window": Entry(mp_window.certify, {"whitened": H}, {}, {"prompt": 12, "t": 2.0}),
    "nonclosure": Entry(nonclosure.certify, {"x": d[:, 0] ** 2, "y": d[:, 1] ** 2}),
    "ridge": Entry(
        lambda X, y: estimate({"X": X, "y": y}, 0.1), {"X": X, "y": rng.standard_normal((N, 12))}
    ),
    "finite_task": Entry(
        finite_task.certify, {}, {"excesses": LOSSES, "S": S},
        {"dim": K, "count": 20, "delta": 0.05},
    ),
    "trajectory": Entry(
        excess, {}, {"P0": P, "C": S, "B": np.eye(K)}, {"eta": 0.1, "steps": [0, 3]}
    ),
    "bernstein": Entry(bernstein.upper, {}, {"losses": LOSSES}, {"clip": 9.0, "delta": 0.05}),
    "betting": Entry(betting.upper, {}, {"losses": LOSSES}, {"clip": 9.0, "delta": 0.05}),
    "running": Entry(betting.running, {}, {"losses": LOSSES}, {"clip": 9.0, "delta": 0.05}),
    "tail": Entry(tail.upper, {}, {"losses": LOSSES}, {"clip": 9.0, "delta": 0.05}),
}  # fmt: skip
ALIAS = {"U_s": "U", "excesses": "losses"}
EACH = [(name, arg) for name, e in ENTRIES.items() for arg in (*e.rows, *e.shared)]
ROWS = [(name, arg) for name, e in ENTRIES.items() for arg in e.rows]
SHARED = [(name, arg) for name, e in ENTRIES.items() for arg in e.shared]


def called(name, **changes):
    entry = ENTRIES[name]
    return entry.call(**(entry.rows | entry.shared | entry.plain | changes))


def given(name, arg):
    return (ENTRIES[name].rows | ENTRIES[name].shared)[arg].copy()


def numbers(result):
    """The arrays that came out; of a certificate what it claims, NaN where it is silent."""
    if isinstance(result, Certificate):
        spoken = result.verdict != "silent"
        return [np.where(spoken, x, np.nan) for x in (result.bound, result.rounding)]
    if isinstance(result, (list, tuple)):
        return [array for part in result for array in numbers(part)]
    return [np.asarray(result)]


REFUSED = {
    "complex": lambda x: x + 0j,
    "object": lambda x: x.astype(object),
    "text": lambda x: x.astype(str),
    "bool": lambda x: x > 0,
    "integers beyond 2^53": lambda x: np.full(x.shape, 2**53 + 1),
    "masked": lambda x: np.ma.masked_array(x, mask=x == x.flat[0]),
    "ragged": lambda x: [[1.0, 2.0], [3.0]],
    "None": lambda x: None,
    "an axis too many": lambda x: x[None, None],
}


IDENTITY = [("trace_risk", "prior"), ("decoder_bound", "sigma"), ("decoder_power", "sigma")]
NONE_IS_MEANT = [*IDENTITY, ("ridge", "X"), ("ridge", "y")]


@pytest.mark.parametrize(
    ("name", "arg", "kind"),
    [(*e, k) for e in EACH for k in REFUSED if k != "None" or e not in NONE_IS_MEANT],
)
def test_what_is_no_array_of_real_numbers_is_refused_by_name(name, arg, kind):
    with pytest.raises(ValueError, match=f"^{ALIAS.get(arg, arg)}: "):
        called(name, **{arg: REFUSED[kind](given(name, arg))})


@pytest.mark.parametrize(
    ("name", "arg"),
    [(n, a) for n, a in EACH if given(n, a).ndim > 1 and (n, a) != ("ridge", "X")],
)
def test_a_shape_that_does_not_fit_the_others_is_refused(name, arg):
    with pytest.raises(ValueError, match="(expected|no square)"):
        called(name, **{arg: given(name, arg)[..., :-1]})


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("name", "arg"), ROWS)
def test_a_bad_row_says_nothing_and_the_others_keep_their_bits(name, arg, bad):
    array = given(name, arg)
    array[(BAD, *(0,) * (array.ndim - 1))] = bad
    others = np.arange(N) != BAD
    try:
        found = numbers(called(name, **{arg: array}))
    except ValueError as error:
        assert str(error).startswith(f"{arg}: ") and "finite" in str(error)
        return
    for before, after in zip(numbers(called(name)), found, strict=True):
        assert before[others].tobytes() == after[others].tobytes()
        assert not np.any(np.isfinite(after[BAD]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(("name", "arg"), SHARED)
def test_a_bad_shared_array_is_refused_or_nothing_is_said(name, arg, bad):
    array = given(name, arg)
    array[(0,) * array.ndim] = bad
    try:
        found = numbers(called(name, **{arg: array}))
    except ValueError as error:
        assert str(error).startswith(f"{ALIAS.get(arg, arg)}: ")
        return
    assert not any(np.any(np.isfinite(x)) for x in found)


@pytest.mark.parametrize("name", [n for n, e in ENTRIES.items() if e.rows])
def test_no_tasks_give_no_rows_or_a_refusal(name):
    try:
        found = numbers(called(name, **{k: v[:0] for k, v in ENTRIES[name].rows.items()}))
    except ValueError as error:
        assert str(error).partition(":")[0].split(", ")[0] in (*ENTRIES[name].rows, "z")
        return
    assert all(len(x) == 0 for x in found)


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "big-endian": lambda x: x.astype(">f8"),
    "every second of a longer array": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed twice": lambda x: x[::-1].copy()[::-1],
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
    "a subclass": lambda x: x.copy().view(type("Sub", (np.ndarray,), {})),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ENTRIES)
def test_layout_does_not_change_a_bit(name, layout):
    entry = ENTRIES[name]
    twisted = {k: LAYOUTS[layout](v) for k, v in (entry.rows | entry.shared).items()}
    before = {k: v.tobytes() for k, v in twisted.items()}
    for one, two in zip(numbers(called(name)), numbers(called(name, **twisted)), strict=True):
        assert one.tobytes() == two.tobytes()
    assert all(twisted[k].tobytes() == b for k, b in before.items())


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ">f4"])
@pytest.mark.parametrize("name", ENTRIES)
def test_narrow_floats_are_upcast_exactly(name, dtype):
    entry = ENTRIES[name]
    narrow = {k: v.astype(dtype) for k, v in (entry.rows | entry.shared).items()}
    wide = {k: v.astype(np.float64) for k, v in narrow.items()}
    for one, two in zip(
        numbers(called(name, **wide)), numbers(called(name, **narrow)), strict=True
    ):
        assert one.tobytes() == two.tobytes()


def test_integers_are_taken_as_they_are():
    T = rng.integers(-9, 9, (3, K, K))
    for name, arg in (("norm2_upper", "T"), ("solve", "H")):
        rest = {} if arg == "T" else {"d": d[:3]}
        one, two = (numbers(called(name, **rest, **{arg: A})) for A in (T, T.astype(float)))
        assert [x.tobytes() for x in one] == [x.tobytes() for x in two]


@pytest.mark.parametrize("size", [0, 1])
def test_no_coordinate_and_one_coordinate(size):
    h, right = np.full((3, size, size), 2.0), np.ones((3, size))
    p, whole = 0.25 * np.eye(size), 1.0 if size else 0.0
    for bound, true in (
        (rigor.norm2_upper(h), 2.0), (rigor.contraction_upper(p, h), 0.5),
        (rigor.power_upper(p, h, 3), 0.125),
    ):  # fmt: skip
        assert np.all(bound >= whole * true) and np.all(bound <= whole * true * (1 + 1e-14))
    if size:
        assert np.all(richardson.iterate(p, h, right, 2) == 0.375)
        assert np.all(rigor.solve(h, right)[0] == 0.5)
    else:
        with pytest.raises(ValueError, match="^d: nothing to solve"):
            richardson.iterate(p, h, right, 2)
        assert rigor.solve(h, right)[0].shape == (3, 0)


@pytest.mark.parametrize("depth", [-1, 1.0, True, "3", None, 2.5, np.float64(2)])
def test_a_depth_that_is_no_count_is_refused(depth):
    for call in (richardson.iterate, checkpoints.iterate, rate.certify, power.certify):
        with pytest.raises(ValueError, match="^depth: expected a whole number"):
            call(P[None] if call is checkpoints.iterate else P, H, d, depth)
    with pytest.raises(ValueError, match="^depth: "):
        rigor.power_upper(P, H, depth)
