from dataclasses import replace

import numpy as np
import pytest

from twofold.anatomy import take_apart
from twofold.decoder.richardson import Richardson
from twofold.encoder.dense import DenseSystem
from twofold.encoder.ridge import Ridge
from twofold.encoder.subspace import Subspace
from twofold.protocol import EncoderDecoder, Tasks
from twofold.proving import OTHER_STEPS, certify, judged
from twofold.tasks import regression
from twofold.theorems import betting, tail
from twofold.theorems.risk_decomposition import part_errors

N, K = 200, 4


def anatomy_of(seed=0, spoil=(), scale=1 / K, count=N):
    """Code model: says 0.7 of what it was given, which is the truth with noise."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((count, K))
    code = truth + 0.1 * rng.standard_normal((count, K))

    def decoder(code):
        answer = 0.7 * code
        answer[list(spoil)] = np.nan
        return answer

    model = EncoderDecoder(lambda prompt: prompt["code"], decoder)
    tasks = Tasks({"code": code}, truth, scale=scale, ids=np.arange(count))
    return take_apart(model, tasks, reference=lambda code: code)


def named(proofs):
    return {proof.name: proof for proof in proofs}


def test_nothing_is_violated_and_every_proof_says_something():
    proofs = certify(anatomy_of())
    for proof in proofs:
        assert proof.counts["violated"] == 0
        assert proof.counts["holds"] + len([r for r in proof.reason if r]) == len(proof)
    assert {"risk decomposition", "factor two", "bernstein", "betting", "tail"} <= set(
        named(proofs)
    )


def test_delta_is_split_over_the_confidence_certificates_and_they_say_so():
    confident = [proof for proof in certify(anatomy_of(), delta=0.06) if proof.kind == "confidence"]
    assert len(confident) == 3
    assert sum(proof.delta for proof in confident) == pytest.approx(0.06, rel=1e-15)
    assert sum(proof.delta for proof in confident) <= 0.06
    for proof in confident:
        assert (
            "0.06 of the whole list, a third" in proof.premise and "clipped at 10" in proof.premise
        )


def test_the_bounds_are_those_of_the_losses():
    found = anatomy_of()
    proofs = named(certify(found, delta=0.03, clip=2.0))
    losses, unanswered = judged(found, 2.0)
    assert unanswered == 0
    np.testing.assert_allclose(losses, found.parts["total"], rtol=1e-13)
    assert np.all(losses > found.parts["total"] + part_errors(found)["total"])
    share = proofs["betting"].delta
    assert proofs["betting"].bound[0] == betting.upper(losses, clip=2.0, delta=share, ids=found.ids)
    assert proofs["tail"].bound[0] == tail.upper(losses, clip=2.0, delta=share)
    assert proofs["betting"].bound[0] < proofs["bernstein"].bound[0]


def test_an_unanswered_task_counts_as_a_loss_above_the_clip():
    """Dropping the rows that failed would make a model look better than it is."""
    one, two = anatomy_of(), anatomy_of(spoil=[3, 50])
    losses, unanswered = judged(two, 10.0)
    assert unanswered == 2 and losses[3] > 10.0 and losses[50] > 10.0
    good, bad = named(certify(one)), named(certify(two))
    for name in ("bernstein", "betting", "tail"):
        assert bad[name].bound[0] > good[name].bound[0]
    assert "2 unanswered" in bad["betting"].premise
    assert bad["risk decomposition"].counts == {"holds": N - 2, "violated": 0, "silent": 2}


def test_the_order_of_the_tasks_does_not_matter():
    found = anatomy_of()
    order = np.random.default_rng(1).permutation(N)
    turned = replace(
        found, **{name: getattr(found, name)[order] for name in ("answer", "best", "truth", "ids")},
        parts={name: part[order] for name, part in found.parts.items()},
    )  # fmt: skip
    assert named(certify(turned))["betting"].bound[0] == named(certify(found))["betting"].bound[0]


def test_duplicate_ids_silence_the_bound_that_needs_them():
    found = replace(anatomy_of(), ids=np.zeros(N, dtype=int))
    proof = named(certify(found))["betting"]
    assert proof.counts["silent"] == 1 and "occurs" in proof.reason[0]


def test_one_task_is_too_few_for_a_variance():
    proofs = named(certify(anatomy_of(count=1)))
    assert proofs["bernstein"].counts["silent"] == 1
    assert proofs["betting"].counts["holds"] == 1


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, np.nan, "little"])
def test_deltas_that_are_none(delta):
    with pytest.raises(ValueError, match="delta"):
        certify(anatomy_of(), delta=delta)


@pytest.mark.parametrize("clip", [0.0, -1.0, np.nan, np.inf])
def test_clips_that_are_none(clip):
    with pytest.raises(ValueError, match="clip"):
        certify(anatomy_of(), clip=clip)


def solver(depth=6, decoder=None, rank=None, seed=2, count=50):
    """A ridge or subspace encoder and Richardson with the mean inverse."""
    tasks = regression.sample(
        seed=seed, dim=8, prompt=64, count=count, rank=rank, noise=0.1, target="coefficients"
    )
    encoder = Ridge() if rank is None else Subspace(np.linalg.qr(np.eye(8) + 0.1)[0][:, :rank])
    system = encoder(tasks.prompt)
    P = np.linalg.inv(np.mean(system.H, axis=0))
    return take_apart(EncoderDecoder(encoder, decoder or Richardson(P, depth)), tasks)


SOLVED = ("Richardson identity", "Richardson rate", "Power bound")
BATCH = ("Decoder bound", "Decoder bound, power")


@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.parametrize("depth", [0, 1, 6, 40])
def test_a_linear_decoder_on_dense_systems_is_certified_row_by_row(rank, depth):
    found = solver(depth, rank=rank)
    proofs = named(certify(found))
    for name in SOLVED:
        assert proofs[name].counts == {"holds": 50, "violated": 0, "silent": 0}
    for name in BATCH:
        assert proofs[name].counts == {"holds": 1, "violated": 0, "silent": 0}
    loss = found.mean["decoder"]
    np.testing.assert_allclose(proofs["Decoder bound"].value[0], loss, rtol=1e-6, atol=1e-25)


def test_a_row_without_a_proved_solution_is_silent_in_all_of_them():
    good = solver()
    H = good.systems.H.copy()
    H[7] = 1.0
    model = EncoderDecoder(lambda prompt: DenseSystem(H, good.systems.d), good.decoder)
    found = take_apart(model, Tasks({}, good.truth))
    proofs = named(certify(found))
    for name in ("risk decomposition", "factor two", *SOLVED):
        assert proofs[name].counts == {"holds": 49, "violated": 0, "silent": 1}
        assert proofs[name].verdict[7] == "silent"


class Momentum(Richardson):
    """It has a P and a depth, and takes other steps."""

    def __call__(self, system):
        return 1.1 * super().__call__(system)


def test_another_method_with_the_same_attributes_is_not_certified_as_richardson():
    P = solver().decoder.P
    proof = named(certify(solver(decoder=Momentum(P, 6))))["Richardson rate"]
    assert set(proof.reason) == {OTHER_STEPS} and proof.counts["silent"] == 50


def test_single_precision_of_the_same_steps_is():
    P = solver().decoder.P

    class Single(Richardson):
        def __call__(self, system):
            return super().__call__(system).astype(np.float32)

    assert named(certify(solver(decoder=Single(P, 6))))["Power bound"].counts["holds"] == 50


class Unformed(DenseSystem):
    def dense(self):
        return None


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (lambda: anatomy_of(), "code"),
        (lambda: solver(decoder=lambda system: 0.5 * system.d), "linear"),
        (
            lambda: take_apart(
                EncoderDecoder(lambda p: Unformed(**p), Richardson(np.eye(2), 3)),
                Tasks({"H": np.eye(2)[None], "d": np.ones((1, 2))}, np.ones((1, 2))),
            ),
            "never formed",
        ),
    ],
)
def test_what_is_missing_is_said(found, why):
    proof = named(certify(found()))["Richardson rate"]
    assert not proof.applies.any() and why in proof.reason[0]
