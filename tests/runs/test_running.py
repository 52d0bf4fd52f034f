import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from twofold.certificate import certificate, identity
from twofold.claims import Measured
from twofold.findings import Axis, Figure, Findings, Panel, Series, Study, Table
from twofold.runs import codec, folder, running, settings

SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
import test_running as here
from twofold.runs import running, settings
chosen = here.studies(pause={pause})
print(running.run(chosen, settings.resolve(chosen), Path({out!r})))
"""


@dataclass(frozen=True)
class Settings:
    seed: int = 0
    count: int = 5
    sizes: tuple[int, ...] = (1, 2)
    fast: bool = False


def work(config: Settings) -> Findings:
    x = np.random.default_rng(config.seed).standard_normal(config.count)
    series = Series("noise", np.arange(config.count), x, low=x - 1, high=x + 1)
    panel = Panel("p", Axis("s", "steps"), Axis("risk", log=True), [series])
    return Findings(
        tables=[Table("t", "T", "caption", ["a", "b"], [["x", 1.5], ["<b>", float("nan")]])],
        figures=[Figure("f", "F", "caption", [panel])],
        certificates=[identity("i", statement="a=b", gap=x * 0, rounding=1e-15)],
        measured={"000-T1-noise-floor": Measured(4e-4)},
        evidence={"i": {"x": x}},
        checkpoints={"x": x},
        notes=["said"],
    )


def studies(pause: float = 0.0):
    def slow(config):
        import time

        time.sleep(pause)
        return work(config)

    rest = dict(part="spectra", about="", settings=Settings(), full={"count": 9})
    return [Study(name, name, run=f, **rest) for name, f in (("a", work), ("b", slow))]


def digests(run):
    names = sorted(p for p in run.iterdir() if p.suffix in (".json", ".safetensors", ".parquet"))
    return {p.name: p.read_bytes() for p in names}


def test_findings_survive_the_round_trip():
    before = work(Settings())
    record = json.loads(json.dumps(codec.dump(before), allow_nan=False))
    after = codec.load(record, codec.arrays_of(before))
    assert codec.dump(after) == codec.dump(before)
    assert after.evidence["i"]["x"].tobytes() == before.evidence["i"]["x"].tobytes()
    assert np.isnan(after.tables[0].rows[1][1])


def test_a_run_is_resumed_and_tampering_is_found(tmp_path):
    chosen = studies()
    heard = []
    resolved = settings.resolve(chosen)
    run = running.run(chosen, resolved, tmp_path, lambda e: heard.append((e.study.name, e.state)))
    assert heard == [("a", "running"), ("a", "done"), ("b", "running"), ("b", "done")]
    whole, heard[:] = digests(run), []
    running.run(chosen, resolved, tmp_path, lambda e: heard.append((e.study.name, e.state)))
    assert heard == [("a", "kept"), ("b", "kept")] and digests(run) == whole
    damaged = bytearray((run / "a.safetensors").read_bytes())
    damaged[-1] ^= 1
    (run / "a.safetensors").write_bytes(bytes(damaged))
    with pytest.raises(ValueError, match="a.safetensors missing or changed"):
        folder.load(run, "a")
    running.run(chosen, resolved, tmp_path)
    assert digests(run) == whole


def test_kill_9_in_a_run_loses_nothing_that_was_finished(tmp_path):
    def script(pause, out):
        text = SCRIPT.format(here=os.path.dirname(__file__), pause=pause, out=str(out))
        return [sys.executable, "-c", text]

    process = subprocess.Popen(script(60, tmp_path / "killed"))
    try:
        while not (runs := list((tmp_path / "killed").glob("*/a.safetensors"))):
            assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    run = runs[0].parent
    assert folder.finished(run, "b") is False
    for out in ("killed", "straight"):
        subprocess.run(script(0, tmp_path / out), check=True, capture_output=True)
    assert digests(run) == digests(tmp_path / "straight" / run.name)


def test_settings_are_set_by_name_and_hashed():
    chosen = studies()
    plain = settings.resolve(chosen)
    full = settings.resolve(chosen, full=True, seed=3, assignments=["b.sizes=4,5", "fast=true"])
    assert full["a"] == Settings(3, 9, (1, 2), True) and full["b"] == Settings(3, 9, (4, 5), True)
    assert settings.config_hash(plain) != settings.config_hash(full)
    for text, match in (
        ("count", "key=value"), ("c.count=1", "no study 'c'"), ("depth=2", "no setting 'depth'"),
        ("count=two", "not a int"), ("sizes=1,x", "tuple of int"), ("fast=maybe", "not a bool"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            settings.resolve(chosen, assignments=[text])


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no manifest"):
        folder.read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema": "other"}')
    with pytest.raises(ValueError, match="not a twofold.run/1"):
        folder.read_manifest(tmp_path)


def test_a_manifest_cannot_name_files_elsewhere(tmp_path):
    chosen = studies()[:1]
    run = running.run(chosen, settings.resolve(chosen), tmp_path)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["studies"]["a"] = {"../../secret": "0"}
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="leads out of"):
        folder.load(run, "a")


def test_a_hash_that_is_not_this_config_is_refused(tmp_path):
    chosen = studies()
    run = folder.create(tmp_path, settings.resolve(chosen))
    text = (run / "manifest.json").read_text().replace(run.name, "0" * 16)
    (run / "manifest.json").write_text(text)
    with pytest.raises(ValueError, match="holds another run"):
        folder.create(tmp_path, settings.resolve(chosen))


def test_an_estimate_is_never_condemned_and_a_violation_is():
    bad = certificate("x", statement="", kind="bound", value=2.0, bound=1.0)
    guess = certificate("x", statement="", kind="estimate", value=2.0, bound=1.0)
    assert bad.condemned and not guess.condemned


def test_a_study_that_reads_another_gets_its_stored_findings(tmp_path):
    heard = []

    def reader(config, others=None):
        heard.append({k: f.measured["000-T1-noise-floor"].value for k, f in (others or {}).items()})
        return work(config)

    rest = dict(part="spectra", about="", settings=Settings())
    last = Study("c", "c", run=reader, reads=("a", "z"), **rest)
    for chosen in ([*studies(), last], [last]):
        running.run(chosen, settings.resolve(chosen), tmp_path)
    assert heard == [{"a": 4e-4}, {}]
