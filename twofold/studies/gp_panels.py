"""Tables and panels on the GP prompts of seed 002: solvers, the exact process, both halves."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from twofold.anatomy import take_apart
from twofold.decoder import solving
from twofold.decoder.richardson import Richardson
from twofold.decoder.solving import Method
from twofold.encoder.gaussian_process import GaussianProcess
from twofold.findings import Axis, Panel, Role, Series, Table
from twofold.measures import difficulty
from twofold.protocol import EncoderDecoder
from twofold.studies.gp_run import Run, Settings
from twofold.tasks import gp
from twofold.tasks.matern import Matern

DEPTH = Axis("depth l", "products with A")
RISK = Axis("risk", "|z_l − z_post|²/K", log=True, low=1e-18)
LOSS = Axis("training loss", "risk/2", log=True)
SOLVERS: tuple[tuple[str, Method, bool], ...] = (
    ("Richardson", "richardson", False), ("heavy ball", "heavy_ball", False),
    ("Chebyshev", "chebyshev", False), ("Chebyshev, predicted", "chebyshev", True),
    ("certified, predicted", "certified", True), ("PCG", "pcg", False),
)  # fmt: skip
CURVES: tuple[tuple[str, Method, Role], ...] = (
    ("scalar", "richardson", "reference"), ("inverse", "richardson", "other"),
    ("inverse", "chebyshev", "predicted"), ("inverse", "pcg", "bound"),
    ("free_linear", "richardson", "observed"),
)  # fmt: skip


def compared(prompt: int, run: Run) -> Table:
    """The risk at the last depth, of every P by every solver that takes it."""
    rows = [[name, kind, *_row(run, P)] for kind, name, P in every(run)]
    L = run.settings.depth
    return Table(f"solvers-{prompt}", f"Prompts of {prompt} points: risk after {L} products", TOLD,
                 ["P", "made from", *(name for name, _, _ in SOLVERS)], rows)  # fmt: skip


def every(run: Run) -> Iterator[tuple[str, str, np.ndarray]]:
    """(made from what, name, P)."""
    for kind, group in (("the mean system", run.shared), ("training", run.learned),
                        ("each prompt", run.own)):  # fmt: skip
        for name, P in group.items():
            yield kind, name, P


def _row(run: Run, P: np.ndarray) -> Iterator[Any]:
    symmetric = np.array_equal(P, np.swapaxes(P, -1, -2))
    known = solving.oracle(P, run.tasks.H) if symmetric else None
    predicted = run.predicted(P) if symmetric and P.ndim == 2 else None
    for _, method, guessed in SOLVERS:
        interval = predicted if guessed else known
        if method in ("richardson", "pcg"):
            interval = None
        elif interval is None:
            yield ""
            continue
        yield run.path(P, method, interval)[-1] if symmetric or method == "richardson" else ""


def depths(prompt: int, run: Run) -> Panel:
    """Risk against products with A."""
    L, known = np.arange(run.settings.depth + 1), run.shared | run.learned
    series = [
        Series(f"{name}, {method}", L, run.path(known[name], method), role=role)
        for name, method, role in CURVES
    ]
    return Panel(f"prompts of {prompt} points", DEPTH, RISK, series)


def training(prompt: int, run: Run) -> Panel:
    """The finite-set loss of everything learned, along training."""
    roles: tuple[Role, ...] = ("observed", "predicted", "other", "reference", "bound")
    series = [
        Series(name, run.times, loss, role=role)
        for role, (name, loss) in zip(roles, run.loss.items(), strict=False)
    ]
    return Panel(f"training, {prompt} points", Axis("outer time s", "Adam steps"), LOSS, series)


def halves(runs: dict[int, Run], config: Settings) -> Table:
    """Held-out values of f by phi_q'z_L: the posterior's uncertainty beside the decoder's error."""
    rows = []
    for prompt, run in runs.items():
        tasks = gp.sample(seed=config.seed + 2000, count=config.held_out, prompt=prompt,
                          basis=config.basis, noise=config.noise, target="held-out")  # fmt: skip
        encoder = GaussianProcess(config.basis.prior, config.noise, predict=True)
        for name in ("scalar", "free_linear"):
            P = (run.shared | run.learned)[name]
            model = EncoderDecoder(encoder, Richardson(P, config.depth))
            mean = take_apart(model, tasks).mean
            rows.append([prompt, name, *(mean[p] for p in ("total", "floor", "decoder", "cross"))])
    return Table("halves", "Held-out values of f, taken apart", HALVES,
                 ["points", "P", "total", "floor", "decoder", "cross"], rows)  # fmt: skip


def ranks(config: Settings) -> Table:
    """The posterior of finite rank beside the process itself, on functions of the process."""
    rows, noise = [], config.noise / 4
    source = Matern(1025, 1.5, half=config.half)
    for rank in (config.rank, 16, 64):
        basis = Matern(rank, 1.5, half=config.half)
        tasks = gp.sample(seed=config.seed, count=64, prompt=64, basis=basis, noise=noise,
                          source=source)  # fmt: skip
        at = (tasks.facts["x"], tasks.y, tasks.facts["x_q"])
        found = gp.posterior(tasks.Phi, tasks.y, prior=basis.prior, noise=noise,
                             queries=tasks.Phi_q)  # fmt: skip
        mean, variance = gp.exact(*at, kernel=basis.kernel, noise=noise)
        bound = gp.truncation(*at, basis=basis, noise=noise)
        f_q = tasks.facts["f_q"]
        rows.append([
            rank, found.route, _squared(found.mean, f_q), float(found.variance.mean()),
            _squared(mean, f_q), float(variance.mean()), float(np.abs(found.mean - mean).max()),
            float(bound.max()), difficulty.gp_diversity(basis.prior, noise**2 / 64)
            .effective_dimension,
        ])  # fmt: skip
    return Table("ranks", "Finite rank and the exact process, 64 points", RANKS, [
        "features", "route", "error²", "its variance", "exact: error²", "its variance",
        "largest difference", "truncation bound", "d_eff(σ²/M)"], rows)  # fmt: skip


def _squared(one: np.ndarray, two: np.ndarray) -> float:
    return float(np.mean((one - two) ** 2))


TOLD = (
    "Training-free first: frozen once on the mean training system, and built anew for each prompt. "
    "All spend the same products with A. Heavy ball and Chebyshev take proved bounds of each "
    "prompt's own spectrum, unless predicted from the training prompts; an empty cell means "
    "that P is not symmetric, as those methods need. PCG solves K = 4 unknowns in four products: "
    "what is learned only wins among methods that may use one P and no inner products."
)
HALVES = (
    "The floor is the posterior's own uncertainty, which no decoder removes; total = floor + "
    "decoder + cross."
)
RANKS = (
    "Functions of a Matern 3/2 process of 1025 features. A model of too few features is sure of "
    "itself and wrong: its variance is below its squared error. The bound is uniform and of the "
    "worst case."
)
