import json
import subprocess
import sys
from pathlib import Path

import pytest

STUDY = ("000-bernstein", "--set", "repetitions=20", "--set", "sizes=64,128,256,512")


def twofold(*args, cwd=None):
    out = subprocess.run(
        [sys.executable, "-m", "twofold.cli", *args], capture_output=True, text=True, cwd=cwd
    )
    return out.returncode, out.stdout, out.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("with space ü")
    code, out, err = twofold("reproduce", *STUDY, "--out", str(folder), "--json")
    assert code == 0, err
    return json.loads(out)


def test_reproduce_writes_one_offline_page(run):
    page = Path(run["report"]).read_text("utf-8")
    assert page.startswith("<!doctype html>") and "</html>" in page
    for fetched in ('src="http', "src=http", "<link", "@import", "url(http"):
        assert fetched not in page
    assert run["claims"]["reproduced"] == 3 and run["failures"] == []


def test_report_writes_it_again_with_sheets_for_paper(run, tmp_path):
    code, out, _ = twofold("report", run["run"], "--paper", str(tmp_path / "paper"), "--json")
    assert code == 0 and json.loads(out)["claims"] == run["claims"]
    names = {p.suffix for p in (tmp_path / "paper").iterdir()}
    assert names == {".svg", ".pdf", ".csv", ".tex", ".bib"}
    assert (tmp_path / "paper" / "000-bernstein-bounds.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(run, tmp_path):
    again = json.loads(twofold("reproduce", *STUDY, "--out", str(tmp_path), "--json")[1])
    other = twofold("reproduce", *STUDY, "--out", str(tmp_path), "--json", "--seed", "1")
    name = "000-bernstein.json"
    first = Path(run["run"], name).read_bytes()
    assert Path(again["run"], name).read_bytes() == first
    assert Path(json.loads(other[1])["run"], name).read_bytes() != first


@pytest.mark.parametrize(
    ("args", "said"),
    [(("reproduce", "999"), "no study '999'"),
     (("reproduce", "000-bernstein", "--set", "clip"), "key=value"),
     (("report", "/nowhere"), "not a run folder"),
     (("reproduce", "000-bernstein", "--out", "/dev/null/x"), "/dev/null")],
)  # fmt: skip
def test_an_expected_error_is_one_line(args, said):
    code, out, err = twofold(*args)
    assert code == 2 and said in err and err.count("\n") == 1 and not out


def test_studies_are_listed():
    code, out, _ = twofold("studies", "--json")
    assert code == 0 and "000-bernstein" in {s["name"] for s in json.loads(out)["studies"]}
