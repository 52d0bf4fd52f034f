import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twofold import atlas
from twofold.atlas import families, storing, streaming
from twofold.store import tensors

EVERY = [families.Periodic(2), families.Torus(2, 1), families.Sphere(2), families.Affine(2),
         families.Patch(1, 2, 1.5), families.Cylinder(1, 1)]  # fmt: skip


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    atoms = [atlas.Atom(families.Periodic(2), rng.standard_normal((5, 12))) for _ in range(2)]
    return atlas.build(atoms)


@pytest.fixture(scope="module")
def X(made):
    rng = np.random.default_rng(1)
    return made.atoms[0].decode(rng.random((70, 1))) + 0.1 * rng.standard_normal((70, 12))


@pytest.mark.parametrize("family", EVERY, ids=lambda f: f.name)
def test_an_atlas_comes_back_as_it_was(family, tmp_path):
    B = np.random.default_rng(0).standard_normal((family.size, 7))
    before = atlas.build([atlas.Atom(family, B)], charts=4, priors=atlas.Priors(0.1, 0.2))
    storing.save(before, tmp_path / "a")
    after = storing.load(tmp_path / "a")
    assert after.atoms[0].family == family and np.array_equal(after.atoms[0].B, B)
    assert after.priors == before.priors
    assert np.array_equal(after.charts[0].radius, before.charts[0].radius)


def test_a_changed_or_foreign_file_is_refused(made, tmp_path):
    storing.save(made, tmp_path)
    path = tmp_path / storing.ARRAYS
    whole = path.read_bytes()
    for broken in (whole[:-9], whole[:-1] + bytes([whole[-1] ^ 1]), b"\x80\x04."):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="manifest was written for"):
            storing.load(tmp_path)
    path.write_bytes(whole)
    manifest = tmp_path / storing.MANIFEST
    record = json.loads(manifest.read_text())
    for change in ({"format": "x"}, {"families": [{"kind": "spiral"}] * 2}, {"charts": -1},
                   {"priors": {"flat": -1}}, {"families": None}):  # fmt: skip
        manifest.write_text(json.dumps(record | change))
        with pytest.raises(ValueError):
            storing.load(tmp_path)
    with pytest.raises(ValueError, match="periodic:H"):
        storing.family("periodic:x")
    assert storing.family("patch:2:3:1.5") == families.Patch(2, 3, 1.5)


def write(kind, path, X):
    path = path.with_suffix(kind)
    if kind == ".npy":
        np.save(path, X)
    elif kind == ".safetensors":
        tensors.write(path, {"rows": X})
    else:
        table = pa.table({"x": list(X)}) if kind == ".parquet" else pa.table(
            {f"c{i}": X[:, i] for i in range(X.shape[1])})  # fmt: skip
        if kind == ".parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as sink:
                sink.write_table(table)
    return path


@pytest.mark.parametrize("kind", [".npy", ".safetensors", ".parquet", ".arrow"])
def test_rows_come_from_every_format_in_chunks(kind, made, X, tmp_path):
    path = write(kind, tmp_path / "rows", X)
    out = tmp_path / "codes.parquet"
    result = streaming.encode(made, path, out, amplitude=1.0, chunk=32)
    assert result.rows == 70 == sum(result.verdicts.values()) == sum(result.methods.values())
    whole = streaming.columns(made.encode(X, amplitudes=1.0))
    table = pq.read_table(out).to_pydict()
    for name, want in whole.items():
        assert np.array_equal(table[name], want), name
    assert not list(tmp_path.glob(".codes*"))


def test_an_interrupted_encode_goes_on_where_it_stopped(made, X, tmp_path, monkeypatch):
    path, out = write(".npy", tmp_path / "rows", X), tmp_path / "codes.parquet"

    def stop(done):
        if done >= 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        streaming.encode(made, path, out, amplitude=1.0, chunk=20, listen=stop)
    assert not out.exists()
    result = streaming.encode(made, path, out, amplitude=1.0, chunk=20)
    assert (result.rows, result.resumed) == (70, 40)
    with pytest.raises(KeyboardInterrupt):
        streaming.encode(made, path, out, amplitude=1.0, chunk=20, listen=stop)
    assert streaming.encode(made, path, out, amplitude=2.0, chunk=20).resumed == 0


def test_files_that_are_no_rows_are_refused(made, tmp_path):
    out = tmp_path / "codes.parquet"
    for name, body in (("a.pkl", b"\x80\x04."), ("b.npy", b"\x93NUMPY"), ("c.parquet", b"PAR1"),
                       ("d.safetensors", b"\x01"), ("e.arrow", b"ARROW1")):  # fmt: skip
        path = tmp_path / name
        path.write_bytes(body)
        with pytest.raises(ValueError, match=name):
            streaming.encode(made, path, out)
    np.save(tmp_path / "f.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"f\.npy"):
        streaming.encode(made, tmp_path / "f.npy", out)
    np.save(tmp_path / "g.npy", np.ones((3, 5)))
    with pytest.raises(ValueError, match="rows"):
        streaming.encode(made, tmp_path / "g.npy", out)


def run(*args):
    command = [sys.executable, "-m", "twofold.cli", *map(str, args)]
    out = subprocess.run(command, capture_output=True, text=True)
    return out.returncode, out.stdout, out.stderr


def test_the_command_line_builds_shows_and_encodes(made, X, tmp_path):
    tensors.write(tmp_path / "dict.safetensors", {"B": np.stack([a.B for a in made.atoms])})
    np.save(tmp_path / "rows.npy", X)
    folder, codes = tmp_path / "atlas", tmp_path / "codes.parquet"
    code, out, err = run("atlas", "build", tmp_path / "dict.safetensors", "--family", "periodic:2",
                         "-o", folder)  # fmt: skip
    assert code == 0 and "periodic" in out, err
    code, out, err = run("atlas", "show", folder, "--json")
    assert code == 0 and len(json.loads(out)["atoms"]) == 2, err
    code, out, err = run("encode", folder, tmp_path / "rows.npy", "-o", codes, "--amplitude", "1")
    assert code == 0 and "70 rows" in out and "global" in out, err
    assert pq.read_table(codes).num_rows == 70
    code, out, err = run("encode", folder, tmp_path / "no.npy", "-o", codes)
    assert code == 2 and err.count("\n") == 1 and "no.npy" in err
