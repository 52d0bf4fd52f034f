r"""Tasks from a law, by the cheapest sampler that is exact in law for what the caller needs.

==========  ==================  =================  ==============================================
needs       sampler             cost per task      what the prompt holds
==========  ==================  =================  ==============================================
``"d"``     ``direct``          O(K)               d
``"H"``     ``bartlett``        O(K^2 min(K, M))   H, d, c
``"X"``     ``plain``           O(M K^2)           H, d, c, X, y
==========  ==================  =================  ==============================================

The first two need Gaussian features; other features are drawn by the plain sampler, and
``facts["fallback"]`` counts the tasks for which that happened. c = X'y/M carries the noise; d is
H x (target ``solve``) or c (target ``coefficients``). Draws come in chunks whose size depends on
the law alone, each from its own generator, so task n is the same whatever the count.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from twofold.certificate import fingerprint
from twofold.protocol import Law, Tasks
from twofold.rigor import inputs
from twofold.tasks import features, laws

Needs = Literal["d", "H", "X"]
FAST = {"d": "direct", "H": "bartlett"}
CHUNK = 2**20  # doubles in one chunk, 8 MiB


def draw(law: Law, count: int, *, seed: int, needs: Needs = "H") -> Tasks:
    """``count`` independent tasks; one (law, seed, needs) always gives the same bits."""
    recipe = Recipe.of(law)
    return _draw(recipe, inputs.whole("count", count, low=1), _path(seed), needs)


def stream(law: Law, batch: int, seed: int) -> Stream:
    """An endless source of batches for online training: ``stream(law, batch, seed).batch(s)``."""
    recipe = Recipe.of(law)
    return Stream(recipe, inputs.whole("batch", batch, low=1), _path(seed)[0])


@dataclass(frozen=True, eq=False)
class Stream:
    """Batch s is a function of (law, size, seed, s) alone, so a resumed run sees the same data."""

    recipe: Recipe
    size: int
    seed: int

    @property
    def sampler(self) -> str:
        """``direct``, or ``plain`` where the features are not Gaussian."""
        return choice(self.recipe.law, "d")[0]

    def batch(self, s: int) -> tuple[Float[np.ndarray, "B K"], Float[np.ndarray, "B K"]]:
        """(d, target) of outer step s, O(B K) for Gaussian features."""
        s = inputs.whole("s", s)
        if self.recipe.law.kurtosis == 0.0:
            drawn = direct(self.recipe, self.size, _generator((self.seed, s), "direct", 0))
            return drawn["d"], drawn["truth"]
        tasks = self.tasks(s, needs="d")
        return tasks.d, tasks.truth

    def tasks(self, s: int, needs: Needs = "H") -> Tasks:
        """The tasks of outer step s with their H or X, where d alone does not suffice."""
        return _draw(self.recipe, self.size, (self.seed, inputs.whole("s", s)), needs)


@dataclass(frozen=True, eq=False)
class Recipe:
    """A checked law with the roots that every draw needs: A A' = Sigma, R R' = Sigma_z, U*."""

    law: Law
    A: np.ndarray
    R: np.ndarray
    U: np.ndarray | None

    @classmethod
    def of(cls, law: Law) -> Recipe:
        """The recipe of a law."""
        law = laws.checked(law)
        return cls(
            law, laws.root(law.sigma), laws.root(laws.latent_covariance(law)), laws.loading(law)
        )


def direct(recipe: Recipe, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    r"""Only d, in O(K), exact in law for Gaussian features and any M >= 1.

    With u = A'z, r = u'u, X = W A', q = W u + xi: |q|^2 = rho^2 chi^2, rho^2 = r + sigma^2 and
    chi^2 ~ chi^2_M. W'q is, along u, (r chi^2 + sigma chi u'g)/sqrt r, and, across u,
    rho chi times a standard normal. With one g ~ N(0, I) for both, and nothing divided by r,

        W'q / M = u chi^2/M + (chi/M) (rho g - u (u'g)/(rho + sigma)),   c = A W'q / M.

    Target ``solve`` has sigma = 0 and d = c + lambda z.
    """
    law, M = recipe.law, recipe.law.prompt
    z, truth = _targets(recipe, n, rng)
    chi2 = 2.0 * rng.standard_gamma(0.5 * M, n)
    g = rng.standard_normal((n, law.dim))
    u = laws.transposed(recipe.A, truth)
    sigma = law.noise if law.target == "coefficients" else 0.0
    rho = np.sqrt(np.einsum("nk,nk->n", u, u) + sigma * sigma)
    chi = np.sqrt(chi2)
    share = np.divide(np.einsum("nk,nk->n", u, g), rho + sigma, out=np.zeros(n), where=rho > 0)
    u *= ((chi2 - chi * share) / M)[:, None]
    g *= (chi * rho / M)[:, None]
    g += u
    d = laws.apply(recipe.A, g)
    if law.target == "solve" and law.ridge:
        d += law.ridge * truth
    return {"latent": z, "truth": truth, "d": d}


def bartlett(recipe: Recipe, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    r"""H and c without X: X'X = A T T' A' with T lower trapezoidal (K, min(K, M)).

    T_ii^2 ~ chi^2_{M-i} and T_ij ~ N(0, 1) below (the L of X = L Q; singular Wishart if M < K);
    X'xi given X is N(0, sigma^2 X'X), so c = Sigma_hat beta + (sigma/sqrt M) L g.
    """
    law = recipe.law
    M, K, m = law.prompt, law.dim, min(law.prompt, law.dim)
    z, truth = _targets(recipe, n, rng)
    T = np.zeros((n, K, m))
    for i in range(1, K):
        T[:, i, : min(i, m)] = rng.standard_normal((n, min(i, m)))
    T[:, np.arange(m), np.arange(m)] = np.sqrt(rng.chisquare(M - np.arange(m), (n, m)))
    A = recipe.A / np.sqrt(M)
    L = A[:, None] * T if A.ndim == 1 else A @ T
    Sigma_hat = _symmetric(L @ np.swapaxes(L, 1, 2))
    c = _rows(Sigma_hat, truth) + law.noise * _rows(L, rng.standard_normal((n, m))) / np.sqrt(M)
    return {"latent": z, "truth": truth, **_system(law, Sigma_hat, c, truth)}


def plain(recipe: Recipe, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """X and y formed, features of any kurtosis: x = A w, y = X beta + xi."""
    law = recipe.law
    z, truth = _targets(recipe, n, rng)
    X = laws.apply(recipe.A, features.whitened(rng, (n, law.prompt, law.dim), law.kurtosis))
    y = _rows(X, truth) + law.noise * rng.standard_normal((n, law.prompt))
    Sigma_hat = _symmetric(np.swapaxes(X, 1, 2) @ X) / law.prompt
    c = _rows(np.swapaxes(X, 1, 2), y) / law.prompt
    return {"latent": z, "truth": truth, **_system(law, Sigma_hat, c, truth), "X": X, "y": y}


SAMPLERS = {"direct": direct, "bartlett": bartlett, "plain": plain}


def choice(law: Law, needs: str) -> tuple[str, str]:
    """Which sampler, and why."""
    if needs not in get_args(Needs):
        raise ValueError(f"needs: expected one of {get_args(Needs)}, got {needs!r}")
    if needs == "X":
        return "plain", "the caller needs X and y"
    if law.kurtosis != 0.0:
        return "plain", f"no fast sampler for features of excess kurtosis {law.kurtosis:g}"
    return FAST[needs], f"Gaussian features and the caller needs {needs} only"


def _draw(recipe: Recipe, count: int, path: tuple[int, ...], needs: Needs) -> Tasks:
    law = recipe.law
    sampler, why = choice(law, needs)
    chunk = _chunk(law, sampler)
    whole: dict[str, np.ndarray] = {}
    for i, start in enumerate(range(0, count, chunk)):
        drawn = SAMPLERS[sampler](recipe, chunk, _generator(path, sampler, i))
        for name, value in drawn.items():
            rows = whole.setdefault(name, np.empty((count, *value.shape[1:])))
            rows[start : start + chunk] = value[: count - start]
    latent, truth = whole.pop("latent"), whole.pop("truth")
    low_rank = recipe.U is not None
    return Tasks(
        prompt=whole, truth=truth, latent=latent,
        metric=laws.matrix(law.sigma) if low_rank else None,
        scale=1.0 if low_rank else 1.0 / law.dim,
        ids=_ids(law, path, sampler, count),
        facts=_facts(recipe, path, count, sampler, why, needs),
    )  # fmt: skip


def _facts(
    recipe: Recipe, path: tuple[int, ...], count: int, sampler: str, why: str, needs: str
) -> dict[str, Any]:
    sigma = recipe.law.sigma
    return {
        "law": recipe.law, "seed": path, "sampler": sampler, "why": why,
        "fallback": count if sampler == "plain" and needs != "X" else 0,
        "features": features.name(recipe.law.kurtosis),
        "spectrum": sigma if sigma.ndim == 1 else np.linalg.eigvalsh(sigma),
        "loading": recipe.U,
    }  # fmt: skip


def _targets(recipe: Recipe, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The latents z = R g and the targets U* z (or z itself)."""
    z = laws.apply(recipe.R, rng.standard_normal((n, len(recipe.R))))
    return z, z if recipe.U is None else z @ recipe.U.T


def _system(
    law: Law, Sigma_hat: np.ndarray, c: np.ndarray, truth: np.ndarray
) -> dict[str, np.ndarray]:
    H = Sigma_hat + law.ridge * np.eye(law.dim)
    return {"H": H, "d": _rows(H, truth) if law.target == "solve" else c, "c": c}


def _rows(T: Float[np.ndarray, "N m k"], v: Float[np.ndarray, "N k"]) -> Float[np.ndarray, "N m"]:
    return np.matmul(T, v[..., None])[..., 0]


def _symmetric(H: Float[np.ndarray, "N K K"]) -> Float[np.ndarray, "N K K"]:
    return 0.5 * (H + np.swapaxes(H, 1, 2))


def _chunk(law: Law, sampler: str) -> int:
    K, M = law.dim, law.prompt
    size = {"direct": K, "bartlett": K * K, "plain": K * max(K, M)}[sampler]
    return max(1, min(1024, CHUNK // size))


def _path(seed: int) -> tuple[int, ...]:
    return (inputs.whole("seed", seed),)


def _generator(path: tuple[int, ...], sampler: str, chunk: int) -> np.random.Generator:
    """An independent generator per (seed, outer step, sampler, chunk); SFC64 is the fastest one."""
    key = (list(SAMPLERS).index(sampler), *path[1:], chunk)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(path[0], spawn_key=key)))


def _ids(law: Law, path: tuple[int, ...], sampler: str, count: int) -> np.ndarray:
    """int64: 31 bits of a hash of (law, seed, sampler), then the task's number in 32 bits."""
    prior = np.zeros(0) if law.prior is None else law.prior
    scalars = (law.prompt, law.ridge, law.noise, law.rank, law.target, law.kurtosis, path, sampler)
    text = fingerprint(law.sigma, prior) + json.dumps(scalars)
    prefix = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
    return (np.int64(prefix) << np.int64(32)) + np.arange(count, dtype=np.int64)
