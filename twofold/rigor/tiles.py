r"""Products of small matrices, eight by eight entries at a time: the inner loop of the norm bounds.

``tile`` and ``subtract_tile`` keep 64 sums in registers while k runs once; ``strip`` does the same
for 64 columns of one row. Every entry is one sum over k in ascending order of fused multiply-adds
from zero: n products cost at most n roundings. Matrices begin on a cache line, have rows padded
with zeros to whole vectors, and an odd number of vectors from row to row, so that the rows of a
column do not fight for the same lines of the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from twofold.rigor import vectors
from twofold.rigor.vectors import INDEX, WIDTH

LINE = 8
LONG = 8 * WIDTH


@njit(cache=True, fastmath=False)
def room(n):
    """An n x n matrix, padded with zeros to whole vectors; the rest of a row is never read."""
    rows = (n + 7) // 8 * 8
    width = rows + 8 - rows % 16
    raw = np.empty(rows * width + LINE)
    first = (-(raw.ctypes.data // 8)) % LINE
    out = raw[first : first + rows * width].reshape((rows, width))
    if rows > n:
        out[n:] = 0.0
        out[:, n:] = 0.0
    return out


@njit(cache=True, fastmath=False)
def vector(n):
    """A row of n zeros, padded."""
    return np.zeros((1, (n + 7) // 8 * 8))


@njit(cache=True, fastmath=False)
def copied(T):
    """T in a room of its own."""
    n = np.uint64(T.shape[0])
    out = room(T.shape[0])
    for i in range(n):
        for j in range(n):
            out[i, j] = T[i, j]
    return out


def _block(rows: int, columns: int, *, subtract: bool = False, absolute: bool = False) -> Any:
    """An intrinsic f(A, start, down, along, B, j, count, C, i).

    C[i + r, j + 8 v + lane] = sum_{k < count} a_rk B[k, j + 8 v + lane] for r < rows, v < columns,
    where a_rk = A.flat[start + r down + k along]; or C minus that, or of the absolute values of B.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        A, B, C = (vectors.array(context, builder, signature, args, p) for p in (0, 4, 7))
        start, down, along, j, count, i = (args[p] for p in (1, 2, 3, 5, 6, 8))
        across, over = vectors.width(builder, B), vectors.width(builder, C)
        fma, fabs = vectors.fma(builder), vectors.fabs(builder)
        sums = vectors.accumulators(builder, rows * columns)
        lines = [builder.add(start, builder.mul(INDEX(r), down)) for r in range(rows)]
        with cgutils.for_range(builder, count, intp=INDEX) as loop:
            k = loop.index
            row = vectors.at(builder, B, k, across)
            step = builder.mul(k, along)
            bs = [
                vectors.load(builder, row, builder.add(j, INDEX(v * WIDTH))) for v in range(columns)
            ]
            bs = [builder.call(fabs, [b]) for b in bs] if absolute else bs
            for r, line in enumerate(lines):
                scalar = builder.load(builder.gep(A.data, [builder.add(line, step)]))
                a = vectors.spread(builder, scalar)
                for v, b in enumerate(bs):
                    cell = sums[r * columns + v]
                    builder.store(builder.call(fma, [a, b, builder.load(cell)]), cell)
        for r in range(rows):
            target = vectors.at(builder, C, builder.add(i, INDEX(r)), over)
            for v in range(columns):
                place = builder.add(j, INDEX(v * WIDTH))
                result = builder.load(sums[r * columns + v])
                if subtract:
                    result = builder.fsub(vectors.load(builder, target, place), result)
                vectors.store(builder, result, target, place)
        return context.get_dummy_value()

    @intrinsic
    def block(_t: Any, A: Any, start: Any, down: Any, along: Any, B: Any, j: Any, n: Any, C: Any, i: Any):  # fmt: skip  # noqa: E501
        n64 = types.intp
        return types.void(A, n64, n64, n64, B, n64, n64, C, n64), emit

    return block


def _row_sums(*, absolute: bool = False) -> Any:
    """An intrinsic f(A, i, w, out): out[0, i:i+8] = A[i:i+8] w[0], both over padded rows.

    Or |A[i:i+8]| w[0].
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        A, w, out = (vectors.array(context, builder, signature, args, p) for p in (0, 2, 3))
        across, count = vectors.width(builder, A), vectors.width(builder, out)
        fma, fabs = vectors.fma(builder), vectors.fabs(builder)
        sums = vectors.accumulators(builder, WIDTH)
        rows = [
            vectors.at(builder, A, builder.add(args[1], INDEX(r)), across) for r in range(WIDTH)
        ]
        with cgutils.for_range_slice(builder, INDEX(0), count, INDEX(WIDTH)) as (j, _):
            weight = vectors.load(builder, w.data, j)
            for row, cell in zip(rows, sums, strict=True):
                a = vectors.load(builder, row, j)
                a = builder.call(fabs, [a]) if absolute else a
                builder.store(builder.call(fma, [a, weight, builder.load(cell)]), cell)
        joined = vectors.joined(builder, [builder.load(cell) for cell in sums])
        vectors.store(builder, joined, out.data, args[1])
        return context.get_dummy_value()

    @intrinsic
    def rows(_t: Any, A: Any, i: Any, w: Any, out: Any):
        return types.void(A, types.intp, w, out), emit

    return rows


def _dot() -> Callable[..., float]:
    """An intrinsic f(x, y) = x[0] y[0], over padded rows, in two vectors of sums."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, y = (vectors.array(context, builder, signature, args, p) for p in (0, 1))
        fma = vectors.fma(builder)
        (cell,) = vectors.accumulators(builder, 1)
        count = vectors.width(builder, x)
        with cgutils.for_range_slice(builder, INDEX(0), count, INDEX(WIDTH)) as (j, _):
            u, v = vectors.load(builder, x.data, j), vectors.load(builder, y.data, j)
            builder.store(builder.call(fma, [u, v, builder.load(cell)]), cell)
        lanes = vectors.joined(builder, [builder.load(cell)] + [vectors.ZERO] * (WIDTH - 1))
        return builder.extract_element(lanes, INDEX(0))

    @intrinsic
    def product(_t: Any, x: Any, y: Any):
        return types.float64(x, y), emit

    return product


tile = _block(8, 1)
subtract_tile = _block(8, 1, subtract=True)
strip = _block(1, 8)
short_strip = _block(1, 1)
abs_strip = _block(1, 8, absolute=True)
short_abs_strip = _block(1, 1, absolute=True)
row_sums = _row_sums()
abs_rows = _row_sums(absolute=True)
dot = _dot()


@njit(cache=True, fastmath=False)
def combined(w, A, n, out):
    """out[0] = w[0] A over the first n rows."""
    long = A.shape[0] - A.shape[0] % LONG
    for j in range(0, long, LONG):
        strip(w, 0, 0, 1, A, j, n, out, 0)
    for j in range(long, A.shape[0], WIDTH):
        short_strip(w, 0, 0, 1, A, j, n, out, 0)


@njit(cache=True, fastmath=False)
def abs_combined(w, A, n, out):
    """out[0] = w[0] |A| over the first n rows."""
    long = A.shape[0] - A.shape[0] % LONG
    for j in range(0, long, LONG):
        abs_strip(w, 0, 0, 1, A, j, n, out, 0)
    for j in range(long, A.shape[0], WIDTH):
        short_abs_strip(w, 0, 0, 1, A, j, n, out, 0)


@njit(cache=True, fastmath=False)
def largest(x):
    """The largest entry of x[0] >= 0, NaN if any entry is NaN."""
    top = 0.0
    for value in x[0]:
        if not value <= top:
            top = value
            if value != value:
                return value
    return top
