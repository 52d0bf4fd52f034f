"""The trained in-context transformer of the examples: its kept weights, taken apart."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import twofold

pytestmark = pytest.mark.torch
PLACE = Path(__file__).resolve().parents[2] / "examples" / "in_context_transformer.py"
COUNTS = (1024, 8192)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("in_context_transformer", PLACE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def drawn(script):
    """Tasks to be judged on, and others to fit the best head on."""
    sample = twofold.tasks.regression.sample
    return [sample(seed=s, count=n, needs="X", **script.LAW) for s, n in enumerate(COUNTS)]


@pytest.fixture(scope="module")
def trained(script):
    from safetensors.numpy import load_file

    net = script.network().eval()
    weights = load_file(script.KEPT)
    net.load_state_dict({name: script.torch.tensor(value) for name, value in weights.items()})
    return net


@pytest.fixture(scope="module")
def anatomy(script, drawn, trained):
    return script.taken_apart(trained, *drawn)


def test_its_weights_are_small_and_plain(script):
    kept = Path(script.KEPT)
    assert kept.is_file() and kept.stat().st_size < 1_000_000


def test_it_learned_least_squares(anatomy, drawn):
    """The zero predictor has risk 1; ridge regression, which knows the answer, 0.001."""
    total = anatomy.mean["total"]
    zero = np.mean(drawn[0].truth ** 2)
    ridge = twofold.encoder.ridge.Ridge()(drawn[0].prompt).exact()
    floor = np.mean((ridge - drawn[0].truth) ** 2)
    assert floor < total < 0.01 * zero


def test_random_weights_do_not_count(script, drawn, anatomy):
    random = script.taken_apart(script.network().eval(), *drawn)
    assert random.mean["total"] > 100 * anatomy.mean["total"]
    assert random.mean["floor"] > 10 * anatomy.mean["floor"]


def test_it_is_taken_apart(anatomy):
    parts = anatomy.mean
    assert anatomy.applies.all() and anatomy.kind == "estimate"
    assert set(anatomy.dtypes.values()) == {"float32"}
    assert parts["total"] == pytest.approx(parts["floor"] + parts["decoder"] + parts["cross"])
    assert parts["decoder"] < parts["floor"]  # the head is nearly the best one: blame the body
    proofs = twofold.certify(anatomy)
    assert all(proof.counts["violated"] == 0 for proof in proofs)


def test_a_prompt_of_its_own_kind_is_needed(script, trained, drawn):
    wide = twofold.tasks.regression.sample(seed=0, count=4, needs="X", **{**script.LAW, "dim": 5})
    with pytest.raises(RuntimeError):
        script.taken_apart(trained, wide, wide)
