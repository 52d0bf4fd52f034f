"""The benchmark protocol: one process, honest rivals, no number when the clock lies.

Pools are pinned before NumPy is imported (``run.py`` does it, by starting one process per number of
threads). In that process all contestants first agree on the answer, are warmed up, and then take
turns in alternating order; the best of k wall times counts. dgemm and triad are measured around
every case: they are the machine's limits, and their dips tell when somebody else had the cores.
"""

from __future__ import annotations

import functools
import gc
import math
import resource
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np

ROUNDS = 7
SHORTEST = 0.02  # seconds: shorter calls are repeated until one sample lasts this long
ATTEMPTS = 8
OURS = "ours"


@dataclass(frozen=True)
class Gate:
    """Ours is to be ``ratio`` (aim: ``aim``) times as fast as the fastest rival of that family.

    ``against`` is the beginning of the rivals' labels: ``numpy`` stands for ``numpy einsum``,
    ``numpy matmul``, ... all together.
    """

    against: str
    ratio: float
    aim: float = math.nan


@dataclass(frozen=True)
class Race:
    """The contestants, ready to run on the same data; a rival that is None is absent here.

    ``agree`` gets every contestant's result by label (ours is ``ours``) and raises AssertionError.
    """

    ours: Callable[[], Any]
    rivals: Mapping[str, Callable[[], Any] | None]
    agree: Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Case:
    """One line of the table; ``prepare`` builds the data, so that nothing is built in vain.

    ``flops`` and ``moved`` (bytes to and from memory) give the machine's limit for this work;
    ``within`` is a gate in seconds.
    """

    name: str
    prepare: Callable[[], Race]
    gates: tuple[Gate, ...] = ()
    threads: int = 1
    flops: float = 0.0
    moved: float = 0.0
    within: float = math.nan


@dataclass(frozen=True)
class Clock:
    """The best sample of one contestant, in seconds per call, and its first call."""

    wall: float
    cpu: float
    first: float


@dataclass(frozen=True)
class Outcome:
    """What one case measured. ``refused`` says why it must not be believed, '' if it may."""

    case: str
    threads: int
    clocks: dict[str, Clock]
    absent: tuple[str, ...]
    verdicts: tuple[tuple[str, str], ...]
    limit: float
    dgemm: float
    triad: float
    refused: str = ""
    peak: float = field(default=math.nan)


@dataclass
class Machine:
    """The machine's dgemm (GFLOP/s) and triad (GB/s) now, and its best dgemm of the run."""

    best: float = 0.0

    def measure(self) -> tuple[float, float]:
        """Both rates; the best dgemm so far is remembered."""
        rates = dgemm_rate(), triad_rate()
        self.best = max(self.best, rates[0])
        return rates


def run(cases: Iterable[Case], report: Callable[[Outcome], None] | None = None) -> list[Outcome]:
    """Every case by the protocol; a refused one is tried again before it is given up."""
    machine = Machine()
    for _ in range(3):
        machine.measure()
    outcomes = []
    for case in cases:
        race = case.prepare()
        outcome = measure(case, race, machine)
        for _ in range(ATTEMPTS - 1):
            if not outcome.refused:
                break
            time.sleep(2.0)
            outcome = measure(case, race, machine)
        outcomes.append(outcome)
        if report:
            report(outcome)
    return outcomes


def measure(case: Case, race: Race, machine: Machine) -> Outcome:
    """One attempt at one case."""
    before = machine.measure()
    absent = tuple(label for label, rival in race.rivals.items() if rival is None)
    contestants = {OURS: race.ours} | {k: v for k, v in race.rivals.items() if v is not None}
    first, results = {}, {}
    for label, call in contestants.items():
        started = time.perf_counter()
        results[label] = call()
        first[label] = time.perf_counter() - started
    race.agree(results)
    results.clear()
    best = fastest(contestants)
    clocks = {label: Clock(*best[label], first[label]) for label in contestants}
    after = machine.measure()
    dgemm, triad = max(before[0], after[0]), max(before[1], after[1])
    return Outcome(
        case=case.name,
        threads=case.threads,
        clocks=clocks,
        absent=absent,
        verdicts=verdicts(case, clocks),
        limit=max(case.flops / (dgemm * 1e9), case.moved / (triad * 1e9)) / clocks[OURS].wall,
        dgemm=dgemm,
        triad=triad,
        refused=refusal(case, clocks, min(before[0], after[0]), machine.best),
    )


def fastest(contestants: Mapping[str, Callable[[], Any]]) -> dict[str, tuple[float, float]]:
    """(wall, cpu) of the best of ``ROUNDS`` samples each, taken in alternating order."""
    repeats = {label: repetitions(call) for label, call in contestants.items()}
    best = dict.fromkeys(contestants, (math.inf, math.inf))
    gc.collect()
    gc.disable()
    try:
        for turn in range(ROUNDS):
            order = list(contestants)[:: 1 if turn % 2 == 0 else -1]
            for label in order:
                best[label] = min(best[label], sample(contestants[label], repeats[label]))
    finally:
        gc.enable()
    return best


def repetitions(call: Callable[[], Any]) -> int:
    """How often a call is repeated within a sample, after a warm call."""
    return max(1, math.ceil(SHORTEST / max(sample(call, 1)[0], 1e-7)))


def sample(call: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """(wall, cpu) seconds per call."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return wall / repeats, cpu / repeats


def rival_of(family: str, clocks: Mapping[str, Clock]) -> str | None:
    """The label of the fastest present rival of a family."""
    labels = [label for label in clocks if label != OURS and label.startswith(family)]
    return min(labels, key=lambda label: clocks[label].wall) if labels else None


def verdicts(case: Case, clocks: Mapping[str, Clock]) -> tuple[tuple[str, str], ...]:
    """(``missed``/``met``/``aim``/``absent``, words) of each gate."""
    out = []
    ours = clocks[OURS].wall
    for gate in case.gates:
        rival = rival_of(gate.against, clocks)
        if rival is None:
            out.append(("absent", f"{gate.against} absent"))
            continue
        ratio = clocks[rival].wall / ours
        word = "missed" if ratio < gate.ratio else "aim" if ratio >= gate.aim else "met"
        aim = "" if math.isnan(gate.aim) else f", aim {gate.aim:g}"
        out.append((word, f"{ratio:.2f}× {rival} (gate {gate.ratio:g}{aim})"))
    if not math.isnan(case.within):
        word = "met" if ours <= case.within else "missed"
        out.append((word, f"{ours * 1e3:.3g} ms (gate {case.within * 1e3:g} ms)"))
    return tuple(out)


def refusal(case: Case, clocks: Mapping[str, Clock], dgemm: float, best: float) -> str:
    """Why the numbers must not be believed, or ''."""
    for label, clock in clocks.items():
        if case.threads == 1 and clock.cpu < 0.9 * clock.wall:
            return f"{label} had {clock.cpu / clock.wall:.0%} of a core"
        if case.threads == 1 and clock.cpu > 1.1 * clock.wall:
            return f"{label} used {clock.cpu / clock.wall:.2f} cores on one thread"
    if dgemm < 0.9 * best:
        return f"dgemm fell to {dgemm / best:.0%} of its best"
    return ""


def dgemm_rate(n: int = 1024) -> float:
    """GFLOP/s of an n x n matrix product, best of five."""
    a, b, out = np.ones((n, n)), np.ones((n, n)), np.empty((n, n))
    return 2e-9 * n**3 / min(sample(lambda: np.matmul(a, b, out=out), 1)[0] for _ in range(5))


def triad_rate() -> float:
    """GB/s of a = b + 3 c over arrays that no cache holds (24 bytes per entry), best of five."""
    a, b, c = vectors()
    _triad(a, b, c)
    return 24e-9 * len(a) / min(sample(lambda: _triad(a, b, c), 1)[0] for _ in range(5))


@functools.cache
def vectors(n: int = 1 << 23) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three long vectors, made once."""
    return np.zeros(n), np.ones(n), np.ones(n)


@numba.njit(parallel=True, cache=True)
def _triad(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for i in numba.prange(len(a)):
        a[i] = b[i] + 3.0 * c[i]


def peak_memory(case: Case) -> float:
    """Peak resident MB of this process after running ours once; for a process of its own."""
    case.prepare().ours()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
