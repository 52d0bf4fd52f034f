import copy
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from twofold import certificate
from twofold.rigor.opinion import proofs, records, standalone
from twofold.rigor.opinion.command import main, redo_file
from twofold.rigor.opinion.records import Unreadable


def written(path, proof, seal=True):
    proof = {**proof, "sha256": proofs.seal(proof)} if seal else proof
    path.write_text(json.dumps(proof))
    return str(path)


@pytest.fixture
def proof(make):
    """Two certificates of one anatomy and one of its own."""
    arrays, out = {}, {"schema": proofs.PROOF, "certificates": [], "inputs": []}
    for name in ("risk decomposition", "factor two", "Richardson rate"):
        record, inputs = make(name)
        keys = {k: f"{record['source'][:8]}-{k}" for k in inputs}
        arrays |= {keys[k]: proofs.pack(v) for k, v in inputs.items()}
        out["certificates"].append(record)
        out["inputs"].append(keys)
    out["arrays"] = arrays
    return {**out, "sha256": proofs.seal(out)}


def run(text, *arguments, cwd):
    """The stand-alone file alone: isolated, from a folder of its own, no environment."""
    (cwd / "recheck.py").write_text(text)
    command = [sys.executable, "-I", str(cwd / "recheck.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={}, check=False)


def test_the_stand_alone_file_agrees_alone(proof, tmp_path):
    path = written(tmp_path / "proof ü.json", proof)
    program = standalone.program()
    assert "import twofold" not in program and "from twofold." not in program
    out = run(program, path, cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    assert "everything that was redone agrees" in out.stdout and "Richardson rate" in out.stdout
    told = json.loads(run(program, path, "--json", cwd=tmp_path).stdout)
    assert [c["disagrees"] for c in told["certificates"]] == [0, 0, 0] and not told["failures"]


def test_the_stand_alone_file_disagrees_and_refuses(proof, tmp_path):
    forged = copy.deepcopy(proof)
    forged["certificates"][2]["bound"][0] *= 1 - 1e-9
    out = run(standalone.program(), written(tmp_path / "f.json", forged), cwd=tmp_path)
    assert out.returncode == 1 and "FAILED Richardson rate: 1 of 6 rows disagree" in out.stdout
    (tmp_path / "cut.json").write_text(json.dumps(proof)[:-40])
    out = run(standalone.program(), "cut.json", cwd=tmp_path)
    assert out.returncode == 2 and out.stdout == ""
    assert out.stderr.startswith("recheck: ") and out.stderr.count("\n") == 1


def test_every_change_without_a_new_seal_is_noticed(proof, tmp_path):
    for change in (
        lambda p: p["certificates"].pop(),
        lambda p: p["certificates"][0].update(statement="0 = 0"),
        lambda p: p["certificates"][0]["value"].__setitem__(0, 0.0),
        lambda p: p["inputs"].__setitem__(2, None),
    ):
        changed = copy.deepcopy(proof)
        change(changed)
        changed["inputs"] = changed["inputs"][: len(changed["certificates"])]
        _, failures = redo_file(written(tmp_path / "p.json", changed, seal=False))
        assert any("sealed" in text for text in failures)


def test_a_certificate_or_inputs_taken_out_leave_a_trace_under_a_new_seal(proof, tmp_path):
    fewer = copy.deepcopy(proof)
    del fewer["certificates"][2], fewer["inputs"][2]
    assert redo_file(written(tmp_path / "p.json", fewer))[1] == [
        "arrays without a certificate: was one taken out?"
    ]
    outcomes, _ = redo_file(written(tmp_path / "p.json", proof))
    assert [o.agrees for o in outcomes] == [8, 8, 6]


def test_inputs_changed_under_a_new_seal_do_not_have_the_certified_hash(proof, tmp_path):
    changed = copy.deepcopy(proof)
    key = changed["inputs"][2]["H"]
    H = proofs.unpack(key, changed["arrays"][key])
    changed["arrays"][key] = proofs.pack(H * (1 + 2.0**-52))
    _, failures = redo_file(written(tmp_path / "p.json", changed))
    assert len(failures) == 1 and "not those that were certified" in failures[0]


def hostile(proof):
    """Files that somebody could send."""
    array = next(iter(proof["arrays"]))

    def put(**parts):
        return {**copy.deepcopy(proof), **parts}

    def swapped(**item):
        return put(arrays={**proof["arrays"], array: {**proof["arrays"][array], **item}})

    def record(**fields):
        return put(
            certificates=[{**proof["certificates"][0], **fields}, *proof["certificates"][1:]]
        )

    yield from (b"", b"[]", b"null", b"\xff\xfe", b"{" * 100_000, b"[" * 100_000, b'{"a":1,"a":2}')
    yield from (b'{"schema": NaN}', json.dumps(proof).encode()[:1000])
    yield from (put(schema="twofold.proof/2"), put(extra=1), put(certificates={}), put(arrays=[]))
    yield from (put(inputs=[]), put(inputs=[1, 2, 3]), put(inputs=[{"P": "nowhere"}] * 3))
    yield from (put(inputs=[{"P": ["a"]}] * 3), swapped(shape=[-1]), swapped(shape=[10**30]))
    yield from (swapped(shape="8"), swapped(shape=[1] * 40), swapped(data="*"), swapped(data=5))
    yield from (swapped(type="|O"), swapped(type=[]), put(arrays={**proof["arrays"], array: None}))
    yield from (record(value=[1.0]), record(value=["1e5"] * 8), record(applies=[1] * 8))
    yield from (record(reason=[None] * 8), record(name=5), record(schema=""), record(kind=[]))
    yield from (record(value=[10**400] * 8), put(certificates=[{}] * 3), put(certificates=[5] * 3))


def test_hostile_files_are_one_line_and_status_two(proof, tmp_path, capsys):
    for bad in hostile(proof):
        path = tmp_path / "bad.json"
        path.write_bytes(bad if isinstance(bad, bytes) else json.dumps(bad).encode())
        assert main([str(path)]) == 2, str(bad)[:200]
        told = capsys.readouterr()
        assert told.out == "" and told.err.startswith("recheck: ") and told.err.count("\n") == 1


def test_paths_that_are_no_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "none", tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(Unreadable):
            redo_file(str(path))


def test_arrays_come_back_bit_for_bit():
    odd = np.array([[np.nan, -0.0, np.inf], [5e-324, 1e308, -1.5]])
    for x in (odd, odd.T, odd[:, ::-2], odd.astype(">f8"), np.float64(3.5), np.zeros((0, 4)),
              np.int64(7), np.arange(3)):  # fmt: skip
        back = proofs.unpack("x", json.loads(json.dumps(proofs.pack(x))))
        assert back.shape == np.shape(x) and back.dtype.isnative
        assert np.ascontiguousarray(x).astype(back.dtype).tobytes() == back.tobytes()


def test_hash_and_verdict_are_those_of_the_package(make):
    arrays = (np.arange(3.0), np.float64(2), np.int64(7), np.eye(3)[:, ::2], np.zeros(0))
    assert records.fingerprint(*arrays) == certificate.fingerprint(*arrays)
    rng = np.random.default_rng(0)
    pool = np.array([0.0, 1.0, -1.0, 1 + 2.0**-52, np.nan, np.inf, -np.inf, 1e-16])
    for side in ("upper", "lower", "both"):
        for kind in ("bound", "identity"):
            value, bound, rounding = rng.choice(pool, (3, 400))
            proof = certificate.certificate(
                "x", statement="", kind=kind, side=side, value=value, bound=bound,
                rounding=np.abs(rounding), applies=rng.random(400) < 0.8, reason="no",
            )  # fmt: skip
            with np.errstate(invalid="ignore"):
                words = list(proof.verdict)
            assert [records.verdict(proof.to_json(), i) for i in range(400)] == words
