"""The house rules that a machine can check: file length, import direction, who may import JAX."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "twofold"
# Reading order = import order: a room imports only rooms above it.
ROOMS = (
    "certificate protocol rigor store foreign tasks measures encoder decoder anatomy learned "
    "training theorems proving choose information frozen atlas claims findings studies runs report "
    "cli_atlas cli_inform cli"
).split()
MAY_IMPORT_JAX = {"learned"}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imported(path: Path) -> set[str]:
    """Every module name that a file imports, at top level or inside a function."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return names


def wrong_direction(here: str, names: set[str]) -> list[str]:
    used = {n.split(".")[1] for n in names if n.startswith("twofold.")}
    return sorted(r for r in used & set(ROOMS) if ROOMS.index(r) > ROOMS.index(here))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_room_imports_only_rooms_above_it(path):
    if path == PACKAGE / "__init__.py":
        return
    assert room_of(path) in ROOMS, f"new room {room_of(path)}: give it a place in ROOMS"
    assert not wrong_direction(room_of(path), imported(path))


def test_the_direction_test_can_fail():
    assert wrong_direction("rigor", {"twofold.report.page"}) == ["report"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_jax_is_for_learning_only(path):
    heads = {name.split(".")[0] for name in imported(path)}
    assert room_of(path) in MAY_IMPORT_JAX or not heads & {"jax", "jaxlib", "equinox", "optax"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_one_idea_fits_on_one_page(path):
    text = path.read_text("utf-8")
    a_theorem = room_of(path) == "theorems" and "\nSTATEMENT" in text
    assert len(text.splitlines()) <= (100 if a_theorem else 300)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_kernel_gives_up_ieee_arithmetic(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.keyword) and node.arg in ("fastmath", "error_model"):
            assert isinstance(node.value, ast.Constant) and node.value.value in (False, "numpy")


def tracked() -> list[str]:
    out = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    return out.stdout.splitlines()


def test_the_lock_names_no_address_and_every_package_has_a_hash():
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert not re.search(r"https?://|file:|index-url|find-links", text)
    packages = re.findall(r"^([A-Za-z0-9_.-]+)==.*\\\n    --hash=sha256:", text, re.MULTILINE)
    assert len(packages) == len(re.findall(r"^[A-Za-z0-9_.-]+==", text, re.MULTILINE)) > 20
    assert "torch" not in packages


def test_no_lock_with_addresses_and_no_pickle_is_tracked():
    odd = ("uv.lock", "pylock.toml", ".pkl", ".pickle", ".ipynb")
    assert not [name for name in tracked() if name.endswith(odd)]


def test_help_answers_without_the_heavy_libraries():
    code = (
        "import sys, contextlib, io\n"
        "sys.argv = ['twofold', '--help']\n"
        "from twofold import cli\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    cli.main()\n"
        "heavy = {'numpy', 'numba', 'scipy', 'jax', 'altair', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    python = ROOT / ".venv" / "bin" / "python"
    subprocess.run([str(python), "-c", code], check=True, cwd=ROOT)
