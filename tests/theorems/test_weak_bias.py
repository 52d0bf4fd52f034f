from dataclasses import replace

import numpy as np
import pytest

from twofold.encoder.weak_form import WeakForm
from twofold.tasks import families, pde
from twofold.tasks.affine import Dense
from twofold.theorems import weak_bias

FAMILY = families.gaussian(seed=1)
TASKS = pde.sample(FAMILY, seed=0, count=2000)
PROBES = np.random.default_rng(0).standard_normal((5, 16))


def first(count, prompt=TASKS.prompt):
    return {name: x[:count].copy() for name, x in prompt.items()}


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("probes", [None, PROBES], ids=["coordinates", "probes"])
@pytest.mark.parametrize("gram", [False, True])
def test_holds_on_two_thousand_prompts_and_needs_its_rounding(ridge, probes, gram):
    encoder = WeakForm(FAMILY, probes, ridge, gram)
    proof = weak_bias.certify(encoder, TASKS.prompt, TASKS.latent)
    assert proof.counts == {"holds": 2000, "violated": 0, "silent": 0}
    without = replace(proof, bound=0 * proof.bound, rounding=0 * proof.rounding)
    assert without.counts["violated"] > 1900
    assert np.max(proof.rounding / np.linalg.norm(TASKS.latent, axis=1)) < 1e-9


def test_the_closed_form_is_the_error_that_the_encoder_makes():
    encoder = WeakForm(FAMILY, ridge=0.3, gram=True)
    error = encoder.estimate(TASKS.prompt) - TASKS.latent
    closed = weak_bias.closed_form(encoder, TASKS.prompt, TASKS.latent)
    np.testing.assert_allclose(closed, error, atol=1e-13)
    assert np.median(np.linalg.norm(error, axis=1)) > 1e-2


def test_attained_where_the_arithmetic_is_exact():
    """A(z) = 2 I + z I, u = e_1: G'G = 1, H = 2, z_enc = z / 2."""
    family = Dense(np.array([2 * np.eye(2), np.eye(2)]))
    u = np.array([[[1.0, 0.0]]])
    prompt = {"u": u, "f": 3.0 * u, "query": u[:, 0]}
    encoder = WeakForm(family, ridge=1.0)
    proof = weak_bias.certify(encoder, prompt, np.ones((1, 1)))
    assert encoder.estimate(prompt)[0, 0] == 0.5 and proof.value[0] == 0.0
    assert proof.counts["holds"] == 1


@pytest.mark.parametrize("form", ["another ridge", "another A_0", "another latent", "no metric"])
def test_a_false_statement_is_refused(form, monkeypatch):
    encoder, z = WeakForm(FAMILY, ridge=1e-3, gram=True), TASKS.latent[:100]
    honest = weak_bias.certify(encoder, first(100), z).rounding.max()
    if form == "another ridge":
        false = weak_bias.closed_form
        monkeypatch.setattr(weak_bias, "closed_form", lambda *a: (1 + 1e-6) * false(*a))
    elif form == "no metric":
        plain = WeakForm(FAMILY, ridge=1e-3)
        false = weak_bias.closed_form
        monkeypatch.setattr(weak_bias, "closed_form", lambda e, p, z: false(plain, p, z))
    elif form == "another A_0":
        rows = WeakForm.rows
        monkeypatch.setattr(
            WeakForm, "rows", lambda self, p: (rows(self, p)[0], rows(self, p)[1] + 1e-6)
        )
    else:
        estimate = WeakForm.estimate
        monkeypatch.setattr(WeakForm, "estimate", lambda self, p: estimate(self, p) + 1e-6)
    proof = weak_bias.certify(encoder, first(100), z)
    wrong = (proof.verdict != "holds") | (proof.rounding > 10 * honest)
    assert wrong.all(), "a wrong part must not pass as rounding"


def test_the_residual_s_terms_are_needed(monkeypatch):
    """Pairs that are off by many roundings, yet within the hypothesis, hold by rho alone."""
    prompt = first(50)
    prompt["f"] *= 1 + 2.0**-36
    encoder = WeakForm(FAMILY)
    proof = weak_bias.certify(encoder, prompt, TASKS.latent[:50])
    assert proof.counts["holds"] == 50 and np.min(proof.value) > 1e-12
    assert np.max(proof.value / proof.bound) > 1e-3


@pytest.mark.parametrize("part", ["estimate", "closed form"])
def test_inaccurate_solutions_are_paid_for_in_full(part, monkeypatch):
    """The identity is about the exact z_enc: a float that misses it widens the bound, no more."""
    prompt = {name: np.ldexp(x, -6) for name, x in first(50).items()}
    encoder, off = WeakForm(FAMILY, ridge=2.0**-12), np.full((50, 4), 1e-6)
    if part == "estimate":
        true = WeakForm.estimate
        monkeypatch.setattr(WeakForm, "estimate", lambda self, p: true(self, p) + off)
    else:
        false = weak_bias.closed_form
        monkeypatch.setattr(weak_bias, "closed_form", lambda *a: false(*a) + off)
    proof = weak_bias.certify(encoder, prompt, TASKS.latent[:50])
    assert proof.counts["holds"] == 50 and np.all(proof.value > 1e-6)
    assert np.all(proof.bound < 1e-4)


def test_noise_silences():
    prompt = first(4)
    prompt["f"][1] *= 1 + 1e-7
    z = TASKS.latent[:4].copy()
    z[2, 0] += 1e-6
    proof = weak_bias.certify(WeakForm(FAMILY), prompt, z)
    assert list(proof.verdict) == ["holds", "silent", "silent", "holds"]
    assert proof.reason[1] == proof.reason[2] == weak_bias.NOISY


def test_singular_and_broken_rows_are_silent():
    prompt = first(5)
    prompt["u"][1] = prompt["f"][1] = 0.0
    prompt["u"][2, 0, 0] = np.nan
    z = TASKS.latent[:5].copy()
    z[3, 1] = np.inf
    proof = weak_bias.certify(WeakForm(FAMILY, ridge=0.0), prompt, z)
    assert list(proof.verdict) == ["holds", "silent", "silent", "silent", "holds"]
    assert proof.reason[1] == weak_bias.NOT_REGULAR


@pytest.mark.parametrize("power", [-400, -60, 60, 400])
def test_prompts_at_other_scales_hold_or_are_silent(power):
    """u and f scaled alike: the same operator, another ridge."""
    prompt = {name: np.ldexp(x, power) for name, x in first(20).items()}
    ridge = float(np.ldexp(1e-3, 2 * power))
    proof = weak_bias.certify(WeakForm(FAMILY, ridge=ridge), prompt, TASKS.latent[:20])
    assert proof.counts["violated"] == 0
    assert abs(power) > 60 or proof.counts["holds"] == 20


def test_bad_input():
    with pytest.raises(ValueError, match="z: expected shape"):
        weak_bias.certify(WeakForm(FAMILY), TASKS.prompt, TASKS.latent[:, :2])
    elliptic = families.elliptic(dim=5)
    tasks = pde.sample(elliptic, seed=0, count=2, spread=0.1)
    with pytest.raises(ValueError, match="encoder: the bias is proved for Dense"):
        weak_bias.certify(WeakForm(elliptic), tasks.prompt, tasks.latent)
