"""Seed 004, method summary: cross-entropy taken apart into noise, encoder loss and decoder KL."""

from itertools import product
from typing import Any

import numpy as np

from twofold import claims
from twofold.claims import Measured, beside
from twofold.findings import Axis, Figure, Findings, Panel, Role, Series, Study, Table
from twofold.information.exact import Channel
from twofold.information.intervals import student
from twofold.learned import mlp
from twofold.studies import evidence
from twofold.studies.information_run import ENCODERS, Settings, mean, nets, record

PARTS = ("conditional_entropy", "loss", "decoder_kl", "risk")
QUOTED = ("004-arxiv-id", "004-reference-count")
Grid = dict[tuple[int, int, str], list[Channel]]


def run(config: Settings) -> Findings:
    """All nets of record, the grid of laws, and the two learning settings."""
    grid: Grid = {(w, n, e): found for w, n in product(config.widths, config.lengths)
                  for e, found in record(config, w, n).items()}  # fmt: skip
    proofs, given = [], {}
    for e in ENCODERS[1:]:
        one = grid[config.widths[0], config.lengths[-1], e][0]
        made = one.certify()
        proofs += made
        given |= evidence.of(made, p_x=one.p_x, p=one.p_y_given_x, encoder=one.encoder,
                             decoder=one.decoder)  # fmt: skip
    worst = max(abs(c.loss) for (_, _, e), found in grid.items() for c in found if e != "biased")
    measured = {f"004-M-mlp{w}": Measured(len(mlp.start(config.dim, w, 4, 0)[1]),
                                          note="hidden units of the nets trained here")
                for w in config.widths if w in (32, 256, 1024)}  # fmt: skip
    measured["004-E1-zero-mil"] = Measured(worst, note="largest of every raw or sufficient net")
    for name in QUOTED:
        measured[name] = Measured(claims.value(name), note="quoted: nothing to measure")
    seeds = Table("seed", "What the seed prints", PROVENANCE, ["quantity", "seed", "ours", ""],
                  beside(measured))  # fmt: skip
    tables = [_stack(grid), _laws(config), _settings(config), _advantage(config, grid), seeds]
    return Findings(tables, [_curves(config, grid), _bars(config, grid)], proofs, measured, given,
                    notes=[NOTE])  # fmt: skip


def _stack(grid: Grid) -> Table:
    rows = [[w, n, e, *(mean(found, term) for term in PARTS), found[0].sufficient]
            for (w, n, e), found in grid.items()]  # fmt: skip
    columns = ["width", "pairs n", "encoder", "H(Y|X)", "I(X;Y|U)", "decoder KL", "risk",
               "encoder is"]  # fmt: skip
    return Table("stack", "Every net taken apart, nats", STACKED, columns, rows)


def _laws(config: Settings) -> Table:
    rows = []
    for s, b in product(config.sparsities, config.discriminations):
        found = nets(config, config.widths[0], config.lengths[1], s, b, config.rate, config.batch)
        first = found["biased"][0]
        rows.append([s, b, first.mutual_information, first.loss,
                     *(mean(found[e], "decoder_kl") for e in ENCODERS)])  # fmt: skip
    columns = ["sparsity", "discrimination", "I(X;Y)", "I(X;Y|U) biased",
               *(f"KL, {e}" for e in ENCODERS)]  # fmt: skip
    return Table("laws", "Discrimination and sparsity", LAWS, columns, rows)


def _settings(config: Settings) -> Table:
    n, w = config.lengths[1], config.widths[0]
    rows = []
    for rate, batch in product(config.rates, config.batches):
        found = nets(config, w, n, config.sparsity, config.discrimination, rate, batch)
        rows.append([rate, batch, *(mean(found[e], "risk") for e in ENCODERS)])
    columns = ["learning rate", "batch", *(f"risk, {e}" for e in ENCODERS)]
    return Table("settings", "Learning rates and batches", RATES, columns, rows)


def _advantage(config: Settings, grid: Grid) -> Table:
    rows = []
    for w, n in product(config.widths, config.lengths):
        raw, good = (np.array([c.risk for c in grid[w, n, e]]) for e in ENCODERS[:2])
        rows.append([w, n, float(np.mean(raw - good)), *student(raw - good)])
    columns = ["width", "pairs n", "risk, raw - sufficient", "from", "to"]
    return Table("advantage", "What a sufficient encoder spares", ADVANTAGE, columns, rows)


def _curves(config: Settings, grid: Grid) -> Figure:
    panels, roles = [], dict[str, Role](raw="other", sufficient="predicted", biased="observed")
    for w in config.widths:
        series = [Series(e, config.lengths, [mean(grid[w, n, e], "risk") for n in config.lengths],
                         role=role) for e, role in roles.items()]  # fmt: skip
        floor = grid[w, config.lengths[0], "biased"][0]
        for label, value in (
            ("H(Y|X)", floor.conditional_entropy),
            ("H(Y|X) + I(X;Y|U) biased", floor.conditional_entropy + floor.loss),
        ):
            series.append(Series(label, config.lengths, [value] * len(config.lengths), "rule",
                                 "reference" if label == "H(Y|X)" else "bound"))  # fmt: skip
        panels.append(Panel(f"MLP{w}", Axis("training pairs n", log=True),
                            Axis("population risk", "nats", log=True), series))  # fmt: skip
    return Figure("curves", "Learning curves above their floors", SEE, panels)


def _bars(config: Settings, grid: Grid) -> Figure:
    w, panels = config.widths[0], []
    place = [i for i, _ in enumerate(config.lengths)]
    for e in ENCODERS:
        sums = np.cumsum([[mean(grid[w, n, e], t) for n in config.lengths] for t in PARTS[:3]], 0)
        drawn: list[tuple[str, Any, Role]] = [("+ decoder KL", sums[2], "other"),
            ("+ I(X;Y|U)", sums[1], "bound"), ("H(Y|X)", sums[0], "reference")]  # fmt: skip
        series = [Series(label, place, y, "bars", role) for label, y, role in drawn]
        panels.append(
            Panel(e, Axis("training pairs, shortest first"), Axis("risk", "nats"), series)
        )
    return Figure("stack", "Risk stacked: noise, encoder, decoder", BARS, panels)


STACKED = "Means over repetitions; noise + encoder loss + decoder KL = risk in every row, exactly."
LAWS = (
    "The loss of forgetting the first coordinate grows with discrimination and falls with sparsity "
    "once it is one of many; where I(X;Y) is small no encoder can lose much."
)
RATES = "Smallest net, middle length: the decoder's part moves, the encoder's cannot."
ADVANTAGE = (
    "Paired over repetitions (same pairs, same order); 95 % Student intervals, asymptotic. The "
    "advantage is all decoder: neither encoder loses anything."
)
PROVENANCE = (
    "Widths are those of the nets above; the loss of a sufficient encoder is zero to rounding."
)
SEE = (
    "Nets behind the sufficient encoder come down to H(Y|X) first; behind the biased one no number "
    "of pairs passes the higher line: that distance is the encoder's."
)
BARS = "Each bar stands on the ones below: the encoder's slice is the same at every length."
NOTE = (
    "a declared reconstruction: the seed prints neither the law nor lengths, rates or batches; all "
    "terms are by enumeration of the 4096 states"
)
STUDY = Study("004-information", "Encoder loss and decoder error of trained nets", "information",
              "004, method summary: an experiment in which every term is exact.", Settings(), run,
              cost=8, full={"steps": 2000, "repetitions": 8})  # fmt: skip
