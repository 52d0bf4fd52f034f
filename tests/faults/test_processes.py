"""Runs that are killed, interrupted, started twice, out of space: nothing finished is lost."""

import json
import os
import signal

import pytest


def resumed(child, out):
    code, _, err = child(out).end()
    assert code == 0, err


def one_line(err):
    """What was said beside the progress display."""
    lines = [line for line in err.splitlines() if "left" not in line and "done" not in line]
    assert len(lines) == 1 and lines[0].startswith("twofold: "), err
    return lines[0]


def debris(out):
    return [p.name for run in out.iterdir() for p in run.glob(".*") if p.name != ".lock"]


KILL = """
real, seen = os.replace, []
def replace(source, target):
    seen.append(target)
    if os.path.basename(target) == {name!r} and len(seen) >= {after}:
        os.kill(os.getpid(), signal.SIGKILL)
    real(source, target)
os.replace = replace
"""
# The writes of a run, in order: manifest, a.json, a.safetensors, manifest, b.json, ...
WRITES = [("manifest.json", 1), ("a.json", 1), ("a.safetensors", 1), ("manifest.json", 2),
          ("b.safetensors", 1), ("metrics.parquet", 1), ("report.html", 1)]  # fmt: skip


@pytest.mark.parametrize(("name", "after"), WRITES)
def test_kill_9_between_the_temporary_file_and_its_name(
    child, tmp_path, artifacts, straight, name, after
):
    code, _, _ = child(tmp_path, KILL.format(name=name, after=after)).end()
    assert code == -signal.SIGKILL
    for path in tmp_path.glob("*/*.json"):
        json.loads(path.read_bytes())
    resumed(child, tmp_path)
    assert artifacts(tmp_path) == straight


TORN = """
real = os.fdopen
class Torn:
    def __init__(self, handle, *mode):
        self.file = real(handle, *mode)
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.file.close()
    def __getattr__(self, name):
        return getattr(self.file, name)
    def write(self, data):
        self.file.write(data[: len(data) // 2])
        if {name!r} in os.readlink(f"/proc/self/fd/{{self.file.fileno()}}"):
            self.file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        self.file.write(data[len(data) // 2 :])
os.fdopen = Torn
"""


@pytest.mark.parametrize("name", ["manifest.json", "b.safetensors"])
def test_kill_9_in_the_middle_of_a_write(child, tmp_path, artifacts, straight, name):
    assert child(tmp_path, TORN.format(name=name)).end()[0] == -signal.SIGKILL
    assert not list(tmp_path.glob(f"*/{name}"))
    resumed(child, tmp_path)
    assert artifacts(tmp_path) == straight


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_a_study_runs(child, tmp_path, artifacts, straight, number):
    run = child(tmp_path, pause=60)
    run.until("manifest.json", "a.json")
    run.send(number)
    code, out, err = run.end()
    assert code == 130 and not out
    assert "interrupted" in err and "Traceback" not in err
    manifest = json.loads(next(tmp_path.glob("*/manifest.json")).read_bytes())
    assert set(manifest["studies"]) == {"a"} and debris(tmp_path) == []
    resumed(child, tmp_path)
    assert artifacts(tmp_path) == straight


EARLY = """
def find(wanted=()):
    os.kill(os.getpid(), signal.{number})
    return STUDIES
twofold.studies.find = find
"""
LATE = """
from twofold.report import run_report
real = run_report._render
def render(result):
    os.kill(os.getpid(), signal.{number})
    return real(result)
run_report._render = render
"""
WRITING = """
real = os.fsync
def fsync(handle):
    if "safetensors" in os.readlink(f"/proc/self/fd/{{handle}}"):
        os.kill(os.getpid(), signal.{number})
    real(handle)
os.fsync = fsync
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("when", [EARLY, WRITING, LATE], ids=["before", "writing", "report"])
def test_an_interrupt_at_any_time_ends_with_130(child, tmp_path, artifacts, straight, when, number):
    code, _, err = child(tmp_path, when.format(number=number)).end()
    assert code == 130 and "Traceback" not in err, err
    assert not tmp_path.exists() or debris(tmp_path) == []
    resumed(child, tmp_path)
    assert artifacts(tmp_path) == straight


def test_two_runs_in_one_folder_and_the_lock_of_a_dead_one(child, tmp_path, artifacts, straight):
    first = child(tmp_path, pause=60)
    first.until("manifest.json", "a.json")
    code, _, err = child(tmp_path).end()
    assert code == 2 and "another twofold process is writing" in one_line(err)
    first.send(signal.SIGKILL)
    first.end()
    assert list(tmp_path.glob("*/.lock"))
    resumed(child, tmp_path)
    assert artifacts(tmp_path) == straight


FULL = "resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"


@pytest.mark.parametrize("size", [700, 4096, 20000])
def test_a_full_disk(child, tmp_path, artifacts, straight, size):
    code, _, err = child(tmp_path, FULL.format(size=size)).end()
    said = one_line(err)
    assert code == 2 and "nothing was changed" in said and "too large" in said
    assert debris(tmp_path) == []
    resumed(child, tmp_path)
    assert artifacts(tmp_path) == straight


def test_a_folder_that_cannot_be_written(child, tmp_path):
    (tmp_path / "file").write_text("keep")
    places = [tmp_path / "file" / "runs", tmp_path / "file"]
    places += [p for p in ("/proc/twofold", "/dev/null/runs") if os.path.exists(os.path.dirname(p))]
    if os.geteuid():
        (tmp_path / "locked").mkdir(mode=0o500)
        places.append(tmp_path / "locked")
    for process, place in [(child(place), place) for place in places]:
        code, out, err = process.end()
        assert code == 2 and str(place) in one_line(err) and not out
    assert (tmp_path / "file").read_text() == "keep"


HESITANT = """
new = folder._new_manifest
def begin(*args):
    open({begun!r}, "w").close()
    end = time.monotonic() + 1.5
    while "a.json" not in read() and time.monotonic() < end:
        time.sleep(0.01)
    return new(*args)
def read():
    from pathlib import Path
    return "".join(p.read_text() for p in Path({out!r}).glob("*/manifest.json"))
folder._new_manifest = begin
"""


def test_a_second_beginner_does_not_wipe_the_manifest_of_the_first(
    child, tmp_path, artifacts, straight
):
    out, begun = tmp_path / "out", tmp_path / "begun"
    one = child(out, HESITANT.format(begun=str(begun), out=str(out)))
    while not begun.exists():
        assert one.running
    two = child(out, pause=1)
    assert sorted((one.end()[0], two.end()[0])) == [0, 2]
    assert artifacts(out) == straight
