r"""The prompt ridge encoder: (X, y) to the normal equations H beta = c.

H = X'X/M + lambda I,   c = X'y/M,   beta_hat = H^-1 c
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.encoder.dense import DenseSystem, batch
from twofold.rigor import inputs


@dataclass(frozen=True)
class Ridge:
    """Encoder: a prompt with (H, d) or (X, y) becomes the system (H + ridge I) x = d.

    A prompt that already has H, d keeps the ridge it was drawn with; ``ridge`` is added to it.
    """

    ridge: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "ridge", penalty(self.ridge))

    def __call__(self, prompt: Mapping[str, Any]) -> DenseSystem:
        """The system of every prompt."""
        H, c = normal_equations(prompt, self.ridge)
        return DenseSystem(H, c, asymmetry=averaged(prompt))


def normal_equations(
    prompt: Mapping[str, Any], ridge: float = 0.0
) -> tuple[Float[np.ndarray, "N K K"], Float[np.ndarray, "N K"]]:
    """``(H, c)`` with the ridge added: from H, d where the prompt has them, else from X, y.

    H is symmetric: an asymmetry of rounding's size is averaged away, a larger one is refused.
    """
    if _has(prompt, "H", "d"):
        H, c = batch(inputs.symmetric("H", prompt["H"], finite=False), prompt["d"])
    elif _has(prompt, "X", "y"):
        H, c = _moments(prompt["X"], prompt["y"])
    else:
        raise ValueError(f"prompt: expected H and d, or X and y, got {sorted(prompt)}")
    return (H + ridge * np.eye(H.shape[-1]) if ridge else H), c


def estimate(prompt: Mapping[str, Any], ridge: float = 0.0) -> Float[np.ndarray, "N K"]:
    """beta_hat = (X'X/M + lambda I)^-1 X'y/M; NaN on rows whose solution cannot be proved.

    A prompt of fewer samples than coordinates without ridge is such a row: a plain solve would
    return finite numbers for it.
    """
    return Ridge(ridge)(prompt).exact()


def averaged(prompt: Mapping[str, Any]) -> float:
    """The largest relative asymmetry of a given H, all of which was averaged away; 0 from X, y."""
    if not _has(prompt, "H", "d"):
        return 0.0
    gap = inputs.asymmetry(inputs.square("H", prompt["H"], finite=False))
    return float(np.max(gap, initial=0.0, where=~np.isnan(gap)))


def penalty(ridge: Any) -> float:
    """The ridge as a float, finite and not negative."""
    value = float(inputs.real("ridge", ridge, ndim=0))
    if value < 0:
        raise ValueError(f"ridge: expected a number >= 0, got {value}")
    return value


def _moments(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """X'X/M and X'y/M, the first exactly symmetric."""
    X = inputs.real("X", X, ndim=3, finite=False)
    if 0 in X.shape:
        raise ValueError(f"X: expected (N, M, K) without an empty axis, got shape {X.shape}")
    y = inputs.real("y", y, shape=X.shape[:2], finite=False)
    Xt = np.swapaxes(X, 1, 2)
    with np.errstate(invalid="ignore", over="ignore"):
        H = Xt @ X / X.shape[1]
        return 0.5 * (H + np.swapaxes(H, 1, 2)), (Xt @ y[..., None])[..., 0] / X.shape[1]


def _has(prompt: Mapping[str, Any], *names: str) -> bool:
    return all(prompt.get(name) is not None for name in names)
