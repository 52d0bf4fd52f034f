r"""Offline: the charts of one atom. Cells that cover the coordinates, centres, constants, radii.

For the row x = z m(t_c) the residual vanishes at the centre, where the Hessian is z^2 J'J. With
beta_c L the product of its proved inverse and the row's global Lipschitz constant, every start
within R_c = (3 - 2 sqrt 2)/(beta_c L) of the centre has h <= 1/2 for that row: beta grows to at
most beta/(1 - r), eta is at most R(1 + r/2)/(1 - r), r = R_c beta_c L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from twofold.atlas import global_minimum
from twofold.atlas.objective import Atom, Form, Priors

NODES = 4
RADIUS = 3 - 2 * math.sqrt(2)


@dataclass(frozen=True, eq=False)
class Charts:
    """One atom's charts: n centres, the cells' half-diagonal, and constants per chart.

    ``radius`` is 0 where the Hessian at the centre is not proved positive definite. ``nodes`` are
    the predictor's table: points at which ``values`` of Phi and ``squares`` |m|^2 are known; on one
    axis four per chart, else the centres.
    """

    centres: Float[np.ndarray, "n q"]
    cell: float
    nodes: Float[np.ndarray, "k q"]
    values: Float[np.ndarray, "k M"]
    squares: Float[np.ndarray, " k"]
    beta: Float[np.ndarray, " n"]
    lipschitz: Float[np.ndarray, " n"]

    @property
    def radius(self) -> Float[np.ndarray, " n"]:
        """R_c, rounded down."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            product = self.beta * self.lipschitz
            return np.where(np.isfinite(product), RADIUS / product * (1 - 1e-14), 0.0)

    @property
    def covered(self) -> float:
        """The share of charts whose certified ball contains its whole cell."""
        return float(np.mean(self.radius >= self.cell))


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells: ``counts`` per axis (per edge of a face on the sphere), half-widths, lower corner."""

    counts: Int[np.ndarray, " d"]
    widths: Float[np.ndarray, " d"]
    low: Float[np.ndarray, " q"]
    sphere: bool

    @property
    def total(self) -> int:
        """How many cells."""
        return int(6 * self.counts[0] ** 2 if self.sphere else np.prod(self.counts))

    def centres(self) -> Float[np.ndarray, "n q"]:
        """All centres."""
        out = np.empty((self.total, len(self.low)))
        u = np.zeros(len(self.low))
        for n in range(self.total):
            global_minimum.first_cell(n, self.counts, self.widths, self.low, self.sphere, u)
            global_minimum.place(u, self.sphere, out[n])
        return out


def grid(form: Form, charts: int | None = None) -> Grid:
    """Cells that cover the chart: ``charts`` per axis; by default two per wave of f."""
    if form.sphere:
        side = max(2, (charts or 2 * form.lines[0].degree) // 4 + 1)
        return Grid(np.array([side, side]), np.full(2, 1.0 / side), np.zeros(3), True)
    counts = np.array([charts or max(4, 2 * line.degree) for line in form.lines])
    if form.joint:
        counts[-1] = charts or 4
    low = np.where(np.isfinite(form.low), form.low, 0.0)
    span = np.where(np.isfinite(form.high), form.high - form.low, 1.0)
    return Grid(counts, span / (2 * counts), low, False)


def prior_at(nodes: np.ndarray, priors: Priors) -> Float[np.ndarray, " k"]:
    """The von Mises prior at the nodes; the flat one hardly moves the choice."""
    turns = 1 - np.cos(2 * np.pi * nodes)
    return priors.periodic / (4 * np.pi**2) * np.sum(turns, axis=1)


def table(atom: Atom, form: Form, cells: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(nodes, Phi there, |m|^2 there)."""
    fine = grid(form, NODES * int(cells.counts[0])) if len(cells.counts) == 1 else cells
    nodes = fine.centres()
    values = atom.family.values(nodes)
    return nodes, values, np.sum((values @ atom.B) ** 2, axis=1)
