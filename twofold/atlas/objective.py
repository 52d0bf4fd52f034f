r"""The objective of a row as one short sum of waves, with what rounding made of its coefficients.

    f(t) = 1/2 |x - sum_j z_j B_j' Phi_j(t_j)|^2 - 1/2 |x|^2 + prior(t)
         = Re sum_k C_k e_k(t),
    C    = - sum_j z_j (B_j x) R_j + sum_{i <= j} z_i z_j Q_ij + prior.

x enters through B x alone: neither p nor the residual outside the span of B matters. Frequencies k
and -k are folded into one term. With w_g(k) >= sup |D^g e_k|, M_g = sum_k |C_k| w_g(k) bounds
every derivative: M_3 is a Lipschitz constant of the Hessian, everywhere.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Complex, Float, Int

from twofold.atlas.families.protocol import admit
from twofold.atlas.families.sphere import Sphere, degree_sup
from twofold.atlas.families.tensor import Line, Tensor, term_weight
from twofold.rigor import inputs
from twofold.rigor.roundoff import U, gamma

ORDERS = 5
ZETA = 2.0  # a joint amplitude is z = scale * zeta with zeta in [0, 2]


@dataclass(frozen=True, eq=False)
class Atom:
    """A family and its decoder block B (M,p): m(t) = B' Phi(t)."""

    family: Any
    B: Float[np.ndarray, "M p"]

    def __post_init__(self) -> None:
        family = admit(self.family)
        B = inputs.real("B", self.B, shape=(family.size, None))
        if B.shape[1] == 0:
            raise ValueError("B: expected p >= 1 columns, got none")
        object.__setattr__(self, "B", B)

    def decode(self, t: Any, z: Any = 1.0) -> Float[np.ndarray, "N p"]:
        """Z B' Phi(t)."""
        return np.reshape(z, (-1, 1)) * (self.family.values(t) @ self.B)


@dataclass(frozen=True)
class Priors:
    """ARD strengths of flat axes and von Mises strengths of periodic ones, shared by all atoms.

    1/2 a t^2 on a flat axis, (a / (4 pi^2)) (1 - cos 2 pi t) on a periodic one.
    """

    flat: float = 0.0
    periodic: float = 0.0

    def __post_init__(self) -> None:
        for name in ("flat", "periodic"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"priors: {name} must be finite and >= 0, got {value!r}")


@dataclass(frozen=True, eq=False)
class Form:
    """The waves of the objective of one atom, or of several that are active together.

    ``linear`` (M,T) takes B x, ``quadratic`` (pairs,T) takes z_i z_j; ``owner`` says whose row of
    ``linear`` it is. ``slack_*`` bound by order g how far rounding can have moved D^g f: times
    |z_j| |x|, and times |z_i z_j|. ``low`` and ``high`` are the chart; infinite where periodic.
    """

    k: Int[np.ndarray, "T q"]
    lines: tuple[Line, ...]
    weights: Float[np.ndarray, "5 T"]
    linear: Complex[np.ndarray, "M T"]
    quadratic: Complex[np.ndarray, "S T"]
    prior: Complex[np.ndarray, " T"]
    owner: Int[np.ndarray, " M"]
    pairs: Int[np.ndarray, "S 2"]
    slack_linear: Float[np.ndarray, "J 5"]
    slack_quadratic: Float[np.ndarray, "S 5"]
    low: Float[np.ndarray, " q"]
    high: Float[np.ndarray, " q"]
    sphere: bool = False
    joint: bool = False
    bernstein: Float[np.ndarray, " M"] | None = None

    @property
    def kappa(self) -> float:
        """Evaluating D^g f errs by at most kappa M_g: waves, products and sums."""
        top = max(line.degree for line in self.lines)
        q = len(self.lines)
        return U * (64 * q * (top + 1) + 2 * len(self.k) + 16 * q + 64)


def form(atoms: tuple[Atom, ...], priors: Priors, *, joint: bool = False) -> Form:
    """The waves of the objective of ``atoms``, all active; ``joint`` adds the amplitude's axis."""
    parts = [_waves(atom) for atom in atoms]
    sphere = isinstance(atoms[0].family, Sphere)
    if sphere and (joint or len(atoms) > 1):
        raise ValueError("atoms: a sphere is certified alone and with a given amplitude")
    lines = tuple(itertools.chain(*(part[0] for part in parts)))
    axes = np.cumsum([0, *(len(part[0]) for part in parts)])
    sums = _Sums(len(lines))
    for j, (_, k, R) in enumerate(parts):
        sums.add(("linear", j), _placed(k, axes[j], len(lines)), R)
    for i, j in itertools.combinations_with_replacement(range(len(parts)), 2):
        sums.add_product(i, j, [_placed(p[1], a, len(lines)) for p, a in
                                zip(parts, axes, strict=False)], parts, atoms)  # fmt: skip
    sums.add_prior(lines, priors, sphere)
    return sums.folded(lines, atoms, joint=joint, sphere=sphere)


def _waves(atom: Atom) -> tuple[tuple[Line, ...], np.ndarray, np.ndarray]:
    """(axes at twice the degree, frequencies, R)."""
    family = atom.family
    if not isinstance(family, Tensor | Sphere):
        raise ValueError(f"family {type(family).__name__}: no spectrum; it is encoded by bounds")
    k, R = family.spectrum()
    return tuple(Line(2 * line.degree, line.radius) for line in family.lines), k, R


def _placed(k: np.ndarray, first: int, q: int) -> np.ndarray:
    out = np.zeros((len(k), q), dtype=np.int64)
    out[:, first : first + k.shape[1]] = k
    return out


class _Sums:
    """Coefficients by frequency, with a bound of what rounding did to each."""

    def __init__(self, q: int) -> None:
        self.q = q
        self.rows: dict[Any, dict[tuple[int, ...], Any]] = {}
        self.slack: dict[Any, dict[tuple[int, ...], float]] = {}

    def add(self, name: Any, k: np.ndarray, R: np.ndarray) -> None:
        self.rows[name] = {tuple(map(int, key)): R[:, i] for i, key in enumerate(k)}

    def add_product(self, i: int, j: int, places: Any, parts: Any, atoms: Any) -> None:
        """1/2 |m_i|^2, or <m_i, m_j>, as a sum of waves."""
        Bi, Bj = atoms[i].B, atoms[j].B
        Ri, Rj = parts[i][2], parts[j][2]
        half = 0.5 if i == j else 1.0
        S = half * (Ri.T @ (Bi @ Bj.T) @ Rj)
        size = half * (np.abs(Ri).T @ (np.abs(Bi) @ np.abs(Bj).T) @ np.abs(Rj))
        count = Bi.shape[1] + 2 * len(Bi) + 2 * len(Bj) + S.size + 64
        keys = (places[i][:, None] + places[j][None]).reshape(-1, self.q)
        unique, inverse = np.unique(keys, axis=0, return_inverse=True)
        total, error = np.zeros(len(unique), complex), np.zeros(len(unique))
        np.add.at(total, inverse.ravel(), S.ravel())
        np.add.at(error, inverse.ravel(), size.ravel())
        names = [tuple(map(int, key)) for key in unique]
        self.rows["quadratic", i, j] = dict(zip(names, total, strict=True))
        self.slack["quadratic", i, j] = dict(zip(names, error * 4 * gamma(count), strict=True))

    def add_prior(self, lines: tuple[Line, ...], priors: Priors, sphere: bool) -> None:
        out: dict[tuple[int, ...], complex] = {}
        for i, line in enumerate(lines):
            strength = priors.flat if line.flat else priors.periodic
            if not strength or sphere:
                continue
            wave = tuple((2 if line.flat else 1) * (n == i) for n in range(self.q))
            out[wave] = strength / 2 if line.flat else -strength / (4 * np.pi**2)
        self.rows["prior"] = out

    def folded(self, lines: Any, atoms: Any, *, joint: bool, sphere: bool) -> Form:
        """Frequencies k and -k in one term, in ascending order."""
        flat = [line.flat for line in lines]
        keys = sorted({_half(key, flat)[0] for row in self.rows.values() for key in row})
        place = {key: n for n, key in enumerate(keys)}
        pairs = [name[1:] for name in self.rows if name[0] == "quadratic"]
        linear = np.concatenate([self._linear(j, place, flat, len(a.B)) for j, a in
                                 enumerate(atoms)])  # fmt: skip
        quadratic = np.array([self._scalar(("quadratic", *p), place, flat) for p in pairs])
        prior = self._scalar("prior", place, flat)
        weights = np.array([[term_weight(lines, key, g) for key in keys] for g in range(ORDERS)])
        norms = np.concatenate([np.linalg.norm(a.B, axis=1) for a in atoms])
        owner = np.repeat(np.arange(len(atoms)), [len(a.B) for a in atoms])
        count = gamma(atoms[0].B.shape[1] + len(norms) + 16) * 4
        small = count * norms[:, None] * (np.abs(linear) @ weights.T)
        moved = np.array([small[owner == j].sum(axis=0) for j in range(len(atoms))])
        errors = np.array([self._errors(("quadratic", *p), place, flat) for p in pairs])
        low = np.array([-np.inf if line.radius is None else -line.radius for line in lines])
        bernstein = _bernstein(atoms[0].family) if sphere else None
        made = Form(np.array(keys).reshape(len(keys), len(lines)), tuple(lines), weights, linear,
                    quadratic, prior, owner, np.array(pairs).reshape(-1, 2), moved,
                    errors @ weights.T, low, -low, sphere, False, bernstein)  # fmt: skip
        return with_amplitude(made) if joint else made

    def _linear(self, j: int, place: Any, flat: Any, M: int) -> np.ndarray:
        out = np.zeros((M, len(place)), dtype=complex)
        for key, column in self.rows["linear", j].items():
            half, sign = _half(key, flat)
            out[:, place[half]] += column if sign >= 0 else column.conj()
        return out

    def _scalar(self, name: Any, place: Any, flat: Any) -> np.ndarray:
        out = np.zeros(len(place), dtype=complex)
        for key, value in self.rows[name].items():
            half, sign = _half(key, flat)
            out[place[half]] += value if sign >= 0 else np.conj(value)
        return out

    def _errors(self, name: Any, place: Any, flat: Any) -> np.ndarray:
        out = np.zeros(len(place))
        for key, value in self.slack[name].items():
            out[place[_half(key, flat)[0]]] += value
        return out


def _half(key: tuple[int, ...], flat: list[bool]) -> tuple[tuple[int, ...], int]:
    """The frequency with its first periodic entry positive, and -1 where it was turned."""
    first = next((k for k, f in zip(key, flat, strict=True) if k and not f), 0)
    if first >= 0:
        return key, 1
    return tuple(k if f else -k for k, f in zip(key, flat, strict=True)), -1


def with_amplitude(made: Form) -> Form:
    """The same with the amplitude as one more flat axis: z = scale * zeta, zeta in [0, 2]."""
    lines = (*made.lines, Line(2, ZETA))
    blocks = [(1, made.linear), (2, made.quadratic), (0, made.prior[None])]
    keys = [(*map(int, key), power) for power, _ in blocks for key in made.k]
    T = len(made.k)
    spread = [np.concatenate([block if i == n else np.zeros_like(block) for i in range(3)], axis=1)
              for n, (_, block) in enumerate(blocks)]  # fmt: skip
    weights = np.array([[term_weight(lines, key, g) for key in keys] for g in range(ORDERS)])
    return Form(np.array(keys), lines, weights, spread[0], spread[1], spread[2][0], made.owner,
                made.pairs, _enlarged(made.slack_linear, made.weights, weights[:, :T]),
                _enlarged(made.slack_quadratic, made.weights, weights[:, T : 2 * T]),
                np.append(made.low, 0.0), np.append(made.high, ZETA), False, True)  # fmt: skip


def _enlarged(slack: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Slack is a sum of errors times weights; no ratio of weights exceeds the largest one."""
    base = np.max(after / np.where(before[:1] > 0, before[:1], 1.0), axis=1)
    return slack[:, :1] * base


def _bernstein(family: Sphere) -> np.ndarray:
    """(l^3 + 2l/3) sup of degree l per column: times |b_l| it bounds the Hessian's Lipschitz."""
    return np.array([(n**3 + 2 * n / 3) * degree_sup(n, 0) for n, _ in family.harmonics()])
