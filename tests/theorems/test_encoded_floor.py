from dataclasses import replace

import numpy as np
import pytest

from twofold.encoder.weak_form import WeakForm
from twofold.tasks import families, pde
from twofold.theorems import encoded_floor, resolvent

FAMILY = families.gaussian(seed=2)


def encoded(count, seed=0, ridge=1e-3):
    tasks = pde.sample(FAMILY, seed=seed, count=count)
    system = WeakForm(FAMILY, ridge=ridge)(tasks.prompt)
    return system.dense(), FAMILY.dense(tasks.latent), tasks.query


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 0.3])
def test_holds_on_two_thousand_tasks(ridge):
    proof = encoded_floor.certify(*encoded(2000, ridge=ridge))
    assert proof.counts["violated"] == 0
    assert proof.counts["holds"] == 2000 or ridge == 0.3
    assert np.max(proof.rounding) < 1e-12


def along_the_worst(N=200, K=5, delta=0.1):
    """D = -delta v v' and f along v, the eigenvector of the smallest eigenvalue."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((N, K, K)))[0]
    A = (Q * np.geomspace(1, 4, K)) @ np.swapaxes(Q, 1, 2)
    v = Q[..., 0]
    A_enc = A - delta * v[:, :, None] * v[:, None]
    return tuple(0.5 * (B + np.swapaxes(B, 1, 2)) for B in (A_enc, A)), v


def test_attained_by_the_worst_perturbation():
    (A_enc, A), v = along_the_worst()
    proof = encoded_floor.certify(A_enc, A, 3 * v)
    assert proof.counts["holds"] == 200
    np.testing.assert_allclose(proof.tightness, 1.0, rtol=1e-9)


@pytest.mark.parametrize("form", ["first order only", "no rounding"])
def test_a_false_statement_is_refused(form, monkeypatch):
    (A_enc, A), v = along_the_worst(delta=1e-3 if form == "no rounding" else 0.1)
    if form == "first order only":
        monkeypatch.setattr(resolvent, "bound", lambda a, d: a * a * d)
        assert encoded_floor.certify(A_enc, A, v).counts["violated"] == 200
        return
    proof = encoded_floor.certify(A_enc, A, v)
    a = 1 / np.abs(np.linalg.eigvalsh(A)).min(axis=1)
    d = np.linalg.norm(A_enc - A, 2, axis=(1, 2))
    bare = a * a * d / (1 - a * d)
    assert replace(proof, bound=bare, rounding=0 * bare).counts["violated"] > 20


def test_each_broken_hypothesis_is_silent():
    A_enc, A, f = (x.copy() for x in encoded(6))
    A[1] = 0.0
    A_enc[2] = -A[2]
    A_enc[3, 0, 0] = np.nan
    f[4, 0] = np.inf
    proof = encoded_floor.certify(A_enc, A, f)
    assert list(proof.verdict) == ["holds", *["silent"] * 4, "holds"]
    assert proof.reason[1] == encoded_floor.UNSOLVED and proof.reason[2] == encoded_floor.FAR


def test_bad_input():
    A_enc, A, f = encoded(3)
    for bad in ((A_enc[:2], A, f), (A_enc, A, f[:, :3]), (A_enc[:0], A[:0], f[:0])):
        with pytest.raises(ValueError, match="(A_enc|A|f): (expected shape|no operator)"):
            encoded_floor.certify(*bad)
