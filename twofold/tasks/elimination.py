r"""Numba kernel: posteriors of many small Gaussian models by one elimination each.

With W (m, r) and v (m,), whitened so that prior and noise are identities, the smaller of

    primal   G = I + W'W,   b = W'v,   E = I        dual   G = I + WW',   b = v,   E = W

is factored as G = R'R with the other columns carried along: [G | b | E] becomes [R | u | V] with
u = R'^-1 b and V = R'^-1 E. Then, on either side,

    mean w = V'u,    covariance V'V (primal) or I - V'V (dual):    nothing is solved again.

Rows go in blocks of eight, columns in vectors of eight. Sums of products run upwards in k, by fused
multiply-adds; a pivot that is not positive and finite makes the whole task NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from twofold.rigor import vectors
from twofold.rigor.tiles import LINE, short_strip, subtract_tile, tile, vector
from twofold.rigor.vectors import INDEX, WIDTH

TOGETHER = 64
DECIDES = 2.0**50
FIRST = 24 * 1024


def _finish(_typing: Any, R: Any, first: Any, inverse: Any, j: Any) -> Any:
    """Eight rows from ``first`` on, columns j, ..., j + 7, divided by the factored corner."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        R, inverse = (vectors.array(context, builder, signature, args, p) for p in (0, 2))
        first, j, across = args[1], args[3], vectors.width(builder, R)
        fma, done = vectors.fma(builder), []
        rows = [vectors.at(builder, R, builder.add(first, INDEX(r)), across) for r in range(WIDTH)]
        for r, row in enumerate(rows):
            x = vectors.load(builder, row, j)
            for k, before in enumerate(done):
                corner = builder.gep(rows[k], [builder.add(first, INDEX(r))])
                a = vectors.spread(builder, builder.fneg(builder.load(corner)))
                x = builder.call(fma, [a, before, x])
            scale = builder.load(builder.gep(inverse.data, [INDEX(r)]))
            x = builder.fmul(x, vectors.spread(builder, scale))
            vectors.store(builder, x, row, j)
            done.append(x)
        return context.get_dummy_value()

    return types.void(R, types.intp, inverse, types.intp), emit


finish: Any = intrinsic(_finish)


def _corner(_typing: Any, R: Any, first: Any, inverse: Any) -> Any:
    """The 8 x 8 block at ``first`` becomes its factor; ``inverse`` the inverses of its diagonal.

    Pivots are divided by, one after the other; their roots are taken together at the end.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        R, inverse = (vectors.array(context, builder, signature, args, p) for p in (0, 2))
        first, across, fma = args[1], vectors.width(builder, R), vectors.fma(builder)
        lines = [vectors.at(builder, R, builder.add(first, INDEX(r)), across) for r in range(WIDTH)]
        rows = [vectors.load(builder, line, first) for line in lines]
        one = vectors.spread(builder, ir.Constant(vectors.DOUBLE, 1.0))
        pivots = vectors.ZERO
        for i, row in enumerate(rows):
            lanes = [vectors.shuffled(builder, row, row, (r,) * WIDTH) for r in range(i, WIDTH)]
            pivots = vectors.shuffled(builder, pivots, lanes[0], vectors.replaced(i))
            back = builder.fdiv(one, lanes[0])
            for r in range(i + 1, WIDTH):
                factor = builder.fneg(builder.fmul(lanes[r - i], back))
                rows[r] = builder.call(fma, [factor, row, rows[r]])
        roots = builder.fdiv(one, builder.call(vectors.sqrt(builder), [pivots]))
        for i, (row, line) in enumerate(zip(rows, lines, strict=True)):
            scale = vectors.shuffled(builder, roots, roots, (i,) * WIDTH)
            vectors.store(builder, builder.fmul(row, scale), line, first)
        vectors.store(builder, roots, inverse.data, INDEX(0))
        return context.get_dummy_value()

    return types.void(R, types.intp, inverse), emit


corner: Any = intrinsic(_corner)


def _turned(_typing: Any, Phi: Any, m: Any, k: Any, root: Any, T: Any) -> Any:
    """T[k:k+8, m:m+8] = (Phi[m:m+8, k:k+8] root[k:k+8])'."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        Phi, root, T = (vectors.array(context, builder, signature, args, p) for p in (0, 3, 4))
        m, k, across = args[1], args[2], vectors.width(builder, Phi)
        scale, lines = vectors.load(builder, root.data, k), []
        for r in range(WIDTH):
            row = vectors.at(builder, Phi, builder.add(m, INDEX(r)), across)
            lines.append(builder.fmul(vectors.load(builder, row, k), scale))
        for c, line in enumerate(vectors.transposed(builder, lines)):
            row = vectors.at(builder, T, builder.add(k, INDEX(c)), vectors.width(builder, T))
            vectors.store(builder, line, row, m)
        return context.get_dummy_value()

    return types.void(Phi, types.intp, types.intp, root, T), emit


turned: Any = intrinsic(_turned)


def _columns(_typing: Any, R: Any, low: Any, high: Any, u: Any, e: Any, w: Any, s: Any) -> Any:
    """w[e:e+8] = V'u and s[e:e+8] = diag V'V over the rows low, ..., high - 1 of [. | u | V]."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        R, w, s = (vectors.array(context, builder, signature, args, p) for p in (0, 5, 6))
        low, high, u, e = args[1:5]
        across, fma = vectors.width(builder, R), vectors.fma(builder)
        mean, square = vectors.accumulators(builder, 2)
        with cgutils.for_range_slice(builder, low, high, INDEX(1)) as (i, _):
            row = vectors.at(builder, R, i, across)
            x = vectors.load(builder, row, builder.add(builder.add(u, INDEX(WIDTH)), e))
            a = vectors.spread(builder, builder.load(builder.gep(row, [u])))
            builder.store(builder.call(fma, [a, x, builder.load(mean)]), mean)
            builder.store(builder.call(fma, [x, x, builder.load(square)]), square)
        vectors.store(builder, builder.load(mean), w.data, e)
        vectors.store(builder, builder.load(square), s.data, e)
        return context.get_dummy_value()

    n64 = types.intp
    return types.void(R, n64, n64, n64, n64, w, s), emit


columns: Any = intrinsic(_columns)


@njit(cache=True, fastmath=False)
def spaces(count, rows, columns):
    """Zeros from a cache line on, whole vectors, an odd number of them from row to row."""
    rows, columns = (rows + 7) // 8 * 8, (columns + 7) // 8 * 8
    width = columns + 8 - columns % 16
    raw = np.zeros(count * rows * width + LINE)
    first = (-(raw.ctypes.data // 8)) % LINE
    return raw[first : first + count * rows * width].reshape((count, rows, width))


@njit(cache=True, fastmath=False)
def eliminate(Rs, count, n, extra, lower, inverse):
    """[G | b | E] becomes [R | u | V] in each of ``count`` rooms; with ``lower`` E is the identity.

    The rooms take each step in turn, so that one's divisions are not waited for by the others.
    """
    across, start = Rs.shape[2], (n + 7) // 8 * 8
    for first in range(0, n, 8):
        for t in range(count if first else 0):
            R = Rs[t]
            for j in range(first, start + 8, 8):
                subtract_tile(R, first, 1, across, R, j, first, R, first)
            for e in range(0, extra, 8):
                if lower and e < first:
                    subtract_tile(R, e * across + first, 1, across, R[e:], start + 8 + e,
                                  first - e, R, first)  # fmt: skip
                elif not lower:
                    subtract_tile(R, first, 1, across, R, start + 8 + e, first, R, first)
        for t in range(count):
            corner(Rs[t], first, inverse[t])
        for t in range(count):
            R = Rs[t]
            for j in range(first + 8, start + 8, 8):
                finish(R, first, inverse[t], j)
            for e in range(0, min(extra, first + 8) if lower else extra, 8):
                finish(R, first, inverse[t], start + 8 + e)


@njit(cache=True, fastmath=False)
def whiten(Phi, root, dual, T):
    """T = W, or W' where the dual is smaller; indices are unsigned, so that loops vectorise."""
    M, r = np.uint64(Phi.shape[0]), np.uint64(Phi.shape[1])
    if not dual:
        for m in range(M):
            for k in range(r):
                T[m, k] = Phi[m, k] * root[k]
        return
    rows, across = Phi.shape[0] // 8 * 8, Phi.shape[1] // 8 * 8
    for k in range(0, across, 8):
        for m in range(0, rows, 8):
            turned(Phi, m, k, root, T)
    for m in range(M):
        for k in range(np.uint64(0 if m >= rows else across), r):
            T[k, m] = Phi[m, k] * root[k]


@njit(cache=True, fastmath=False)
def assemble(T, Phi, root, v, dual, b, R):
    """[G | b | E] of one task; returns tr G."""
    M, r = Phi.shape
    n, m = (M, r) if dual else (r, M)
    across, start, trace = T.shape[1], (n + 7) // 8 * 8, 0.0
    for j in range(0, start, 8):
        for i in range(0, j + 8, 8):
            tile(T, i, 1, across, T, j, m, R, i)
    for j in range(0, 0 if dual else start, 8):
        short_strip(v, 0, 0, 1, T, j, m, b, 0)
    for i in range(np.uint64(n)):
        R[i, i] += 1.0
        trace += R[i, i]
        R[i, start] = v[0, i] if dual else b[0, i]
        row = R[i, start + 8 :]
        if dual:
            for k in range(np.uint64(r)):
                row[k] = Phi[i, k] * root[k]
        else:
            row[:start] = 0.0
            row[i] = 1.0
    for i in range(n, start):
        R[i, i] = 1.0
    return trace


@njit(cache=True, fastmath=False)
def moments(R, n, r, lower, w, s):
    """Fill w = V'u and the squared lengths s of V's columns, padded."""
    start = (n + 7) // 8 * 8
    for e in range(0, r, 8):
        columns(R, e if lower else 0, n, start, e, w, s)


@njit(cache=True, fastmath=False)
def spreads(R, n, r, Q, products, s):
    """|V q|^2 for the columns q of Q."""
    start, across = (n + 7) // 8 * 8, R.shape[1]
    s[:] = 0.0
    for j in range(0, Q.shape[1] - 7, 8):
        for i in range(0, n, 8):
            tile(R, i * across + start + 8, across, 1, Q, j, r, products, i)
    for i in range(n):
        for q in range(len(s)):
            s[q] += products[i, q] * products[i, q]


@njit(cache=True, fastmath=False)
def decided(R, n, trace):
    """Whether every pivot was positive and finite, and rounding is small beside I."""
    for i in range(n):
        if not 0.0 < R[i, i] < math.inf:
            return False
    return n * trace < DECIDES


@njit(cache=True, fastmath=False, parallel=True)
def posteriors(Phi, y, root, precision, queries, dual, w, s):
    """Per task: w (N,r), and in s the squared lengths of V, or of V q for ``queries`` (N,q,r).

    ``precision`` is 1/noise, ``root`` the prior's standard deviations times it.
    """
    N, M, r = Phi.shape
    n, m = (M, r) if dual else (r, M)
    start = (n + 7) // 8 * 8
    together = max(1, min(4, FIRST // (8 * start * (start + 16 + r) + 1)))
    for block in prange((N + TOGETHER - 1) // TOGETHER):
        T, Rs = spaces(1, m, n)[0], spaces(together, n, start + 8 + r)
        Q, products = spaces(1, r, queries.shape[1])[0], spaces(1, n, queries.shape[1])[0]
        v, b, mean, square = vector(M), vector(n), vector(r), vector(r)
        inverse, traces = np.zeros((len(Rs), 8)), np.zeros(len(Rs))
        last = min(N, (block + 1) * TOGETHER)
        for group in range(block * TOGETHER, last, len(Rs)):
            count = min(len(Rs), last - group)
            for t in range(count):
                for i in range(np.uint64(M)):
                    v[0, i] = y[group + t, i] * precision
                whiten(Phi[group + t], root, dual, T)
                traces[t] = assemble(T, Phi[group + t], root, v, dual, b, Rs[t])
            eliminate(Rs, count, n, r, not dual, inverse)
            for t in range(count):
                task, R = group + t, Rs[t]
                if not decided(R, n, traces[t]):
                    w[task], s[task] = math.nan, math.nan
                    continue
                moments(R, n, r, not dual, mean, square)
                for k in range(np.uint64(r)):
                    w[task, k] = mean[0, k]
                if queries.shape[1]:
                    Q[:r, : queries.shape[1]] = queries[task].T
                    spreads(R, n, r, Q, products, s[task])
                else:
                    for k in range(np.uint64(r)):
                        s[task, k] = square[0, k]
