import json
import os
import subprocess
import sys

import pytest

from twofold.store import files


def test_a_write_is_whole_and_leaves_no_temp(tmp_path):
    path = tmp_path / "a b ü.bin"
    files.write_bytes(path, b"one")
    files.write_bytes(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == [path.name]


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x"
    files.write_bytes(path, b"old")

    def full_disk(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="could not write .*No space left.*nothing was changed"):
        files.write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_links_fifos_and_folders_are_not_written(tmp_path):
    (tmp_path / "target").write_bytes(b"keep")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo"):
        with pytest.raises(ValueError, match="no regular file"):
            files.write_bytes(tmp_path / name, b"x")
    with pytest.raises(ValueError, match="not a regular file"):
        files.regular(tmp_path / "fifo")
    assert (tmp_path / "target").read_bytes() == b"keep"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(OSError, match="cannot write in folder .*nowhere"):
        files.write_bytes(tmp_path / "nowhere" / "x", b"")


def test_json_is_strict_both_ways(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        files.write_json(tmp_path / "x", {"a": float("nan")})
    (tmp_path / "x").write_text('{"a": NaN}')
    with pytest.raises(ValueError, match="x is not valid JSON.*NaN"):
        files.read_json(tmp_path / "x")
    (tmp_path / "x").write_text(json.dumps({"a": 1})[:-2])
    with pytest.raises(ValueError, match="truncated"):
        files.read_json(tmp_path / "x")


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/hostname"])
def test_a_name_cannot_leave_its_folder(tmp_path, name):
    with pytest.raises(ValueError, match="leads out of"):
        files.inside(tmp_path, name)


def test_one_process_at_a_time_and_no_stale_lock(tmp_path):
    code = f"import sys; from pathlib import Path; from twofold.store import files\n" \
           f"with files.locked(Path({str(tmp_path)!r})): sys.exit(3)"  # fmt: skip
    with files.locked(tmp_path):
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "another twofold process" in out.stderr
    killed = "import os; " + code.replace("sys.exit(3)", "os.kill(os.getpid(), 9)")
    assert subprocess.run([sys.executable, "-c", killed]).returncode == -9
    assert subprocess.run([sys.executable, "-c", code]).returncode == 3
