"""Where the arithmetic is not the one that the proofs assume, nothing is proved."""

import numpy as np
import pytest

from twofold.protocol import EncoderDecoder
from twofold.rigor import selftest
from twofold.tasks import regression


@pytest.fixture
def broken(monkeypatch):
    monkeypatch.setattr(selftest, "_once", lambda: ("numpy subnormals",))


def anatomy():
    from twofold import take_apart
    from twofold.decoder.richardson import Richardson
    from twofold.encoder.ridge import Ridge

    tasks = regression.sample(seed=0, dim=3, prompt=12, count=4, ridge=0.1)
    return take_apart(EncoderDecoder(Ridge(), Richardson(np.eye(3), 2)), tasks)


def proofs():
    from twofold.theorems import bernstein, betting, excess_risk, nonclosure, prompt_size, tail
    from twofold.training import trajectory

    one, eye = np.ones(4), np.eye(2)
    return {
        "bernstein": lambda: bernstein.upper(one, clip=2.0, delta=0.1),
        "betting": lambda: betting.upper(one, clip=2.0, delta=0.1),
        "tail": lambda: tail.upper(one, clip=2.0, delta=0.1),
        "excess_risk": lambda: excess_risk.certify(eye[None], eye, eye, eye),
        "nonclosure": lambda: nonclosure.certify([0.2], [0.5]),
        "prompt_size": lambda: prompt_size.certify(np.ones(2), [8]),
        "error_bar": lambda: trajectory.decoder(eye, eye, eye, eta=0.5, steps=[1]).error_bar,
    }


@pytest.mark.parametrize("name", proofs())
def test_no_proof_without_the_arithmetic(name, broken):
    with pytest.raises(ArithmeticError, match="numpy subnormals"):
        proofs()[name]()


@pytest.mark.parametrize("name", ["risk_decomposition", "factor_two"])
def test_no_proof_on_an_anatomy_either(name, monkeypatch):
    import importlib

    parts = anatomy()
    monkeypatch.setattr(selftest, "_once", lambda: ("numpy subnormals",))
    with pytest.raises(ArithmeticError, match="numpy subnormals"):
        importlib.import_module(f"twofold.theorems.{name}").certify(parts)
