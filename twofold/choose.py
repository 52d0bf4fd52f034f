r"""Which solver, and how many steps: by predicted risk and by the time a step takes here.

The risk of each method at each depth is predicted on a pool of systems: for a fixed polynomial as
the mean of the exact tr(p_l S p_l')/K over the pool's H, where the targets' covariance S is known;
otherwise, and for PCG always, as the mean loss over the pool's tasks. Both carry a standard error
over the pool, and both are estimates. The time is measured: seconds per task, linear in the depth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.decoder import polynomial, solving
from twofold.decoder.polynomial import Schedule
from twofold.decoder.solving import Method
from twofold.protocol import Law
from twofold.rigor import inputs
from twofold.tasks import laws, samplers
from twofold.theorems.trace_risk import covariance

METHODS: tuple[Method, ...] = ("richardson", "heavy_ball", "chebyshev", "pcg")
FIXED: dict[Method, Callable[[Any, int], Schedule]] = {
    "heavy_ball": polynomial.heavy_ball,
    "chebyshev": polynomial.chebyshev,
}


@dataclass(frozen=True)
class Option:
    """One method at one depth."""

    method: Method
    depth: int
    risk: float
    standard_error: float
    """of the mean over the pool"""
    exact: bool
    """whether each system's risk is exact, so that only the pool's H were sampled"""
    seconds: float = float("nan")
    """per task on this machine; NaN where it was not measured"""


def table(
    law: Law,
    P: np.ndarray,
    *,
    depth: int,
    methods: Sequence[Method] = METHODS,
    count: int = 256,
    seed: int = 0,
    latency: Mapping[str, tuple[float, float]] | None = None,
) -> list[Option]:
    """Every method at every depth 1, ..., ``depth`` on ``count`` systems of the law.

    Heavy ball and Chebyshev get the interval that a separate pool predicts. ``latency`` is what
    :func:`latencies` measured.
    """
    law = laws.checked(law)
    pool = samplers.draw(law, count, seed=seed, needs="H")
    prior = laws.matrix(laws.target_covariance(law)) if law.target == "solve" else None
    ends = interval(law, P, count=count, seed=seed + 1)
    given = {"depth": inputs.whole("depth", depth, low=1), "prior": prior, "interval": ends}
    rows = [o for m in methods for o in measured(pool.H, pool.d, pool.truth, P, method=m, **given)]
    return timed(rows, latency) if latency else rows


def interval(law: Law, P: np.ndarray, *, count: int = 256, seed: int = 1) -> tuple[float, float]:
    """(m, M): the extreme real parts of the spectrum of P H over ``count`` sampled systems.

    A prediction: systems drawn later may reach beyond it. ValueError where m is not positive.
    """
    H = samplers.draw(law, count, seed=seed, needs="H").H
    t = np.linalg.eigvals(np.matmul(inputs.square("P", P), H)).real
    if t.min() <= 0:
        raise ValueError(
            f"P: P H has an eigenvalue with real part {t.min():.3g} on a sampled system; heavy "
            "ball and Chebyshev need a positive spectrum"
        )
    return float(t.min()), float(t.max())


def measured(
    H: np.ndarray,
    d: np.ndarray,
    truth: np.ndarray,
    P: np.ndarray,
    *,
    method: Method,
    depth: int,
    prior: np.ndarray | None = None,
    interval: Any = None,
) -> list[Option]:
    """One method at depths 1, ..., ``depth`` on systems at hand; ``prior`` is S, if it is known."""
    exact = prior is not None and method in ("richardson", *FIXED)
    if exact:
        per_task = traces(_schedule(method, interval, depth), P, H, prior)
    else:
        ends = interval if method in (*FIXED, "certified") else None
        path = solving.solve(H, d, P=P, method=method, depth=depth, interval=ends)
        with np.errstate(over="ignore", invalid="ignore"):
            per_task = np.mean((path - truth) ** 2, axis=2)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.mean(per_task, axis=1)
        error = np.std(per_task, axis=1, ddof=1) / np.sqrt(per_task.shape[1])
    return [Option(method, L, float(mean[L]), float(error[L]), exact) for L in range(1, depth + 1)]


def traces(
    schedule: Schedule, P: np.ndarray, H: np.ndarray, prior: Any
) -> Float[np.ndarray, "l N"]:
    """tr(p_l S p_l') / K for l = 0, ..., L and every H, in floats."""
    K = H.shape[-1]
    root = laws.root(covariance("prior", prior, K))
    columns = np.broadcast_to(root if root.ndim == 2 else np.diag(root), H.shape)
    start = -columns.swapaxes(1, 2).reshape(-1, K)  # columns of S^(1/2), as tasks with x_0 = 0
    many = np.repeat(H, K, axis=0)
    product, precondition = (lambda v, A=A: solving.times(A, v) for A in (many, P))
    path = polynomial.walk(schedule, -product(start), product, precondition)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.sum((path + start) ** 2, axis=2).reshape(len(path), len(H), K).mean(axis=2)


def latencies(
    H: np.ndarray,
    d: np.ndarray,
    P: np.ndarray,
    *,
    methods: Sequence[Method] = METHODS,
    interval: Any,
    depth: int = 16,
    repeats: int = 5,
) -> dict[str, tuple[float, float]]:
    """(seconds to start, seconds per step) per task of each method, on this machine, now.

    The least of ``repeats`` runs at depth 1 and at ``depth``, after one run that compiles.
    """
    out = {}
    for method in methods:
        ends = interval if method in (*FIXED, "certified") else None
        one, many = (
            min(_clock(H, d, P, method, L, ends) for _ in range(repeats + 1)) / len(d)
            for L in (1, depth)
        )
        step = max(many - one, 0.0) / (depth - 1)
        out[method] = (max(one - step, 0.0), step)
    return out


def timed(options: Iterable[Option], latency: Mapping[str, tuple[float, float]]) -> list[Option]:
    """The same options with their seconds, where ``latency`` knows the method."""
    return [
        replace(o, seconds=latency[o.method][0] + o.depth * latency[o.method][1])
        if o.method in latency
        else o
        for o in options
    ]


def best(
    options: Sequence[Option], *, seconds: float | None = None, risk: float | None = None
) -> Option:
    """The least risk within ``seconds`` per task, or the least time (steps) that reaches ``risk``.

    A risk counts with two standard errors added. ValueError where nothing qualifies, saying what
    the nearest option would need.
    """
    if (seconds is None) == (risk is None):
        raise ValueError("seconds, risk: give one of them, the other is what is chosen")
    known = [o for o in options if np.isfinite(o.risk)]
    if seconds is not None:
        fitting = [o for o in known if o.seconds <= seconds]
        return _least(fitting, known, "seconds", lambda o: (_upper(o), o.depth))
    fitting = [o for o in known if risk is not None and _upper(o) <= risk]
    return _least(fitting, known, "risk", lambda o: (np.nan_to_num(o.seconds), o.depth, _upper(o)))


def _upper(option: Option) -> float:
    return option.risk + 2 * option.standard_error


def _least(fitting: list[Option], known: list[Option], name: str, key: Any) -> Option:
    if fitting:
        return min(fitting, key=key)
    if not known:
        raise ValueError("options: none has a finite risk; every method diverges on this law")
    nearest = min(
        known, key=_upper if name == "risk" else lambda o: np.nan_to_num(o.seconds, nan=1e9)
    )
    raise ValueError(
        f"{name}: no option qualifies; nearest is {nearest.method} at depth {nearest.depth} with "
        f"risk {_upper(nearest):.3g} in {nearest.seconds:.3g} s"
    )


def _schedule(method: Method, interval: Any, depth: int) -> Schedule:
    return FIXED[method](interval, depth) if method in FIXED else polynomial.richardson(depth)


def _clock(H: Any, d: Any, P: Any, method: Method, depth: int, ends: Any) -> float:
    begun = time.perf_counter()
    solving.solve(H, d, P=P, method=method, depth=depth, interval=ends)
    return time.perf_counter() - begun
