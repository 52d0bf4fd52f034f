r"""What an encoder loses and what a decoder adds, in nats: four identities of one finite model.

For a measure m = p(x) p(y|x) >= 0, U = eta(X), a table q(y|u) > 0 where M(u,y) > 0, V = g(U):

    risk        E -ln q(Y|U) = H(Y|X) + I(X;Y|U) + E KL(mu_{Y|U} || q)
    chain       I(X;Y) = I(U;Y) + I(X;Y|U)
    projection  D(mu || mu_X q) = I(X;Y|U) + E KL(mu_{Y|U} || q)
    layers      I(X;Y|V) = I(X;Y|U) + I(U;Y|V)

Proof: the logarithms telescope, term by term; nothing is normalised, so the float tables *are* the
model. As KL >= 0, 0 only for q = mu_{Y|U}, projection says that the closest information-sufficient
model is mu_X mu_{Y|U}, at distance I(X;Y|U). Rounding: ``measures.cells``; the parts' errors add.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from twofold.certificate import Certificate, fingerprint, identity
from twofold.measures import discrete
from twofold.measures.cells import SMALLEST, Sums, sums, whole
from twofold.rigor import inputs
from twofold.rigor.roundoff import U, up

REFERENCE = {"seed": "silva2024understanding", "chain": "cover2006elements"}
STATEMENT = {
    "risk": r"\mathbb E[-\ln q(Y|U)]=H(Y|X)+I(X;Y|U)+\mathbb E\,D(\mu_{Y|U}\|q)",
    "chain": r"I(X;Y)=I(U;Y)+I(X;Y|U)",
    "projection": r"D(\mu\|\mu_X q)=I(X;Y|U)+\mathbb E\,D(\mu_{Y|U}\|q)",
    "layers": r"I(X;Y|V)=I(X;Y|U)+I(U;Y|V),\quad V=g(U)",
}
WHY = "the decoder forbids what occurs, or a number is too small, or V is no function of U"
Given = dict[str, tuple[np.ndarray, int]]
Sides = tuple[discrete.Pair, list[discrete.Pair]]


def certify(p_x: Any, p_y_given_x: Any, encoder: Any, decoder: Any) -> list[Certificate]:
    """Risk, chain, projection: p_x (N,S), p (N,S,Y), labels (N,S), decoder (N,C,Y), N optional."""
    p_x, p, labels = _model(p_x, p_y_given_x, encoder)
    q = inputs.real("decoder", decoder, (2, 3))

    def parts(s: Sums, q: np.ndarray) -> dict[str, Sides]:
        lost, kl = discrete.loss(s), discrete.decoder_kl(s, q)
        return {
            "risk": (discrete.risk(s, q), [discrete.conditional_entropy(s), lost, kl]),
            "chain": (discrete.mutual_information(s), [discrete.encoded_information(s), lost]),
            "projection": (discrete.divergence(s, q), [lost, kl]),
        }

    def row(p_x: Any, p: Any, u: Any, q: Any) -> tuple[dict[str, Sides], bool]:
        s = sums(p_x, p, u, len(q))
        return parts(s, q), s.exact and bool(np.all(q[s.cell > 0] >= SMALLEST))

    return _certify({"p_x": (p_x, 1), "p": (p, 2), "encoder": (labels, 1), "decoder": (q, 2)}, row)


def certify_layers(p_x: Any, p_y_given_x: Any, finer: Any, coarser: Any) -> list[Certificate]:
    """Layers of N models: labels ``finer`` of U, ``coarser`` of V = g(U)."""
    p_x, p, fine = _model(p_x, p_y_given_x, finer)
    coarse = whole("coarser", coarser)

    def row(p_x: Any, p: Any, u: Any, v: Any) -> tuple[dict[str, Sides], bool]:
        s, t = (sums(p_x, p, labels, int(labels.max()) + 1) for labels in (u, v))
        merged = len(np.unique(np.stack([u, v]), axis=1).T) == len(np.unique(u))
        right = [discrete.loss(s), discrete.merging_loss(s, t)]
        return {"layers": (discrete.loss(t), right)}, s.exact and merged

    return _certify({"p_x": (p_x, 1), "p": (p, 2), "finer": (fine, 1), "coarser": (coarse, 1)}, row)


def _model(p_x: Any, p_y_given_x: Any, encoder: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Non-negative tables and whole labels; what they sum to does not matter here."""
    p_x, p = inputs.real("p_x", p_x, (1, 2)), inputs.real("p_y_given_x", p_y_given_x, (2, 3))
    if min(np.min(p_x), np.min(p)) < 0 or not p_x.shape[-1] == p.shape[-2]:
        raise ValueError(f"p_x, p_y_given_x: tables >= 0 of one S, got {p_x.shape}, {p.shape}")
    return p_x, p, whole("encoder", encoder)


def _certify(given: Given, row: Callable[..., Any]) -> list[Certificate]:
    """One certificate per identity, from both sides of every row."""
    N = max([len(x) for x, axes in given.values() if x.ndim > axes], default=1)
    rows = [row(*(x[i] if x.ndim > axes else x for x, axes in given.values())) for i in range(N)]
    out: list[Certificate] = []
    for form in rows[0][0]:
        left, right = zip(*(sides[form] for sides, _ in rows), strict=True)
        with np.errstate(invalid="ignore"):
            gap = np.array([a[0] - sum(b[0] for b in r) for a, r in zip(left, right, strict=True)])
        spent = [a[1] + sum(b[1] + 4 * U * abs(b[0]) for b in r) + U * abs(a[0])
                 for a, r in zip(left, right, strict=True)]  # fmt: skip
        good = np.array([ok for _, ok in rows]) & np.isfinite(gap)
        out.append(identity(
            f"Information identity, {form}", gap=gap, rounding=up(np.array(spent), 16),
            statement=STATEMENT[form], about="computed", applies=good, reason=WHY,
            reference=REFERENCE["chain" if form in ("chain", "layers") else "seed"],
            source=fingerprint(*(x for x, _ in given.values())),
        ))  # fmt: skip
    return out
