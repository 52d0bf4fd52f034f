"""Seed 001, figure 10 (prompt half): the prompt covariance fills the Marchenko-Pastur law."""

from dataclasses import dataclass

import numpy as np

from twofold.claims import Measured
from twofold.findings import Axis, Figure, Findings, Panel, Series, Study, Table
from twofold.measures import marchenko_pastur, spectra
from twofold.tasks import regression
from twofold.theorems import mp_window, prompt_size

PROMPT = Axis("prompt size M", "rows", log=True)


@dataclass(frozen=True)
class Settings:
    """Isotropic features are whitened ones; ``delta`` is spent on both edges of each window."""

    seed: int = 0
    dim: int = 32
    prompts: tuple[int, ...] = (64, 128, 256, 512, 1024)
    count: int = 400
    delta: float = 0.01


def run(config: Settings) -> Findings:
    """Spectra of sampled prompts against edges, density and the window with t."""
    rows, proofs, spectrum, K = [], [], {}, config.dim
    for M in config.prompts:
        H = regression.sample(
            seed=config.seed, dim=K, prompt=M, count=config.count, spectrum="isotropic"
        ).H
        t = mp_window.deviation(M, config.delta)
        edges = mp_window.certify(H, prompt=M, t=t)
        proofs += edges
        spectrum[M] = spectra.spectrum(H)
        low, high = spectrum[M].min(axis=1), spectrum[M].max(axis=1)
        misses = sum(c.counts["violated"] for c in edges)
        rows.append([M, K / M, *marchenko_pastur.edges(K / M), float(low.mean()),
                     float(high.mean()), float(np.median(high / low)), misses])  # fmt: skip
    draws = config.count * len(config.prompts)
    spent = config.delta
    measured = {"001-S12.10-concentration-violations": Measured(
        sum(row[-1] for row in rows), np.sqrt(draws * spent * (1 - spent)))}  # fmt: skip
    table = Table("windows", "Prompt size and spectrum", TOLD, HEADS, rows)
    figure = Figure("mp", "The prompt's spectrum", SEE,
                    [_density(spectrum, K, m) for m in (config.prompts[0], config.prompts[-1])]
                    + [_edges(rows, config)])  # fmt: skip
    sigma = np.geomspace(1.0, 0.1, K)
    proofs.append(prompt_size.certify(sigma, list(config.prompts)))
    proofs.append(prompt_size.estimate(sigma, list(config.prompts)))
    return Findings([table], [figure], proofs, measured)


def _density(spectrum: dict[int, np.ndarray], K: int, M: int) -> Panel:
    height, bins = np.histogram(spectrum[M], bins=40, density=True)
    x = np.linspace(*marchenko_pastur.edges(K / M), 200)
    return Panel(f"M = {M}", Axis("eigenvalue"), Axis("density"), [
        Series("sampled", (bins[1:] + bins[:-1]) / 2, height, "points", "observed"),
        Series("Marchenko-Pastur", x, marchenko_pastur.density(x, K / M), role="predicted"),
    ])  # fmt: skip


def _edges(rows: list[list], config: Settings) -> Panel:
    M, _, lower, upper, low, high, *_ = map(list, zip(*rows, strict=True))
    window = [[f(config.dim, m, mp_window.deviation(m, config.delta)) for m in M]
              for f in (mp_window.lower_edge, mp_window.upper_edge)]  # fmt: skip
    return Panel("edges against prompt size", PROMPT, Axis("eigenvalue"), [
        Series("largest", M, high, "points", "observed"),
        Series("upper edge", M, upper, role="predicted", low=lower, high=upper),
        Series("window", M, window[1], "rule", "bound"),
        Series("smallest", M, low, "points", "observed"),
        Series("lower edge", M, lower, role="predicted"),
        Series("window, below", M, window[0], "rule", "bound"),
    ])  # fmt: skip


HEADS = ["M", "K/M", "lower edge", "upper edge", "mean smallest", "mean largest",
         "median condition", "rows outside"]  # fmt: skip
TOLD = "Larger prompts narrow the window and improve the conditioning; few rows leave it."
SEE = "Points on the curve: the law holds at K = 32 already; the dashed window is proved for any K."
STUDY = Study(
    "001-figure-10", "Prompt concentration", "spectra",
    "The prompt half of 001 §12.10 and the concentration of 001 §4.", Settings(), run, cost=3,
)  # fmt: skip
