r"""The information-sufficient models of an encoder: the closest one, and how they are drawn.

Theorem 5: over all models nu_X r(y|eta(x)),  D(mu || nu_X r) = D(mu_X || nu_X) + I(X;Y|U)
+ E KL(mu_{Y|U} || r), least, I(X;Y|U), at mu_X mu_{Y|U}.

Theorem 1: Y = f(W, eta(X)) with W uniform and independent of X, f(w, u) the quantile of mu_{Y|U=u}.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.information.exact.finite import Channel, channel, model
from twofold.measures import cells, discrete
from twofold.rigor import inputs
from twofold.theorems import heldout

STATEMENT = (
    r"\max_{x,y}|\hat\mu(x,y)-\mu_X(x)\,\mu_{Y|U}(y|\eta(x))|\le\sqrt{\ln(2|X||Y|/\delta)/2n}"
)
REFERENCE = "hoeffding1963probability"


def project(found: Channel) -> Channel:
    """The closest information-sufficient model mu_X mu_{Y|U}, seen through the same encoder."""
    best = channel(found.p_x, found.p_y_given_x, found.encoder)
    return channel(found.p_x, best.decoder[best.encoder], found.encoder)


def divergence(found: Channel, p_x: Any, decoder: Any) -> float:
    """D(mu || nu_X r) for a marginal ``p_x`` (S,) and a table ``decoder`` (C,Y)."""
    nu, r = model(p_x, decoder[found.encoder])
    s = cells.sums(found.p_x, found.p_y_given_x, found.encoder, len(decoder))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = cells.mean_log(found.p_x, found.p_x / nu)[0]
    return apart + discrete.divergence(s, inputs.real("decoder", decoder, 2))[0]


def quantile(decoder: Float[np.ndarray, "C Y"], w: Any, u: Any) -> Int[np.ndarray, " n"]:
    """f(w, u): the least y whose cumulated probability in cell u exceeds w."""
    edges = np.cumsum(decoder, axis=1)
    drawn = np.sum(np.asarray(w)[:, None] >= edges[np.asarray(u)], axis=1)
    last = decoder.shape[1] - 1 - np.argmax(decoder[:, ::-1] > 0, axis=1)
    return np.minimum(drawn, last[np.asarray(u)])


def sample(found: Channel, seed: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x, w, y) with y = f(w, eta(x)): states, uniforms independent of them, labels."""
    rng = np.random.default_rng(seed)
    x = rng.choice(len(found.p_x), inputs.whole("count", count, low=1), p=found.p_x)
    w = rng.random(count)
    return x, w, quantile(found.decoder, w, found.encoder[x])


def certify_sample(found: Channel, x: Any, y: Any, *, delta: float) -> Certificate:
    """That pairs (x, y) look drawn from the projected model: Hoeffding over all |X||Y| of them."""
    delta, S, Y = heldout.share(delta), len(found.p_x), found.decoder.shape[1]
    seen = np.bincount(np.asarray(x) * Y + np.asarray(y), minlength=S * Y).reshape(S, Y)
    truth = found.p_x[:, None] * found.decoder[found.encoder]
    gap = float(np.max(np.abs(seen / len(x) - truth)))
    bound = math.sqrt(heldout.log_ratio(2.0 * S * Y, delta) / (2 * len(x)))
    return certificate(
        "functional form", statement=STATEMENT, kind="confidence", value=gap, bound=bound,
        rounding=1e-15, reference=REFERENCE, delta=delta,
        source=fingerprint(np.asarray(x), np.asarray(y), truth),
    )  # fmt: skip
