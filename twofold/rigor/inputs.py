"""What may come in: real arrays as contiguous native float64, without a bit lost on the way.

Narrower floats are upcast exactly; whatever float64 cannot hold exactly is refused, with the name
of the argument, what came and what to do. What is returned may share memory with what was passed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

Shape = tuple[int | None, ...]
EXACT_INTEGERS = 2**53


def real(
    name: str,
    x: Any,
    ndim: int | tuple[int, ...] | None = None,
    shape: Shape | None = None,
    finite: bool = True,
) -> np.ndarray:
    """``x`` as a C-contiguous native float64 array, or a ValueError that names the argument.

    ``ndim`` is one number of axes or several allowed ones; ``shape`` holds None where any length
    goes; with ``finite=False`` NaN and Inf pass, for callers that fall silent row by row.
    """
    array = _float64(name, _array(name, x))
    _check_shape(name, array, ndim, shape)
    if finite:
        _check_finite(name, array)
    return array


def symmetric(name: str, H: Any, finite: bool = True) -> Float[np.ndarray, "*N K K"]:
    """``H`` (K,K) or (N,K,K), exactly symmetric: rounding-sized asymmetry is averaged away.

    Rounding-sized is 8 max(K, 16) eps of the largest entry, eps of the type that came (at most
    1e-4); anything larger is a ValueError. :func:`asymmetry` says how much was averaged.
    """
    came = _array(name, H).dtype
    H = square(name, H, finite=finite)
    eps = float(np.finfo(came).eps) if came.kind == "f" else float(np.finfo(float).eps)
    limit = min(8 * max(H.shape[-1], 16) * eps, 1e-4)
    gap = asymmetry(H)
    if np.any(gap > limit):
        row = int(np.argmax(np.where(np.isnan(gap), 0.0, gap)))
        raise ValueError(
            f"{name}: matrix {row} is not symmetric (asymmetry {np.ravel(gap)[row]:.3g} of its "
            f"largest entry, rounding explains {limit:.3g}); pass (H + H.T) / 2 if that is meant"
        )
    if not np.any(gap > 0):
        return H
    mirrored = np.swapaxes(H, -1, -2)
    return np.where(mirrored == H, H, 0.5 * H + 0.5 * mirrored)


def asymmetry(H: Float[np.ndarray, "*N K K"]) -> Float[np.ndarray, "*N"]:
    """Largest |H - H'| over largest |H|, per matrix; NaN where H is not finite."""
    if H.size == 0:
        return np.zeros(H.shape[:-2])
    top = np.max(np.abs(H), axis=(-1, -2))
    exponent = np.frexp(np.where(np.isfinite(top), top, 1.0))[1][..., None, None]
    unit = np.ldexp(H, -exponent)
    with np.errstate(invalid="ignore"):
        gap = np.max(np.abs(unit - np.swapaxes(unit, -1, -2)), axis=(-1, -2))
        return np.where(top > 0, gap / np.max(np.abs(unit), axis=(-1, -2), initial=0.5), 0 * top)


def square(name: str, T: Any, finite: bool = True) -> Float[np.ndarray, "*N K K"]:
    """``T`` as one square matrix (K,K) or a batch (N,K,K)."""
    T = real(name, T, ndim=(2, 3), finite=finite)
    if T.shape[-1] != T.shape[-2]:
        raise ValueError(
            f"{name}: expected square matrices (K, K) or (N, K, K), got shape {T.shape}"
        )
    return T


def systems(
    P: Any, H: Any, d: Any = None, finite: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """``(P, H, d)`` checked against each other: H (N,K,K), P (K,K) or (N,K,K), d (N,K) or None.

    P is not copied N times: a shared P stays (K,K).
    """
    H = square("H", H, finite=finite)
    if H.ndim == 2:
        raise ValueError(f"H: expected a batch (N, K, K), got shape {H.shape}; pass H[None]")
    N, K, _ = H.shape
    P = square("P", P, finite=finite)
    if P.shape not in ((K, K), (N, K, K)):
        raise ValueError(f"P: expected shape ({K}, {K}) or ({N}, {K}, {K}), got {P.shape}")
    d = None if d is None else real("d", d, shape=(N, K), finite=finite)
    return P, H, d


def whole(name: str, value: Any, low: int = 0) -> int:
    """``value`` as an int at least ``low``; booleans and fractions are refused."""
    good = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not good or int(value) < low:
        raise ValueError(f"{name}: expected a whole number >= {low}, got {value!r}")
    return int(value)


def _array(name: str, x: Any) -> np.ndarray:
    if isinstance(x, np.ma.MaskedArray) and np.any(np.ma.getmaskarray(x)):
        raise ValueError(f"{name}: masked entries have no value; fill them or drop their rows")
    try:
        array = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: not an array of numbers ({error})") from error
    if array.dtype.kind not in "iuf":
        raise ValueError(
            f"{name}: expected real numbers, got dtype {array.dtype}; convert to float64 first"
        )
    return array


def _float64(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "iu" and array.size:
        if int(array.max()) > EXACT_INTEGERS or int(array.min()) < -EXACT_INTEGERS:
            raise ValueError(
                f"{name}: integers beyond 2^53 are not exact in float64; rescale or round them"
            )
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        out = np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
        lost = array.dtype.itemsize > 8 and np.any((out != array) & (array == array))
    if lost:
        raise ValueError(f"{name}: {array.dtype} does not fit float64 exactly; round it first")
    return out


def _check_shape(
    name: str, array: np.ndarray, ndim: int | tuple[int, ...] | None, shape: Shape | None
) -> None:
    axes = (ndim,) if isinstance(ndim, int) else ndim
    if axes is not None and array.ndim not in axes:
        wanted = " or ".join(str(n) for n in axes)
        raise ValueError(f"{name}: expected {wanted} axes, got shape {array.shape}")
    if shape is None:
        return
    fits = len(shape) == array.ndim and all(
        want is None or want == have for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name}: expected shape ({wanted}), got {array.shape}")


def _check_finite(name: str, array: np.ndarray) -> None:
    bad = ~np.isfinite(array)
    if np.any(bad):
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name}: {int(bad.sum())} of {array.size} entries are not finite (first at {where}: "
            f"{array[where]}); drop or repair those rows"
        )
