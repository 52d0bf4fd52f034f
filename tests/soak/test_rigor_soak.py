"""1e5 random systems of adversarial shape and scale: every proved number is checked in balls.

Chunks are independent and their seeds fixed. A finished chunk leaves a record under runs/soak (or
$TWOFOLD_SOAK), named after the code it tested, and is skipped when the soak is started again.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

import twofold.rigor
from twofold.rigor import balls, contraction_upper, norm2_upper, power_upper, solve

CHUNKS, COUNT, LARGEST = 100, 1000, 32
SHAPES = 12


def code() -> str:
    """What the records are worth: the hash of the arithmetic under test and of this file."""
    package = Path(twofold.rigor.__file__).parent
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for file in sorted(package.glob("*.py")):
        if file.name != "recheck.py":
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def draw(rng, shape, K):
    """One K x K matrix of the given kind of difficulty, entries of order one or below."""
    A = rng.normal(size=(K, K))
    Q = np.linalg.qr(A)[0]
    graded = 10.0 ** -(rng.uniform(0, 15) * np.arange(K) / K)
    makers = (
        lambda: A,
        lambda: np.abs(A),
        lambda: Q * rng.uniform(0.5, 2),
        lambda: np.outer(A[0], A[-1]),
        lambda: Q * graded,
        lambda: (Q * graded) @ Q.T,
        lambda: np.triu(A, 1) + np.diag(np.full(K - 1, 30.0), -1) if K > 1 else A,
        lambda: np.sign(A) / np.sqrt(K),
        lambda: np.eye(K) + 10.0 ** rng.uniform(-17, 0) * A,
        lambda: graded[:, None] * A,
        lambda: A * (rng.random((K, K)) < 0.2),
        lambda: A @ A.T / (2 * K),
    )
    return makers[shape]()


def scale(rng):
    """Mostly one, sometimes the end of the range."""
    if rng.random() < 0.6:
        return 1.0
    return 2.0 ** rng.integers(-1070, 1020)


def systems(rng, K, count):
    """P, H (count, K, K) and d (count, K), with P close to H^-1 now and then."""
    with np.errstate(all="ignore"):
        H = np.stack([scale(rng) * draw(rng, rng.integers(SHAPES), K) for _ in range(count)])
        P = np.stack([scale(rng) * draw(rng, rng.integers(SHAPES), K) for _ in range(count)])
        for row in np.flatnonzero(rng.random(count) < 0.5):
            top = np.abs(H[row]).max()
            if 1e-290 < top < 1e290:
                P[row] = near(rng, H[row] / top) / top
        d = rng.normal(size=(count, K)) * np.array([scale(rng) for _ in range(count)])[:, None]
    keep = np.isfinite(H) & np.isfinite(P)
    return np.where(keep, P, 1.0), np.where(keep, H, 1.0), np.where(np.isfinite(d), d, 1.0)


def near(rng, H):
    """A preconditioner worth the name: the inverse, or a multiple of the identity."""
    if rng.random() < 0.5:
        return np.eye(len(H)) / max(np.linalg.norm(H, 2), 1e-3)
    return np.linalg.pinv(H, rcond=1e-12)


def check(P, H, d, depth):
    """How many of the batch's rows were silent, norm by norm; every finite number is proved."""
    contraction, power = contraction_upper(P, H), power_upper(P, H, depth)
    norm, (x, radius) = norm2_upper(H), solve(H, d)
    for row in range(len(H)):
        with balls.precision(BITS):
            T = balls.residual(P[row], H[row])
            assert balls.norm_at_most(T, contraction[row], BITS), ("contraction", row)
            assert balls.norm_at_most(balls.matrix(H[row]), norm[row], BITS), ("norm", row)
            raised = balls.identity(T.nrows())
            for _ in range(depth):
                raised = raised * T
            assert balls.norm_at_most(raised, power[row], BITS), ("power", row)
            if np.isfinite(radius[row]):
                distance = balls.distance(H[row], d[row], x[row], BITS)
                assert distance <= float(radius[row]), ("solve", row)
    return [int(np.sum(~np.isfinite(bound))) for bound in (norm, contraction, power, radius)]


BITS = 640


@pytest.mark.soak
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_proved_number_holds(chunk):
    folder = Path(os.environ.get("TWOFOLD_SOAK", "runs/soak"))
    record = folder / f"rigor-{code()}-{chunk}.json"
    if record.exists():
        pytest.skip("done before, with this code")
    rng = np.random.default_rng([2027, chunk])
    sizes = 1 + np.floor(LARGEST * rng.random(COUNT) ** 1.5).astype(int)
    silent = np.zeros(4, dtype=int)
    for K, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        depth = int(rng.integers(1, 9))
        silent += check(*systems(rng, int(K), int(count)), depth)
    folder.mkdir(parents=True, exist_ok=True)
    names = ("norm", "contraction", "power", "solve")
    done = {"systems": COUNT, "silent": dict(zip(names, silent.tolist(), strict=True))}
    partial = record.with_suffix(f".{os.getpid()}.tmp")
    partial.write_text(json.dumps(done))
    partial.replace(record)
