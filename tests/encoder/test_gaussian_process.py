import numpy as np
import pytest

import twofold
from twofold.decoder.preconditioner import Inverse, frozen
from twofold.decoder.richardson import Richardson
from twofold.encoder.gaussian_process import GaussianProcess
from twofold.tasks import gp
from twofold.tasks.mercer import RBF

BASIS = RBF(4, 2.0)


def drawn(target, count=30, **rest):
    return gp.sample(seed=0, count=count, prompt=16, basis=BASIS, noise=0.3, target=target, **rest)


def test_the_system_is_the_prompt_s_and_its_solution_the_posterior():
    tasks = drawn("posterior")
    system = GaussianProcess(BASIS.prior, 0.3)(tasks.prompt)
    np.testing.assert_array_equal(system.H, tasks.H)
    x, radius = system.enclosure()
    np.testing.assert_array_equal(x, tasks.truth)
    assert radius.max() < 1e-12


def test_lifted_to_the_held_out_points():
    tasks = drawn("held-out")
    system = GaussianProcess(BASIS.prior, 0.3, predict=True)(tasks.prompt)
    answer = system.lift(system.exact())
    found = gp.posterior(tasks.Phi, tasks.y, prior=BASIS.prior, noise=0.3, queries=tasks.Phi_q)
    np.testing.assert_allclose(answer, found.mean, atol=1e-12)


@pytest.mark.parametrize("predict", [False, True])
def test_taken_apart_the_floor_is_the_posterior_s_uncertainty(predict):
    tasks = drawn("held-out" if predict else "posterior", count=200)
    encoder = GaussianProcess(BASIS.prior, 0.3, predict)
    P = frozen(Inverse(), tasks.H.mean(axis=0)).P
    anatomy = twofold.take_apart(twofold.EncoderDecoder(encoder, Richardson(P, 8)), tasks)
    floor = anatomy.mean["floor"]
    if predict:
        found = gp.posterior(tasks.Phi, tasks.y, prior=BASIS.prior, noise=0.3, queries=tasks.Phi_q)
        assert abs(floor / found.variance.mean() - 1) < 0.2
    else:
        assert floor == 0.0
    proofs = {p.name: p for p in twofold.certify(anatomy)}
    assert all(not p.condemned for p in proofs.values())
    assert proofs["Richardson rate"].counts["violated"] == 0
    assert ("Decoder bound" in proofs) == (not predict)


def test_features_of_a_query_that_are_nan_silence_their_task_only():
    tasks = drawn("held-out")
    Phi_q = tasks.Phi_q.copy()
    Phi_q[3, 0, 0] = np.nan
    encoder = GaussianProcess(BASIS.prior, 0.3, predict=True)
    system = encoder({**tasks.prompt, "Phi_q": Phi_q})
    answer = system.lift(system.exact())
    assert np.isnan(answer[3]).any() and np.isfinite(np.delete(answer, 3, 0)).all()


def test_a_prompt_without_its_parts_is_refused():
    with pytest.raises(ValueError, match="prompt: no Phi_q"):
        GaussianProcess(np.ones(2), 0.1, predict=True)(
            {"Phi": np.ones((1, 3, 2)), "y": np.ones((1, 3))}
        )
    with pytest.raises(ValueError, match="prompt: no Phi, y"):
        GaussianProcess(np.ones(2), 0.1)({})
