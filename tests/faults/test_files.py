"""Files that were cut, flipped, swapped, linked or never ours: refused by name, never believed."""

import io
import json
import os
import pickle
import shutil
import stat

import numpy as np
import pytest
from safetensors.numpy import save

from twofold import frozen
from twofold.certificate import Certificate, certificate
from twofold.report import run_report
from twofold.runs import folder
from twofold.store import files, frames, tensors


@pytest.fixture
def run(straight, tmp_path):
    """A copy of a finished run of studies a and b, in a folder with a space and an umlaut."""
    where = tmp_path / "a b ü"
    where.mkdir()
    for name, data in straight.items():
        (where / name).write_bytes(data)
    return where


def test_an_undamaged_copy_reads_from_any_path(run):
    assert [h["name"] for h, _ in run_report.read(run).studies] == ["a", "b"]
    run_report.write(run)
    assert "‖x‖" in (run / "report.html").read_text("utf-8")


DAMAGES = {
    "cut to nothing": lambda data: b"",
    "cut in the middle": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "one byte long": lambda data: data + b"\0",
    "a bit flipped": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "all zeros": lambda data: bytes(len(data)),
}


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", ["a.json", "a.safetensors"])
def test_a_damaged_artifact_is_named_and_its_study_runs_again(run, name, how):
    (run / name).write_bytes(DAMAGES[how]((run / name).read_bytes()))
    assert not folder.finished(run, "a") and folder.finished(run, "b")
    with pytest.raises(ValueError, match=f"{name} missing or changed"):
        folder.load(run, "a")
    with pytest.raises(ValueError, match=name):
        run_report.write(run)


@pytest.mark.parametrize("how", ["cut to nothing", "cut in the middle", "all zeros"])
def test_a_damaged_manifest_is_named(run, how):
    path = run / "manifest.json"
    path.write_bytes(DAMAGES[how](path.read_bytes()))
    with pytest.raises(ValueError, match=r"manifest.json is not valid JSON"):
        run_report.read(run)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.pop("studies"), "has no studies"),
        (lambda m: m.pop("versions"), "has no versions"),
        (lambda m: m.update(studies=["a"]), "name its artifacts"),
        (lambda m: m.update(studies={"a": ["a.json"]}), "name its artifacts"),
        (lambda m: m.update(schema="twofold.run/2"), "not a twofold.run/1"),
        (lambda m: m.update(studies={"../../x": {}}), "leads out of"),
        (lambda m: m.update(studies={"/etc/x": {}}), "leads out of"),
        (lambda m: m["studies"]["a"].update({"../x": "0"}), "leads out of"),
        (lambda m: m["studies"]["a"].update({"link": "0"}), "leads out of"),
        (lambda m: m["studies"]["a"].update({"linked/hosts": "0"}), "leads out of"),
        (lambda m: m["studies"]["a"].update({"pipe": "0"}), "not a regular file"),
    ],
)
def test_a_foreign_manifest_reaches_nothing_outside(run, change, said):
    (run / "link").symlink_to("/etc/hosts")
    (run / "linked").symlink_to("/etc")
    os.mkfifo(run / "pipe")
    manifest = json.loads((run / "manifest.json").read_bytes())
    change(manifest)
    named = manifest.get("studies", ["a"])
    (run / "manifest.json").write_text(json.dumps(manifest))
    for read in (run_report.read, lambda r: [folder.load(r, s) for s in named]):
        with pytest.raises(ValueError, match=said):
            read(run)


class Bomb:
    """Unpickling it would leave a trace."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return open, (str(self.trace), "w")


@pytest.mark.parametrize("name", ["x.safetensors", "x.npy", "x.json", "checkpoint", "x.parquet"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_by_any_name_is_never_opened(tmp_path, name, protocol):
    path, trace = tmp_path / name, tmp_path / "trace"
    archive = io.BytesIO()
    np.savez(archive, a=np.array([Bomb(trace)], dtype=object))
    for data in (pickle.dumps({"H": Bomb(trace)}, protocol), archive.getvalue()):
        path.write_bytes(data)
        for read in (tensors.read, frames.read, files.read_json, lambda p: frozen.read(p, 3)):
            with pytest.raises(ValueError, match=name):
                read(path)
    assert not trace.exists()


def test_a_checkpoint_that_is_not_ours_says_what_it_should_hold(tmp_path):
    path, eye = tmp_path / "x.safetensors", np.eye(3)
    right = {"H": eye[None], "d": eye[:1], "P": eye}
    for change, said in (
        ({"H": None}, "missing H"), ({"weight": eye}, "unknown weight"), ({"P": eye[:2]}, "P: "),
        ({"d": eye}, "d: expected shape"), ({"H": eye}, "H: expected a batch"),
        ({"H": np.triu(np.ones((1, 3, 3)))}, "H: matrix 0 is not symmetric"),
        ({"truth": eye}, "truth: expected shape"),
    ):  # fmt: skip
        arrays = {k: v for k, v in (right | change).items() if v is not None}
        path.write_bytes(save(arrays))
        with pytest.raises(ValueError, match=f"x.safetensors: .*{said}"):
            frozen.read(path, 2)
    path.write_bytes(save(right))
    assert all(c.counts["holds"] == 1 for c in frozen.read(path, 2).certify())


TARGETS = ["link", "dangling", "fifo", "folder", "/dev/null", "/dev/zero"]


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_written_through_or_over_what_is_no_plain_file(tmp_path, target):
    keep = tmp_path / "keep"
    keep.write_text("keep")
    (tmp_path / "link").symlink_to(keep)
    (tmp_path / "dangling").symlink_to(tmp_path / "new")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    path = tmp_path / target
    before = path.lstat().st_mode
    for write in (
        lambda p: files.write_bytes(p, b"x"),
        lambda p: tensors.write(p, {"a": np.ones(2)}),
        lambda p: frames.write(p, {"a": [1.0]}),
        lambda p: files.write_json(p, {}),
    ):
        with pytest.raises(ValueError, match="no regular file"):
            write(path)
    assert path.lstat().st_mode == before and keep.read_text() == "keep"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("target", ["fifo", "folder", "/dev/zero", "missing"])
def test_nothing_is_read_from_what_is_no_plain_file(tmp_path, target):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    for read in (tensors.read, frames.read, files.read_json, files.sha256):
        with pytest.raises((ValueError, FileNotFoundError), match="(not a regular|no such) file"):
            read(tmp_path / target)


def test_a_linked_lock_and_a_linked_report_are_not_followed(run, tmp_path):
    outside = tmp_path / "outside"
    (run / ".lock").symlink_to(outside)
    with pytest.raises(OSError, match="lock"), files.locked(run):
        raise AssertionError("locked through a link")
    (run / "report.html").unlink()
    (run / "report.html").symlink_to(outside)
    with pytest.raises(ValueError, match="no regular file"):
        run_report.write(run)
    assert not outside.exists()


def test_what_is_written_has_the_usual_rights(tmp_path):
    tensors.write(tmp_path / "x", {"a": np.ones(2)})
    (tmp_path / "y").touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "xy"}
    assert len(modes) == 1


def test_a_renamed_run_is_refused_by_its_hash(run, tmp_path):
    moved = tmp_path / "0123456789abcdef"
    shutil.copytree(run, moved)

    class Chosen(dict):
        pass

    real = folder.settings.config_hash
    try:
        folder.settings.config_hash = lambda chosen: moved.name
        with pytest.raises(ValueError, match="holds another run"):
            folder.create(tmp_path, Chosen())
    finally:
        folder.settings.config_hash = real


NUMBERS = [np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1]


def test_no_bare_nan_leaves_in_json_and_every_number_comes_back():
    kept = certificate("c", statement="", kind="bound", value=NUMBERS, bound=NUMBERS[::-1])
    text = json.dumps(kept.to_json(), allow_nan=False)
    again = Certificate.from_json(text)
    assert again.value.tobytes() == kept.value.tobytes()
    assert again.bound.tobytes() == kept.bound.tobytes()
    assert again.verdict.tolist() == kept.verdict.tolist()
    assert kept.verdict[0] == "silent"
    wide = certificate("c", statement="", kind="bound", value=1e300, bound=5e-324)
    assert wide.verdict[0] == "violated" and wide.tightness[0] == np.inf


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-Infinity"])
def test_bare_nan_in_json_is_refused(tmp_path, bad):
    (tmp_path / "x.json").write_text(f'{{"a": [1, {bad}]}}')
    with pytest.raises(ValueError, match=f"x.json is not valid JSON .*{bad}"):
        files.read_json(tmp_path / "x.json")
