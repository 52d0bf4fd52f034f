r"""Dot products in eight lanes, in a fixed order: the inner loop of the batched decoders.

Lane k sums the columns k, k + 8, k + 16, ... by fused multiply-adds from zero; three additions join
the lanes. Hence at most ``roundings(K)`` roundings touch any product, where a plain sum has K:
every error bound is several times smaller. Operands are padded with zeros to whole vectors, which
rounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from twofold.rigor import vectors
from twofold.rigor.vectors import INDEX, WIDTH, ZERO, padded


def roundings(K: int) -> int:
    """The most roundings on the way of one product into a dot product of length K."""
    return -(-K // WIDTH) + 3


def aligned(values: np.ndarray) -> np.ndarray:
    """A copy that begins on a cache line, so that no vector need straddle two of them."""
    raw = np.empty(values.size + WIDTH)
    skip = (-raw.ctypes.data % 64) // 8
    copy = raw[skip : skip + values.size].reshape(values.shape)
    copy[...] = values
    return copy


def scratch(*shape: int) -> np.ndarray:
    """Aligned zeros, the last axis padded to whole vectors."""
    return aligned(np.zeros((*shape[:-1], padded(shape[-1]))))


def rows_times(count: int) -> Callable[..., None]:
    """An intrinsic ``rows(A, i, X, b, stride, Y)``: Y[c, i:i+8] = A[i:i+8] X[c].

    c runs over b + m stride, m < count, and A is read once for all of them. A has whole vectors
    along both axes, X and Y along the last. A is tiled, so that it is read from end to end: entry
    (i + k, j + l) lies at i width + 8 j + 8 k + l, for i and j multiples of 8 and k, l < 8.
    """

    @intrinsic
    def rows(_typing: Any, A: Any, i: Any, X: Any, b: Any, stride: Any, Y: Any) -> Any:
        kinds = (A, types.intp, X, types.intp, types.intp, Y)
        return types.void(*kinds), _emitter(count)

    return rows


def _emitter(count: int) -> Callable[..., Any]:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        A, X, Y = (vectors.array(context, builder, signature, args, place) for place in (0, 2, 5))
        i, b, stride = args[1], args[3], args[4]
        width = vectors.width(builder, A)
        group = vectors.at(builder, A, i, width)
        rows = [builder.gep(group, [INDEX(k * WIDTH)]) for k in range(WIDTH)]
        which = [builder.add(b, builder.mul(INDEX(m), stride)) for m in range(count)]
        xs = [vectors.at(builder, X, c, width) for c in which]
        for c, lanes in zip(which, _lane_sums(builder, rows, xs, width), strict=True):
            line = vectors.at(builder, Y, c, width)
            vectors.store(builder, vectors.joined(builder, lanes), line, i)
        return context.get_dummy_value()

    return emit


def _lane_sums(builder: Any, rows: list[Any], xs: list[Any], width: Any) -> list[list[Any]]:
    """For each vector and row: the sums of the eight lanes."""
    fma = vectors.fma(builder)
    sums = [vectors.accumulators(builder, len(rows)) for _ in xs]
    with cgutils.for_range_slice(builder, INDEX(0), width, INDEX(WIDTH)) as (j, _):
        loaded = [vectors.load(builder, x, j) for x in xs]
        for k, row in enumerate(rows):
            a = vectors.load(builder, row, builder.mul(j, INDEX(WIDTH)))
            for x, lanes in zip(loaded, sums, strict=True):
                builder.store(builder.call(fma, [a, x, builder.load(lanes[k])]), lanes[k])
    return [[builder.load(cell) for cell in lanes] for lanes in sums]


def _squared_norm(_typing: Any, X: Any, b: Any) -> Any:
    """|X[b]|^2 of a scratch row whose padding is zero."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        X = vectors.array(context, builder, signature, args, 0)
        width = vectors.width(builder, X)
        row = vectors.at(builder, X, args[1], width)
        fma = vectors.fma(builder)
        (total,) = vectors.accumulators(builder, 1)
        with cgutils.for_range_slice(builder, INDEX(0), width, INDEX(WIDTH)) as (j, _):
            x = vectors.load(builder, row, j)
            builder.store(builder.call(fma, [x, x, builder.load(total)]), total)
        lanes = vectors.joined(builder, [builder.load(total)] + [ZERO] * (WIDTH - 1))
        return builder.extract_element(lanes, INDEX(0))

    return types.float64(X, types.intp), emit


squared_norm: Callable[..., float] = intrinsic(_squared_norm)
