"""Soundness of the atlas on 1e5 random (family, B, x, z): zero exceptions."""

import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from twofold import atlas
from twofold.atlas import families, proof

pytestmark = pytest.mark.soak
spec = importlib.util.spec_from_file_location(
    "exact", Path(__file__).parents[1] / "atlas" / "exact.py"
)
exact = importlib.util.module_from_spec(spec)
spec.loader.exec_module(exact)

BATCH, DEEP = 250, 3  # rows per dictionary; how many of them are redone in sixty digits
CASES = {  # family: dictionaries
    "periodic": (lambda rng: families.Periodic(int(rng.integers(1, 6))), 280),
    "torus": (lambda rng: families.Torus(2, 1), 40),
    "sphere": (lambda rng: families.Sphere(int(rng.integers(1, 3))), 30),
    "cylinder": (lambda rng: families.Cylinder(1, 2), 20),
    "patch": (lambda rng: families.Patch(1, 3), 20),
    "affine": (lambda rng: families.Affine(2), 10),
}


def drawn(make, rng):
    """A dictionary and rows: near codes, far from them, tiny and large, rank-deficient blocks."""
    family, p = make(rng), int(rng.integers(2, 10))
    B = rng.standard_normal((family.size, p)) * 10.0 ** rng.uniform(-2, 2)
    if rng.random() < 0.2:
        B = B[:, :1] @ rng.standard_normal((1, p))
    atom = atlas.Atom(family, B)
    t = rng.uniform(-1, 1, (BATCH, family.dim))
    if family.period is None:
        t /= np.linalg.norm(t, axis=1, keepdims=True)
    z = 10.0 ** rng.uniform(-2, 2, BATCH)
    m = atom.decode(t, z)
    noise = rng.choice([0.0, 0.05, 0.6, 3.0], BATCH)[:, None]
    X = m + noise * np.linalg.norm(m, axis=1, keepdims=True) * rng.standard_normal(m.shape) / p**0.5
    return atom, X, z


def dense(atom, X, z):
    """min over a grid, polished by one parabola or left as it is: at least the global minimum."""
    grid = {1: 2000, 2: 60, 3: 20}[atom.family.dim]
    axes = [np.linspace(-(line.radius or 1), line.radius or 1, grid)
            for line in getattr(atom.family, "lines", ())]  # fmt: skip
    t = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, atom.family.dim)
    if atom.family.period is None:
        t = t[np.linalg.norm(t, axis=1) > 1e-3]
        t = t / np.linalg.norm(t, axis=1, keepdims=True)
    phi = atom.family.values(t) @ atom.B
    cross, square = X @ phi.T, np.sum(phi**2, axis=1)
    return np.min(0.5 * z[:, None] ** 2 * square - z[:, None] * cross, axis=1)


@pytest.mark.parametrize("name", CASES)
def test_what_is_proved_holds(name):
    make, dictionaries = CASES[name]
    counts, deep = Counter(), 0
    for seed in range(dictionaries):
        rng = np.random.default_rng((seed, len(name)))
        atom, X, z = drawn(make, rng)
        made = atlas.build([atom], charts=8)
        codes = made.encode(X, amplitudes=z, budget=20_000 if name == "periodic" else 2000)
        counts.update(codes.verdict.tolist())
        assert sum(codes.counts.values()) == sum(codes.routes.values()) == BATCH
        proofs = proof.certify(made, X, codes)
        assert proofs.counts["violated"] == 0
        good = codes.verdict == "global"
        scale = np.sum(X**2, axis=1) + np.abs(codes.objective)
        lowest = dense(atom, X, z)
        assert np.all(codes.objective[good] <= lowest[good] + 1e-12 * scale[good]), (name, seed)
        certified = np.flatnonzero(codes.verdict != "uncertified")
        for n in certified[:DEEP]:
            redo(atom, X[n], z[n], codes, n)
            deep += 1
    print(f"{name}: {dict(counts)}, {deep} rows redone in sixty digits")
    assert sum(counts.values()) == dictionaries * BATCH


def redo(atom, x, z, codes, n):
    """Newton in sixty digits from the code, and from the predictor's point if it is certified."""
    for where, radius, h in (
        (codes.coords[n], codes.radius[n], codes.h[n]),
        (codes.start[n], codes.start_radius[n], codes.start_h[n]),
    ):
        if not (h < 0.5 and np.isfinite(radius)):
            continue
        root, moved, first, H, at_root, left = exact.newton(atom, x, z, where)
        assert left < 1e-30 and moved <= radius, (n, moved, radius)
        assert exact.least(at_root) > 0 and exact.least(H) > 0
