"""One row at one start: the certificate and the Newton step, as the seed's ``row_certificate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.atlas import bounds, kantorovich, newton
from twofold.atlas.charts import grid
from twofold.atlas.encoding import packed
from twofold.atlas.projection import project
from twofold.rigor import inputs
from twofold.rigor.selftest import require

if TYPE_CHECKING:
    from twofold.atlas.atlas import Atlas


def certificate(
    atlas: Atlas, row: Any, start: Any, amplitude: float, atom: int
) -> tuple[dict[str, Any], np.ndarray]:
    """({beta, eta, L, h, radius, unique, certified, reason, three other L}, Newton's step)."""
    require()
    x = inputs.real("row", row, shape=(atlas.width,))[None]
    form = atlas.form((inputs.whole("atom", atom),))
    q = form.k.shape[1]
    t = np.array(inputs.real("start", np.atleast_1d(start), shape=(q,)))
    z = np.array([float(inputs.real("amplitude", amplitude, ndim=0))])
    b, norm = project(x, atlas.atoms[atom].B)
    d = 2 if form.sphere else q
    C, M, e = np.zeros(len(form.prior), complex), np.zeros(5), np.zeros(5)
    newton.coefficients(b[0], z, form.linear, form.quadratic, form.prior, form.owner, form.pairs, C)
    kappa, bernstein = form.kappa, np.zeros(0) if form.bernstein is None else form.bernstein
    newton.margins(C, b[0], z, norm[0], form.weights, form.slack_linear, form.slack_quadratic,
                   form.pairs, kappa, bernstein, M, e)  # fmt: skip
    room = newton.scratch(q, d, 2 * max(line.degree for line in form.lines) + 1, len(C))
    s, out = np.zeros(q), np.zeros(6)
    code, value = newton.certify(t, C, packed(form, grid(form)), form.high, room, d, M, e, s, out)
    names = ("beta", "eta", "L", "h", "radius", "unique")
    record: dict[str, Any] = dict(zip(names, map(float, out), strict=True))
    record |= {"certified": code == kantorovich.CERTIFIED, "reason": kantorovich.REASONS[code],
               "objective": float(value + 0.5 * np.sum(x**2))}  # fmt: skip
    record["fourier_L"] = float(M[3])
    record["pair_L"] = float(bounds.pair(atlas.atoms[atom], norm, z, atlas.priors)[0])
    record["seed_L"] = float(bounds.seed(atlas.atoms[atom], norm, z, atlas.priors)[0])
    return record, (s[:2] @ room[4] if form.sphere else s)
