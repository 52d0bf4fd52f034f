import numpy as np
import pytest

from twofold.theorems import bernstein, betting, heldout, moment_ratio, tail

GOOD = np.array([0.1, 0.0, 2.0, 0.3])
UPPERS = {
    "bernstein": lambda losses, clip=1.0, delta=0.05: bernstein.upper(
        losses, clip=clip, delta=delta
    ),
    "betting": lambda losses, clip=1.0, delta=0.05: betting.upper(losses, clip=clip, delta=delta),
    "running": lambda losses, clip=1.0, delta=0.05: betting.running(losses, clip=clip, delta=delta),
    "tail": lambda losses, clip=1.0, delta=0.05: tail.upper(losses, clip=clip, delta=delta),
}
CERTIFIERS = {
    "bernstein": lambda losses: bernstein.certify(losses, clip=1.0, delta=0.05),
    "betting": lambda losses: betting.certify(losses, clip=1.0, delta=0.05),
    "tail": lambda losses: tail.certify(losses, clip=1.0, delta=0.05),
    "moment_ratio": lambda losses: moment_ratio.certify(losses, kappa=1.0, delta=0.5),
}


@pytest.mark.parametrize("upper", UPPERS.values(), ids=UPPERS)
@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([], "losses: got an empty"),
        ([0.1, -1e-300], "losses: entry 1"),
        ([0.1, np.nan], "losses: 1 of 2"),
        ([0.1, np.inf], "losses: 1 of 2"),
        (np.zeros((2, 2)), "losses: expected 1 axes"),
        ([0.1, 1j], "losses: expected real"),
        (np.array([0.1, None], dtype=object), "losses: expected real"),
        ([2**60, 1], "losses: integers"),
    ],
)
def test_bad_losses_are_named(upper, losses, message):
    with pytest.raises(ValueError, match=message):
        upper(losses)


@pytest.mark.parametrize("upper", UPPERS.values(), ids=UPPERS)
@pytest.mark.parametrize("clip", [0.0, -1.0, np.nan, np.inf, 1j, "1"])
def test_a_bad_clip_is_named(upper, clip):
    with pytest.raises(ValueError, match="clip"):
        upper(GOOD, clip=clip)


@pytest.mark.parametrize("upper", UPPERS.values(), ids=UPPERS)
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, np.nan, 1e-310, 1j])
def test_a_bad_delta_is_named(upper, delta):
    with pytest.raises(ValueError, match="delta"):
        upper(GOOD, delta=delta)


@pytest.mark.parametrize("upper", UPPERS.values(), ids=UPPERS)
def test_dtype_and_layout_do_not_matter(upper):
    exact = np.array([0.5, 0.0, 2.0, 0.25, 1.0, 0.125])
    expected = upper(exact)
    strided = np.zeros((6, 3))
    strided[:, 1] = exact
    for form in (
        exact.astype(np.float32),
        exact.astype(np.float16),
        exact.astype(">f8"),
        strided[:, 1],
        exact[::-1].copy()[::-1],
        list(exact),
    ):
        assert np.array_equal(upper(form), expected)


@pytest.mark.parametrize("upper", [UPPERS["bernstein"], UPPERS["betting"]])
@pytest.mark.parametrize("k", [-1060, -900, -3, 5, 900, 1020])
def test_a_change_of_unit_by_a_power_of_two_changes_nothing_else(upper, k):
    losses = np.array([0.5, 0.0, 1.75, 0.25, 1.0, 0.125, 0.75, 0.25])
    base = upper(losses, clip=1.5)
    scaled = upper(np.ldexp(losses, k), clip=float(np.ldexp(1.5, k)))
    expected = np.ldexp(base, k)
    assert scaled == expected if k > -1000 else expected <= scaled <= expected + 5e-324


@pytest.mark.parametrize("certify", CERTIFIERS.values(), ids=CERTIFIERS)
def test_a_bad_row_is_silent_and_the_others_go_on(certify):
    rows = np.full((4, 12), 0.5)
    rows[1, 3], rows[2, 0] = np.nan, -1.0
    record = certify(rows)
    assert list(record.verdict) == ["holds", "silent", "silent", "holds"]
    assert "not finite" in record.reason[1] and "entry 0 is" in record.reason[2]
    with pytest.raises(ValueError, match="losses"):
        certify(np.zeros((3, 0)))


@pytest.mark.parametrize("certify", CERTIFIERS.values(), ids=CERTIFIERS)
def test_the_record_survives_json(certify):
    record = certify(np.full((2, 12), 0.5))
    again = type(record).from_json(record.to_json())
    assert again.to_json() == record.to_json() and again.reference in bibliography()


def bibliography():
    from importlib.resources import files

    text = (files("twofold") / "theorems" / "references.bib").read_text()
    return {line.split("{")[1].split(",")[0] for line in text.splitlines() if line[:1] == "@"}


def test_log_ratio_is_above_the_logarithm_by_a_few_ulp():
    from flint import arb, ctx

    for delta in (0.05, 0.3, 1e-300, 1 - 2**-53, 0.5):
        for top in (1.0, 2.0):
            bound = heldout.log_ratio(top, delta)
            before, ctx.prec = ctx.prec, 200
            try:
                exact = (arb(top) / arb(delta)).log()
                assert arb(bound) > exact
                assert arb(bound) - exact < 2.0**-50 * (exact + 1)
            finally:
                ctx.prec = before


def test_shares_of_delta_never_add_up_to_more():
    from fractions import Fraction

    for family in (1, 2, 3, 7, 10, 97, 1000):
        each = heldout.share(0.05, family)
        assert family * Fraction(each) <= Fraction(0.05)
        assert each > 0.05 / family * (1 - 1e-15)
    for family in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="family"):
            heldout.share(0.05, family)


def test_order_follows_the_ids_whatever_the_rows():
    rng = np.random.default_rng(3)
    ids = np.arange(100) * 7
    names = np.array([f"task {i}" for i in ids])
    for labels in (ids, names, ids.astype(np.int32), list(ids)):
        labels = np.asarray(labels)
        shuffle = rng.permutation(100)
        base = labels[heldout.order(100, labels)]
        assert np.array_equal(labels[shuffle][heldout.order(100, labels[shuffle])], base)
        assert not np.array_equal(base, labels)
    assert np.array_equal(heldout.order(100), heldout.order(100, np.arange(100)))
    assert np.array_equal(np.sort(heldout.order(100)), np.arange(100))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2, 1], "occurs 2 times"),
        (["a", "a", "b"], "occurs 2 times"),
        ([1, 2], "expected 3"),
        ([0.5, 1.5, 2.5], "expected 3"),
        (np.array([1, None, 2], dtype=object), "integers or strings"),
    ],
)
def test_bad_ids_are_named(ids, message):
    with pytest.raises(ValueError, match=message):
        betting.upper([0.1, 0.2, 0.3], clip=1.0, delta=0.05, ids=ids)


def test_scaling_back_rounds_upward_even_among_subnormals():
    from fractions import Fraction

    rng = np.random.default_rng(4)
    lowered = 0
    for x in rng.uniform(0, 2, 300):
        for k in (-1074, -1070, -1060, -5, 0, 1023):
            up = heldout.raised(float(x), k)
            exact = Fraction(float(x)) * Fraction(2) ** k
            assert up == np.inf or Fraction(up) >= exact
            assert up == np.inf or Fraction(up) - exact <= Fraction(5e-324)
            lowered += Fraction(float(np.ldexp(x, k) if k < 1023 else 0)) < exact
    assert lowered > 0 and heldout.raised(1.5, 2000) == np.inf
