"""Tables and panels of 002-open."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from twofold.findings import Axis, Panel, Series, Table
from twofold.studies import open_run
from twofold.studies.open_run import Settings
from twofold.tasks import moments
from twofold.training import closure
from twofold.training.closure import joint, joint_path, observed
from twofold.training.closure.descent import Rule

S = Axis("outer time s", "steps")


def training(config: Settings) -> Panel:
    """The Flexformer: prediction, runs with their band, the tangent kernel."""
    flex = open_run.flexformer(config)
    t, low, high = flex.predicted.times, flex.risk.min(axis=0), flex.risk.max(axis=0)
    return Panel("a Flexformer in a turned basis", S, Axis("risk R_L"), [
        Series("predicted, nothing drawn", t, flex.predicted.risk, role="predicted"),
        Series(f"{config.runs} runs, batch {config.batch}", t, flex.risk.mean(axis=0), "points",
               "observed", low, high),
        Series("linearised at theta_0 (NTK)", t, flex.ntk, role="other"),
    ])  # fmt: skip


def error_panel(config: Settings) -> Panel:
    """Both estimates' errors as K grows."""
    rows, series = open_run.estimates(config), []
    for depth in (2, 4):
        here = [r for r in rows if r[1] == depth and r[2] == config.condition]
        K = [r[0] for r in here]
        series += [
            Series(f"equivalent, L = {depth}", K, [abs(r[3].equivalent) for r in here], "points"),
            Series(f"L^1.5/K, L = {depth}", K, [r[3].allowed for r in here], "line", "reference"),
            Series(f"corrected, L = {depth}", K, [abs(r[3].corrected) for r in here], "points",
                   "observed"),
        ]  # fmt: skip
    x, y = Axis("K", "coordinates, M = 4K", log=True), Axis("relative error", log=True)
    return Panel("the estimates' laws", x, y, series)


def joint_panel(config: Settings) -> Panel:
    """Tracking error and drift of the joint recursion beside the run."""
    run = open_run.jointly(config)
    tracking, steps = run.predicted.tracking, np.arange(len(run.U))
    oracles = np.array([_oracle(run.recipe, U) for U in run.U])
    seen = np.linalg.norm(run.P - oracles, axis=(1, 2)) / np.linalg.norm(oracles, axis=(1, 2))
    drift = np.linalg.norm(tracking.drift, axis=(1, 2))
    return Panel("encoder and decoder together", S, Axis("|P - P*(U)| / |P*(U)|", log=True), [
        Series("predicted tracking error", steps, tracking.error, role="predicted"),
        Series(f"run, batch {config.joint_batch}", steps[::10], seen[::10], "points",
               "observed"),
        Series("predicted oracle drift |D_s|", steps[:-1], drift, role="other"),
    ])  # fmt: skip


def _oracle(recipe: joint_path.Recipe, U: np.ndarray) -> np.ndarray:
    s = recipe.setting(U)
    return np.linalg.solve(s.C, s.B(recipe.target).T).T


def engines(config: Settings) -> tuple[Table, float]:
    """Each engine beside Monte Carlo; the largest |z| of the exact one."""
    rows = [*_engine_rows(config)]
    title = "Every engine beside Monte Carlo"
    table = Table("engines", title, ENGINES, ["P", "K", "M", "L", "exact", "Monte Carlo",
                  "distance [s.e.]", "equivalent / exact - 1", "corrected / exact - 1"],
                  rows)  # fmt: skip
    return table, max(abs(row[6]) for row in rows)


def _engine_rows(config: Settings) -> Iterator[list]:
    rng = np.random.default_rng(config.seed)
    for K, M, depths in ((3, 12, (1, 2, 4)), (6, 24, (1, 2)), (16, 64, (1, 2, 3, 4))):
        law = config.aligned(K, M)
        diagonal = 0.8 * moments.of(law).oracle
        forms = {"diagonal": diagonal}
        if max(depths) <= 2 or K == 3:
            forms["full"] = np.diag(diagonal) + 0.1 * rng.standard_normal((K, K))
        for name, P in forms.items():
            mean, error = observed.sampled(P, law, depths, count=config.checked, seed=config.seed)
            for L, m, e in zip(depths, mean, error, strict=True):
                exact = open_run.risk_of(P, law, L)
                plain, better = (open_run.risk_of(P, law, L, engine) / exact - 1
                                 for engine in ("equivalent", "corrected"))  # fmt: skip
                yield [name, K, M, L, exact, m, (m - exact) / e, plain, better]


def joint_table(config: Settings) -> tuple[Table, float]:
    """Closed forms of the joint law beside Monte Carlo; the largest |z|."""
    run = open_run.jointly(config)
    U, P = run.predicted.U[-1], run.predicted.tracking.P[-1]
    rows = []
    for target in ("projection", "coefficients", "latent"):
        recipe = joint_path.Recipe(run.recipe.law, 1.0, 1.0, target)
        seen = joint_path.sampled(recipe, U, P, depth=2, count=config.checked, seed=config.seed)
        s = recipe.setting(U)
        for name, known, (mean, error) in (("C", s.C, seen.C), ("B", s.B(target), seen.B)):
            rows.append([name, target, float(np.max(np.abs((mean - known) / error)))])
    risks = [joint.split(recipe.setting(U), P, depth=L).total for L in (1, 2)]
    z = np.abs((seen.risk[0] - risks) / seen.risk[1])
    rows += [[f"R_e2e, L = {L}", "", float(x)] for L, x in zip((1, 2), z, strict=True)]
    columns = ["closed form", "target", "largest distance [s.e.]"]
    return Table("joint", "Encoder and decoder in closed form", JOINT, columns, rows), max(
        row[2] for row in rows
    )


def readings(config: Settings) -> Table:
    """What the predicted path says before anything is trained."""
    law, model, L = config.aligned(16, 64), closure.Diagonal(16), config.depth
    zero = np.zeros(16)
    path = closure.path(zero, model, law, depth=L, eta=0.2, steps=200)
    curvature, axes = closure.modes(path.theta[-1], model, law, depth=L)
    depths, etas = (1, 2, 3), (0.1, 0.2, 0.4)
    table = closure.compared(zero, model, law, depths=depths, etas=etas, steps=50)
    i, j = np.unravel_index(np.argmin(table), table.shape)
    half = path.time_to(float(path.risk[0] + path.risk[-1]) / 2)
    rules: list[tuple[Rule, float]] = [("descent", 0.1), ("momentum", 0.02), ("adam", 0.02)]
    ends = [closure.path(zero, model, law, depth=L, eta=eta, steps=100, rule=rule).risk[-1]
            for rule, eta in rules]  # fmt: skip
    rows = [
        ["time to halve the distance to the last risk", half],
        ["largest stable eta at the end, 2 / curvature", 2 / curvature[-1]],
        ["slowest mode: curvature", curvature[0]],
        ["slowest mode: its coordinate (eigenvalue of Sigma)",
         law.sigma[np.argmax(np.abs(axes[:, 0]))]],
        ["best (depth, eta) for 50 steps", f"{depths[i]}, {etas[j]:g}"],
        ["its predicted risk", table[i, j]],
        *[[f"risk after 100 steps, {rule}", risk]
          for (rule, _), risk in zip(rules, ends, strict=True)],
    ]  # fmt: skip
    return Table("readings", "Read off the predicted path", READ, ["quantity", "value"], rows)


def universality(config: Settings) -> Table:
    """The Gaussian prediction beside other features."""
    law = config.aligned(16, 64)
    P, rows = moments.of(law).oracle, []
    depths = (1, 2, 4)
    exact = [open_run.risk_of(P, law, L) for L in depths]
    for feature in observed.KURTOSIS:
        mean, error = observed.sampled(P, law, depths, feature=feature, count=config.checked // 4,
                                       seed=config.seed + 7)  # fmt: skip
        ratios = [f"{m / r:.4f} ± {e / r:.4f}" for m, e, r in zip(mean, error, exact, strict=True)]
        first = closure.risk(P, sigma=law.sigma, prompt=law.prompt, ridge=law.ridge, depth=1,
                             kurtosis=observed.KURTOSIS[feature]) / exact[0]  # fmt: skip
        rows.append([feature, observed.KURTOSIS[feature], f"{first:.4f}", *ratios])
    columns = ["features", "excess kurtosis", "L = 1, closed with kurtosis",
               *(f"L = {L}, sampled / Gaussian" for L in depths)]  # fmt: skip
    return Table("universality", "Where the promise ends", ENDS, columns, rows)


ENGINES = (
    "The exact engine is an identity: it lies within a few standard errors of any sample that has "
    "a mean to speak of. The estimates are printed beside it, also where K is far too small."
)
JOINT = "C, B per target and R_e2e, at the trained state; the largest of all entries."
READ = "Nothing here was trained: each number is read off the deterministic recursion."
ENDS = (
    "P is the Gaussian law's oracle. Bounded features are off by a share that grows with depth; at "
    "depth 1 the closed kurtosis term explains it. Student-5 has no sixth moment: from depth 2 on "
    "its risk is infinite, and a sampled mean, whatever its printed error, estimates nothing."
)
