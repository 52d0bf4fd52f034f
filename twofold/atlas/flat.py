r"""Flat dictionaries, the ordinary sparse autoencoder: the convex encode with its duality gap.

    P(c) = 1/2 |x - W'c|^2 + lambda sum c + (rho/2) |c|^2   over c >= 0,

by coordinate descent. For rho = 0 any theta with W theta <= lambda, and for rho > 0 any theta, has

    min P >= D(theta) = theta'x - 1/2 |theta|^2 - sum ((W theta)_k - lambda)_+^2 / (2 rho),

so P(c) - D(theta) bounds what is left to gain. theta is the residual, scaled into W theta <= lambda
where it must be. P is rounded up and D down; nothing of the solver is trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numba import njit, prange

from twofold.rigor import inputs
from twofold.rigor.roundoff import gamma, up
from twofold.rigor.selftest import require

VERDICTS = ("global", "open", "uncertified")


@dataclass(frozen=True, eq=False)
class FlatCodes:
    """``primal`` is at least P(codes), ``dual`` at most min P; both per row, both proved.

    ``global``: the gap is below ``tolerance`` of 1/2 |x|^2. ``open``: it is not yet.
    """

    codes: Float[np.ndarray, "N K"]
    primal: Float[np.ndarray, " N"]
    dual: Float[np.ndarray, " N"]
    verdict: np.ndarray

    @property
    def gap(self) -> Float[np.ndarray, " N"]:
        """How far above the minimum P(codes) can be."""
        return np.nextafter(self.primal - self.dual, np.inf)

    @property
    def counts(self) -> dict[str, int]:
        """Rows by verdict; they add up to all rows."""
        return {word: int(np.sum(self.verdict == word)) for word in VERDICTS}


def encode(
    W: Any, rows: Any, *, penalty: float, ridge: float = 0.0, tolerance: float = 1e-9,
    sweeps: int = 2000,
) -> FlatCodes:  # fmt: skip
    """Non-negative lasso (or elastic net) codes of rows (N, p) on W (K, p)."""
    W = inputs.real("W", W, ndim=2)
    X = inputs.real("rows", rows, shape=(None, W.shape[1]), finite=False)
    _check(W, penalty, ridge)
    codes = np.zeros((len(X), len(W)))
    finite = np.all(np.abs(X) < 1e100, axis=1)
    norms = np.sum(W * W, axis=1)
    _descend(W, np.where(finite[:, None], X, 0.0), norms, penalty, ridge, tolerance, sweeps, codes)
    return judged(W, X, codes, penalty=penalty, ridge=ridge, tolerance=tolerance)


def judged(
    W: Any, rows: Any, codes: Any, *, penalty: float, ridge: float = 0.0, tolerance: float = 1e-9
) -> FlatCodes:
    """The gap of any codes c >= 0, whoever found them."""
    require()
    W, C = inputs.real("W", W, ndim=2), inputs.real("codes", codes, ndim=2)
    X = inputs.real("rows", rows, shape=(len(C), W.shape[1]), finite=False)
    _check(W, penalty, ridge)
    if np.any(C < 0):
        raise ValueError("codes: expected c >= 0 throughout")
    with np.errstate(over="ignore", invalid="ignore"):
        primal, R = objective(W, X, C, penalty, ridge)
        dual = _lower(W, X, R, penalty, ridge)
        small = primal - dual <= tolerance * 0.5 * np.sum(X * X, axis=1) + 1e-300
    known = np.isfinite(primal) & np.isfinite(dual) & np.all(np.abs(X) < 1e100, axis=1)
    verdict = np.where(~known, "uncertified", np.where(small, "global", "open"))
    return FlatCodes(C, primal, dual, verdict)


def objective(
    W: np.ndarray, X: np.ndarray, C: np.ndarray, penalty: float, ridge: float
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, "N p"]]:
    """(P rounded upwards, the residual as computed)."""
    K, p = W.shape
    R = X - C @ W
    size = np.linalg.norm(X, axis=1) + C @ np.linalg.norm(W, axis=1)
    error = up(gamma(K + 2) * size, K + 2 * p + 16)
    left = up(np.linalg.norm(R, axis=1), 2 * p + 4) + error
    sparse = penalty * np.sum(C, axis=1) + 0.5 * ridge * np.sum(C * C, axis=1)
    return up(0.5 * left * left + sparse, 2 * K + 16), R


def _lower(W: np.ndarray, X: np.ndarray, R: np.ndarray, penalty: float, ridge: float) -> np.ndarray:
    """D(theta) rounded downwards."""
    K, p = W.shape
    length = up(np.linalg.norm(R, axis=1), 2 * p + 4)
    inner = R @ W.T + up(gamma(p + 2) * np.outer(length, np.linalg.norm(W, axis=1)), 2 * p + 8)
    if ridge:
        scale, over = np.ones(len(X)), np.maximum(inner - penalty, 0.0) * (1 + 1e-15)
        cost = up(np.sum(over * over, axis=1) / (2 * ridge), 2 * K + 8)
    else:
        top = np.max(inner, axis=1, initial=0.0)
        with np.errstate(divide="ignore"):
            scale = np.where(top > penalty, penalty / top * (1 - 1e-15), 1.0)
        cost = np.zeros(len(X))
    value = scale * np.sum(R * X, axis=1) - 0.5 * scale**2 * np.sum(R * R, axis=1) - cost
    size = scale * length * (np.linalg.norm(X, axis=1) + scale * length) + cost
    return value - up(4 * gamma(p + 8) * size, 4 * p + 32)


def amortisation(
    W: Any, rows: Any, given: Any, best: FlatCodes, *, penalty: float, ridge: float = 0.0
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """What an encoder's own codes ``given`` cost above the optimum: (at least, at most) per row.

    At most P(given) - D; at least P(given) - P(best), less what rounding hides.
    """
    W, C = inputs.real("W", W, ndim=2), inputs.real("given", given, ndim=2)
    X = inputs.real("rows", rows, shape=(len(C), W.shape[1]))
    theirs, _ = objective(W, X, C, penalty, ridge)
    size = np.linalg.norm(X, axis=1) + C @ np.linalg.norm(W, axis=1)
    slack = up(8 * gamma(sum(W.shape) + 32) * (size * size + np.abs(theirs)), 64)
    return np.maximum(theirs - slack - best.primal, 0.0), np.nextafter(theirs - best.dual, np.inf)


def _check(W: np.ndarray, penalty: float, ridge: float) -> None:
    if not len(W):
        raise ValueError("W: the dictionary is empty")
    for name, value in (("penalty", penalty), ("ridge", ridge)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name}: expected a finite number >= 0, got {value!r}")
    if penalty == 0 and ridge == 0:
        raise ValueError("penalty: without penalty and ridge no dual point is known; give one")


@njit(cache=True, fastmath=False, parallel=True, error_model="numpy")
def _descend(W, X, norms, penalty, ridge, tolerance, sweeps, codes):
    """Coordinate descent, row by row; full sweeps and sweeps over the active coordinates."""
    K, p = W.shape
    for n in prange(len(X)):
        r, c = X[n].copy(), codes[n]
        scale = 0.0
        for i in range(p):
            scale += r[i] * r[i]
        for sweep in range(sweeps):
            full, gained = sweep % 8 == 0, 0.0
            for k in range(K):
                if (not full and c[k] == 0.0) or norms[k] + ridge == 0.0:
                    continue
                slope = 0.0
                for i in range(p):
                    slope += W[k, i] * r[i]
                new = max(0.0, (slope + norms[k] * c[k] - penalty) / (norms[k] + ridge))
                move = new - c[k]
                if move != 0.0:
                    c[k] = new
                    for i in range(p):
                        r[i] -= move * W[k, i]
                    gained = max(gained, move * move * (norms[k] + ridge))
            if full and gained <= 1e-4 * tolerance * tolerance * scale:
                break
