"""A frozen preconditioner and its systems from a file: what is proved of L Richardson steps.

The file is safetensors with ``H`` [N,K,K], ``d`` [N,K], ``P`` [K,K] or [N,K,K], and optionally
``truth`` [N,K]; with a truth the loss is taken apart too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from twofold.anatomy import Anatomy, take_apart
from twofold.certificate import Certificate, fingerprint
from twofold.decoder.enclosure import enclosed
from twofold.decoder.richardson import Richardson
from twofold.encoder.ridge import Ridge
from twofold.protocol import EncoderDecoder, Tasks
from twofold.proving import certify
from twofold.rigor import inputs
from twofold.store import tensors
from twofold.theorems import power, richardson

NEEDED, OPTIONAL = ("H", "d", "P"), ("truth",)


@dataclass(frozen=True, eq=False)
class Frozen:
    """Systems H x = d, a preconditioner for them, a depth, and the truth where it is known."""

    H: Float[np.ndarray, "N K K"]
    d: Float[np.ndarray, "N K"]
    P: np.ndarray
    depth: int
    truth: Float[np.ndarray, "N K"] | None = None

    def evidence(self, proofs: Sequence[Certificate]) -> dict[str, dict[str, np.ndarray]]:
        """The inputs of the iteration's proofs by their source, from which to prove them again."""
        inputs = {"P": self.P, "H": self.H, "d": self.d, "depth": np.array(self.depth)}
        source = fingerprint(*inputs.values())
        return {source: inputs} if any(c.source == source for c in proofs) else {}

    def take_apart(self) -> Anatomy | None:
        """Floor, decoder error and cross term against the truth; None without one."""
        if self.truth is None:
            return None
        tasks = Tasks({"H": self.H, "d": self.d}, self.truth, scale=1 / self.d.shape[1])
        return take_apart(EncoderDecoder(Ridge(), Richardson(self.P, self.depth)), tasks)

    def certify(self, delta: float = 0.05) -> list[Certificate]:
        """The identity, the rate and the power bound; with a truth, all that `certify` knows."""
        anatomy = self.take_apart()
        if anatomy is not None:
            return certify(anatomy, delta)
        given = (self.P, self.H, self.d, self.depth)
        known = enclosed(*given)
        return [
            richardson.certify_identity(*given),
            richardson.certify(*given, known=known),
            power.certify(*given, known=known),
        ]


def read(path: Path, depth: int) -> Frozen:
    """The file's arrays, checked; a missing or unknown name is refused."""
    arrays = tensors.read(path)
    _check_names(path, arrays)
    depth = inputs.whole("depth", depth)
    try:
        inputs.symmetric("H", arrays["H"], finite=False)
        P, H, d = inputs.systems(arrays["P"], arrays["H"], arrays["d"], finite=False)
        assert d is not None
        truth = arrays.get("truth")
        if truth is not None:
            truth = inputs.real("truth", truth, shape=d.shape, finite=False)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return Frozen(H, d, P, depth, truth)


def _check_names(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    missing = [name for name in NEEDED if name not in arrays]
    unknown = sorted(set(arrays) - set(NEEDED) - set(OPTIONAL))
    if missing or unknown:
        raise ValueError(
            f"{path}: expected arrays H [N,K,K], d [N,K], P [K,K] or [N,K,K] and perhaps truth "
            f"[N,K]; missing {', '.join(missing) or 'none'}, unknown {', '.join(unknown) or 'none'}"
        )
