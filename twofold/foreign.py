"""Other people's arrays and callables, recognised by what they can do, never imported.

Arrays: whatever NumPy reads, torch tensors (detached, on the host, bfloat16 widened), JAX arrays
through ``__array__``, anything else that speaks DLPack. Callables: functions, torch modules,
objects with ``.predict``, SciPy LinearOperators. What comes out is float64, upcast exactly.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from twofold.protocol import System
from twofold.rigor import inputs


def array(
    name: str,
    value: Any,
    ndim: int | tuple[int, ...] | None = None,
    shape: tuple[int | None, ...] | None = None,
) -> tuple[np.ndarray, str]:
    """``value`` as (contiguous float64 array, dtype it came in); NaN and Inf pass.

    The second half is what a caller records: a float32 answer is upcast exactly, but it was
    computed in float32.
    """
    came = _dtype(value)
    value = on_host(value)
    if came == "bfloat16":
        value = np.asarray(value).astype(np.float32)
    return inputs.real(name, value, ndim=ndim, shape=shape, finite=False), came


def on_host(value: Any) -> Any:
    """A tensor with a graph or a device behind it as plain memory; all else unchanged."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        value = value.detach().cpu().contiguous()
        value = value.float() if "bfloat16" in str(value.dtype) else value
    if not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value)
    return np.asarray(value) if hasattr(value, "__array__") and not _masked(value) else value


def function(name: str, model: Any) -> Callable[[Any], Any]:
    """``model`` as a function of one argument that NumPy can call."""
    if hasattr(model, "matmat") and hasattr(model, "shape"):
        return lambda code: model.matmat(_rows(name, "a LinearOperator", code).T).T
    if callable(model) and hasattr(model, "parameters") and hasattr(model, "forward"):
        return lambda x: _through_tensors(model, x)
    if callable(model):
        return model
    if callable(getattr(model, "predict", None)):
        return lambda code: model.predict(_rows(name, "a .predict method", code))
    raise ValueError(
        f"{name}: expected a function, a torch module, a LinearOperator or an object with "
        f".predict, got {type(model).__name__}"
    )


def title(model: Any) -> str:
    """What a reader would call ``model``: its own name, else its type's."""
    return str(getattr(model, "__name__", None) or type(model).__name__)


def _rows(name: str, what: str, code: Any) -> np.ndarray:
    """The one array that a row-wise model reads."""
    if isinstance(code, Mapping | System):
        raise ValueError(
            f"{name}: {what} reads one array (N, r), but gets a {type(code).__name__}; wrap it in "
            f"a function that picks the array"
        )
    return np.asarray(on_host(code))


def _through_tensors(module: Any, x: Any) -> Any:
    """Call a torch-like module on NumPy input: DLPack in, its own dtype and device, no gradient."""
    weight = next(iter(module.parameters()), None)
    library = sys.modules.get(type(weight).__module__.partition(".")[0])
    if weight is None or not hasattr(library, "from_dlpack"):
        return module(x)

    def tensor(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return library.from_dlpack(value.copy()).to(weight)  # type: ignore[union-attr]

    no_grad = getattr(library, "no_grad", nullcontext)
    with no_grad():
        return module({k: tensor(v) for k, v in x.items()} if isinstance(x, Mapping) else tensor(x))


def _masked(value: Any) -> bool:
    return isinstance(value, np.ma.MaskedArray)


def _dtype(value: Any) -> str:
    """``float64`` also for lists and when big-endian; ``bfloat16`` for ``torch.bfloat16``."""
    kind = getattr(value, "dtype", None)
    if kind is None:
        return "float64"
    return kind.name if isinstance(kind, np.dtype) else str(kind).rpartition(".")[2]
