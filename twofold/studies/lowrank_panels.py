"""Panels on the low-rank encoder-decoder run; several figures of seeds 000 and 001 share them."""

from dataclasses import replace
from typing import Any

import numpy as np

from twofold.findings import Axis, Panel, Series
from twofold.measures import marchenko_pastur, overlaps, spectra
from twofold.studies.lowrank_run import Run
from twofold.tasks import laws, samplers
from twofold.training import triangular

S = Axis("outer time s", "steps")
NOTE = "K=16, r=4, M=64, noise .3, batch 32, L=11: ours; the seeds print no configuration"


def risk(run: Run) -> Panel:
    """End to end, floor, decoder error, and the cross term, which changes sign."""
    return Panel("the risk, taken apart", S, Axis("prediction risk", log=True, low=1e-9), [
        Series("end to end", run.times, run.part("total"), "points", "observed"),
        Series("encoder floor", run.times, run.part("floor"), role="reference"),
        Series("decoder error", run.times, run.part("decoder"), role="other"),
        Series("|cross term|", run.times, np.abs(run.part("cross")), role="bound"),
    ])  # fmt: skip


def tracking(run: Run) -> Panel:
    """The decoder follows an oracle that moves with the encoder's subspace."""
    oracle = triangular.oracles(run.C, run.B)
    return Panel("decoder against its moving oracle", S, Axis("defect", log=True), [
        Series("P_z against P*(U_s)", run.times, overlaps.relative_distance(run.P, oracle),
               "points", "observed"),
        Series("oracle against its last", run.times[:-1],
               overlaps.relative_distance(oracle[:-1], oracle[-1]), role="predicted"),
        Series("subspace sin²", run.times, run.sin2, role="other"),
    ])  # fmt: skip


def contraction(run: Run) -> Panel:
    """Proved upper bounds of the latent contraction of each held-out task."""
    return Panel("latent contraction, sampled A", S, Axis("2-norm of I - P_z A"), [
        Series("mean", run.times, run.contraction.mean(axis=1), role="observed"),
        Series("largest", run.times, run.contraction.max(axis=1), role="bound"),
        Series("one", run.times, 1 + 0 * run.times, "rule", "reference"),
    ])  # fmt: skip


def weights(run: Run) -> np.ndarray:
    """Omega_s of the tracking error in the eigenbasis of each C_s."""
    E = run.P - triangular.oracles(run.C, run.B)
    return np.array([overlaps.overlap_weights(e, C) for e, C in zip(E, run.C, strict=True)])


def overlap(run: Run) -> Panel:
    """Where in the spectrum of C_s the tracking error lies; the basis moves with s."""
    roles = ("observed", "other", "predicted", "bound")
    share = weights(run)
    return Panel("where the tracking error lies", S, Axis("share of the excess risk"), [
        Series(f"mode {i + 1}", run.times, share[:, i], role=roles[i % 4])
        for i in range(share.shape[1])
    ])  # fmt: skip


def latent_window(run: Run) -> Panel:
    """Eigenvalues of the whitened latent systems at each checkpoint, in the window of r/M."""
    edges = marchenko_pastur.edges(run.settings.rank / run.settings.prompt)
    extremes = np.array([_extremes(U, run.tasks.H, run) for U in run.U])
    return Panel(
        "whitened latent systems", S, Axis("eigenvalue"), _window(run.times, extremes, edges)
    )


def prompt_aspect(run: Run) -> Panel:
    """The same at the last checkpoint, on prompts of other sizes."""
    sizes, K = np.array([16, 32, 64, 128, 256, 512]), run.settings.dim
    drawn = [replace(run.settings, prompt=int(M)).law for M in sizes]
    extremes = np.array([
        _extremes(run.U[-1], samplers.draw(law, 512, seed=run.settings.seed).H, run)
        for law in drawn
    ])  # fmt: skip
    edges = np.transpose([marchenko_pastur.edges(run.settings.rank / M) for M in sizes])
    axis = Axis("prompt size M", "rows", log=True)
    return Panel(f"prompt size, K = {K}", axis, Axis("eigenvalue"), _window(sizes, extremes, edges))


def _extremes(U: np.ndarray, H: np.ndarray, run: Run) -> list[float]:
    """Mean smallest and largest eigenvalue of U'HU, whitened by U' H_inf U."""
    H_inf = laws.matrix(run.settings.law.sigma) + run.settings.ridge * np.eye(len(U))
    A = U.T @ (H @ U)
    white = spectra.whiten((A + np.swapaxes(A, 1, 2)) / 2, spectra.latent_matrix(U, H_inf))
    return [float(np.mean(edge)) for edge in spectra.extreme_eigenvalues(white)]


def _window(x: np.ndarray, extremes: np.ndarray, edges: Any) -> list[Series]:
    low, high = (np.broadcast_to(edge, len(x)) for edge in edges)
    return [
        Series("largest", x, extremes[:, 1], "points", "observed"),
        Series("upper edge", x, high, role="predicted", low=low, high=high),
        Series("smallest", x, extremes[:, 0], "points", "observed"),
        Series("lower edge", x, low, role="predicted"),
    ]
