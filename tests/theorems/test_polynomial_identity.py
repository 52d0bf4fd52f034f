"""The polynomial identity between two routes, and the risk known before d is."""

import numpy as np
import pytest

from twofold import decoder
from twofold.rigor.pencil import pencil_bounds
from twofold.theorems import polynomial_identity, trace_risk
from twofold.theorems.semi_iteration import MISSED, NAMES

FORMS = tuple(NAMES)


def batch(N=2000, K=6, condition=50.0, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(N, K, K)))[0]
    H = (Q * np.geomspace(1, 1 / condition, K)) @ Q.swapaxes(1, 2)
    return np.diag(rng.uniform(0.5, 2, K)), 0.5 * (H + H.swapaxes(1, 2)), rng.normal(size=(N, K))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", [0, 1, 2, 9])
def test_holds_on_random_systems(form, depth):
    P, H, d = batch()
    c = polynomial_identity.certify(P, H, d, depth, form)
    assert c.counts["holds"] == 2000
    x = np.linalg.norm(np.linalg.solve(H, d[..., None])[..., 0], axis=1)
    assert np.all(c.bound <= 1e-9 * x)


@pytest.mark.parametrize("form", FORMS)
def test_a_false_identity_is_violated(form, monkeypatch):
    P, H, d = batch(50)
    true = polynomial_identity.semi_drift.formed

    def false(P, H, schedule):
        M, error = true(P, H, schedule)
        return M * (1 + 1e-6), error

    monkeypatch.setattr(polynomial_identity.semi_drift, "formed", false)
    assert polynomial_identity.certify(P, H, d, 4, form).counts["violated"] == 50


def test_richardsons_risk_is_the_trace_risk():
    """With alpha folded into P, the scaled form is Richardson itself."""
    P, H, _ = batch(40)
    ends = np.array([0.002, 3.0])
    S = np.linspace(0.5, 2, 6)
    value, slack = polynomial_identity.risk(P, H, 5, "scaled", ends, S)
    other, more = trace_risk.risk(P * 2 / ends.sum(), H, 5, S)
    assert np.all(np.abs(value - other) <= slack + more + 1e-15 * value)


@pytest.mark.parametrize("form", FORMS)
def test_decoders_have_this_risk_under_the_prior(form):
    P, H, _ = batch(1)
    ends, N = np.stack(pencil_bounds(P, H), axis=1)[0], 20_000
    S = np.linspace(0.5, 2, 6)
    x = np.random.default_rng(1).normal(size=(N, 6)) * np.sqrt(S)
    many, d = np.broadcast_to(H, (N, 6, 6)), x @ H[0].T
    way = dict(P=P, method="richardson") if form == "scaled" else dict(P=P, method=form)
    if form == "scaled":
        way["P"] = P * 2 / ends.sum()
    else:
        way["interval"] = ends
    losses = np.mean((decoder.solve(many, d, depth=3, **way)[-1] - x) ** 2, axis=1)
    value = polynomial_identity.risk(P, H, 3, form, ends, S)[0][0]
    assert abs(losses.mean() - value) < 4 * losses.std() / np.sqrt(N)


def test_the_formed_polynomial_is_within_its_error():
    P, H, _ = batch(30, 4)
    ends = np.broadcast_to([0.002, 2.5], (30, 2))
    for form in FORMS:
        schedule = getattr(decoder.polynomial, form)(ends, 7)
        M, error = decoder.semi_drift.formed(P, H, schedule)
        wide = [x.astype(np.longdouble) for x in (P, H, schedule.alpha, schedule.beta)]
        now = before = np.broadcast_to(np.eye(4, dtype=np.longdouble), H.shape)
        for ell in range(7):
            a, b = (x[:, ell, None, None] for x in wide[2:])
            PH = np.einsum("ij,njk->nik", wide[0], wide[1])
            now, before = now - a * np.einsum("nij,njk->nik", PH, now) + b * (now - before), now
        off = np.sqrt(np.sum((M - now) ** 2, axis=(1, 2)))
        assert np.all(off <= error) and off.max() > 0 and error.max() < 1e-8


def test_bad_rows_are_silent_alone():
    P, H, d = batch(6)
    H[1], H[2], d[3, 0] = -H[1], np.nan, np.inf
    c = polynomial_identity.certify(P, H, d, 3, "chebyshev", (1e-4, 9.0))
    assert np.flatnonzero(c.verdict == "silent").tolist() == [1, 2, 3]
    c = polynomial_identity.certify(P, H, d, 3, "chebyshev", (1.0, 9.0))
    assert c.counts["silent"] == 6 and c.reason[0] == MISSED
    slack = polynomial_identity.risk(P, H, 3, "chebyshev", (1.0, 9.0))[1]
    assert not np.isfinite(slack).any()
