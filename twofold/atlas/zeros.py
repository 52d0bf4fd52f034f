r"""Offline bounds of |m(t)|^2 over all coordinates: a grid, and the slope between its points."""

from __future__ import annotations

import numpy as np

from twofold.atlas.charts import Grid, grid
from twofold.atlas.objective import Atom, Form

FINEST = 1 << 15


def least_square(form: Form, atom: Atom) -> float:
    """A proved lower bound of min |m|^2, by grids of growing fineness; 0 if none is positive."""
    slope = 2 * float(np.sum(np.abs(form.quadratic[0]) * form.weights[1])) * (1 + 1e-12)
    best, count = 0.0, 16
    while True:
        cells = grid(form, count)
        if cells.total > FINEST:
            return best
        low, _ = _range(cells, atom)
        rho = float(np.sqrt(np.sum(cells.widths**2)))
        best = max(best, low * (1 - 1e-12) - slope * rho)
        if best > 0.5 * low:
            return best
        count *= 2


def oscillation(form: Form) -> float:
    """An upper bound of max - min of 1/2 |m|^2 on the sphere.

    Along great circles the slope of a polynomial of degree D is at most D times half the range
    (Bernstein), so the range is at most that of a grid of radius rho over 1 - D rho.
    """
    degree = form.lines[0].degree
    side = 8 * degree
    cells = Grid(np.array([side, side]), np.full(2, 1.0 / side), np.zeros(3), True)
    y = cells.centres()
    terms = np.prod(y[:, None, :] ** form.k[None], axis=2) @ np.real(form.quadratic[0])
    rho = np.sqrt(2.0) / side
    rounding = 1e-12 * float(np.sum(np.abs(form.quadratic[0])))
    return float((np.ptp(terms) + rounding) / (1 - degree * rho))


def _range(cells: Grid, atom: Atom) -> tuple[float, float]:
    squares = np.sum((atom.family.values(cells.centres()) @ atom.B) ** 2, axis=1)
    return float(squares.min()), float(squares.max())
