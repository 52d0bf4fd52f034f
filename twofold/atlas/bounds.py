r"""Lipschitz constants of the Hessian, from the loosest to the sharpest, for comparison.

seed    3 |J| |D^2 m| + |r| |D^3 m| + prior, with |D^g m| <= |z| (sum_m |B_m|) sup(g) and
        |r| <= |x| + |z| (sum_m |B_m|) sup(0);
pair    the same with |D^g m| <= |z| |B|_2 sup(g): operator norms, one atom;
fourier sum_k |C_k| |2 pi k|^3, from the row's own coefficients.

The seed takes the largest column's jet where an operator norm over all columns is needed; with
sup(g) its form is a bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from twofold.atlas import newton
from twofold.atlas.objective import Atom, Form, Priors
from twofold.atlas.projection import project
from twofold.atlas.waves import compiled
from twofold.rigor import inputs, norm2_upper
from twofold.rigor.roundoff import gamma

if TYPE_CHECKING:
    from twofold.atlas.atlas import Atlas
    from twofold.atlas.encoding import Codes


def shares(made: Atlas, rows: Any, codes: Codes, *, atom: int = 0) -> dict[str, float]:
    """The share of rows with h < 1/2 at their start, by the constant that h is made of.

    ``ours`` is the sharper of Fourier and Taylor on the ball, as the encode takes it.
    """
    X = inputs.real("rows", rows, shape=(len(codes), made.width))
    block, z = made.atoms[atom], np.ascontiguousarray(codes.amplitude)
    b, norm = project(X, block.B)
    form = made.form((atom,))
    constants = {
        "seed": seed(block, norm, z[:, 0], made.priors),
        "pair bound": pair(block, norm, z[:, 0], made.priors),
        "Fourier": fourier(form, b, norm, z)[:, 3],
    }
    product = codes.start_beta * codes.start_eta
    out = {name: float(np.mean(product * L < 0.5)) for name, L in constants.items()}
    return out | {"ours": float(np.mean(codes.start_h < 0.5))}


def ratio(made: Atlas, rows: Any, *, amplitude: float = 1.0, atom: int = 0) -> float:
    """How many times looser the seed's L is than the Fourier bound, in the median over rows."""
    b, norm = project(inputs.real("rows", rows, shape=(None, made.width)), made.atoms[atom].B)
    z = np.full((len(b), 1), amplitude)
    sharp = fourier(made.form((atom,)), b, norm, z)[:, 3]
    return float(np.median(seed(made.atoms[atom], norm, z[:, 0], made.priors) / sharp))


def seed(atom: Atom, norm: np.ndarray, z: np.ndarray, priors: Priors) -> Float[np.ndarray, " N"]:
    """The seed's form: sums of the norms of B's rows."""
    return _third(atom, float(np.sum(np.linalg.norm(atom.B, axis=1))), norm, z, priors)


def pair(atom: Atom, norm: np.ndarray, z: np.ndarray, priors: Priors) -> Float[np.ndarray, " N"]:
    """The operator norm of B in place of the sum."""
    return _third(atom, _norm(atom.B), norm, z, priors)


def _norm(B: np.ndarray) -> float:
    """An upper bound of |B|_2 from the proved norm of B B'."""
    G = B @ B.T
    rounding = gamma(B.shape[1] + 2) * float(np.sum(B * B)) * 2
    return math.sqrt(float(norm2_upper((G + G.T) / 2)) + rounding) * (1 + 1e-14)


def _third(atom: Atom, size: float, norm: np.ndarray, z: np.ndarray, priors: Priors) -> np.ndarray:
    m = [np.abs(z) * size * float(atom.family.sup(g)) for g in range(4)]
    prior = 2 * math.pi * priors.periodic
    return (3 * m[1] * m[2] + (norm + m[0]) * m[3] + prior) * (1 + 1e-12)


def fourier(form: Form, b: np.ndarray, norm: np.ndarray, z: np.ndarray) -> Float[np.ndarray, "N 5"]:
    """M_0, ..., M_4 per row."""
    out = np.empty((len(b), 5))
    bernstein = np.zeros(0) if form.bernstein is None else form.bernstein
    _rows(b, norm, np.ascontiguousarray(z), form.linear, form.quadratic, form.prior, form.owner,
          form.pairs, form.slack_linear, form.slack_quadratic, form.weights, form.kappa, bernstein,
          out)  # fmt: skip
    return out


@compiled
def _rows(b, norm, z, linear, quadratic, prior, owner, pairs, slack_linear, slack_quadratic,
          weights, kappa, bernstein, out):  # fmt: skip
    C, e = np.zeros(len(prior), np.complex128), np.zeros(5)
    for n in range(len(b)):
        newton.coefficients(b[n], z[n], linear, quadratic, prior, owner, pairs, C)
        newton.margins(C, b[n], z[n], norm[n], weights, slack_linear, slack_quadratic, pairs,
                       kappa, bernstein, out[n], e)  # fmt: skip
