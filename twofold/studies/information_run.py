"""The declared reconstruction of seed 004's experiment: nets whose every term is exact.

X is uniform on {-1,1}^12, Y one of four labels by a softmax of ``sparsity`` coordinates. Each net
is evaluated on all 4096 states: its population risk has no test noise.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from twofold.information import exact
from twofold.information.exact import Channel, SparseSoftmax
from twofold.learned import mlp

ENCODERS = ("raw", "sufficient", "biased")


@dataclass(frozen=True)
class Settings:
    """Ours: the seed prints only the three widths."""

    seed: int = 0
    dim: int = 12
    sparsity: int = 3
    discrimination: float = 1.0
    widths: tuple[int, ...] = (32, 256, 1024)
    lengths: tuple[int, ...] = (64, 512, 4096)
    repetitions: int = 4
    steps: int = 200
    batch: int = 32
    rate: float = 0.05
    sparsities: tuple[int, ...] = (1, 3, 6, 12)
    discriminations: tuple[float, ...] = (0.25, 1.0, 4.0)
    rates: tuple[float, ...] = (0.01, 0.05, 0.25)
    batches: tuple[int, ...] = (8, 128)


def law(config: Settings, sparsity: int, discrimination: float) -> SparseSoftmax:
    """The law of one cell of the grid; the weights hang on the seed."""
    return SparseSoftmax(config.dim, 4, sparsity, discrimination, config.seed)


def encoders(model: SparseSoftmax) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Labels of cells and the mask of kept coordinates."""
    kept = np.ones((3, model.dim))
    kept[1, model.sparsity :] = 0
    kept[2, 0] = 0
    labels = (np.arange(len(model.states)), model.sufficient, model.biased)
    return {name: (u, m) for name, u, m in zip(ENCODERS, labels, kept, strict=True)}


@lru_cache(maxsize=256)
def nets(
    config: Settings, width: int, length: int, sparsity: int, discrimination: float,
    rate: float, batch: int,
) -> dict[str, list[Channel]]:  # fmt: skip
    """The trained nets of one cell by encoder, one per repetition, taken apart exactly.

    All encoders see the same pairs in the same order.
    """
    model = law(config, sparsity, discrimination)
    R = config.repetitions
    sets = [mlp.draw(model.p_y_given_x, length, config.steps, batch, 1000 * config.seed + r)
            for r in range(R)]  # fmt: skip
    chosen = encoders(model)
    masks = np.repeat([mask for _, mask in chosen.values()], R, axis=0)
    rows, labels = (np.stack([s[i] for s in sets] * len(chosen)) for i in (0, 1))
    q = mlp.train(model.states, masks, rows, labels, classes=4, width=width, rate=rate,
                  seed=config.seed)  # fmt: skip
    q = q.reshape(len(chosen), R, *q.shape[1:])
    return {name: [taken_apart(model, u, q[i, r]) for r in range(R)]
            for i, (name, (u, _)) in enumerate(chosen.items())}  # fmt: skip


def taken_apart(model: SparseSoftmax, labels: np.ndarray, q: np.ndarray) -> Channel:
    """The net is constant on the encoder's cells: its table, read at one state of each."""
    table = q[np.unique(labels, return_index=True)[1]]
    table = np.maximum(table, 1e-300)
    return exact.channel(model.p_x, model.p_y_given_x, labels,
                         table / table.sum(axis=1, keepdims=True))  # fmt: skip


def record(config: Settings, width: int, length: int) -> dict[str, list[Channel]]:
    """The nets at the settings of record."""
    return nets(config, width, length, config.sparsity, config.discrimination, config.rate,
                config.batch)  # fmt: skip


def mean(found: list[Channel], term: str) -> float:
    """A term averaged over repetitions."""
    return float(np.mean([getattr(c, term) for c in found]))
