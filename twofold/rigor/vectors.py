r"""Vectors of eight doubles in LLVM's own words: what the kernels' intrinsics are made of.

LLVM may not reorder a sum when ``fastmath=False``, so a plain dot product stays scalar. Written as
vectors the order is chosen instead of left open, and the bits do not depend on a BLAS.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

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


def padded(K: int) -> int:
    """K, padded to whole vectors."""
    return -(-K // WIDTH) * WIDTH


def array(context: Any, builder: Any, signature: Any, args: Any, place: int) -> Any:
    """The array that is argument ``place`` of an intrinsic."""
    return context.make_array(signature.args[place])(context, builder, args[place])


def width(builder: Any, array: Any) -> Any:
    """Entries from one row to the next, of a contiguous matrix."""
    return cgutils.unpack_tuple(builder, array.shape)[1]


def at(builder: Any, array: Any, row: Any, columns: Any) -> Any:
    """A pointer to the beginning of a row."""
    return builder.gep(array.data, [builder.mul(row, columns)])


def load(builder: Any, pointer: Any, j: Any) -> Any:
    """Eight entries from ``pointer[j]`` on."""
    place = builder.bitcast(builder.gep(pointer, [j]), VECTOR.as_pointer())
    return builder.load(place, align=8)


def store(builder: Any, vector: Any, pointer: Any, j: Any) -> None:
    """Eight entries to ``pointer[j]`` and on."""
    place = builder.bitcast(builder.gep(pointer, [j]), VECTOR.as_pointer())
    builder.store(vector, place, align=8)


def spread(builder: Any, scalar: Any) -> Any:
    """One number in all eight lanes."""
    first = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), scalar, ir.IntType(32)(0))
    return shuffled(builder, first, first, (0,) * WIDTH)


def accumulators(builder: Any, count: int) -> list[Any]:
    """Cells that hold a vector each, zero at first."""
    cells = [cgutils.alloca_once(builder, VECTOR) for _ in range(count)]
    for cell in cells:
        builder.store(ZERO, cell)
    return cells


def joined(builder: Any, lanes: list[Any]) -> Any:
    """One vector with the total of the k-th in lane k: a tree of shuffles and additions."""
    for low, high in HALVES:
        pairs = zip(lanes[::2], lanes[1::2], strict=True)
        lanes = [
            builder.fadd(shuffled(builder, u, v, low), shuffled(builder, u, v, high))
            for u, v in pairs
        ]
    return lanes[0]


def transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """The columns of an 8 x 8 block, by the same tree of shuffles."""
    blocks = [[row] for row in rows]
    for halves in HALVES:
        blocks = [
            [shuffled(builder, u, v, order) for order in halves for u, v in zip(a, b, strict=True)]
            for a, b in zip(blocks[::2], blocks[1::2], strict=True)
        ]
    return blocks[0]


def shuffled(builder: Any, u: Any, v: Any, order: tuple[int, ...]) -> Any:
    """The lanes of u and v, numbered 0 to 15, in this order."""
    return builder.shuffle_vector(u, v, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), order))


def fma(builder: Any) -> Any:
    """The fused multiply-add of vectors: one rounding."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    return cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{WIDTH}f64")


def fabs(builder: Any) -> Any:
    """The absolute value of each lane."""
    kind = ir.FunctionType(VECTOR, [VECTOR])
    return cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.v{WIDTH}f64")


def sqrt(builder: Any) -> Any:
    """The square root of each lane, correctly rounded."""
    kind = ir.FunctionType(VECTOR, [VECTOR])
    return cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{WIDTH}f64")


def replaced(lane: int) -> tuple[int, ...]:
    """The order that takes one lane from the second vector, the others from the first."""
    return tuple(k + WIDTH * (k == lane) for k in range(WIDTH))
