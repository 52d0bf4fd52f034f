r"""A finite model of (X, Y) seen through an encoder: every information exactly, in nats.

    R(q) = E -ln q(Y|U) = H(Y|X) + I(X;Y|U) + E KL(mu_{Y|U} || q),        U = eta(X).

The middle term is what the encoder loses (MIL) and no decoder can bring back; the last is what the
decoder adds. An enumerable X is a finite model whose rows are a model's outputs on its states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from twofold.certificate import Certificate
from twofold.measures import cells, discrete
from twofold.rigor import inputs
from twofold.theorems import information_identity

Verdict = Literal["sufficient", "not sufficient", "undecided"]


@dataclass(frozen=True, eq=False)
class Channel:
    """All terms of one model, encoder and decoder; ``errors`` proves how far rounding went."""

    entropy: float
    """H(Y)"""
    conditional_entropy: float
    """H(Y|X), the noise"""
    mutual_information: float
    """I(X;Y)"""
    encoded_information: float
    """I(U;Y)"""
    loss: float
    """I(X;Y|U), the encoder's loss (MIL)"""
    decoder_kl: float
    """E KL(mu_{Y|U} || q); 0 without a decoder: then the best one is meant"""
    risk: float
    """E -ln q(Y|U)"""
    errors: Mapping[str, float]
    p_x: Float[np.ndarray, " S"]
    p_y_given_x: Float[np.ndarray, "S Y"]
    encoder: Int[np.ndarray, " S"]
    decoder: Float[np.ndarray, "C Y"]

    @property
    def sufficient(self) -> Verdict:
        """Whether U keeps all that X knows of Y: the conditionals are equal within every cell."""
        seen = self.p_x > 0
        p, u = self.p_y_given_x[seen], self.encoder[seen]
        first = np.zeros((len(self.decoder), p.shape[1]))
        first[u[::-1]] = p[::-1]
        if np.array_equal(first[u], p):
            return "sufficient"
        return "not sufficient" if self.loss > self.errors["loss"] else "undecided"

    def certify(self) -> list[Certificate]:
        """The identities of risk, chain and projection, with proved rounding."""
        return information_identity.certify(self.p_x, self.p_y_given_x, self.encoder, self.decoder)


def channel(p_x: Any, p_y_given_x: Any, encoder: Any, decoder: Any = None) -> Channel:
    """Informations of the model p_x (S,), p_y_given_x (S,Y) through cell labels ``encoder`` (S,).

    ``decoder`` is a table (C,Y) of probabilities, one row per label; None stands for the best.
    """
    p_x, p = model(p_x, p_y_given_x)
    labels, best = _labels(encoder, len(p_x)), decoder is None
    if decoder is None:
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        q = np.empty((int(labels.max()) + 1, 0))
    else:
        q = _probabilities("decoder", inputs.real("decoder", decoder, shape=(None, p.shape[1])))
    s = cells.sums(p_x, p, labels, len(q))
    if best:
        q = np.where(s.size[:, None] > 0, discrete.posterior(s.cell, s.size), 1 / p.shape[1])
    found = {
        "entropy": discrete.entropy(s),
        "conditional_entropy": discrete.conditional_entropy(s),
        "mutual_information": discrete.mutual_information(s),
        "encoded_information": discrete.encoded_information(s),
        "loss": discrete.loss(s),
        "decoder_kl": (0.0, 0.0) if best else discrete.decoder_kl(s, q),
        "risk": discrete.encoded_entropy(s) if best else discrete.risk(s, q),
    }
    if not s.exact:
        found = {name: (value, float("inf")) for name, (value, _) in found.items()}
    values, errors = ({k: v[i] for k, v in found.items()} for i in (0, 1))
    return Channel(**values, errors=errors, p_x=p_x, p_y_given_x=p, encoder=labels, decoder=q)


def model(p_x: Any, p_y_given_x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of states (S,) and of labels given them (S,Y), checked."""
    p_x = _probabilities("p_x", inputs.real("p_x", p_x, 1))
    p = inputs.real("p_y_given_x", p_y_given_x, shape=(len(p_x), None))
    if p.shape[1] == 0:
        raise ValueError("p_y_given_x: there is no class; pass one column per label of Y")
    return p_x, _probabilities("p_y_given_x", p)


def _probabilities(name: str, p: np.ndarray) -> np.ndarray:
    """Non-negative, each row summing to 1 up to rounding."""
    if p.size == 0 or np.any(p < 0):
        raise ValueError(f"{name}: expected probabilities, smallest is {p.min(initial=0.0):.6g}")
    total, limit = np.atleast_1d(p.sum(axis=-1)), 16 * max(p.shape[-1], 16) * 2.0**-52
    if np.any(np.abs(total - 1) > limit):
        row = int(np.argmax(np.abs(total - 1)))
        raise ValueError(
            f"{name}: row {row} sums to {total[row]:.17g}, rounding explains {limit:.1e}; divide "
            "each row by its sum in float64 if that is meant"
        )
    return p


def _labels(encoder: Any, states: int) -> np.ndarray:
    """One label per state; anything but numbers is numbered first."""
    came = np.asarray(encoder)
    if came.shape != (states,):
        raise ValueError(f"encoder: expected {states} cell labels, one per state, got {came.shape}")
    if came.dtype.kind not in "iuf":
        came = np.unique(came, return_inverse=True)[1]
    return cells.whole("encoder", came)
