r"""The encoder's floor beside the resolvent's bound: what a wrong operator does to the solution.

Statement: with A = A(z), A_enc = A(z_enc), D = A_enc - A and ||A^-1|| ||D|| < 1,

    ||A_enc^-1 f - A^-1 f||_2 <= ||A^-1||^2 ||D|| / (1 - ||A^-1|| ||D||) ||f||_2,

the resolvent bound (001, section 4) put to the query f. Attained by D = -delta v v' and f along v,
the eigenvector of A's eigenvalue of least modulus. Hypotheses: both regular, which the verified
solves prove, and the product below 1, checked with upper bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.measures import enclosures as enc
from twofold.rigor import inputs
from twofold.rigor.compensated import length_upper
from twofold.rigor.linear import solve
from twofold.rigor.roundoff import U, up
from twofold.theorems import resolvent

STATEMENT = (
    r"\|A_{\rm enc}^{-1}f-A^{-1}f\|_2\le\frac{\|A^{-1}\|_2^2\|\Delta\|_2}"
    r"{1-\|A^{-1}\|_2\|\Delta\|_2}\|f\|_2,\quad \Delta = A_{\rm enc}-A"
)
REFERENCE = "stewart1990matrix"
UNSOLVED = "an operator could not be proved regular"
FAR = "||A^-1|| ||D|| < 1 is not proved"


def certify(A_enc: Any, A: Any, f: Any) -> Certificate:
    """The floor of every task: operators A_enc, A (N, n, n), both symmetric, and queries f (N, n).

    Rows that are not finite are silent.
    """
    A_enc = inputs.square("A_enc", inputs.real("A_enc", A_enc, 3, finite=False), finite=False)
    if not A_enc.size:
        raise ValueError(f"A_enc: no operator in shape {A_enc.shape}; pass at least one")
    A = inputs.real("A", A, shape=A_enc.shape, finite=False)
    f = inputs.real("f", f, shape=A_enc.shape[:2], finite=False)
    good = np.isfinite(A_enc).all((1, 2)) & np.isfinite(A).all((1, 2)) & np.isfinite(f).all(1)
    one = np.eye(f.shape[1])
    X, Y = (np.where(good[:, None, None], B, one) for B in (A_enc, A))
    with np.errstate(invalid="ignore", over="ignore"):
        (x, r_x), (y, r_y) = solve(X, f), solve(Y, f)
        a = enc.norm_upper(resolvent.inverse(Y))
        distance = enc.norm_upper(enc.exact(X) - enc.exact(Y))
        bound = up(resolvent.bound(a, distance) * length_upper(f), 1)
        value = length_upper(x - y)
        width = 4 * (f.shape[1] + 8) * U * up(length_upper(np.abs(x) + np.abs(y)), 3)
        rounding = up(r_x + r_y + width, 3)
    solved = good & np.isfinite(rounding) & np.isfinite(a)
    return certificate(
        "encoded floor", statement=STATEMENT, kind="bound", value=value, bound=bound,
        rounding=rounding, applies=solved & np.isfinite(bound),
        reason=[FAR if ok else UNSOLVED for ok in solved], reference=REFERENCE,
        source=fingerprint(A_enc, A, f),
    )  # fmt: skip
