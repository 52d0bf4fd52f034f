"""Tasks, models and held-out losses end to end: take_apart, certify and write_report."""

import numpy as np
import pytest

import twofold
from twofold.decoder.richardson import Richardson
from twofold.encoder.ridge import Ridge
from twofold.encoder.subspace import Subspace
from twofold.protocol import EncoderDecoder, Tasks
from twofold.theorems import bernstein, betting, moment_ratio, tail

N, K, DEPTH, BAD = 12, 5, 6, 4
HELD_OUT = ("bernstein", "betting", "tail")
ITERATION = ("Richardson identity", "Richardson rate", "Power bound")
SPLIT = ("risk decomposition", "factor two")


def drawn(**law):
    law = dict(seed=3, dim=K, prompt=40, count=N, ridge=0.1) | law
    return twofold.tasks.regression.sample(**law)


def changed(tasks, name=None, **fields):
    """The same tasks with other fields, one of them perhaps inside the prompt."""
    prompt = dict(tasks.prompt)
    prompt |= {key: fields.pop(key) for key in list(fields) if key in prompt}
    kept = {key: getattr(tasks, key) for key in ("truth", "latent", "metric", "scale", "ids")}
    return Tasks(prompt, **(kept | fields))


def model():
    return EncoderDecoder(Ridge(), Richardson(0.6 * np.eye(K), DEPTH))


def through(tasks, folder, model=None):
    """One pass: nothing may raise, and the page is written."""
    found = twofold.take_apart(model or globals()["model"](), tasks)
    proofs = twofold.certify(found, delta=0.05)
    page = twofold.write_report(found, proofs, folder / "r.html").read_text("utf-8")
    assert "</html>" in page
    return found, {proof.name: proof for proof in proofs}, page


def spoilt(where, value):
    tasks = drawn()
    array = (tasks.truth if where == "truth" else tasks.prompt[where]).copy()
    if value == "zero":
        array[BAD] = 0.0
    elif value == "indefinite":
        array[BAD] -= 3 * np.eye(K)
    elif value == "1e14":
        Q = np.linalg.qr(np.random.default_rng(0).standard_normal((K, K)))[0]
        array[BAD] = Q * np.logspace(0, -14, K) @ Q.T
        array[BAD] = 0.5 * (array[BAD] + array[BAD].T)
    else:
        array[(BAD, *(1,) * (array.ndim - 1))] = value
    return changed(tasks, **{where: array})


def the_others_are_the_same(good, found):
    others = np.arange(N) != BAD
    for name, part in good.parts.items():
        assert part[others].tobytes() == found.parts[name][others].tobytes()
    for name in ("answer", "best", "radius"):
        assert getattr(good, name)[others].tobytes() == getattr(found, name)[others].tobytes()
    assert found.applies[others].all()


BAD_ROWS = [
    ("H", np.nan), ("H", np.inf), ("d", np.nan), ("d", -np.inf), ("truth", np.nan),
    ("truth", 1e300), ("d", 1e300), ("H", "zero"), ("H", "indefinite"), ("H", "1e14"),
]  # fmt: skip


@pytest.mark.parametrize(("where", "value"), BAD_ROWS)
def test_a_bad_row_is_silent_or_right_and_the_others_keep_their_bits(where, value, tmp_path):
    good, proofs, _ = through(drawn(), tmp_path)
    tasks = spoilt(where, value)
    found, after, page = through(tasks, tmp_path)
    the_others_are_the_same(good, found)
    if value in ("indefinite", "1e14"):
        assert found.applies[BAD]
    else:
        assert not found.applies[BAD] and found.reason[BAD] and found.reason[BAD] in page
        assert np.isnan(found.parts["floor"][BAD]) and np.isnan(found.parts["decoder"][BAD])
    solvable = where == "truth" or value == 1e300
    for name, proof in after.items():
        assert proof.counts["violated"] == 0, name
        if len(proof) == N:
            others = np.arange(N) != BAD
            assert proof.bound[others].tobytes() == proofs[name].bound[others].tobytes()
            if not found.applies[BAD] and (not solvable or name in SPLIT):
                assert proof.verdict[BAD] == "silent" and proof.reason[BAD]


def test_an_indefinite_system_diverges_and_its_bounds_say_so(tmp_path):
    found, proofs, _ = through(spoilt("H", "indefinite"), tmp_path)
    H = spoilt("H", "indefinite").H[BAD]
    witness = np.linalg.eigh(H)[1][:, 0]
    assert witness @ H @ witness < 0
    rate = proofs["Richardson rate"]
    assert rate.bound[BAD] > np.linalg.norm(found.solution[BAD])
    assert rate.verdict[BAD] == "holds"


def test_a_rank_deficient_prompt_without_ridge_is_silent_on_every_row(tmp_path):
    tasks = drawn(prompt=3, ridge=0.0)
    found, proofs, page = through(tasks, tmp_path)
    assert not found.applies.any() and "no proved solution" in page
    assert np.isfinite(found.parts["total"]).all()
    for name in (*SPLIT, *ITERATION):
        assert proofs[name].counts == {"holds": 0, "violated": 0, "silent": N}
    with_ridge, _, _ = through(drawn(prompt=3, ridge=0.1), tmp_path)
    assert with_ridge.applies.all()


@pytest.mark.parametrize("ruin", [np.nan, np.inf])
def test_a_model_that_answers_nothing_is_not_called_good(ruin, tmp_path):
    broken = EncoderDecoder(Ridge(), lambda system: np.full(system.d.shape, ruin))
    found, proofs, _ = through(drawn(), tmp_path, broken)
    assert not found.applies.any() and np.isnan(found.mean["total"])
    assert proofs["tail"].bound[0] == 1.0 and proofs["betting"].bound[0] == 10.0
    assert not any(proof.counts["holds"] for n, proof in proofs.items() if n not in HELD_OUT)


@pytest.mark.parametrize("size", [1e-3, 1e-12])
@pytest.mark.parametrize("encoder", [Ridge(), Ridge(0.1), Subspace(np.eye(K)[:, :3])])
def test_an_asymmetric_system_is_refused(encoder, size):
    H = drawn().H.copy()
    H[BAD, 0, 1] += size * np.max(np.abs(H[BAD]))
    with pytest.raises(ValueError, match=rf"H: matrix {BAD} is not symmetric .*\(H \+ H.T\) / 2"):
        twofold.take_apart(EncoderDecoder(encoder, lambda s: s.d), changed(drawn(), H=H))


@pytest.mark.parametrize("encoder", [Ridge(), Subspace(np.eye(K))])
def test_an_asymmetry_of_rounding_is_averaged_away_and_said(encoder, tmp_path):
    H = drawn().H.copy()
    H[BAD, 0, 1] = np.nextafter(H[BAD, 0, 1], np.inf)
    bent = EncoderDecoder(encoder, model().decoder)
    found, _, page = through(changed(drawn(), H=H), tmp_path, bent)
    dense = found.systems.dense()
    np.testing.assert_array_equal(dense, np.swapaxes(dense, 1, 2))
    assert 0 < found.systems.asymmetry < 1e-15
    said = [note for note in found.notes if "symmetrised" in note]
    assert len(said) == 1 and said[0] in page and said[0] in str(found)
    assert twofold.take_apart(bent, drawn()).notes == []


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_narrow_answer_is_upcast_exactly_and_recorded(dtype, tmp_path):
    half = EncoderDecoder(Ridge(), lambda system: model().decoder(system).astype(dtype))
    found, _, page = through(drawn(), tmp_path, half)
    note = f"x came as {np.dtype(dtype).name} and was upcast exactly"
    assert found.dtypes["x"] == np.dtype(dtype).name and note in found.notes and note in page


@pytest.mark.parametrize("part", ["encoder", "decoder", "reference"])
@pytest.mark.parametrize("solves", [True, False])
def test_no_part_is_judged_on_tasks_that_it_was_fitted_on(part, solves):
    class Fitted:
        def __init__(self, act, ids=None):
            self.act, self.ids = act, ids

        def __call__(self, x):
            return self.act(x)

    tasks = drawn()
    seen = {name: None for name in ("encoder", "decoder", "reference")}
    seen[part] = np.append(tasks.ids[[2, 7]], 1)
    encode = Ridge() if solves else (lambda prompt: prompt["d"])
    encoder = Fitted(encode, seen["encoder"])
    decoder = Fitted(lambda s: s.d if solves else s, seen["decoder"])
    reference = Fitted(lambda code: code, seen["reference"])
    with pytest.raises(ValueError, match=f"{part}: 2 of its tasks are judged here"):
        twofold.take_apart(EncoderDecoder(encoder, decoder), tasks, reference=reference)


@pytest.mark.parametrize("ids", [np.zeros(N, int), np.arange(N - 1), np.full(N, 0.5)])
def test_tasks_that_are_not_distinct_silence_every_bound_on_their_mean(ids, tmp_path):
    _, proofs, _ = through(changed(drawn(), ids=ids), tmp_path)
    for name in HELD_OUT:
        assert proofs[name].counts == {"holds": 0, "violated": 0, "silent": 1}
        assert proofs[name].reason[0].startswith("ids: ")
    assert proofs["Richardson rate"].counts["holds"] == N


def test_seeds_do_not_share_task_ids():
    ids = [drawn(seed=seed, count=500).ids for seed in range(4)]
    assert len(np.unique(ids)) == 2000


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("dim", [1, 2])
def test_one_task_and_one_coordinate_are_enough(count, dim, tmp_path):
    small = EncoderDecoder(Ridge(), Richardson(np.eye(dim), DEPTH))
    found, proofs, _ = through(drawn(count=count, dim=dim), tmp_path, small)
    assert found.applies.all() and all(p.counts["violated"] == 0 for p in proofs.values())
    assert proofs["bernstein"].counts["silent"] == (count == 1)


LOSSES = np.random.default_rng(0).exponential(size=60)
UPPERS = {
    "bernstein": lambda x, **k: bernstein.upper(x, clip=10.0, delta=0.05, **k),
    "betting": lambda x, **k: betting.upper(x, clip=10.0, delta=0.05, **k),
    "running": lambda x, **k: betting.running(x, clip=10.0, delta=0.05, **k),
    "tail": lambda x, **k: tail.upper(x, clip=10.0, delta=0.05, **k),
    "moment_ratio": lambda x, **k: moment_ratio.upper(x, kappa=3.0, delta=0.05, **k),
}


@pytest.mark.parametrize("upper", UPPERS.values(), ids=UPPERS)
@pytest.mark.parametrize("bad", [-1e-300, -1.0, np.nan, np.inf, -np.inf])
def test_a_loss_that_is_none_is_refused(upper, bad):
    losses = LOSSES.copy()
    losses[7] = bad
    with pytest.raises(ValueError, match="^losses: "):
        upper(losses)


@pytest.mark.parametrize("theorem", [bernstein, betting, tail])
@pytest.mark.parametrize("clip", [0.0, -1.0, np.nan, np.inf, [1.0, 2.0], "1", None, True])
def test_a_clip_out_of_range_is_refused(theorem, clip):
    for call in (theorem.upper, theorem.certify):
        with pytest.raises(ValueError, match="^clip: "):
            call(LOSSES, clip=clip, delta=0.05)


@pytest.mark.parametrize("theorem", [bernstein, betting, tail])
@pytest.mark.parametrize("delta", [0.0, 1.0, 1.5, -0.1, np.nan, 1e-301, "x", None, True])
def test_a_delta_out_of_range_is_refused(theorem, delta):
    for call in (theorem.upper, theorem.certify):
        with pytest.raises(ValueError, match="^delta: "):
            call(LOSSES, clip=10.0, delta=delta)
    with pytest.raises(ValueError, match="^delta: "):
        twofold.certify(twofold.take_apart(model(), drawn()), delta=delta)


@pytest.mark.parametrize("family", [0, -1, 1.0, True, 10**320])
def test_a_family_that_is_no_count_is_refused(family):
    with pytest.raises(ValueError, match="^family: "):
        betting.upper(LOSSES, clip=10.0, delta=0.05, family=family)


@pytest.mark.parametrize("loss", [0.0, 5e-324, 0.3, 10.0, 1e300])
def test_equal_and_fully_clipped_losses_keep_a_true_bound(loss):
    losses, mean = np.full(60, loss), min(loss, 10.0)
    for name in ("bernstein", "betting"):
        assert mean <= UPPERS[name](losses) <= 10.0 + 14
    assert np.all(UPPERS["running"](losses) >= mean)
    assert UPPERS["tail"](losses) == 1.0 if loss > 10 else UPPERS["tail"](losses) < 0.05
    assert betting.upper(losses, clip=10.0, delta=0.05) <= 10.0
