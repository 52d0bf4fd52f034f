"""Run studies one after another; what is finished is skipped, what was cut short starts afresh."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twofold.findings import Findings, Study
from twofold.runs import folder as run_folder
from twofold.store import files


@dataclass(frozen=True)
class Progress:
    """What a listener hears before and after each study; ``left`` is the forecast in seconds."""

    study: Study
    state: str
    left: float


def run(
    studies: Sequence[Study],
    settings: dict[str, Any],
    out: Path,
    listen: Callable[[Progress], None] = lambda progress: None,
) -> Path:
    """Run every study that is not finished yet and return the run's folder."""
    folder = run_folder.place(out, settings)
    with files.locked(folder):
        run_folder.create(out, settings)
        waiting = [s for s in studies if not run_folder.finished(folder, s.name)]
        spent, budgeted = 0.0, 0.0
        for study in studies:
            if study not in waiting:
                listen(Progress(study, "kept", _left(waiting, spent, budgeted)))
                continue
            listen(Progress(study, "running", _left(waiting, spent, budgeted)))
            start = time.perf_counter()
            run_folder.save(folder, study, _found(folder, study, settings[study.name]))
            spent, budgeted = spent + time.perf_counter() - start, budgeted + study.cost
            waiting = [s for s in waiting if s is not study]
            listen(Progress(study, "done", _left(waiting, spent, budgeted)))
        run_folder.write_metrics(folder)
    return folder


def _found(folder: Path, study: Study, settings: Any) -> Findings:
    """The study's findings; what it reads comes from the run's folder, where it is finished."""
    if not study.reads:
        return study.run(settings)
    there = [name for name in study.reads if run_folder.finished(folder, name)]
    return study.run(settings, {name: run_folder.load(folder, name) for name in there})


def _left(waiting: Sequence[Study], spent: float, budgeted: float) -> float:
    """The studies' own forecasts, scaled by how this machine kept to them so far."""
    pace = spent / budgeted if budgeted else 1.0
    return pace * sum(study.cost for study in waiting)
