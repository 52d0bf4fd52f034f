import json
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from twofold.findings import Findings, Study
from twofold.rigor.opinion.records import Unreadable
from twofold.runs import exporting, folder, rechecking, running, settings
from twofold.store import files, tensors
from twofold.theorems import bernstein, nonclosure, richardson, tracking


@dataclass(frozen=True)
class Settings:
    seed: int = 0


def work(config: Settings) -> Findings:
    """A bound twice under one name, an identity, one by chance, one without evidence."""
    rng = np.random.default_rng(config.seed)
    given = [
        {"P": 0.5 * np.eye(4), "H": np.eye(4) + 0.1 * np.diag(rng.random(4))[None].repeat(3, 0),
         "d": rng.standard_normal((3, 4)), "depth": np.int64(depth)}
        for depth in (2, 5)
    ]  # fmt: skip
    bounds = [richardson.certify(**g) for g in given]
    E0, C = rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 4, 3, 3))
    runs = {"eta": np.float64(0.3), "E0": E0, "C": C, "D": rng.standard_normal((2, 4, 2, 3))}
    path = tracking.certify(runs["E0"], runs["C"], runs["D"], eta=0.3)
    chance = bernstein.certify(rng.random(20), clip=1.0, delta=0.05)
    evidence = {b.source: g for b, g in zip(bounds, given, strict=True)} | {path.source: runs}
    return Findings(
        certificates=[*bounds, path, chance, nonclosure.certify([0.2], [0.7])], evidence=evidence
    )


@pytest.fixture
def run(tmp_path):
    rest = dict(part="spectra", about="", settings=Settings())
    studies = [Study(name, name, run=work, **rest) for name in ("a", "b")]
    return running.run(studies, settings.resolve(studies), tmp_path / "runs ü")


def entered_again(run, study):
    """Write the digests of a study's artifacts into the manifest, as a careful forger would."""
    manifest = folder.read_manifest(run)
    for name in manifest["studies"][study]:
        manifest["studies"][study][name] = files.sha256(run / name)
    files.write_json(run / "manifest.json", manifest)


def forged(run, study, change):
    record = files.read_json(run / f"{study}.json")
    change(record["certificates"])
    files.write_json(run / f"{study}.json", record)


def test_an_honest_run_agrees_and_says_what_it_could_not_redo(run):
    heard = []
    result = rechecking.recheck(run, heard.append)
    assert not result.failures and len(heard) == len(result.outcomes) == 10
    assert result.counts == {
        "agrees": 16, "disagrees": 0, "undecided": 0, "silent": 0, "redone": 6, "skipped": 4
    }  # fmt: skip
    skipped = {o.name: o.skipped for o in result.outcomes if o.skipped}
    assert skipped["nonclosure"] == "no inputs stored"
    assert "confidence" in skipped["bernstein"]
    assert "6 certificates redone: 16 rows agree" in result.lines()[-1]
    assert json.loads(json.dumps(result.record()))["failures"] == []
    assert {o.study for o in result.outcomes} == {"a", "b"}


@pytest.mark.parametrize("name", ["a.json", "b.safetensors", "metrics.parquet"])
def test_a_changed_artifact_is_named(run, name):
    data = bytearray((run / name).read_bytes())
    data[len(data) // 2] ^= 1
    (run / name).write_bytes(data)
    failures = rechecking.recheck(run).failures
    assert len(failures) == 1 and name in failures[0]


def test_a_missing_artifact_and_a_foreign_one_are_named(run):
    (run / "a.safetensors").unlink()
    (run / "c.json").write_text("{}")
    assert [f.split(" ")[0:2] for f in rechecking.recheck(run).failures] == [
        ["a:", "a.safetensors"], ["c.json", "is"]
    ]  # fmt: skip


def lower(certificates):
    certificates[0]["bound"][1] *= 1 - 1e-9


def drop(certificates):
    del certificates[1]


def mute(certificates):
    certificates[2]["applies"][0] = False


def estimate(certificates):
    certificates[0]["kind"] = "estimate"


def shift(certificates):
    certificates[1]["value"][2] *= 1 + 1e-6


@pytest.mark.parametrize("change", [lower, drop, mute, estimate, shift])
def test_a_forgery_entered_in_the_manifest_is_caught_by_the_theorem_alone(run, change):
    forged(run, "b", change)
    assert "b.json" in rechecking.recheck(run).failures[0]
    entered_again(run, "b")
    failures = rechecking.recheck(run).failures
    assert len(failures) == 1 and failures[0].startswith("b: ")
    assert ("rows disagree" in failures[0]) or ("no certificate" in failures[0])


def test_evidence_changed_and_entered_in_the_manifest_is_caught(run):
    arrays = tensors.read(run / "a.safetensors")
    name = next(n for n in arrays if n.endswith("/H"))
    arrays[name] = arrays[name] * (1 + 2.0**-52)
    tensors.write(run / "a.safetensors", arrays)
    entered_again(run, "a")
    failures = rechecking.recheck(run).failures
    assert len(failures) == 1 and "not those that were certified" in failures[0]


def test_a_study_taken_out_of_the_manifest_leaves_its_files(run):
    manifest = folder.read_manifest(run)
    del manifest["studies"]["a"]
    files.write_json(run / "manifest.json", manifest)
    failures = rechecking.recheck(run).failures
    assert failures == ("a.json is not in the manifest", "a.safetensors is not in the manifest")


def test_no_run_is_an_error_that_says_so(tmp_path):
    with pytest.raises(ValueError, match="not a run folder"):
        rechecking.recheck(tmp_path)
    with pytest.raises(Unreadable, match="cannot read"):
        rechecking.recheck(tmp_path / "nothing")


def test_a_run_exported_is_redone_by_anybody(run, tmp_path):
    out = tmp_path / "for somebody"
    out.mkdir()
    exporting.export_run(run, out / "proof.json")
    mine = rechecking.recheck(out / "proof.json")
    assert not mine.failures and mine.counts["agrees"] == 16
    proof = files.read_json(out / "proof.json")
    assert len(proof["arrays"]) == 11, "equal arrays are kept once"
    done = subprocess.run(
        [sys.executable, "-I", "recheck.py", "proof.json"], cwd=out, env={}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "everything that was redone agrees" in done.stdout


def test_export_refuses_to_write_over_what_is_no_file(run, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="no regular file"):
        exporting.export_run(run, tmp_path / "link")
