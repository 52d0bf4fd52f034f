r"""The four engines under one name, and the choice between them with its reason.

exact       Wick's pairings or Gauss quadrature: identities, where they reach
corrected   the equivalent with its 1/M term: an estimate, |relative error| about L^3 / K^2
equivalent  the deterministic equivalent: an estimate, |relative error| about L^{3/2} / K
pool        drawn W with control variates: any features, targets that depend on H; standard errors
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from twofold.protocol import Law
from twofold.tasks import laws
from twofold.training.closure import case as cases
from twofold.training.closure import corrected, equivalent, exact, pool
from twofold.training.closure.case import Case

Engine = Literal["exact", "equivalent", "corrected", "pool"]
Oracle = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Choice:
    """What drives the path, what reports the risk, and why."""

    drift: Engine
    risk: Engine
    reason: str


def risk(
    P: Any, *, sigma: Any, prior: Any = None, prompt: int, ridge: float = 0.0, depth: int,
    engine: Engine = "exact", kurtosis: float = 0.0, count: int = 4096, seed: int = 0,
) -> float:  # fmt: skip
    """R_L(P) = (1/K) E|(I - P H)^L x*|^2; P a vector (diagonal) or a matrix."""
    law = Law(sigma, prompt, ridge, prior=prior, kurtosis=kurtosis)
    P, case = of(P, law, depth)
    return _finite(oracle(law, case, engine, count=count, seed=seed, slope=False)(P)[0])


def gradient(
    P: Any, *, sigma: Any, prior: Any = None, prompt: int, ridge: float = 0.0, depth: int,
    engine: Engine = "exact", kurtosis: float = 0.0, count: int = 4096, seed: int = 0,
) -> np.ndarray:  # fmt: skip
    """The drift (K/2) grad R_L(P), of the shape of P."""
    shape = np.shape(P)
    law = Law(sigma, prompt, ridge, prior=prior, kurtosis=kurtosis)
    P, case = of(P, law, depth)
    bar = _finite(0.5 * case.dim * oracle(law, case, engine, count=count, seed=seed)(P)[1])
    return np.diagonal(bar).copy() if bar.ndim > len(shape) else bar


def of(P: Any, law: Law, depth: int) -> tuple[np.ndarray, Case]:
    """(P, case) of a law."""
    law = laws.checked(law)
    S = laws.target_covariance(law)
    return cases.of(P, sigma=law.sigma, prior=S, prompt=law.prompt, ridge=law.ridge, depth=depth)


def _finite(x: Any) -> Any:
    if not np.all(np.isfinite(x)):
        raise ValueError("P: the risk or its gradient leaves float64; rescale P or lower the depth")
    return x


def oracle(
    law: Law, case: Case, engine: Engine, *, count: int = 4096, seed: int = 0, slope: bool = True
) -> Oracle:
    """P -> (R, grad R) by one engine, NaN on overflow; without ``slope`` the second is empty."""
    plain = _oracle(law, case, engine, count, seed, slope)

    def quiet(P: np.ndarray) -> tuple[float, np.ndarray]:
        with np.errstate(over="ignore", invalid="ignore"):
            return plain(P)

    return quiet


def _oracle(law: Law, case: Case, engine: Engine, count: int, seed: int, slope: bool) -> Oracle:
    law = laws.checked(law)
    if engine not in get_args(Engine):
        raise ValueError(f"engine: expected one of {get_args(Engine)}, got {engine!r}")
    if engine == "pool":
        drawn = pool.draw(law, case, count=count, seed=seed)
        return drawn.gradient if slope else lambda P: (drawn.estimate(P).value, np.zeros(0))
    if law.target != "solve":
        raise ValueError(f"engine {engine!r}: the target depends on H; use engine 'pool'")
    if law.kurtosis:
        if engine == "exact" and case.depth == 1:
            return lambda P: pool.first(P, law)
        raise ValueError(
            f"engine {engine!r}: features of excess kurtosis {law.kurtosis:g} have closed moments "
            "at depth 1 only; use engine 'pool'"
        )
    module = {"exact": exact, "equivalent": equivalent, "corrected": corrected}[engine]
    if slope:
        return lambda P: module.gradient(P, case)
    return lambda P: (float(np.real(module.risk(P, case))), np.zeros(0))


def choose(law: Law, case: Case) -> Choice:
    """The engine that ``auto`` takes, and the reason that is printed with it."""
    if law.target != "solve":
        return Choice("pool", "pool", "the target depends on H: a fixed pool of drawn W")
    if law.kurtosis:
        if case.depth == 1:
            return Choice("exact", "exact", "depth 1 is closed for any kurtosis")
        return Choice("pool", "pool", f"excess kurtosis {law.kurtosis:g}: a fixed pool of drawn W")
    name, why = exact.route(case)
    if name:
        return Choice("exact", "exact", f"{why} ({name})")
    limit = case.depth**3 / case.dim**2
    if limit <= 0.25:
        return Choice(
            "equivalent", "corrected",
            f"{why}; L^3/K^2 = {limit:.2g}: the equivalent drives, its 1/M term corrects the risk",
        )  # fmt: skip
    return Choice(
        "pool", "pool", f"{why}; L^3/K^2 = {limit:.2g} is too large for the equivalent: a pool"
    )
