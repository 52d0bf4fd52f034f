"""Seed 003: the certified encode atlas: what is certified with which constant, what is global."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold import atlas
from twofold.atlas import bounds, curves, plain, proof
from twofold.claims import Measured, beside
from twofold.findings import Axis, Figure, Findings, Panel, Role, Series, Study, Table

NOISE = Axis("noise", "of |m|")
CHARTS = Axis("charts", log=True)
SHARE = Axis("rows", "%")
ROLES: dict[str, Role] = {
    "seed": "reference", "pair bound": "other", "Fourier": "predicted", "ours": "bound",
    "ours, at the predictor's point": "observed",
}  # fmt: skip
SHAPES = {"circle": curves.circle, "lemniscate": curves.lemniscate, "torus": curves.torus,
          "sphere": curves.sphere}  # fmt: skip
MARKS: dict[str, Role] = {
    "global": "observed", "local": "predicted", "ambiguous": "other", "uncertified": "bound",
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """A random closed curve of ``harmonics`` in ``dim`` dimensions; ``count`` rows a point."""

    seed: int = 0
    harmonics: int = 3
    dim: int = 32
    count: int = 800
    noises: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6)
    charts: tuple[int, ...] = (4, 8, 16, 32, 64, 128)
    drawn: int = 250


def run(config: Settings) -> Findings:
    """Shares by noise and by charts, the lemniscate's false minima, routes, pictures."""
    atom = curves.rough(config.harmonics, config.dim, seed=config.seed)
    by_noise = [_encode(atom, 16, noise, config) for noise in config.noises]
    by_charts = [_encode(atom, n, 0.3, config) for n in config.charts]
    loop = [(noise, *_encode(curves.lemniscate(), n, noise, config, seed=1))
            for n in (16, 64) for noise in config.noises[1:]]  # fmt: skip
    measured = {
        "003-issue": Measured(1010, note="quoted by the seed, nothing to measure"),
        "003-KANTOROVICH_THRESHOLD": Measured(proof.threshold(), note="ours is strict"),
    }
    tables = [
        Table("claims", "Numbers of the seed", TOLD, ["quantity", "seed", "ours"],
              [row[:3] for row in beside(measured)]),
        Table("routes", "Every row is counted, by verdict and by what certified it", COUNTED,
              ["noise, of |m|", "global", "local", "ambiguous", "uncertified", "predictor",
               "warm-up", "multi-start", "none", "not at the start", "… the seed's way"],
              [_route(noise, *item) for noise, item in zip(config.noises, by_noise, strict=True)]),
        Table("lemniscate", "Locally certified is not global", FALSE,
              ["charts", "noise, of |m|", "from the centre: local, not global, %",
               "ours: first minimum refuted, %", "global, %", "ambiguous, %"],
              [_loop(*item) for item in loop]),
        Table("ratio", "How much looser the seed's L is", LOOSE, ["harmonics", "times"],
              [[H, _ratio(H, config)] for H in (1, 2, 3, 5)]),
    ]  # fmt: skip
    figure = Figure("shares", "Certified at the predictor's start", SEE,
                    [_shares("16 charts", NOISE, config.noises, by_noise),
                     _shares("noise 0.3", CHARTS, config.charts, by_charts)])  # fmt: skip
    pictures = Figure("pictures", "Rows on their curves and surfaces", DRAWN,
                      [_picture(name, make(), config)
                       for name, make in SHAPES.items()])  # fmt: skip
    proofs = [proof.certify(made, X, codes) for made, X, codes in by_noise]
    return Findings(tables, [figure, pictures], proofs, measured, notes=NOTES)


def _encode(atom: Any, charts: int, noise: float, config: Settings, seed: int = 0) -> Any:
    made = atlas.build([atom], charts=charts)
    X, _ = curves.rows(atom, config.count, noise=noise, seed=5 * config.seed + seed)
    return made, X, made.encode(X, amplitudes=1.0)


def _route(noise: float, made: Any, X: Any, codes: Any) -> list[Any]:
    first = plain.encode(made, X)
    seeds = round(len(codes) * (1 - bounds.shares(made, X, first)["seed"]))
    counts = [*codes.counts.values(), *codes.routes.values()]
    return [noise, *counts, codes.uncertified_at_start, seeds]


def _loop(noise: float, made: Any, X: Any, codes: Any) -> list[Any]:
    local = plain.encode(made, X)
    shares = [plain.false_minima(local, codes), np.mean(codes.refuted > 0)]
    shares += [np.mean(codes.verdict == verdict) for verdict in ("global", "ambiguous")]
    return [made.count, noise, *(100 * float(share) for share in shares)]


def _ratio(harmonics: int, config: Settings) -> float:
    atom = curves.rough(harmonics, config.dim, seed=config.seed)
    X, _ = curves.rows(atom, 200, noise=0.1, seed=config.seed)
    return bounds.ratio(atlas.build([atom]), X)


def _shares(title: str, axis: Axis, x: Any, found: list[Any]) -> Panel:
    shares = [bounds.shares(made, X, plain.encode(made, X)) for made, X, _ in found]
    for share, (made, X, codes) in zip(shares, found, strict=True):
        share["ours, at the predictor's point"] = bounds.shares(made, X, codes)["ours"]
    return Panel(title, axis, SHARE, [
        Series(name, x, [100 * s[name] for s in shares], role=role) for name, role in ROLES.items()
    ])  # fmt: skip


def _picture(name: str, atom: Any, config: Settings) -> Panel:
    made = atlas.build([atom], charts=16)
    X, _ = curves.rows(atom, config.drawn, noise=0.2, seed=config.seed)
    codes = made.encode(X, amplitudes=1.0)
    shown = [v for v, n in codes.counts.items() if n]
    nodes = atom.decode(made.charts[0].centres)
    charts = Series("charts", nodes[:, 0], nodes[:, 1], "points", "reference")
    rows = [Series(v, X[codes.verdict == v, 0], X[codes.verdict == v, 1], "points", MARKS[v])
            for v in shown]  # fmt: skip
    return Panel(name, Axis("x_1"), Axis("x_2"), [charts, *rows])


TOLD = (
    "The seed's threshold is inclusive in one sentence, exclusive in another. At h = ½ Newton is "
    "only linear, and rounding may hide which side one is on: ours is the largest h certified when "
    "the jets are exact, strictly below ½ by 1e-13. The number of the issue is quoted."
)
COUNTED = (
    "Rows of a random closed curve in 16 charts, amplitude given. Verdicts and methods each add up "
    "to all rows. Not at the start: rows not certified at the predictor's point. The last column "
    "is that count the seed's way, from the nearest chart's centre with the seed's constant. The "
    "uncertified go to multi-start; branch and bound proves every minimum or replaces it."
)
FALSE = (
    "On a curve that crosses itself a certificate of Newton's method says nothing about the other "
    "branch. The third column takes the nearest chart's centre and Newton, as the seed does: the "
    "share of its locally certified rows whose minimum is not the global one. Ours looks at four "
    "points per chart first; what branch and bound still refutes is replaced and proved."
)
LOOSE = (
    "Median over rows of the seed's L, with its suprema taken as operator norms, divided by "
    "Σ|c_k||2πk|³ over the row's own coefficients. Both bound the Hessian's change everywhere."
)
SEE = (
    "The share of rows with h below one half. Four curves have one start, the nearest chart's "
    "centre, and differ in L alone: with the seed's hardly a row is certified at 16 charts. The "
    "fifth starts at the predictor's point and certifies nearly all, at any noise."
)
DRAWN = (
    "Two coordinates of noisy rows, coloured by verdict, and the decoded centres of the charts. On "
    "the circle, torus and sphere nearly every row is proved global; on the figure of eight "
    "so are those near the crossing, where a local certificate could not tell the branches apart."
)
NOTES = (
    "Certificates of the encode are redone in sixty digits by the tests; recheck has no route yet.",
    "With a given amplitude; the joint solution of amplitude and coordinate is in the room's page.",
)
STUDY = Study("003-atlas", "The certified encode atlas", "atlas",
              "003: every row proved, globally where possible.", Settings(), run, cost=3,
              full={"count": 20_000})  # fmt: skip
