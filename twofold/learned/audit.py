r"""The causal audit: does what was learned use its features, or only what stands beside them?

Tokens are the features. *Permuted*: each coordinate gets another one's token, everything else
stays. *Constant*: all coordinates get the mean token, so that nothing tells them apart. If neither
hurts, the features are not what works. A free P has no features and no audit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from twofold.decoder.attention import Attention
from twofold.learned.family import Family
from twofold.rigor import inputs

TOKENS = ("q", "k")


def order(K: int, seed: int) -> np.ndarray:
    """A permutation that moves every coordinate: one random cycle."""
    cycle = np.random.default_rng(inputs.whole("seed", seed)).permutation(
        inputs.whole("K", K, low=2)
    )
    out = np.empty(K, dtype=np.int64)
    out[cycle] = np.roll(cycle, 1)
    return out


def matrices(
    family: Family, theta: np.ndarray, *, seed: int = 0
) -> dict[str, Float[np.ndarray, "K K"]]:
    """P of theta with the tokens as learned, permuted and constant."""
    tokens = [name for name in TOKENS if name in getattr(family, "shapes", ())]
    if not tokens:
        raise ValueError(f"family: {type(family).__name__} has no tokens {TOKENS} to be audited")
    theta, K = family.checked(theta), family.shapes[tokens[0]][0]
    changes = {"as learned": lambda x: x, "permuted": lambda x: x[order(K, seed)],
               "constant": lambda x: np.broadcast_to(x.mean(axis=0), x.shape)}  # fmt: skip
    out = {}
    for name, change in changes.items():
        parts = family.split(theta)
        parts |= {token: change(parts[token]) for token in tokens}
        out[name] = family.matrix(np.concatenate([np.ravel(parts[p]) for p in family.shapes]))
    return out


def attentions(model: Attention, *, seed: int = 0) -> dict[str, Attention]:
    """The update map with the positions of its tokens as learned, permuted and constant."""
    K = len(model.diagonal)

    def changed(place: str) -> Attention:
        query, key = model.query.copy(), model.key.copy()
        for x in (query, key):
            x[..., :K] = (x[..., order(K, seed)] if place == "permuted"
                          else x[..., :K].mean(axis=-1, keepdims=True))  # fmt: skip
        return replace(model, query=query, key=key)

    return {"as learned": model, "permuted": changed("permuted"), "constant": changed("constant")}
