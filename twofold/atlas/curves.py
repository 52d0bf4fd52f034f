"""Atoms one can draw, and noisy rows beside them: for studies, examples and tests."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from twofold.atlas.families import Periodic, Sphere, Torus
from twofold.atlas.objective import Atom


def circle() -> Atom:
    """The unit circle in the plane."""
    return Atom(Periodic(1), np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))


def lemniscate() -> Atom:
    """(cos 2 pi t, sin 4 pi t): a figure of eight that crosses itself at the origin."""
    B = np.zeros((5, 2))
    B[2, 0] = B[3, 1] = 1.0
    return Atom(Periodic(2), B)


def torus() -> Atom:
    """((2 + cos v) cos u, (2 + cos v) sin u, sin v) in space, u and v in turns."""
    family = Torus(2, 1)
    B = np.zeros((9, 3))
    for column, axis, value in (((2, 0), 0, 2.0), ((2, 2), 0, 1.0), ((1, 0), 1, 2.0),
                                ((1, 2), 1, 1.0), ((0, 1), 2, 1.0)):  # fmt: skip
        B[family.columns.index(column), axis] = value
    return Atom(family, B)


def sphere() -> Atom:
    """The unit sphere in space."""
    B = np.zeros((4, 3))
    for column, axis in ((1, 1), (2, 2), (3, 0)):
        B[column, axis] = math.sqrt(4 * math.pi / 3)
    return Atom(Sphere(1), B)


def rough(harmonics: int, dim: int, *, seed: int) -> Atom:
    """A random closed curve whose h-th harmonic has size 1/h."""
    B = np.random.default_rng(seed).standard_normal((2 * harmonics + 1, dim)) / math.sqrt(dim)
    size = np.repeat(np.arange(harmonics + 1.0), 2)[1:]
    return Atom(Periodic(harmonics), B / np.maximum(size, 1)[:, None])


def rows(
    atom: Atom, count: int, *, noise: float, seed: int
) -> tuple[Float[np.ndarray, "N p"], Float[np.ndarray, "N q"]]:
    """(x, t): codes at uniform coordinates, with Gaussian noise of ``noise`` |m| in norm."""
    rng = np.random.default_rng(seed)
    if atom.family.period is None:
        t = rng.standard_normal((count, 3))
        t /= np.linalg.norm(t, axis=1, keepdims=True)
    else:
        t = rng.random((count, atom.family.dim))
    m = atom.decode(t)
    e = rng.standard_normal(m.shape) / math.sqrt(m.shape[1])
    return m + noise * np.linalg.norm(m, axis=1, keepdims=True) * e, t
