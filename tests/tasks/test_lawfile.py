"""A law in TOML: what it says, and what is refused with the file and the key."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from twofold.cli import app
from twofold.tasks import lawfile


def written(tmp_path, text):
    path = tmp_path / "law.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_named_spectrum_and_a_written_one(tmp_path):
    law = lawfile.read(written(tmp_path, "dim = 4\ncondition = 100\nprompt = 9\nridge = 0.1"))
    np.testing.assert_allclose(law.sigma, np.logspace(0, -2, 4))
    assert law.prompt == 9 and law.ridge == 0.1
    law = lawfile.read(written(tmp_path, "sigma = [[2, 1], [1, 2]]\nprior = [1, 3]\nprompt = 9"))
    assert law.sigma.shape == (2, 2) and law.prior.tolist() == [1, 3]


@pytest.mark.parametrize(
    "text, told",
    [("prompt = ", "not TOML"), ("dim = 3", "expected prompt"), ("dims = 3\nprompt = 2", "'dims'"),
     ("sigma = [1]\ndim = 1\nprompt = 2", "either"), ("sigma = [-1.0]\nprompt = 2", "sigma")],
)  # fmt: skip
def test_mistakes_name_the_file_and_the_key(tmp_path, text, told):
    with pytest.raises(ValueError, match=told) as error:
        lawfile.read(written(tmp_path, text))
    assert "law.toml" in str(error.value)


def test_the_command_prints_a_curve_and_its_reason(tmp_path):
    path = written(tmp_path, "dim = 5\nprompt = 20")
    given = ["predict", "--law", str(path), "--depth", "2", "--model", "diagonal", "--steps", "20"]
    shown = CliRunner().invoke(app, given)
    assert shown.exit_code == 0 and "drift by exact" in shown.output
    record = json.loads(CliRunner().invoke(app, [*given, "--json"]).output)
    assert record["times"][-1] == 20 and record["risk"][-1] < record["risk"][0]
    assert CliRunner().invoke(app, [*given[:5], "--model", "mlp"]).exit_code != 0
