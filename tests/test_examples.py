"""Every example runs as a script in an empty folder, says something, and only public names."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import twofold

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
examples = pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)


@examples
def test_it_runs_and_prints(path, tmp_path):
    command = [sys.executable, "-W", "error", str(path)]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert out.returncode == 0, out.stderr
    assert len(out.stdout.splitlines()) >= 3 and not out.stderr
    assert "violated': 0" in out.stdout or "violated" not in out.stdout


def used(source):
    """The names that a script takes from twofold itself, by import or by attribute."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("twofold"):
            inside = node.module == "twofold"
            names |= {a.name if inside else f"{node.module}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            names |= {a.name for a in node.names if a.name.startswith("twofold.")}
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "twofold":
            names.add(node.attr)
    return names


@examples
def test_it_imports_public_names_only(path):
    names = used(path.read_text("utf-8"))
    assert names and names <= set(twofold.__all__)


@examples
def test_it_fits_on_one_page(path):
    assert len(path.read_text("utf-8").splitlines()) <= 60


def test_private_names_would_be_seen():
    assert used("from twofold.rigor import solve") == {"twofold.rigor.solve"}
    assert used("import twofold.rigor.norms") == {"twofold.rigor.norms"}
    assert used("import twofold\ntwofold.proving.certify(1)") == {"proving"}


def test_there_are_examples():
    assert len(EXAMPLES) >= 5
