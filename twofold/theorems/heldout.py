"""A held-out sample of losses: checked, clipped, and put in an order that nobody chose.

What every bound on an unknown mean shares. The losses must be independent draws of one law that the
model has not been fitted to; how many candidates were compared on them is told by ``family``.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, ctx
from jaxtyping import Float, Int

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.rigor import inputs
from twofold.rigor.selftest import require

SMALLEST_DELTA = 1e-300


def sample(losses: Any, clip: float = math.inf) -> Float[np.ndarray, " n"]:
    """``min(loss, clip)``: a non-empty vector of finite, non-negative losses, or a ValueError."""
    require()
    loss = inputs.real("losses", losses, ndim=1)
    if len(loss) == 0:
        raise ValueError("losses: got an empty sample; pass at least one held-out loss")
    if np.any(loss < 0):
        row = int(np.argmax(loss < 0))
        raise ValueError(
            f"losses: entry {row} is {loss[row]!r}; a loss is non-negative, add its lower limit"
        )
    return np.minimum(loss, clip)


def ceiling(clip: Any) -> float:
    """``clip`` as a positive finite float."""
    value = float(inputs.real("clip", clip, ndim=0))
    if value <= 0:
        raise ValueError(f"clip: expected a positive number in the losses' unit, got {clip!r}")
    return value


def share(delta: Any, family: Any = 1) -> float:
    """``delta / family``, rounded down: what each of ``family`` compared candidates may spend."""
    value = float(inputs.real("delta", delta, ndim=0))
    if not SMALLEST_DELTA <= value < 1:
        raise ValueError(f"delta: expected a probability in [1e-300, 1), got {delta!r}")
    family = inputs.whole("family", family, low=1)
    each = value / family if family < 2**1000 else 0.0
    if family > 1:
        each = math.nextafter(each, 0.0)
    if each < SMALLEST_DELTA:
        raise ValueError(f"family: {family} candidates leave {each!r} of delta each; use fewer")
    return each


def log_ratio(top: float, delta: float) -> float:
    """An upper bound on ln(top / delta), from a ball that contains it."""
    with ctx.workprec(128):
        return math.nextafter(float((arb(top) / arb(delta)).log().upper()), math.inf)


def scaled(loss: np.ndarray, clip: float) -> tuple[Float[np.ndarray, " n"], float, int]:
    """``(loss 2^-k, clip 2^-k, k)`` with clip 2^-k in [1, 2).

    Exact but for losses that turn subnormal: those move by less than 2^-1074 of the clip.
    """
    k = math.frexp(clip)[1] - 1
    return np.ldexp(loss, -k), math.ldexp(clip, -k), k


def raised(x: float, k: int) -> float:
    """``x 2^k`` rounded upward."""
    try:
        value = math.ldexp(x, k)
    except OverflowError:
        return math.inf
    return value if math.ldexp(value, -k) >= x else math.nextafter(value, math.inf)


def order(count: int, ids: Any = None) -> Int[np.ndarray, " n"]:
    """The rows sorted by the sha256 of their task ids, whatever order they came in.

    Without ids a row's number is its id: a fixed shuffle of the rows, so sorted or grouped rows do
    no systematic harm; but it is only valid if nobody arranged the rows after seeing the losses.
    (A shuffle that is a function of the loss *values* would be invariant and not valid: the zeros
    and ones of a Bernoulli sample would always come in the same order.)
    """
    if ids is None:
        return _by_number(count)
    names = np.asarray(ids)
    if names.shape != (count,) or names.dtype.kind not in "iuUSO":
        raise ValueError(
            f"ids: expected {count} integers or strings, one per loss, got shape {names.shape} "
            f"of {names.dtype}"
        )
    return _by_hash([_text(name) for name in names.tolist()])


def table(losses: Any) -> Float[np.ndarray, "R n"]:
    """``losses`` (n,) or (R, n) as R rows, which may hold NaN or Inf; not empty."""
    rows = np.atleast_2d(inputs.real("losses", losses, ndim=(1, 2), finite=False))
    if rows.size == 0:
        raise ValueError(f"losses: got shape {rows.shape}; pass at least one held-out loss")
    return rows


def certify(
    name: str, losses: Any, bound: Callable[[np.ndarray], float], risk: Any = None, **static: Any
) -> Certificate:
    """One row per sample in ``losses`` (n,) or (R, n); a row that ``bound`` refuses is silent.

    ``value`` is ``risk`` where the true risk is known, so that the verdict tests the claim; else
    the sample mean, which only shows how much the confidence costs.
    """
    rows = table(losses)
    bounds, reasons = np.full(len(rows), np.nan), [""] * len(rows)
    for i, row in enumerate(rows):
        try:
            bounds[i] = bound(row)
        except ValueError as error:
            reasons[i] = str(error)
    with np.errstate(over="ignore", invalid="ignore"):
        clipped = np.minimum(rows, static.pop("clip", math.inf))
        value = _means(clipped) if risk is None else np.broadcast_to(risk, len(rows))
    spoken = [not text for text in reasons]
    return certificate(
        name, value=value, bound=bounds, applies=spoken, reason=reasons,
        source=fingerprint(rows), **static,
    )  # fmt: skip


def _means(rows: Float[np.ndarray, "R n"]) -> Float[np.ndarray, " R"]:
    """The mean of each row, whose sum may leave the range of float64 where the mean does not."""
    exponent = np.frexp(np.max(np.abs(rows), axis=1))[1]
    return np.ldexp(np.mean(np.ldexp(rows, -exponent[:, None]), axis=1), exponent)


@functools.lru_cache(maxsize=32)
def _by_number(count: int) -> Int[np.ndarray, " n"]:
    return _by_hash([_text(i) for i in range(count)])


def _by_hash(names: list[bytes]) -> Int[np.ndarray, " n"]:
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(f"ids: {name!r} occurs {times} times; a task may be counted only once")
    digests = [hashlib.sha256(name).digest() for name in names]
    return np.array(sorted(range(len(names)), key=digests.__getitem__), dtype=np.int64)


def _text(name: Any) -> bytes:
    if isinstance(name, bytes):
        return name
    if isinstance(name, (int, str)):
        return str(name).encode()
    raise ValueError(f"ids: expected integers or strings, got {name!r} ({type(name).__name__})")
