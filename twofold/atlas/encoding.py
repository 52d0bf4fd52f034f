"""From rows to codes: coordinates, certificates and one verdict per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from twofold.atlas import global_minimum, kantorovich, newton, ring
from twofold.atlas.charts import Charts, Grid, grid, prior_at
from twofold.atlas.objective import Form, Priors
from twofold.rigor import inputs
from twofold.rigor.ieee import probe
from twofold.rigor.selftest import require

VERDICTS = ("global", "local", "ambiguous", "uncertified")
METHODS = ("predictor", "warm-up", "multi-start", "none")
BUDGET = 4096


@dataclass(frozen=True, eq=False)
class Codes:
    """One row each. ``beta`` to ``unique`` are the certificate at ``coords``, ``start_h`` the one
    where the row was first looked at (the predictor's point), ``radius`` how far the exact root can
    be. ``gap`` bounds how much lower f can be elsewhere: 0 where global, inf where unknown.
    """

    coords: Float[np.ndarray, "N q"]
    amplitude: Float[np.ndarray, "N J"]
    atom: Int[np.ndarray, "N J"]
    residual: Float[np.ndarray, " N"]
    objective: Float[np.ndarray, " N"]
    beta: Float[np.ndarray, " N"]
    eta: Float[np.ndarray, " N"]
    L: Float[np.ndarray, " N"]
    h: Float[np.ndarray, " N"]
    radius: Float[np.ndarray, " N"]
    unique: Float[np.ndarray, " N"]
    start: Float[np.ndarray, "N q"]
    start_beta: Float[np.ndarray, " N"]
    start_eta: Float[np.ndarray, " N"]
    start_h: Float[np.ndarray, " N"]
    start_radius: Float[np.ndarray, " N"]
    verdict: np.ndarray
    method: np.ndarray
    reason: np.ndarray
    gap: Float[np.ndarray, " N"]
    refuted: Int[np.ndarray, " N"]
    cells: Int[np.ndarray, " N"]

    def __len__(self) -> int:
        return len(self.verdict)

    @property
    def counts(self) -> dict[str, int]:
        """Rows by verdict; they add up to all rows."""
        return {word: int(np.sum(self.verdict == word)) for word in VERDICTS}

    @property
    def routes(self) -> dict[str, int]:
        """Rows by what certified them first; they add up to all rows.

        ``none`` counts those that stayed uncertified after the multi-start.
        """
        return {word: int(np.sum(self.method == word)) for word in METHODS}

    @property
    def uncertified_at_start(self) -> int:
        """The seed's count: rows that are not certified at the predictor's point."""
        return len(self) - self.routes["predictor"]


def solve(
    form: Form, b: np.ndarray, norm: np.ndarray, z: np.ndarray, starts: np.ndarray,
    *, budget: int, refine: bool, reach: float,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Run the kernel over rows that share one form."""
    N, q = starts.shape
    cells = grid(form)
    out = {
        "start": np.zeros((N, q)), "coords": np.zeros((N, q)), "first": np.zeros((N, 6)),
        "last": np.zeros((N, 6)), "words": np.zeros((N, 6), np.int64), "values": np.zeros((N, 3)),
    }  # fmt: skip
    flags = np.ones(64, bool)
    bernstein = np.zeros(0) if form.bernstein is None else form.bernstein
    if N:
        newton.encode(
            b, norm, z, np.ascontiguousarray(starts), form.linear, form.quadratic, form.prior,
            form.owner, form.pairs, form.slack_linear, form.slack_quadratic, form.weights,
            form.kappa, bernstein, packed(form, cells), form.high, np.array([reach, step(form)]),
            budget, refine, probe(), out["start"], out["coords"], out["first"], out["last"],
            out["words"], out["values"], flags,
        )  # fmt: skip
    require(flags)
    return out


def quick(
    form: Form, b: np.ndarray, norm: np.ndarray, z: np.ndarray, charts: Charts, priors: Priors,
    *, budget: int, reach: float,
) -> dict[str, np.ndarray]:  # fmt: skip
    """The same for one periodic axis, given amplitudes: the easy rows first, then the others."""
    N = len(b)
    out = {
        "start": np.empty((N, 1)), "coords": np.empty((N, 1)), "first": np.empty((N, 6)),
        "last": np.empty((N, 6)), "words": np.empty((N, 6), np.int64), "values": np.empty((N, 3)),
    }  # fmt: skip
    done, flags = np.empty(N, bool), np.ones(64, bool)
    ring.encode(
        b, norm, z[:, 0], np.ascontiguousarray(charts.values.T), charts.squares,
        prior_at(charts.nodes, priors), charts.nodes, form.quadratic[0], form.prior, form.weights,
        form.slack_linear[0], form.slack_quadratic[0], form.kappa,
        *ring.tables(form.lines[0].degree), reach, budget > 0, probe(), out["start"],
        out["coords"], out["first"], out["last"], out["words"], out["values"], done, flags,
    )  # fmt: skip
    require(flags)
    rest = np.flatnonzero(~done)
    if len(rest):
        slow = solve(form, b[rest], norm[rest], z[rest], out["start"][rest], budget=budget,
                     refine=True, reach=reach)  # fmt: skip
        for name, found in slow.items():
            out[name][rest] = found
    return out


def packed(form: Form, cells: Grid) -> tuple[Any, ...]:
    """What the kernels know of the form and the cells of branch and bound."""
    flat = np.array([line.flat for line in form.lines])
    degree = np.array([line.degree for line in form.lines])
    k = np.ascontiguousarray(form.k, dtype=np.int64)
    low = np.where(flat, form.low, 0.0)
    return k, flat, degree, low, cells.counts, cells.widths, form.sphere


def step(form: Form) -> float:
    """No Newton step goes further than half a wave."""
    waves = [0.25 / max(line.degree, 1) if not line.flat else 0.5 * (line.radius or 1)
             for line in form.lines]  # fmt: skip
    return 1.0 / max(form.lines[0].degree, 1) if form.sphere else 2.0 * max(waves)


def judged(
    made: dict[str, np.ndarray], norm: np.ndarray, amplitude: np.ndarray, atom: np.ndarray
) -> Codes:
    """Verdicts, methods, gaps and residuals from what the kernel filled."""
    words, last, values = made["words"], made["last"], made["values"]
    code, bound = words[:, 5], words[:, 2]
    certified = code == kantorovich.CERTIFIED
    verdict = np.full(len(words), "uncertified", dtype="<U11")
    verdict[certified] = "local"
    verdict[certified & (bound == global_minimum.PROVED)] = "global"
    verdict[certified & (bound == global_minimum.TIE)] = "ambiguous"
    method = np.array(METHODS)[np.where(certified, words[:, 1], newton.NOTHING)]
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.where(certified, values[:, 0] + values[:, 2] - values[:, 1], np.inf)
        square = norm**2 + 2 * values[:, 0]
        residual = np.sqrt(np.maximum(square, 0.0))
    gap[verdict == "global"] = 0.0
    names = ("beta", "eta", "L", "h", "radius", "unique")
    return Codes(
        coords=made["coords"], amplitude=amplitude, atom=atom, residual=residual,
        objective=values[:, 0], **dict(zip(names, last.T, strict=True)), start=made["start"],
        start_beta=made["first"][:, 0], start_eta=made["first"][:, 1],
        start_h=made["first"][:, 3], start_radius=made["first"][:, 4], verdict=verdict,
        method=method, reason=np.array(kantorovich.REASONS)[code], gap=gap, refuted=words[:, 4],
        cells=words[:, 3],
    )  # fmt: skip


def refused(N: int, q: int, amplitude: np.ndarray, atom: np.ndarray, why: np.ndarray) -> Codes:
    """Rows that cannot be looked at, each with its reason."""
    nan, inf = np.full(N, np.nan), np.full(N, np.inf)
    zero = np.zeros(N, np.int64)
    return Codes(
        np.full((N, q), np.nan), amplitude, atom, nan, nan, inf, inf, inf, inf, inf, np.zeros(N),
        np.full((N, q), np.nan), inf, inf, inf, inf, np.full(N, "uncertified", dtype="<U11"),
        np.full(N, "none"), why, inf, zero, zero,
    )  # fmt: skip


def joined(parts: list[tuple[np.ndarray, Codes]], N: int) -> Codes:
    """Codes of groups of rows, put back in the rows' order; shorter coordinates end in NaN."""
    out: dict[str, np.ndarray] = {}
    for name in Codes.__dataclass_fields__:
        pieces = [np.asarray(getattr(codes, name)) for _, codes in parts]
        wide = max((p.shape[1] for p in pieces if p.ndim == 2), default=0)
        kind = pieces[0].dtype
        if kind.kind == "U":
            kind = np.dtype(f"<U{max(p.dtype.itemsize // 4 for p in pieces)}")
        whole = np.zeros((N, wide) if wide else N, dtype=kind)
        if wide:
            whole[:] = -1 if kind.kind == "i" else np.nan
        for (rows, _), piece in zip(parts, pieces, strict=True):
            if wide:
                whole[rows, : piece.shape[1]] = piece
            else:
                whole[rows] = piece
        out[name] = whole
    return Codes(**out)


def amplitudes(name: str, z: Any, shape: tuple[int, ...]) -> Float[np.ndarray, "N J"]:
    """Given amplitudes as (N, J); one number serves all rows."""
    z = inputs.real(name, z, ndim=(0, 1, 2), finite=False)
    z = z[:, None] if z.ndim == 1 else z
    try:
        return np.array(np.broadcast_to(z, shape), order="C")
    except ValueError as error:
        raise ValueError(f"{name}: expected one per row and atom {shape}, got {z.shape}") from error
