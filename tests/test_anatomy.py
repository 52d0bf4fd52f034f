import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from twofold.anatomy import NO_REFERENCE, NO_SOLUTION, take_apart
from twofold.measures.squared_error import PARTS
from twofold.protocol import EncoderDecoder, Tasks

N, K = 7, 5


def draw(seed=0, metric=None, scale=1.0, count=N):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((count, 3 * K, K))
    H = np.swapaxes(X, 1, 2) @ X / (3 * K)
    prompt = {"H": H, "d": rng.standard_normal((count, K))}
    truth = np.linalg.solve(H, prompt["d"][..., None])[..., 0]
    truth += 0.1 * rng.standard_normal((count, K))
    return Tasks(prompt, truth, latent=truth, metric=metric, scale=scale, ids=np.arange(count))


class Plain:
    """The least that a System must do, without a proof of its solution."""

    def __init__(self, prompt, solves=True):
        self.H, self.d, self.solves = prompt["H"], prompt["d"], solves

    def matvec(self, v):
        return (self.H @ v[..., None])[..., 0]

    def dense(self):
        return self.H

    def exact(self):
        return np.linalg.solve(self.H, self.d[..., None])[..., 0] if self.solves else None

    def lift(self, x):
        return 2.0 * x


class Proved(Plain):
    """It says how far its solution may be off."""

    def __init__(self, prompt, radius):
        super().__init__(prompt)
        self.radius = radius

    def enclosure(self):
        return self.exact(), self.radius


def two_steps(system):
    x = 0.5 * system.d
    return x + 0.5 * (system.d - system.matvec(x))


def code(prompt):
    return np.concatenate([prompt["d"], np.diagonal(prompt["H"], axis1=1, axis2=2)], axis=1)


def first_half(code):
    return code[:, :K]


SPD = np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) + 0.5


@pytest.mark.parametrize("metric", [None, SPD, SPD[0], lambda v: v @ SPD, aslinearoperator(SPD)])
@pytest.mark.parametrize("scale", [1.0, 1 / K])
def test_the_parts_are_what_their_definition_says(metric, scale):
    tasks = draw(metric=metric, scale=scale)
    found = take_apart(EncoderDecoder(Plain, two_steps), tasks)
    S = np.eye(K) if metric is None else SPD
    S = np.diag(SPD[0]) if metric is SPD[0] or getattr(metric, "ndim", 0) == 1 else S
    system = Plain(tasks.prompt)
    answer, best = 2 * two_steps(system), 2 * system.exact()
    for n in range(N):
        error, solving = answer[n] - tasks.truth[n], answer[n] - best[n]
        encoding = best[n] - tasks.truth[n]
        expected = {
            "total": scale * error @ S @ error,
            "floor": scale * encoding @ S @ encoding,
            "decoder": scale * solving @ S @ solving,
            "cross": scale * 2 * solving @ S @ encoding,
        }
        for name in PARTS:
            assert found.parts[name][n] == pytest.approx(expected[name], rel=1e-12)
    assert found.kind == "identity" and found.applies.all() and found.reason == ("",) * N
    mean = found.mean
    assert mean["total"] == pytest.approx(mean["floor"] + mean["decoder"] + mean["cross"])
    assert found.systems is not None and found.radius is None
    assert "on trust" in found.reference


def test_a_perfect_decoder_has_no_decoder_error_and_no_cross_term():
    found = take_apart(EncoderDecoder(Plain, lambda system: system.exact()), draw())
    assert not found.parts["decoder"].any() and not found.parts["cross"].any()
    np.testing.assert_array_equal(found.parts["total"], found.parts["floor"])


def test_neither_half_sees_truth_or_latent():
    tasks = draw()
    order = np.random.default_rng(1).permutation(N)
    shuffled = Tasks(tasks.prompt, tasks.truth[order], latent=tasks.latent[order])
    for model, reference in [
        (EncoderDecoder(Plain, two_steps), None),
        (EncoderDecoder(code, first_half), first_half),
    ]:
        one, two = (take_apart(model, t, reference=reference) for t in (tasks, shuffled))
        assert one.answer.tobytes() == two.answer.tobytes()
        assert one.best.tobytes() == two.best.tobytes()
        assert not np.array_equal(one.parts["total"], two.parts["total"])


def test_the_radius_of_the_solve_is_kept_and_an_unproved_row_is_silent():
    radius = np.full(N, 1e-12)
    radius[3] = np.inf
    found = take_apart(EncoderDecoder(lambda p: Proved(p, radius), two_steps), draw())
    np.testing.assert_array_equal(found.radius, radius)
    assert not found.applies[3] and "ill-conditioned" in found.reason[3]
    assert np.isnan(found.parts["floor"][3]) and np.isfinite(found.parts["total"][3])
    assert found.applies.sum() == N - 1
    assert found.why_silent() == {found.reason[3]: 1}


def test_a_code_without_reference_is_silent_and_says_what_to_add():
    found = take_apart(EncoderDecoder(code, first_half), draw())
    assert not found.applies.any() and set(found.reason) == {NO_REFERENCE}
    assert "reference=" in NO_REFERENCE and "exact()" in NO_SOLUTION
    assert np.isfinite(found.parts["total"]).all() and np.isnan(found.parts["floor"]).all()
    assert np.isfinite(found.mean["total"]) and np.isnan(found.mean["cross"])
    assert f"{N} silent" in str(found)


def test_a_system_without_solution_is_silent_until_a_reference_comes():
    model = EncoderDecoder(lambda p: Plain(p, solves=False), two_steps)
    assert set(take_apart(model, draw()).reason) == {NO_SOLUTION}
    found = take_apart(model, draw(), reference=lambda system: 2.1 * system.d)
    assert found.applies.all() and found.kind == "estimate"


def test_a_reference_is_named_and_makes_an_estimate():
    def ridge_on_codes(code):
        return 0.9 * code[:, :K]

    found = take_apart(EncoderDecoder(code, first_half), draw(), reference=ridge_on_codes)
    assert found.kind == "estimate" and found.reference == "ridge_on_codes"
    assert found.applies.all() and found.parts["decoder"].any()


def test_a_reference_that_has_seen_these_tasks_is_refused():
    class Fitted:
        ids = np.array([5, 99])

        def predict(self, code):
            return code[:, :K]

    with pytest.raises(ValueError, match="reference: 1 of its tasks"):
        take_apart(EncoderDecoder(code, first_half), draw(), reference=Fitted())


def test_a_reference_beside_an_exact_solution_is_refused():
    with pytest.raises(ValueError, match="drop reference"):
        take_apart(EncoderDecoder(Plain, two_steps), draw(), reference=first_half)


def spoil(where, row=2):
    tasks = draw()
    prompt = {name: value.copy() for name, value in tasks.prompt.items()}
    truth = tasks.truth.copy()
    if where == "truth":
        truth[row, 0] = np.nan
    if where in prompt:
        prompt[where][row, 0] = np.inf

    def decoder(system):
        x = two_steps(system)
        if where == "decoder":
            x[row, 1] = np.nan
        if where == "overflow":
            x[row] = 1e300
        return x

    class Careful(Plain):
        def exact(self):
            H = np.where(np.isfinite(self.H).all(axis=(1, 2))[:, None, None], self.H, np.eye(K))
            return np.linalg.solve(H, self.d[..., None])[..., 0]

    model = EncoderDecoder(Careful, decoder)
    with np.errstate(all="ignore"):
        return take_apart(model, Tasks(prompt, truth)), take_apart(
            EncoderDecoder(Plain, two_steps), tasks
        )


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("truth", "truth is NaN"),
        ("H", "encoder returned NaN"),
        ("d", "encoder returned NaN"),
        ("decoder", "decoder returned NaN"),
        ("overflow", "overflows"),
    ],
)
def test_a_bad_row_falls_silent_and_the_others_go_on(where, why):
    found, good = spoil(where)
    assert why in found.reason[2]
    assert list(found.applies) == [n != 2 for n in range(N)]
    for name in PARTS:
        assert np.isnan(found.parts[name][2])
        np.testing.assert_array_equal(
            np.delete(found.parts[name], 2), np.delete(good.parts[name], 2)
        )
    assert np.isfinite(list(found.mean.values())).all()


def test_narrow_types_are_upcast_exactly_and_recorded():
    model = EncoderDecoder(Plain, lambda system: two_steps(system).astype(np.float32))
    found = take_apart(model, draw())
    expected = two_steps(Plain(draw().prompt)).astype(np.float32)
    assert found.dtypes["x"] == "float32" and found.dtypes["answer"] == "float64"
    np.testing.assert_array_equal(found.x, expected.astype(np.float64))


@pytest.mark.parametrize(
    ("encoder", "decoder", "message"),
    [
        (Plain, lambda s: s.d[:-1], r"decoder output: expected shape \(7, 5\), got \(6, 5\)"),
        (Plain, lambda s: s.d[:, :2], "decoder output"),
        (Plain, lambda s: s.d + 1j, "decoder output.*complex"),
        (Plain, lambda s: None, "decoder output"),
        (lambda p: p["d"][:3], first_half, "encoder output: expected 7 rows"),
        (lambda p: 3.0, lambda c: c, "encoder output: expected 7 rows"),
        (lambda p: p["d"].astype(object), first_half, "encoder output.*object"),
        (code, lambda c: c, "decoder output"),
        (code, 3, "decoder: expected a function"),
    ],
)
def test_what_a_model_must_not_return(encoder, decoder, message):
    with pytest.raises(ValueError, match=message):
        take_apart(EncoderDecoder(encoder, decoder), draw())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"truth": np.zeros((0, K))}, "truth: expected at least one task"),
        ({"truth": np.zeros((N, 0))}, "truth: expected at least one task"),
        ({"truth": np.zeros(N)}, "truth: expected 2 axes"),
        ({"scale": 0.0}, "scale: expected a positive"),
        ({"scale": np.nan}, "scale"),
        ({"metric": np.eye(K + 1)}, "metric: expected shape"),
        ({"metric": np.triu(np.ones((K, K)))}, "metric: .*not symmetric"),
        ({"metric": np.diag([1.0, 1, 1, 1, -1])}, "metric: it has a negative eigenvalue -1"),
        ({"metric": np.full((K, K), np.nan)}, "metric"),
    ],
)
def test_tasks_that_cannot_be_judged(change, message):
    fields = {"truth": draw().truth, "metric": None, "scale": 1.0} | change
    tasks = Tasks(draw().prompt, **fields)
    with pytest.raises(ValueError, match=message):
        take_apart(EncoderDecoder(Plain, two_steps), tasks)


def test_other_losses_and_unsplit_models_are_refused():
    with pytest.raises(ValueError, match="loss: only 'squared'"):
        take_apart(EncoderDecoder(Plain, two_steps), draw(), loss="log")
    with pytest.raises(ValueError, match="EncoderDecoder"):
        take_apart(two_steps, draw())


@pytest.mark.parametrize("count", [1, 2])
def test_one_task_is_enough(count):
    found = take_apart(EncoderDecoder(Plain, two_steps), draw(count=count))
    assert len(found) == count and found.applies.all()


def test_conventions_show_each_norm_summed_and_per_coordinate():
    found = take_apart(EncoderDecoder(Plain, two_steps), draw(metric=SPD, scale=1 / K))
    table = found.conventions
    assert list(table) == ["‖·‖²", "‖·‖²/K", "‖·‖²_Σ", "‖·‖²_Σ/K"]
    for name in PARTS:
        assert table["‖·‖²_Σ/K"][name] == pytest.approx(found.mean[name])
        assert table["‖·‖²_Σ"][name] == pytest.approx(K * found.mean[name])
    error = found.answer - found.truth
    assert table["‖·‖²"]["total"] == pytest.approx(np.mean(np.sum(error**2, axis=1)))
    assert "7 of 7 tasks split" in str(found) and "‖·‖²_Σ/K" in str(found)


def test_iterates_come_from_a_decoder_that_offers_them():
    class Walk:
        def __call__(self, system):
            return self.iterates(system)[:, -1]

        def iterates(self, system):
            return np.stack([0 * system.d, system.d], axis=1)

    found = take_apart(EncoderDecoder(Plain, Walk()), draw())
    np.testing.assert_array_equal(found.iterates[:, -1], found.x)
    assert take_apart(EncoderDecoder(Plain, two_steps), draw()).iterates is None
