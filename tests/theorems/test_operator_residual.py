from dataclasses import replace

import numpy as np
import pytest

from twofold.encoder.operator import OperatorSystem
from twofold.measures import coercivity
from twofold.tasks import families
from twofold.tasks.affine import Tridiagonal
from twofold.theorems import operator_residual

ELLIPTIC = families.elliptic(dim=15, latent=3)
MESH = families.diffusion(side=5, blocks=2)
each = pytest.mark.parametrize("family", [ELLIPTIC, MESH], ids=["tridiagonal", "sparse"])


def drawn(family, N=2000, seed=0):
    rng = np.random.default_rng(seed)
    n, K = family.size
    system = OperatorSystem(family, rng.uniform(-0.3, 0.3, (N, K)), rng.standard_normal((N, n)))
    return system, system.exact(), rng


@each
def test_holds_on_two_thousand_systems_at_every_accuracy(family):
    system, x, rng = drawn(family)
    size = np.geomspace(1e-14, 1e3, len(x))[:, None] * np.abs(x).max()
    proof = operator_residual.certify(system, x + size * rng.standard_normal(x.shape))
    assert proof.counts == {"holds": 2000, "violated": 0, "silent": 0}
    clear = proof.value > 1e-6
    assert np.max((proof.rounding / proof.value)[clear]) < 1e-6


def ground(family, N=200):
    """Constant coefficients, and an error along the ground state."""
    n, K = family.size
    scale = np.geomspace(0.5, 2.0, N)
    constant = type(family)(
        *((np.array([0 * family.a[0], family.a[0]]),) if isinstance(family, Tridiagonal)
          else (family.E, np.array([0 * family.a[0], family.a[0]])))
    )  # fmt: skip
    values, vectors = np.linalg.eigh(constant.dense(np.ones((1, 1)))[0])
    system = OperatorSystem(constant, scale[:, None], np.zeros((N, n)))
    return system, np.broadcast_to(vectors[:, 0], (N, n)), scale * values[0]


@each
def test_attained_by_the_ground_state(family):
    system, u, lowest = ground(family)
    proof = operator_residual.certify(system, u)
    assert proof.counts["holds"] == 200
    assert np.min(proof.tightness) > 1 - 1e-7
    np.testing.assert_allclose(system.coercive, lowest, rtol=1e-7)


@each
@pytest.mark.parametrize("form", ["larger alpha", "no residual"])
def test_a_false_statement_is_refused(family, form, monkeypatch):
    system, u, _ = ground(family)
    if form == "larger alpha":
        true = coercivity.lowest
        monkeypatch.setattr(coercivity, "lowest", lambda *a: (1 + 1e-6) * true(*a))
    else:
        true = coercivity.residual_upper
        monkeypatch.setattr(coercivity, "residual_upper", lambda *a: (1 - 1e-6) * true(*a))
    assert operator_residual.certify(system, u).counts["violated"] == 200


@each
def test_without_its_rounding_it_is_refuted(family):
    system, x, _ = drawn(family, 500)
    again = np.linalg.solve(family.dense(system.z), system.d[..., None])[..., 0]
    proof = operator_residual.certify(system, again)
    assert proof.counts["holds"] == 500 and np.all(proof.bound > 0)
    r = system.d - system.matvec(again)
    bare = replace(proof, bound=0 * np.linalg.norm(r, axis=1), rounding=0 * proof.rounding)
    assert bare.counts["violated"] > 400


@each
def test_each_broken_hypothesis_is_silent(family):
    system, x, _ = drawn(family, 6)
    z, u = system.z.copy(), x.copy()
    z[1], z[2, 0], u[3, 0] = -1.5, np.nan, np.nan
    proof = operator_residual.certify(OperatorSystem(family, z, system.d), u)
    assert list(proof.verdict) == ["holds", *["silent"] * 3, "holds", "holds"]
    assert proof.reason[1] == operator_residual.NOT_ELLIPTIC
    assert proof.reason[3] == operator_residual.NOT_FINITE


def test_bad_input():
    system, x, _ = drawn(ELLIPTIC, 3)
    with pytest.raises(ValueError, match="u: expected shape"):
        operator_residual.certify(system, x[:, :-1])
