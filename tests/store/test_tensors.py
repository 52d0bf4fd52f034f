import json
import pickle

import numpy as np
import pytest

from twofold.store import frames, tensors


def test_round_trip_keeps_every_bit_and_the_bytes_do_not_depend_on_layout(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((3, 4))
    arrays = {
        "b": np.arange(3),
        "a": a,
        "scalar": np.array(2.5),
        "odd": np.array([np.nan, np.inf, -0.0, 5e-324]),
    }
    tensors.write(tmp_path / "x", arrays)
    back = tensors.read(tmp_path / "x")
    assert all(back[k].tobytes() == np.ascontiguousarray(v).tobytes() for k, v in arrays.items())
    assert all(back[k].shape == v.shape for k, v in arrays.items())
    twisted = {
        "scalar": arrays["scalar"],
        "odd": arrays["odd"].astype(">f8"),
        "a": a[::-1][::-1],
        "b": arrays["b"],
    }
    tensors.write(tmp_path / "y", twisted)
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


@pytest.mark.parametrize("bad", [np.array([1j]), np.array(["a"]), np.array([None])])
def test_only_real_numbers_are_stored(tmp_path, bad):
    with pytest.raises(ValueError, match="'x' has type"):
        tensors.write(tmp_path / "x", {"x": bad})


def test_a_pickle_is_refused_by_its_bytes_and_never_opened(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "exploded"), "w"))

    for protocol in (2, 3, 4, 5):
        (tmp_path / "x.safetensors").write_bytes(pickle.dumps(Bomb(), protocol))
        with pytest.raises(ValueError, match="pickle"):
            tensors.read(tmp_path / "x.safetensors")
    np.savez(tmp_path / "z", a=np.ones(2))
    with pytest.raises(ValueError, match="archive"):
        tensors.read(tmp_path / "z.npz")
    assert not (tmp_path / "exploded").exists()


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "x"
    tensors.write(path, {"a": np.ones((8, 8))})
    whole = path.read_bytes()
    for cut in (0, 4, 12, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="safetensors"):
            tensors.read(path)
    entry = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    twice = f'{{"a": {json.dumps(entry)}, "a": {json.dumps(entry)}}}'.encode()
    path.write_bytes(len(twice).to_bytes(8, "little") + twice + bytes(8))
    with pytest.raises(ValueError, match="duplicate keys"):
        tensors.read(path)


def test_a_flipped_bit_in_a_frame_is_found(tmp_path):
    path = tmp_path / "x.parquet"
    values = np.random.default_rng(0).standard_normal(2000)
    frames.write(path, {"v": values, "s": ["name"] * 2000})
    assert frames.read(path)["v"] == values.tolist()
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 4
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="damaged"):
        frames.read(path)


def test_a_header_whose_length_begins_like_a_pickle_is_read(tmp_path):
    """0x280, 0x380, 0x480 and 0x580 bytes of header: safetensors pads it to multiples of eight."""
    found, path = set(), tmp_path / "x.safetensors"
    for length in range(500, 1400, 8):
        tensors.write(path, {"a" * length: np.ones(2)})
        first = path.read_bytes()[:2]
        if first in tensors._PICKLES:
            found.add(first)
            assert np.array_equal(tensors.read(path)["a" * length], np.ones(2))
    assert len(found) == 4
