import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twofold.information import saved
from twofold.report import own_codes


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(600) > 0).astype(int)
    path = tmp_path / "codes ü.npz"
    np.savez(path, X=X, U=(X[:, 0] > 0).astype(np.int8), y=np.array(["no", "yes"])[y], h=X * 2)
    return path


def inform(*args):
    out = subprocess.run([sys.executable, "-m", "twofold.cli", "inform", *map(str, args)],
                         capture_output=True, text=True)  # fmt: skip
    return out.returncode, out.stdout, out.stderr


def test_the_command_answers_in_json_and_in_html(file, tmp_path):
    page = tmp_path / "r.html"
    code, out, err = inform(file, "--codes", "U", "--labels", "y", "--inputs", "X", "--layers", "h",
                            "--report", page, "--json")  # fmt: skip
    assert code == 0, err
    values = {v["name"]: v for v in json.loads(out)["values"]}
    assert values["encoder gap R_U - R_X"]["low"] > 0
    assert values["I(X;Y|U), at least"]["low"] >= 0
    assert values["layer 1: usable loss"]["kind"] == "estimate"
    text = page.read_text("utf-8")
    assert text.startswith("<!doctype html>") and "What the encoder loses" in text
    assert "'U' stands for X" in saved.decompose_file(file, "U", "y").notes[0]


def test_an_expected_error_is_one_line(file):
    code, out, err = inform(file, "--codes", "V", "--labels", "y")
    assert (
        code == 2 and "no array 'V'; it has U, X, h, y" in err and err.count("\n") == 1 and not out
    )
    with pytest.raises(ValueError, match="X: real numbers, not labels"):
        saved.decompose_file(file, "U", "X")


def test_parquet_gives_the_same_in_each_of_its_three_forms(file, tmp_path):
    with np.load(file) as a:
        X, U, y = a["X"], a["U"], a["y"]
    columns = {"U": U, "y": y, "X": list(X), **{f"Z_{i}": X[:, i] for i in range(3)}}
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path)
    found = saved.arrays(path, ["U", "X", "Z", "y"])
    assert np.array_equal(found["X"], X) and np.array_equal(found["Z"], X)
    one = saved.decompose_file(file, "U", "y", given="X")
    assert saved.decompose_file(path, "U", "y", given="Z").to_json() == one.to_json()
    assert own_codes.findings(one).tables[0].rows


def test_broken_files_are_refused(tmp_path):
    for name, body in (("a.npz", b"PK\x03\x04cut"), ("a.parquet", b"PAR1"), ("a.csv", b"1,2")):
        path = tmp_path / name
        path.write_bytes(body)
        with pytest.raises(ValueError, match=name):
            saved.arrays(path, ["U"])
    np.savez(tmp_path / "p.npz", U=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="pickle"):
        saved.arrays(tmp_path / "p.npz", ["U"])
