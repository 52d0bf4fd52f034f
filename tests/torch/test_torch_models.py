"""Real torch modules as encoder and decoder: `make test-torch`, which fetches PyTorch for it."""

import numpy as np
import pytest

import twofold

pytestmark = pytest.mark.torch
K, L = 8, 6


@pytest.fixture(scope="module")
def torch():
    import torch

    torch.manual_seed(0)
    return torch


@pytest.fixture(scope="module")
def tasks():
    return twofold.tasks.regression.sample(seed=0, dim=K, prompt=64, ridge=1e-3, count=64)


def richardson(torch, P, dtype):
    """A module that solves H x = d by L preconditioned steps."""

    class Richardson(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.P = torch.nn.Parameter(torch.tensor(P, dtype=dtype))

        def forward(self, prompt):
            H, d = prompt["H"].to(dtype), prompt["d"].to(dtype)
            x = torch.zeros_like(d)
            for _ in range(L):
                x = x + (d - (H @ x[..., None])[..., 0]) @ self.P.T
            return x

    return Richardson()


class Posed:
    """The encoder whose systems a torch decoder solves."""

    def __call__(self, prompt):
        return twofold.encoder.dense.DenseSystem(prompt["H"], prompt["d"])


@pytest.mark.parametrize(("name", "size"), [("float64", 1e-14), ("float32", 1e-5)])
def test_a_torch_decoder_is_taken_apart_like_ours(torch, tasks, name, size):
    P = twofold.tasks.moments.of(tasks.facts["law"]).full().oracle
    module = richardson(torch, P, getattr(torch, name))

    def decoder(system):
        given = {"H": torch.tensor(system.H), "d": torch.tensor(system.d)}
        return module(given)

    theirs = twofold.take_apart(twofold.EncoderDecoder(Posed(), decoder), tasks)
    ours = twofold.take_apart(
        twofold.EncoderDecoder(Posed(), twofold.decoder.richardson.Richardson(P, L)), tasks
    )
    assert theirs.dtypes["x"] == name
    assert np.max(np.abs(theirs.answer - ours.answer)) < size
    assert all(c.counts["violated"] == 0 for c in twofold.certify(theirs))


def test_a_torch_module_that_takes_the_code_itself(torch, tasks):
    encoder = torch.nn.Linear(K, 3, dtype=torch.float64)
    decoder = torch.nn.Linear(3, K, dtype=torch.float64)
    others = twofold.tasks.regression.sample(seed=1, dim=K, prompt=64, ridge=1e-3, count=256)

    def code(prompt):
        return encoder(torch.as_tensor(prompt["d"]))

    def fitted():
        seen = code(others.prompt).detach().numpy()
        weights = np.linalg.lstsq(seen, others.truth, rcond=None)[0]
        return lambda c: c.detach().numpy() @ weights

    anatomy = twofold.take_apart(twofold.EncoderDecoder(code, decoder), tasks, reference=fitted())
    parts = anatomy.mean
    assert anatomy.kind == "estimate" and anatomy.applies.all()
    assert parts["total"] == pytest.approx(parts["floor"] + parts["decoder"] + parts["cross"])


def test_a_module_in_half_precision_or_with_nan_is_recorded_or_silent(torch, tasks):
    def half(system):
        return torch.tensor(system.d).half()

    def broken(system):
        x = torch.tensor(system.d)
        x[3] = float("nan")
        return x

    model = twofold.EncoderDecoder
    assert twofold.take_apart(model(Posed(), half), tasks).dtypes["x"] == "float16"
    silent = twofold.take_apart(model(Posed(), broken), tasks)
    assert not silent.applies[3] and silent.applies.sum() == len(tasks) - 1
