"""The atlas: a frozen dictionary with its charts, and the encode that proves every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.atlas import encoding, kantorovich, objective
from twofold.atlas.charts import Charts, Grid, grid, table
from twofold.atlas.encoding import BUDGET, Codes
from twofold.atlas.families import Periodic, Tensor
from twofold.atlas.objective import Atom, Form, Priors
from twofold.atlas.projection import project
from twofold.atlas.routing import Best, floor, nearest, pursue, widened
from twofold.atlas.zeros import least_square
from twofold.rigor import inputs


@dataclass(frozen=True, eq=False)
class Atlas:
    """Atoms with their charts. Made by ``twofold.atlas.build``; nothing in it changes."""

    atoms: tuple[Atom, ...]
    priors: Priors
    charts: tuple[Charts, ...]
    count: int
    _forms: dict[Any, Form] = field(default_factory=dict, repr=False)
    _squares: dict[int, float] = field(default_factory=dict, repr=False)

    @property
    def width(self) -> int:
        """p, the length of a row."""
        return self.atoms[0].B.shape[1]

    def form(self, atoms: tuple[int, ...], joint: bool = False) -> Form:
        """The objective's waves for these active atoms."""
        key = (atoms, joint)
        if key not in self._forms:
            chosen = tuple(self.atoms[k] for k in atoms)
            self._forms[key] = with_bound(objective.form(chosen, self.priors, joint=joint), chosen)
        return self._forms[key]

    def encode(
        self, rows: Any, *, amplitudes: Any = None, atoms: Any = None, budget: int | None = None
    ) -> Codes:
        """Coordinates, certificates and verdicts of rows (N, p).

        ``amplitudes`` is z, one number or (N,) or (N, J); left out, one z >= 0 is solved for with
        the coordinates. ``atoms`` is (N,) or (N, J), which atoms are active; left out, the one
        with the least objective. ``budget`` is how many cells branch and bound may look at per
        row (default 4096); 0 leaves every verdict local. Rows that are not finite, or
        amplitudes that are, are flagged with their reason; nothing else is dropped.
        """
        X = inputs.real("rows", rows, shape=(None, self.width), finite=False)
        limit = BUDGET if budget is None else inputs.whole("budget", budget)
        if atoms is None and len(self.atoms) > 1:
            return self._best(X, amplitudes, limit)
        which = self._which(atoms, len(X))
        z = None
        if amplitudes is not None:
            z = encoding.amplitudes("amplitudes", amplitudes, which.shape)
        elif which.shape[1] > 1:
            raise ValueError("amplitudes: several active atoms need given amplitudes")
        return self._groups(X, which, z, limit)

    def _which(self, atoms: Any, N: int) -> np.ndarray:
        which = np.zeros((N, 1), np.int64) if atoms is None else np.asarray(atoms)
        which = which[:, None] if which.ndim == 1 else which
        if which.dtype.kind not in "iu" or which.shape[:1] != (N,) or which.ndim != 2:
            raise ValueError(f"atoms: expected whole numbers (N,) or (N, J), got {which.shape}")
        if which.size and (which.min() < 0 or which.max() >= len(self.atoms)):
            raise ValueError(f"atoms: expected 0 to {len(self.atoms) - 1}, got {which.max()}")
        return which.astype(np.int64)

    def _groups(self, X: np.ndarray, which: np.ndarray, z: Any, budget: int) -> Codes:
        if not len(X):
            return encoding.refused(0, self.charts[0].centres.shape[1], np.zeros((0, 1)),
                                    which, np.zeros(0, "<U1"))  # fmt: skip
        if np.all(which == which[0]):
            codes = self._group(X, tuple(map(int, which[0])), z, budget)
            return codes[0][1] if len(codes) == 1 else encoding.joined(codes, len(X))
        parts: list[tuple[np.ndarray, Codes]] = []
        kinds, member = np.unique(which, axis=0, return_inverse=True)
        for g, active in enumerate(kinds):
            rows = np.flatnonzero(member.ravel() == g)
            codes = self._group(X[rows], tuple(map(int, active)), None if z is None else z[rows],
                                budget)  # fmt: skip
            parts += [(rows[place], part) for place, part in codes]
        return encoding.joined(parts, len(X))

    def _group(
        self, X: np.ndarray, active: tuple[int, ...], z: Any, budget: int
    ) -> list[tuple[np.ndarray, Codes]]:
        """Rows that share their active atoms: those that can be looked at, and the others."""
        blocks = [project(X, self.atoms[k].B) for k in active]
        b, norm = [block for block, _ in blocks], blocks[0][1]
        why = reasons(X, norm, z, active)
        bad, good = np.flatnonzero(why != 0), np.flatnonzero(why == 0)
        if not len(bad):
            return [(good, self._finite(b, norm, active, z, budget))]
        shown = np.full((len(bad), len(active)), np.nan) if z is None else z[bad]
        which, q = np.tile(active, (len(bad), 1)), self.form(active).k.shape[1]
        out = [(bad, encoding.refused(len(bad), q, shown, which, np.array(ODD)[why[bad]]))]
        if len(good):
            picked = [np.ascontiguousarray(block[good]) for block in b]
            out.append((good, self._finite(picked, norm[good], active,
                                           None if z is None else z[good], budget)))  # fmt: skip
        return out

    def _finite(
        self, b: list[np.ndarray], norm: np.ndarray, active: tuple[int, ...], z: Any, budget: int
    ) -> Codes:
        joint, form = z is None, self.form(active, z is None)
        which, reach = np.tile(active, (len(norm), 1)), 1.5 * max(self.charts[k].cell
                                                                  for k in active)  # fmt: skip
        if not joint and len(active) == 1 and is_ring(self.atoms[active[0]]):
            made = encoding.quick(form, b[0], norm, z, self.charts[active[0]], self.priors,
                                  budget=budget, reach=reach)  # fmt: skip
            return encoding.judged(made, norm, z, which)
        scale = self._scale(active[0], norm) if joint else z
        starts = self._starts(active, b, z, scale)
        made = encoding.solve(form, np.concatenate(b, axis=1), norm, scale, starts, budget=budget,
                              refine=True, reach=reach)  # fmt: skip
        if joint:
            z = made["coords"][:, -1:] * scale
            made["coords"] = np.ascontiguousarray(made["coords"][:, :-1])
            made["start"] = np.ascontiguousarray(made["start"][:, :-1])
        return encoding.judged(made, norm, z, which)

    def _starts(self, active: Any, b: list[np.ndarray], z: Any, scale: np.ndarray) -> np.ndarray:
        """The best chart's centre of each atom; the others are subtracted one after the other."""
        if len(active) > 1:
            return pursue([self.charts[k] for k in active], [self.atoms[k] for k in active], b, z)
        chart = self.charts[active[0]]
        best, amplitude = nearest(chart, b[0], None if z is None else z[:, 0], self.priors)
        nodes = chart.nodes[best]
        if z is not None:
            return nodes
        with np.errstate(divide="ignore", invalid="ignore"):
            zeta = np.clip(np.nan_to_num(amplitude[:, None] / scale, nan=1.0), 0.01, 1.99)
        return np.concatenate([nodes, zeta], axis=1)

    def _scale(self, k: int, norm: np.ndarray) -> Float[np.ndarray, "N 1"]:
        """A scale that no optimal amplitude exceeds: |x| / min |m|, where that is positive.

        A decoder that passes through zero has no such bound: there 8 |x| / max |m| stands for it.
        """
        least = self._least(k)
        top = float(np.max(self.charts[k].squares, initial=1e-300))
        size = np.sqrt(least) if least > 1e-6 * top else np.sqrt(top) / 8
        return norm[:, None] / size * (1 + 1e-9)

    def _best(self, X: np.ndarray, amplitudes: Any, budget: int) -> Codes:
        """Atoms in the order of their proved floors, until the next floor is above the best."""
        z = None
        if amplitudes is not None:
            z = encoding.amplitudes("amplitudes", amplitudes, (len(X), 1))
        floors = self._floors(X, z)
        order = np.argsort(floors, axis=1, kind="stable")
        first = self.encode(X, amplitudes=z, atoms=order[:, 0], budget=budget)
        best = Best(widened(first, max(c.centres.shape[1] for c in self.charts)))
        for r in range(1, len(self.atoms)):
            lowest = floors[np.arange(len(X)), order[:, r]]
            rows = np.flatnonzero(~(lowest > best.codes.objective))
            if not len(rows):
                break
            best.add(rows, self.encode(X[rows], amplitudes=None if z is None else z[rows],
                                       atoms=order[rows, r], budget=budget))  # fmt: skip
        return best.conclude()

    def _floors(self, X: np.ndarray, z: Any) -> Float[np.ndarray, "N K"]:
        """Below this no coordinate of atom k comes, for each row and k."""
        out = np.empty((len(X), len(self.atoms)))
        for k, atom in enumerate(self.atoms):
            b, norm = project(X, atom.B)
            form = self.form((k,))
            with np.errstate(invalid="ignore", over="ignore"):
                out[:, k] = floor(form, b, norm, None if z is None else z[:, 0], self._least(k))
        return out

    def _least(self, k: int) -> float:
        """A proved lower bound of |m|^2 of atom k."""
        if k not in self._squares:
            self._squares[k] = least_square(self.form((k,)), self.atoms[k])
        return self._squares[k]

    def certificate(
        self, row: Any, start: Any, amplitude: float, atom: int
    ) -> tuple[dict[str, Any], Float[np.ndarray, " d"]]:
        """The certificate at ``start`` for one row, and the Newton step there, as the seed's.

        On a sphere the step is a tangent vector in the surrounding space.
        """
        from twofold.atlas.single import certificate

        return certificate(self, row, start, amplitude, atom)


ODD = (
    "",
    "the row is out of range",
    "the row is not finite",
    "an amplitude is zero: every coordinate is as good",
    "an amplitude is negative",
    "an amplitude is not finite",
    "an atom is active twice",
)


def reasons(X: np.ndarray, norm: np.ndarray, z: Any, active: tuple[int, ...]) -> np.ndarray:
    """Why a row cannot be looked at, as a place in ``ODD``; 0 where it can."""
    why = np.zeros(len(X), dtype=np.int64)
    for n in np.flatnonzero(~(norm < 1e100)):
        why[n] = 1 if np.all(np.isfinite(X[n])) else 2
    if z is not None:
        why[np.any(z == 0, axis=1)] = 3
        why[np.any(z < 0, axis=1)] = 4
        why[~np.all(np.isfinite(z), axis=1)] = 5
    if len(set(active)) < len(active):
        why[:] = 6
    return why


def is_ring(atom: Atom) -> bool:
    """Whether the atom's family is Periodic, whole and in its order."""
    family = atom.family
    return (
        isinstance(family, Tensor) and family.dim == 1 and not family.lines[0].flat
        and family.columns == Periodic(family.lines[0].degree).columns
    )  # fmt: skip


def with_bound(form: Form, atoms: tuple[Atom, ...]) -> Form:
    """On a sphere: the Lipschitz constant of the quadratic part, once per atom."""
    if not form.sphere:
        return form
    import dataclasses

    from twofold.atlas.zeros import oscillation

    degree = form.lines[0].degree
    last = (degree**3 + 2 * degree / 3) * oscillation(form) / 2
    per_column = np.append(form.bernstein if form.bernstein is not None else [], last)
    return dataclasses.replace(form, bernstein=per_column)


def build(atoms: Sequence[Atom], *, charts: int = 16, priors: Priors | None = None) -> Atlas:
    """Cover every atom's coordinates by cells, ``charts`` along each axis, and certify each chart.

    On a sphere the cells are those of a cube's faces, charts/4 + 1 along an edge.
    """
    atoms = tuple(atoms)
    if not atoms:
        raise ValueError("atoms: the dictionary is empty; pass at least one Atom")
    widths = {atom.B.shape[1] for atom in atoms}
    if len(widths) > 1:
        raise ValueError(f"atoms: all rows have one length p, got {sorted(widths)}")
    count = inputs.whole("charts", charts, low=2)
    made = Atlas(atoms, priors or Priors(), (), count)
    return Atlas(atoms, made.priors, tuple(_charts(made, k) for k in range(len(atoms))), count,
                 made._forms)  # fmt: skip


def _charts(made: Atlas, k: int) -> Charts:
    """The charts of atom k; their constants are those of the rows x = m(t_c)."""
    atom, form = made.atoms[k], made.form((k,))
    cells: Grid = grid(form, made.count)
    centres = cells.centres()
    b, norm = project(atom.decode(centres), atom.B)
    one = np.ones((len(centres), 1))
    out = encoding.solve(form, b, norm, one, centres, budget=0, refine=False, reach=1.0)
    certified = out["words"][:, 0] != kantorovich.SADDLE
    beta = np.where(certified, out["first"][:, kantorovich.BETA], np.inf)
    bounds = global_constants(form, b, norm)
    half = float(np.sqrt(np.sum(cells.widths**2)))
    return Charts(centres, half, *table(atom, form, cells), beta, bounds)


def global_constants(form: Form, b: np.ndarray, norm: np.ndarray) -> np.ndarray:
    """M_3 of each row at amplitude one."""
    from twofold.atlas.bounds import fourier

    return fourier(form, b, norm, np.ones((len(b), 1)))[:, 3]
