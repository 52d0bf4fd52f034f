r"""Dot products in eight lanes, in a fixed order: the inner loop of the batched decoders.

LLVM may not reorder a sum when ``fastmath=False``, so a plain dot product stays scalar. Here the
order is chosen instead of left open. Lane k sums the columns k, k + 8, k + 16, ... by fused
multiply-adds from zero; three additions join the lanes. Hence at most ``roundings(K)`` roundings
touch any product, where a plain sum has K: every error bound is several times smaller, and the bits
do not depend on the BLAS. Operands are padded with zeros to whole vectors, which rounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WIDTH = 8
INDEX = ir.IntType(64)
DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, WIDTH)
ZERO = ir.Constant(VECTOR, [ir.Constant(DOUBLE, 0.0)] * WIDTH)
HALVES = (
    ((0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15)),
    ((0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)),
    ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)),
)


def roundings(K: int) -> int:
    """The most roundings on the way of one product into a dot product of length K."""
    return -(-K // WIDTH) + 3


def padded(K: int) -> int:
    """K, padded to whole vectors."""
    return -(-K // WIDTH) * WIDTH


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


def rows_times(vectors: int) -> Callable[..., None]:
    """An intrinsic ``rows(A, i, X, b, stride, Y)``: Y[c, i:i+8] = A[i:i+8] X[c].

    c runs over b + m stride, m < vectors, and A is read once for all of them. A has whole vectors
    along both axes, X and Y along the last. A is tiled, so that it is read from end to end: entry
    (i + k, j + l) lies at i width + 8 j + 8 k + l, for i and j multiples of 8 and k, l < 8.
    """

    @intrinsic
    def rows(_typing: Any, A: Any, i: Any, X: Any, b: Any, stride: Any, Y: Any) -> Any:
        kinds = (A, types.intp, X, types.intp, types.intp, Y)
        return types.void(*kinds), _emitter(vectors)

    return rows


def _emitter(vectors: int) -> Callable[..., Any]:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        A, X, Y = (_array(context, builder, signature, args, place) for place in (0, 2, 5))
        i, b, stride = args[1], args[3], args[4]
        width = cgutils.unpack_tuple(builder, A.shape)[1]
        group = _row(builder, A, i, width)
        rows = [builder.gep(group, [INDEX(k * WIDTH)]) for k in range(WIDTH)]
        which = [builder.add(b, builder.mul(INDEX(m), stride)) for m in range(vectors)]
        xs = [_row(builder, X, c, width) for c in which]
        for c, lanes in zip(which, _lane_sums(builder, rows, xs, width), strict=True):
            out = builder.gep(_row(builder, Y, c, width), [i])
            place = builder.bitcast(out, VECTOR.as_pointer())
            builder.store(_joined(builder, lanes), place, align=8)
        return context.get_dummy_value()

    return emit


def _lane_sums(builder: Any, rows: list[Any], xs: list[Any], width: Any) -> list[list[Any]]:
    """For each vector and row: the sums of the eight lanes."""
    fma = _fma(builder)
    sums = [[cgutils.alloca_once(builder, VECTOR) for _ in rows] for _ in xs]
    for cell in (cell for lanes in sums for cell in lanes):
        builder.store(ZERO, cell)
    with cgutils.for_range_slice(builder, INDEX(0), width, INDEX(WIDTH)) as (j, _):
        loaded = [_load(builder, x, j) for x in xs]
        for k, row in enumerate(rows):
            a = _load(builder, row, builder.mul(j, INDEX(WIDTH)))
            for x, lanes in zip(loaded, sums, strict=True):
                builder.store(builder.call(fma, [a, x, builder.load(lanes[k])]), lanes[k])
    return [[builder.load(cell) for cell in lanes] for lanes in sums]


def _joined(builder: Any, lanes: list[Any]) -> Any:
    """One vector with the total of row k in lane k: a tree of shuffles and additions."""
    for low, high in HALVES:
        pairs = zip(lanes[::2], lanes[1::2], strict=True)
        lanes = [
            builder.fadd(_shuffled(builder, u, v, low), _shuffled(builder, u, v, high))
            for u, v in pairs
        ]
    return lanes[0]


def _squared_norm(_typing: Any, X: Any, b: Any) -> Any:
    """|X[b]|^2 of a scratch row whose padding is zero."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        X = _array(context, builder, signature, args, 0)
        width = cgutils.unpack_tuple(builder, X.shape)[1]
        row = _row(builder, X, args[1], width)
        total = cgutils.alloca_once(builder, VECTOR)
        builder.store(ZERO, total)
        with cgutils.for_range_slice(builder, INDEX(0), width, INDEX(WIDTH)) as (j, _):
            x = _load(builder, row, j)
            builder.store(builder.call(_fma(builder), [x, x, builder.load(total)]), total)
        lanes = _joined(builder, [builder.load(total)] + [ZERO] * (WIDTH - 1))
        return builder.extract_element(lanes, ir.IntType(32)(0))

    return types.float64(X, types.intp), emit


squared_norm: Callable[..., float] = intrinsic(_squared_norm)


def _array(context: Any, builder: Any, signature: Any, args: Any, place: int) -> Any:
    return context.make_array(signature.args[place])(context, builder, args[place])


def _row(builder: Any, array: Any, row: Any, width: Any) -> Any:
    return builder.gep(array.data, [builder.mul(row, width)])


def _load(builder: Any, pointer: Any, j: Any) -> Any:
    place = builder.bitcast(builder.gep(pointer, [j]), VECTOR.as_pointer())
    return builder.load(place, align=8)


def _shuffled(builder: Any, u: Any, v: Any, order: tuple[int, ...]) -> Any:
    return builder.shuffle_vector(u, v, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), order))


def _fma(builder: Any) -> Any:
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    return cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{WIDTH}f64")
