r"""A fixed pool of drawn W with control variates: the fallback, with its standard error.

The pool is drawn once from a seed, so a path on it is deterministic. Per draw the loss is regressed
on quantities whose means are known exactly: the diagonal of W and, for Gaussian features, the risks
at depths where an exact engine exists (with kurtosis, depth 1). The coefficients are cross-fitted:
those of one half of the pool serve the other. Where sd / mean of the loss reaches 1 the tail
carries the mean, no standard error can be trusted, and the pool refuses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.protocol import Law
from twofold.tasks import laws, moments, samplers
from twofold.training.closure import draws, exact
from twofold.training.closure.case import Case


class Refusal(ValueError):
    """The pool cannot be trusted at this P."""


@dataclass(frozen=True)
class Estimate:
    """``value`` with its standard error; ``plain_error`` is the one without control variates."""

    value: float
    standard_error: float
    plain_error: float
    spread: float
    """sd / mean of the loss over draws."""


@dataclass(frozen=True, eq=False)
class Pool:
    """W (N, K, K) of one law."""

    law: Law
    case: Case
    W: Float[np.ndarray, "N K K"]
    forcing: np.ndarray | None

    def estimate(self, P: np.ndarray) -> Estimate:
        """R(P); ValueError where the pool cannot be trusted."""
        return self._fitted(laws.matrix(P))[0]

    def gradient(self, P: np.ndarray) -> tuple[float, np.ndarray]:
        """(R, gradient) of the same controlled estimate, its coefficients held."""
        full = laws.matrix(P)
        estimate, slopes = self._fitted(full)
        weight = np.full(len(self.W), 1.0 / len(self.W))
        bar = draws.gradients(full, self.W, self.case, weight, self.forcing)[1]
        for slope, depth in zip(slopes, self._depths, strict=True):
            if depth:
                seen = draws.gradients(full, self.W, self._at(depth), weight)[1]
                bar -= slope * (seen - self._known(full, depth)[1])
        return estimate.value, np.diagonal(bar).copy() if P.ndim == 1 else bar

    @property
    def _depths(self) -> list[int]:
        """A depth for each control: 0 for the entries of the diagonal of W."""
        if self.forcing is not None:
            return [0] * self.case.dim
        deepest = 1 if self.law.kurtosis else min(2, self.case.depth - 1)
        return [0] * self.case.dim + list(range(1, deepest + 1))

    def _at(self, depth: int) -> Case:
        return replace(self.case, weights=np.eye(depth + 1)[-1])

    def _known(self, P: np.ndarray, depth: int) -> tuple[float, np.ndarray]:
        if self.law.kurtosis == 0:
            return exact.gradient(P, self._at(depth))
        return first(P, self.law)

    def _fitted(self, P: np.ndarray) -> tuple[Estimate, np.ndarray]:
        loss = draws.losses(P, self.W, self.case, self.forcing)
        mean, sd = float(np.mean(loss)), float(np.std(loss))
        if not sd < mean:
            raise Refusal(
                f"pool: the loss has sd / mean = {sd / mean if mean > 0 else np.inf:.2g} >= 1, so "
                "its mean lives in a tail that no pool sees; use engine 'exact' or 'corrected'"
            )
        C = self._controls(P)
        halves = np.arange(len(loss)) % 2 == 0
        slopes = [np.linalg.lstsq(C[h] - C[h].mean(0), loss[h] - loss[h].mean(), rcond=None)[0]
                  for h in (halves, ~halves)]  # fmt: skip
        left = np.where(halves, loss - C @ slopes[1], loss - C @ slopes[0])
        n = np.sqrt(len(loss))
        found = Estimate(float(left.mean()), float(left.std() / n), sd / n, sd / mean)
        return found, (slopes[0] + slopes[1]) / 2

    def _controls(self, P: np.ndarray) -> Float[np.ndarray, "N c"]:
        """Every control less its exact mean."""
        columns = [np.diagonal(self.W, axis1=1, axis2=2) - np.diagonal(self.case.sigma)]
        for depth in filter(None, self._depths):
            seen = draws.losses(P, self.W, self._at(depth))
            columns.append((seen - self._known(P, depth)[0])[:, None])
        return np.concatenate(columns, axis=1)


def first(P: np.ndarray, law: Law) -> tuple[float, np.ndarray]:
    """(R_1, its gradient) in closed form for features of any kurtosis."""
    known = moments.of(law)
    if P.ndim == 1 and known.C.ndim == 1:
        return known.risk(P), 2.0 / law.dim * (P * known.C - known.B)
    full = known.full()
    return known.risk(P), 2.0 / law.dim * (laws.matrix(P) @ full.C - full.B)


def draw(law: Law, case: Case, *, count: int = 4096, seed: int = 0) -> Pool:
    """The pool of a law."""
    full = case.full()
    bare = replace(law, ridge=0.0, noise=0.0, target="solve", rank=None, prior=None)
    W = samplers.draw(bare, count, seed=seed, needs="H").H
    return Pool(law, full, W, _forcing(law, full, W))


def _forcing(law: Law, case: Case, W: np.ndarray) -> Any:
    """D - H x* where it is not zero: the root of its covariance, beside that of S."""
    if law.target == "solve":
        return None
    values, V = np.linalg.eigh(W)
    noise = law.noise / np.sqrt(law.prompt) * V * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    ridge = np.broadcast_to(-case.ridge * laws.matrix(laws.root(case.prior)), W.shape)
    return np.concatenate([ridge, noise], axis=2)
