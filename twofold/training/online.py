r"""Online SGD: each outer step sees a fresh batch of tasks, drawn from (seed, s) alone.

A learner turns a state into the next one and remembers nothing, so a run resumed from any stored
state walks bit for bit where the uninterrupted run walked. Training yields states; the caller
stores them. ``band`` says where a run is expected to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float

from twofold.encoder import subspace
from twofold.encoder.dictionary import DictionaryLaw
from twofold.protocol import Law
from twofold.rigor import inputs
from twofold.tasks import samplers


@dataclass(frozen=True, eq=False)
class State:
    """Outer time s and everything that the next step needs; arrays by name, ready to be stored."""

    s: int
    arrays: Mapping[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        """One array of the state."""
        return self.arrays[name]


class Learner(Protocol):
    """``step`` is a pure function of the state."""

    def step(self, state: State) -> State:
        """The state one outer step later."""
        ...


def states(learner: Learner, start: State, times: Any) -> Iterator[State]:
    """The states at ``times`` (whole, increasing), walked from ``start``; it resumes any run."""
    times = inputs.real("times", times, ndim=1)
    if np.any(times != np.floor(times)) or np.any(np.diff(times) < 0):
        raise ValueError(f"times: expected whole numbers in increasing order, got {times}")
    if len(times) and times[0] < start.s:
        raise ValueError(f"times: {times[0]:g} lies before the start, s = {start.s}")
    state = start
    for s in times:
        while state.s < s:
            state = learner.step(state)
        yield state


@dataclass(frozen=True)
class DecoderSGD:
    r"""P <- P - eta mean (P d - z) d' over a batch of (d, z) of the law.

    For Gaussian features d is drawn in O(K), exactly in law: no prompt is ever formed.
    """

    law: Law
    eta: float
    batch: int
    seed: int

    def __post_init__(self) -> None:
        _checked(self.eta, self.batch, self.seed)

    @cached_property
    def stream(self) -> samplers.Stream:
        """Where batch s comes from."""
        return samplers.stream(self.law, self.batch, self.seed)

    def start(self, P0: Any = None) -> State:
        """P_0, zero if not given."""
        K = self.law.dim
        P0 = np.zeros((K, K)) if P0 is None else inputs.real("P0", P0, shape=(K, K))
        return State(0, {"P": P0})

    def step(self, state: State) -> State:
        """One step of SGD."""
        d, z = self.stream.batch(state.s)
        return State(state.s + 1, {"P": descend(state["P"], d, z, self.eta)})


def descend(
    P: Float[np.ndarray, "m K"],
    d: Float[np.ndarray, "N K"],
    z: Float[np.ndarray, "N m"],
    eta: float,
) -> Float[np.ndarray, "m K"]:
    """P - eta mean_n (P d_n - z_n) d_n'; not finite once a run has diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        residual = d @ P.T
        residual -= z
        residual *= eta / len(d)
        return P - residual.T @ d


@dataclass(frozen=True)
class EncoderSGD:
    r"""G <- G - eta mean (G z - b) z' over a batch of pairs (z, b) of a dictionary's law.

    The gradient needs only W = mean zz' and mean xi z': with the Bartlett factor W = L L' and
    N ~ N(0, I) it is (G - G*) W - (sigma / sqrt batch) N L', exact in law whatever the batch costs.
    """

    law: DictionaryLaw
    eta: float
    batch: int
    seed: int

    def __post_init__(self) -> None:
        _checked(self.eta, self.batch, self.seed)

    @cached_property
    def root(self) -> Float[np.ndarray, "r r"]:
        """A with A A' = Sigma_z."""
        values, V = np.linalg.eigh(self.law.sigma_z)
        return V * np.sqrt(np.maximum(values, 0.0))

    def start(self, G0: Any = None) -> State:
        """G_0, zero if not given."""
        shape = self.law.G_star.shape
        return State(
            0, {"G": np.zeros(shape) if G0 is None else inputs.real("G0", G0, shape=shape)}
        )

    def step(self, state: State) -> State:
        """One step of SGD."""
        rng = _generator(self.seed, state.s)
        K, r = self.law.G_star.shape
        n = min(self.batch, r)
        T = np.tril(rng.standard_normal((r, n)), -1)
        T[np.arange(n), np.arange(n)] = np.sqrt(rng.chisquare(self.batch - np.arange(n)))
        L = self.root @ T / np.sqrt(self.batch)
        xi = self.law.noise / np.sqrt(self.batch) * rng.standard_normal((K, n))
        with np.errstate(over="ignore", invalid="ignore"):
            slope = ((state["G"] - self.law.G_star) @ L - xi) @ L.T
            return State(state.s + 1, {"G": state["G"] - self.eta * slope})


@dataclass(frozen=True)
class JointSGD:
    r"""Subspace encoder and latent decoder together, the decoder's gradient stopped at U.

    The encoder streams S = mean beta_hat beta_hat' over all tasks seen, beta_hat = H^{-1} d, and
    takes U = Top_r(S), turned within its span to lie as close to the last U as it can (P_z lives in
    those coordinates). The decoder steps on (U'd, z_dagger) of the U it was given.
    """

    law: Law
    rank: int
    eta: float
    batch: int
    seed: int

    def __post_init__(self) -> None:
        _checked(self.eta, self.batch, self.seed)
        if not 1 <= inputs.whole("rank", self.rank) <= self.law.dim:
            raise ValueError(f"rank: expected 1 to K = {self.law.dim}, got {self.rank}")
        if self.law.prompt < self.law.dim and not self.law.ridge:
            raise ValueError(
                f"law: a prompt of {self.law.prompt} < K = {self.law.dim} without ridge leaves "
                "beta_hat undetermined; give a ridge or a longer prompt"
            )

    @cached_property
    def recipe(self) -> samplers.Recipe:
        """The checked law with its roots."""
        return samplers.Recipe.of(self.law)

    def batch_at(self, s: int) -> tuple[Float[np.ndarray, "N K K"], Float[np.ndarray, "N K"]]:
        """(H, d) of outer step s, H by Bartlett where the features are Gaussian."""
        draw = samplers.SAMPLERS[samplers.choice(self.recipe.law, "H")[0]]
        drawn = draw(self.recipe, self.batch, _generator(self.seed, s))
        return drawn["H"], drawn["d"]

    def start(self, U0: Any = None, P0: Any = None) -> State:
        """U_0 (K, r) with orthonormal columns, drawn from the seed if not given; P_0, or zero."""
        K, r = self.law.dim, self.rank
        random = np.random.default_rng([self.seed, K, r]).standard_normal((K, r))
        U0 = np.linalg.qr(random)[0] if U0 is None else inputs.real("U0", U0, shape=(K, r))
        P0 = np.zeros((r, r)) if P0 is None else inputs.real("P0", P0, shape=(r, r))
        return State(0, {"P": P0, "U": U0, "S": np.zeros((K, K)), "n": np.array(0)})

    def step(self, state: State) -> State:
        """One step of both halves; the decoder's uses the old U."""
        H, d = self.batch_at(state.s)
        P = descend(state["P"], *latent_systems(state["U"], H, d), self.eta)
        beta = np.linalg.solve(H, d[..., None])[..., 0]
        seen = subspace.Covariance(state["S"], int(state["n"])).add(beta)
        U = aligned(subspace.top(seen.S, self.rank), state["U"])
        return State(state.s + 1, {"P": P, "U": U, "S": seen.S, "n": np.array(seen.n)})


def latent_systems(
    U: Float[np.ndarray, "K r"], H: Float[np.ndarray, "N K K"], d: Float[np.ndarray, "N K"]
) -> tuple[Float[np.ndarray, "N r"], Float[np.ndarray, "N r"]]:
    """(U'd, z_dagger) of the systems U'HU z = U'd."""
    seen = d @ U
    return seen, np.linalg.solve(U.T @ (H @ U), seen[..., None])[..., 0]


def aligned(U: Float[np.ndarray, "K r"], V: Float[np.ndarray, "K r"]) -> Float[np.ndarray, "K r"]:
    """U turned within its span as close to V as it gets (orthogonal Procrustes)."""
    left, _, right = np.linalg.svd(U.T @ V)
    return U @ (left @ right)


def _generator(seed: int, s: int) -> np.random.Generator:
    """The generator of outer step s."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(s,))))


def _checked(eta: Any, batch: Any, seed: Any) -> None:
    if not float(inputs.real("eta", eta, ndim=0)) > 0:
        raise ValueError(f"eta: expected a positive step size, got {eta!r}")
    inputs.whole("batch", batch, low=1)
    inputs.whole("seed", seed)
