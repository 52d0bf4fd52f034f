"""Two small studies and the real command line around them, each run in a process of its own.

The processes are forked from one that has imported everything: a fresh start costs seconds.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

NURSERY = """
import json, os, resource, signal, sys, time
from dataclasses import dataclass
import numpy as np
import twofold.studies
from twofold import cli
from twofold.certificate import identity
from twofold.findings import Axis, Figure, Findings, Panel, Series, Study
from twofold.report import page, run_report, section
from twofold.runs import folder, running, settings
from twofold.store import frames, tensors
import altair, latex2mathml.converter, pyarrow.parquet, rich.progress, scipy.special

@dataclass(frozen=True)
class Settings:
    seed: int = 0
    count: int = 4000

def work(config):
    x = np.random.default_rng(config.seed).standard_normal(config.count)
    panel = Panel("p", Axis("s"), Axis("risk"), [Series("noise", x[:5], x[5:10])])
    return Findings(
        figures=[Figure("f", "F", "caption ü", [panel])],
        certificates=[identity("i", statement="a=b", gap=x[:9] * 0, rounding=1e-15)],
        evidence={"i": {"x": x}}, notes=["ü ∞"],
    )

def slow(config):
    time.sleep(PAUSE)
    return work(config)

rest = dict(part="spectra", about="", settings=Settings())
STUDIES = [Study(n, n + " ü ‖x‖", run=f, **rest) for n, f in (("a", work), ("b", slow))]
twofold.studies.find = lambda wanted=(): STUDIES
folder.settings.code_hash = lambda: "fixed"
page._vega = lambda: ""

def born(job):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    for number, name in enumerate(("/dev/null", job["stdout"], job["stderr"])):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o600), number)
    globals()["PAUSE"] = job["pause"]
    exec(job["fault"], globals())
    sys.argv = ["twofold", "reproduce", "--out", os.fsdecode(job["out"].encode())]
    cli.main()

if __name__ == "__main__" and len(sys.argv) > 1:
    born(json.loads(sys.argv[1]))
    sys.exit()
section.render({"name": "", "title": "", "about": ""}, work(Settings()))
run_report.bibliography.cited([])
for line in sys.stdin:
    job = json.loads(line)
    if "poll" in job:
        pid, status = os.waitpid(job["poll"], os.WNOHANG)
        print(json.dumps(os.waitstatus_to_exitcode(status) if pid else None), flush=True)
    elif pid := os.fork():
        print(pid, flush=True)
    else:
        born(job)
        sys.exit()
"""


class Child:
    """`twofold reproduce` on the two studies after the code ``fault``; b waits ``pause`` s."""

    def __init__(self, ask, logs, out, fault="", pause=0):
        self.ask, self.out, self.code = ask, out, None
        self.said = [logs / f"{time.monotonic_ns()}.{name}" for name in ("stdout", "stderr")]
        job = {"out": str(out), "fault": textwrap.dedent(fault), "pause": pause}
        self.pid = ask(job | {"stdout": str(self.said[0]), "stderr": str(self.said[1])})

    @property
    def running(self):
        """Whether it has not ended yet."""
        self.code = self.ask({"poll": self.pid}) if self.code is None else self.code
        return self.code is None

    def send(self, number):
        """Send a signal."""
        os.kill(self.pid, number)

    def until(self, name, text=""):
        """Wait for a file of the run, and for ``text`` in it."""
        while not [p for p in self.out.glob(f"*/{name}") if text.encode() in p.read_bytes()]:
            assert self.running, self.said[1].read_text()
            time.sleep(0.01)

    def end(self):
        """``(exit status, standard output, standard error)``."""
        deadline = time.monotonic() + 120
        while self.running:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return self.code, *(path.read_text(errors="replace") for path in self.said)


@pytest.fixture(scope="session")
def nursery():
    """Ask the process that everything is forked from."""
    process = subprocess.Popen(
        [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip

    def ask(job):
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield ask
    with process:
        process.stdin.close()


@pytest.fixture(scope="session")
def child(nursery, tmp_path_factory):
    """Start a run in a process; none outlives the session."""
    logs, started = tmp_path_factory.mktemp("logs"), []

    def start(*args, **kwargs):
        started.append(Child(nursery, logs, *args, **kwargs))
        return started[-1]

    yield start
    for one in started:
        if one.running:
            with contextlib.suppress(ProcessLookupError):
                one.send(signal.SIGKILL)
            one.end()


def kept(out):
    """The bytes of every artifact of the one run in ``out``, without lock and temporary files."""
    (run,) = out.iterdir()
    names = [p for p in run.iterdir() if not p.name.startswith(".")]
    return {p.name: p.read_bytes() for p in names}


@pytest.fixture(scope="session")
def artifacts():
    """Read a run's artifacts."""
    return kept


@pytest.fixture(scope="session")
def straight(child, tmp_path_factory):
    """The artifacts of a run that nothing disturbed."""
    out = tmp_path_factory.mktemp("straight")
    code, _, err = child(out).end()
    assert code == 0, err
    return kept(out)


@pytest.fixture(scope="session")
def program():
    """The two studies as a program for a fresh process, which takes its job as an argument."""
    return NURSERY
