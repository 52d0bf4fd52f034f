import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from twofold import atlas
from twofold.atlas import families, kantorovich

spec = importlib.util.spec_from_file_location("exact", Path(__file__).with_name("exact.py"))
exact = importlib.util.module_from_spec(spec)
spec.loader.exec_module(exact)

EVERY = {
    "periodic": families.Periodic(3), "torus": families.Torus(2, 1),
    "sphere": families.Sphere(2), "cylinder": families.Cylinder(1, 2),
    "patch": families.Patch(2, 2), "affine": families.Affine(2),
}  # fmt: skip


def some(family, rows, noise, seed=0, p=12):
    rng = np.random.default_rng(seed)
    atom = atlas.Atom(family, rng.standard_normal((family.size, p)))
    t = rng.uniform(-0.7, 0.7, (rows, family.dim))
    if family.period is None:
        t /= np.linalg.norm(t, axis=1, keepdims=True)
    z = rng.uniform(0.5, 2.0, rows)
    return atom, atom.decode(t, z) + noise * rng.standard_normal((rows, p)), z, t


@pytest.mark.parametrize("name", EVERY)
def test_what_is_certified_is_true_in_sixty_digits(name):
    """At random starts near a code: beta, eta and h are not below the exact ones, Newton converges
    within the radius, to a point where the Hessian is positive definite."""
    atom, X, z, t = some(EVERY[name], 60, 0.03)
    made = atlas.build([atom], charts=4, priors=atlas.Priors(0.1, 0.2))
    priors = (0.1, 0.2)
    rng, certified = np.random.default_rng(1), 0
    for x, zn, tn in zip(X, z, t, strict=True):
        start = tn + 0.001 * rng.standard_normal(tn.shape)
        if name == "sphere":
            start /= np.linalg.norm(start)
        record, step = made.certificate(x, start, zn, 0)
        if not math.isfinite(record["h"]):
            continue
        root, moved, first, H, at_root, left = exact.newton(atom, x, zn, start, priors)
        assert float(first) <= record["eta"] and abs(np.linalg.norm(step) - float(first)) < 1e-9
        assert 1 / exact.least(H) <= record["beta"] * (1 + 1e-9)
        assert record["L"] <= record["fourier_L"] * (1 + 1e-9)
        if record["certified"]:
            certified += 1
            assert left < 1e-40 and moved <= record["radius"] and record["h"] < 0.5
            assert exact.least(at_root) > 0
    assert certified >= 15


def test_two_starts_in_one_ball_share_their_root():
    atom, X, z, t = some(EVERY["periodic"], 20, 0.2, seed=3)
    made = atlas.build([atom])
    for x, zn, tn in zip(X, z, t, strict=True):
        record, _ = made.certificate(x, tn, zn, 0)
        if not record["certified"]:
            continue
        root = exact.newton(atom, x, zn, tn)[0]
        near = float(root[0].mid()) + 0.5 / (record["beta"] * record["L"])
        if abs(near - tn[0]) < record["unique"]:
            other, _ = made.certificate(x, near, zn, 0)
            if other["certified"]:
                assert abs(float((exact.newton(atom, x, zn, [near])[0][0] - root[0]).mid())) < 1e-30


def test_maxima_and_saddles_are_never_certified():
    """beta and eta alone would certify them: h is tiny at a maximum."""
    atom = atlas.Atom(families.Periodic(1), np.eye(3)[:, :])
    made = atlas.build([atom])
    x = np.array([0.0, 0.0, 1.0])  # m(t) = (1, sin, cos): nearest at t = 0, farthest at 1/2
    assert made.certificate(x, 0.001, 1.0, 0)[0]["certified"]
    far, _ = made.certificate(x, 0.501, 1.0, 0)
    assert not far["certified"] and far["reason"] == kantorovich.REASONS[kantorovich.SADDLE]


def judge(g, H, M3, e1=0.0, e2=0.0):
    out, s = np.zeros(6), np.zeros(1)
    code = kantorovich.judge(
        np.array([g]), np.array([[H]]), np.zeros((1, 1, 1)), 1, e1, e2, M3, np.inf, 0.0, np.inf,
        np.zeros((1, 1)), s, out,
    )  # fmt: skip
    return code, out


@pytest.mark.parametrize("H", [1.0, 3.0, 0.7, 1e-3, 1e5])
def test_h_within_rounding_of_one_half_is_never_certified(H):
    """With beta = 1/H and eta = g/H, h = g L / H^2: choose L to put it where we want it."""
    for offset in (-1e-13, -5e-14, -1e-16, 0.0, 1e-16, 5e-14, 1e-13, 0.1):
        code, out = judge(0.01, H, (0.5 + offset) * H * H / 0.01)
        assert code == kantorovich.FAR, (offset, out)
    assert judge(0.01, H, (0.5 - 2e-12) * H * H / 0.01)[0] == kantorovich.CERTIFIED


def test_every_rounding_term_counts():
    """A start certified with exact jets is not when they are known no better than they matter."""
    assert judge(0.01, 1.0, 40.0)[0] == kantorovich.CERTIFIED
    assert judge(0.01, 1.0, 40.0, e1=0.005)[0] == kantorovich.FAR
    assert judge(0.01, 1.0, 40.0, e2=0.2)[0] == kantorovich.FAR
    assert judge(0.01, 1.0, 40.0, e2=1.0)[0] == kantorovich.SADDLE
    for bad in (math.nan, math.inf, 1e300):
        assert judge(0.01, bad, 1.0)[0] != kantorovich.CERTIFIED
        assert judge(0.01, 1.0, bad)[0] != kantorovich.CERTIFIED
        assert judge(bad, 1.0, 1.0)[0] != kantorovich.CERTIFIED


def test_at_one_half_newton_is_only_linear():
    """f' = t^2 - ..., the equality case h = 1/2: a double root, where Newton halves the error."""
    H, L, g = 1.0, 1.0, 0.5  # f'(t) = g + H t + L t^2/2 = (1 + t)^2 / 2
    assert judge(g, H, L)[0] == kantorovich.FAR
    t, errors = 0.0, []
    for _ in range(20):
        t -= (g + H * t + L * t * t / 2) / (H + L * t)
        errors.append(t + 1)
    assert np.allclose(np.array(errors[1:]) / errors[:-1], 0.5)


def test_the_least_eigenvalue_is_a_lower_bound():
    rng = np.random.default_rng(0)
    for d in (2, 3, 4):
        for _ in range(700):
            Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
            A = (Q * 10.0 ** rng.uniform(-8, 2, d)) @ Q.T
            A = (A + A.T) / 2
            low = kantorovich.smallest(A, d, np.zeros((d, d)))
            true = exact_least(A)
            assert low <= true and true - low <= 1e-7 * np.max(np.abs(A))


def exact_least(A):
    from flint import arb_mat, ctx

    ctx.prec = 200
    values = arb_mat([[float(v) for v in row] for row in A]).eig(multiple=True)
    ctx.prec = 53
    return min(float(v.real.mid()) for v in values)


def test_lipschitz_constants_are_ordered_and_hold():
    """Fourier <= pair bound <= the seed's; the Hessian's change never exceeds L times the way."""
    for name in ("periodic", "torus"):
        family = EVERY[name]
        atom, X, z, _ = some(family, 200, 0.3, seed=5)
        made = atlas.build([atom], charts=4)
        rng = np.random.default_rng(2)
        for x, zn in zip(X[:40], z, strict=False):
            a, b = rng.random(family.dim), rng.random(family.dim)
            b = a + 0.01 * (b - 0.5)
            record, _ = made.certificate(x, a, zn, 0)
            assert record["fourier_L"] <= record["pair_L"] <= record["seed_L"]
            H = [hessian(atom, x, zn, t) for t in (a, b)]
            way = np.linalg.norm(a - b)
            assert np.linalg.norm(H[0] - H[1], 2) <= record["fourier_L"] * way


def hessian(atom, x, z, t):
    phi, J, D = atom.family.jets(t[None], 2)
    r = z * phi[0] @ atom.B - x
    J = z * np.einsum("mi,mp->ip", J[0], atom.B)
    return J @ J.T + np.einsum("mij,mp,p->ij", z * D[0], atom.B, r)
