"""Seed 004, theorems 1, 4, 5 and 6 and the chain rule, on models whose informations are known."""

from dataclasses import dataclass

import numpy as np

from twofold.findings import Axis, Figure, Findings, Panel, Series, Study, Table
from twofold.information import exact, layers
from twofold.information.exact import cases, projection
from twofold.information.probes import Logistic
from twofold.studies import evidence

NATS = ["case", "I(X;Y)", "I(U;Y)", "I(X;Y|U)", "H(Y|X)", "largest error"]


@dataclass(frozen=True)
class Settings:
    """A law on {-1,1}^dim, a network with random weights, and how many pairs are drawn."""

    seed: int = 0
    dim: int = 8
    sparsity: int = 3
    discrimination: float = 2.0
    widths: tuple[int, ...] = (32, 16, 8)
    bits: tuple[int, ...] = (20, 6, 4, 3, 2, 1)
    count: int = 100000
    delta: float = 0.01


def run(config: Settings) -> Findings:
    """Known values, the identities, the projection, what layers lose, and the encoders' order."""
    law = exact.SparseSoftmax(config.dim, 4, config.sparsity, config.discrimination, config.seed)
    proofs, given = [], {}
    for found in cases.named().values():
        made = found.certify()
        proofs += made
        given |= evidence.of(made, p_x=found.p_x, p=found.p_y_given_x, encoder=found.encoder,
                             decoder=found.decoder)  # fmt: skip
    model = exact.channel(law.p_x, law.p_y_given_x, law.biased)
    best = exact.project(model)
    x, _, y = exact.sample(best, config.seed, config.count)
    proofs.append(projection.certify_sample(best, x, y, delta=config.delta))
    nested = [exact.coordinates(law.states, range(k)) for k in range(config.dim, 0, -1)]
    chain = layers.chain(law.p_x, law.p_y_given_x, nested)
    proofs += chain.proofs
    for proof, fine, coarse in zip(chain.proofs, chain.labels, chain.labels[1:], strict=False):
        given |= evidence.of([proof], p_x=law.p_x, p=law.p_y_given_x, finer=fine, coarser=coarse)
    distances = [
        ["I(X;Y|U), the loss", model.loss],
        ["D(mu || its projection)", exact.divergence(model, best.p_x, best.decoder)],
        ["loss of the projected model", best.loss],
    ]
    tables = [
        Table("known", "Known informations, nats", KNOWN, NATS, _known()),
        Table("projection", "The closest information-sufficient model", NEAREST,
              ["quantity", "nats"], distances),
    ]  # fmt: skip
    return Findings(tables, [_trap(config, law), _nested(chain)], proofs, {}, given)


def _known() -> list[list[object]]:
    found = [[name, c.mutual_information, c.encoded_information, c.loss, c.conditional_entropy,
              max(c.errors.values())] for name, c in cases.named().items()]  # fmt: skip
    gaussian = {
        "classes at +-(1, .5), x1": exact.two_class_gaussian([1, 0.5], [1, 0]),
        "classes at +-(1, .5), mean'x": exact.two_class_gaussian([1, 0.5], [1, 0.5]),
        "linear Gaussian, x1": exact.linear_gaussian(
            [1, 0.5, -0.25], [[1, 0.3, 0], [0.3, 1, 0.2], [0, 0.2, 1]], 0.5, [1, 0, 0]),
    }  # fmt: skip
    for name, g in gaussian.items():
        found.append([name, g.mutual_information, g.encoded_information, g.loss,
                      g.conditional_entropy, g.error])  # fmt: skip
    return found


def _trap(config: Settings, law: exact.SparseSoftmax) -> Figure:
    """Shannon and usable loss of a random network, layer by layer, quantised more and more."""
    panels, probe = [], Logistic(ridge=0.0)
    for bits in config.bits[:1] + config.bits[-2:]:
        net = layers.rounded(law.states, config.widths, bits=bits, seed=config.seed)
        found = layers.chain(law.p_x, law.p_y_given_x, net, probe=probe, states=law.states)
        place = np.arange(1, len(net) + 1)
        panels.append(Panel(f"activations of {bits} bits", Axis("layer"), Axis("loss", "nats"), [
            Series("Shannon, exact", place, found.losses, "bars", "bound"),
            Series("usable by a logistic probe", place, found.usable, "points", "observed"),
        ]))  # fmt: skip
    return Figure("trap", "What layers lose", TRAP, panels)


def _nested(chain: layers.Layers) -> Figure:
    kept = np.arange(len(chain.losses), 0, -1)
    panel = Panel("", Axis("coordinates kept"), Axis("information lost", "nats"), [
        Series("I(X;Y|U) so far", kept, np.cumsum(chain.losses), role="observed"),
        Series("total of the last", kept, [chain.total] * len(kept), "rule", "reference"),
    ])  # fmt: skip
    return Figure("nested", "Coarser encoders lose more, and the losses add up", NESTED, [panel])


KNOWN = "Sums within their proved error; the Gaussian ones in balls, quadrature error included."
NEAREST = "The loss is the distance to the projection, which itself loses nothing."
TRAP = (
    "A trap: layers of floats are injective on the states, so the exact row is zero until rounding "
    "makes states tie (few bits). What a probe reads less of each layer is usable information, of "
    "that family alone; it may be negative and is no chain rule."
)
NESTED = (
    "Coordinates are forgotten one by one: nothing is lost until those that Y hangs on go, and the "
    "last point meets the line (the chain rule, proved for each step)."
)
STUDY = Study("004-identities", "What encoders lose on known models", "information",
              "004, theorems 1, 4, 5 and 6, the chain rule.", Settings(), run, cost=2)  # fmt: skip
