r"""Take a model apart: total = encoder floor + decoder error + cross term, on every task.

With ``answer`` what the model says, ``best`` what a perfect decoder would have made of the same
encoding, ``truth`` what was asked, and a metric S,

    answer - truth   = (answer - best) + (best - truth)
    ||answer-truth||_S^2 = ||best-truth||_S^2 + ||answer-best||_S^2 + 2 <answer-best, best-truth>_S
        total        =      floor        +      decoder       +          cross
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from twofold import foreign
from twofold.measures.squared_error import PARTS, metric_matrix, split
from twofold.protocol import System, Tasks
from twofold.rigor import inputs

NO_SOLUTION = "no best answer: give the System an exact(), or pass reference= fitted on other tasks"
NO_REFERENCE = "no best answer: the encoder returned a code, pass reference= fitted on other tasks"
EXACT = "exact solution of the encoded system"
CLAIMED = "system.exact(), taken on trust"


@dataclass(frozen=True, eq=False)
class Anatomy:
    """What ``take_apart`` measured; plain arrays, one row per task.

    ``parts``
        total, floor, decoder, cross: (N,) each, in ``metric`` and times ``scale``.
    ``applies``, ``reason``
        whether the row could be split, and why not; a row that could not holds NaN.
    ``kind``
        ``identity`` when best is an exact solution, ``estimate`` when it is a fitted reference.
    ``radius``
        proved distance (2-norm) of ``solution`` to the true solution of the encoded system.
    ``dtypes``
        the type each foreign output came in, before it was upcast exactly to float64.
    """

    parts: Mapping[str, Float[np.ndarray, " N"]]
    applies: Bool[np.ndarray, " N"]
    reason: tuple[str, ...]
    answer: Float[np.ndarray, "N K"]
    best: Float[np.ndarray, "N K"]
    truth: Float[np.ndarray, "N K"]
    metric: Float[np.ndarray, "K K"] | None
    scale: float
    kind: Literal["identity", "estimate"]
    reference: str
    dtypes: Mapping[str, str]
    ids: np.ndarray | None = None
    systems: System | None = None
    decoder: Any = None
    x: Float[np.ndarray, "N r"] | None = None
    solution: Float[np.ndarray, "N r"] | None = None
    radius: Float[np.ndarray, " N"] | None = None

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def mean(self) -> dict[str, float]:
        """Each part averaged over the rows that could be split (the total alone: answered rows)."""
        rows = self.applies if self.applies.any() else ~np.isnan(self.parts["total"])
        return {name: _mean(part[rows]) for name, part in self.parts.items()}

    @property
    def conventions(self) -> dict[str, dict[str, float]]:
        """The mean parts in every norm in use: metric or Euclidean, summed or per coordinate."""
        K = self.truth.shape[1]
        metrics = {"‖·‖²": None} | ({} if self.metric is None else {"‖·‖²_Σ": self.metric})
        out: dict[str, dict[str, float]] = {}
        for norm, metric in metrics.items():
            parts = split(self.answer, self.best, self.truth, metric)
            sums = {name: _mean(part[self.applies]) for name, part in parts.items()}
            out[norm] = sums
            out[f"{norm}/K"] = {name: value / K for name, value in sums.items()}
        return out

    @cached_property
    def iterates(self) -> np.ndarray | None:
        """The decoder's path, if it has ``iterates(system)``."""
        path = getattr(self.decoder, "iterates", None)
        return None if path is None or self.systems is None else np.asarray(path(self.systems))

    @property
    def notes(self) -> list[str]:
        """What was changed in the numbers on their way in, and which tasks could not be split."""
        narrow = {name: came for name, came in self.dtypes.items() if came != "float64"}
        said = [f"{name} came as {came} and was upcast exactly" for name, came in narrow.items()]
        if gap := getattr(self.systems, "asymmetry", 0.0):
            said.append(f"H was symmetric only to {gap:.1e} of its largest entry: symmetrised")
        return said + [f"{n} silent of {len(self)}: {w}" for w, n in self.why_silent().items()]

    def why_silent(self) -> dict[str, int]:
        """Each reason for not splitting a row, with the number of rows."""
        reasons = [text for text in self.reason if text]
        return {text: reasons.count(text) for text in dict.fromkeys(reasons)}

    def __str__(self) -> str:
        split_rows = int(self.applies.sum())
        lines = [f"{split_rows} of {len(self)} tasks split; best = {self.reference} ({self.kind})"]
        lines += [f"{'mean of':<12}" + "".join(f"{name:>14}" for name in PARTS)]
        for norm, means in self.conventions.items():
            lines.append(f"{norm:<12}" + "".join(f"{means[name]:>14.6e}" for name in PARTS))
        lines += self.notes
        return "\n".join(lines)


def take_apart(
    model: Any, tasks: Tasks, *, reference: Any = None, loss: str = "squared"
) -> Anatomy:
    """Run ``model.encoder`` and ``model.decoder`` on ``tasks`` and split the squared error.

    A System supplies the best answer itself, ``lift(exact())``; a code needs ``reference``, a
    function of the code fitted on other tasks. Neither half is shown truth or latent. Rows with
    NaN, or whose system has no proved solution, are silent; the others go on.
    """
    if loss != "squared":
        raise ValueError(f"loss: only 'squared' can be taken apart so far, got {loss!r}")
    if not (hasattr(model, "encoder") and hasattr(model, "decoder")):
        raise ValueError(
            f"model: expected .encoder and .decoder, got {type(model).__name__}; "
            f"use twofold.EncoderDecoder(encoder, decoder)"
        )
    truth = inputs.real("truth", tasks.truth, ndim=2, finite=False)
    if 0 in truth.shape:
        raise ValueError(f"truth: expected at least one task and coordinate, got {truth.shape}")
    _refuse_fitted(tasks.ids, encoder=model.encoder, decoder=model.decoder, reference=reference)
    code = foreign.function("encoder", model.encoder)(tasks.prompt)
    output = foreign.function("decoder", model.decoder)(code)
    if isinstance(code, System):
        parts = _through_system(code, output, truth.shape, reference)
    else:
        parts = _through_code(code, output, truth.shape, reference)
    metric = metric_matrix(tasks.metric, truth.shape[1])
    return _assemble(parts, truth, metric, _scale(tasks.scale), tasks.ids, model.decoder)


def _scale(scale: Any) -> float:
    value = float(inputs.real("scale", scale, ndim=0))
    if value <= 0:
        raise ValueError(f"scale: expected a positive number such as 1 or 1/K, got {value}")
    return value


def _through_system(
    system: System, output: Any, shape: tuple[int, int], reference: Any
) -> dict[str, Any]:
    """The answer and the best answer when the encoder returned a system."""
    N = shape[0]
    d = inputs.real("system.d", system.d, shape=(N, None), finite=False)
    x, x_type = foreign.array("decoder output", output, shape=d.shape)
    answer, answer_type = foreign.array("system.lift(x)", system.lift(x), shape=shape)
    dense = system.dense()
    encoded = _finite(d) if dense is None else _finite(d) & _finite(foreign.on_host(dense))
    out: dict[str, Any] = {"systems": system, "x": x, "answer": answer, "encoded": encoded}
    out["dtypes"] = {"x": x_type, "answer": answer_type}
    solution, radius = _enclosure(system, d.shape)
    if solution is None:
        return out | _referred(system, shape, reference, NO_SOLUTION)
    if reference is not None:
        raise ValueError("reference: the encoded system has an exact solution; drop reference")
    best, _ = foreign.array("system.lift(exact())", system.lift(solution), shape=shape)
    name = CLAIMED if radius is None else EXACT
    return out | {"best": best, "solution": solution, "radius": radius, "name": name}


def _enclosure(
    system: System, shape: tuple[int, ...]
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The exact solution and, where the system proves one, its radius."""
    prove: Callable[[], tuple[Any, Any]] | None = getattr(system, "enclosure", None)
    solution, radius = prove() if prove is not None else (system.exact(), None)
    if solution is not None:
        solution, _ = foreign.array("system.exact()", solution, shape=shape)
    if radius is not None:
        radius, _ = foreign.array("system.enclosure() radius", radius, shape=shape[:1])
    return solution, radius


def _through_code(code: Any, output: Any, shape: tuple[int, int], reference: Any) -> dict[str, Any]:
    """The answer and the best answer when the encoder returned an array of codes."""
    array, code_type = foreign.array("encoder output", code)
    if array.ndim == 0 or len(array) != shape[0]:
        raise ValueError(f"encoder output: expected {shape[0]} rows, got shape {array.shape}")
    answer, answer_type = foreign.array("decoder output", output, shape=shape)
    types = {"code": code_type, "answer": answer_type}
    out = {"answer": answer, "encoded": _finite(array), "dtypes": types}
    return out | _referred(code, shape, reference, NO_REFERENCE)


def _refuse_fitted(ids: Any, **parts: Any) -> None:
    """A part that names the tasks it was fitted on, by ``ids``, is not judged on any of them."""
    for name, part in parts.items():
        seen = getattr(part, "ids", None)
        shared = 0 if seen is None or ids is None else len(np.intersect1d(seen, ids))
        if shared:
            raise ValueError(f"{name}: {shared} of its tasks are judged here; fit it on others")


def _referred(code: Any, shape: tuple[int, int], reference: Any, why: str) -> dict[str, Any]:
    """The best answer by a fitted reference, or NaN and what to add."""
    if reference is None:
        return {"best": np.full(shape, np.nan), "name": "none", "missing": why}
    function = foreign.function("reference", reference)
    best, _ = foreign.array("reference(code)", function(code), shape=shape)
    return {"best": best, "name": foreign.title(reference)}


def _assemble(
    found: dict[str, Any],
    truth: np.ndarray,
    metric: np.ndarray | None,
    scale: float,
    ids: Any,
    decoder: Any,
) -> Anatomy:
    parts = split(found["answer"], found["best"], truth, metric, scale)
    reason = _reasons(found, truth, parts)
    applies = np.array([text == "" for text in reason])
    answered = _finite(found["answer"]) & _finite(truth) & np.isfinite(parts["total"])
    for name in PARTS:
        parts[name] = np.where(answered if name == "total" else applies, parts[name], np.nan)
    return Anatomy(
        parts, applies, reason, found["answer"], found["best"], truth, metric, scale,
        "identity" if "solution" in found else "estimate", found["name"], found["dtypes"],
        ids, found.get("systems"), decoder, found.get("x"), found.get("solution"),
        found.get("radius"),
    )  # fmt: skip


def _reasons(
    found: dict[str, Any], truth: np.ndarray, parts: dict[str, np.ndarray]
) -> tuple[str, ...]:
    """The first thing that is wrong with each row, '' where it can be split."""
    radius = found.get("radius")
    tests = [
        (_finite(truth), "the truth is NaN or Inf"),
        (found["encoded"], "the encoder returned NaN or Inf"),
        (_finite(found["answer"]), "the decoder returned NaN or Inf"),
        (np.full(len(truth), "missing" not in found), found.get("missing", "")),
        (
            np.full(len(truth), True) if radius is None else np.isfinite(radius),
            "the encoded system is singular or too ill-conditioned: no proved solution",
        ),
        (_finite(found["best"]), "the best answer is NaN or Inf: the encoded system is singular"),
        (np.isfinite([*parts.values()]).all(axis=0), "the squared error overflows float64"),
    ]
    failed = np.array([~good for good, _ in tests])
    first = np.where(failed.any(axis=0), failed.argmax(axis=0), -1)
    return tuple("" if i < 0 else tests[i][1] for i in first)


def _finite(rows: np.ndarray) -> Bool[np.ndarray, " N"]:
    return np.all(np.isfinite(rows).reshape(len(rows), -1), axis=1)


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if values.size else float("nan")
