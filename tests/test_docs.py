"""The docs say what the code does: snippets run, printed output is true, names and links exist."""

import contextlib
import importlib
import inspect
import io
import re
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
TEXT = {page: page.read_text("utf-8") for page in PAGES}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+(?:\n[^`\n]+)*)`")
DOTTED = re.compile(r"twofold(?:\.[A-Za-z_]\w*)+")
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
FILES = (".md", ".py", ".toml", ".bib", ".json", ".html")
PACKAGE = ROOT / "twofold"


def named(page):
    return str(page.relative_to(ROOT))


pages = pytest.mark.parametrize("page", PAGES, ids=named)


def blocks(text):
    """Fenced blocks as (language, body)."""
    return BLOCK.findall(text)


def prose(text):
    return BLOCK.sub("", text)


def resolve(name):
    """What a dotted name stands for; a submodule is imported."""
    thing, seen = importlib.import_module("twofold"), "twofold"
    for part in name.split(".")[1:]:
        seen = f"{seen}.{part}"
        if not hasattr(thing, part):
            importlib.import_module(seen)
        thing = getattr(thing, part)
    return thing


def run(text):
    """Execute the python blocks of a page in one namespace; what each printed, and was to print."""
    space, out, found = {"__name__": "snippet"}, [], blocks(text)
    for (language, body), after in zip_longest(found, found[1:], fillvalue=("", "")):
        if language == "python":
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile(body, "<snippet>", "exec"), space)
            out.append((said.getvalue(), after[1] if after[0] == "output" else None))
    return out


@pages
def test_snippets_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for said, shown in run(TEXT[page]):
        assert shown is None or said == shown


def test_a_false_snippet_or_output_would_be_seen():
    with pytest.raises(ZeroDivisionError):
        run("```python\n1 / 0\n```")
    assert run("```python\nprint(1)\n```\n\n```output\n2\n```") == [("1\n", "2\n")]


def calls(text):
    """(call as shown, dotted name, argument list or None) of what stands in backticks."""
    for span in CODE.findall(prose(text)):
        shown = " ".join(span.split())
        match = DOTTED.match(shown)
        rest = shown[match.end() :] if match else ""
        if match and not match[0].endswith(FILES) and not rest.startswith("/"):
            yield shown, match[0], rest if rest.startswith("(") and rest.endswith(")") else None


@pages
def test_every_name_in_backticks_resolves_with_the_signature_shown(page):
    for shown, name, arguments in calls(TEXT[page]):
        thing = resolve(name)
        if arguments not in (None, "()", "(...)"):
            assert shown == f"{name}{signature(thing)}"


def signature(thing):
    """The parameters and their defaults, without annotations."""
    parts, starred = [], False
    for p in inspect.signature(thing).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred |= p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        prefix = {p.VAR_KEYWORD: "**", p.VAR_POSITIONAL: "*"}.get(p.kind, "")
        parts.append(prefix + p.name + ("" if p.default is p.empty else f"={p.default!r}"))
    return f"({', '.join(parts)})"


def test_a_false_name_or_signature_would_be_seen():
    with pytest.raises(ModuleNotFoundError):
        resolve("twofold.rigor.norm3_upper")
    assert list(calls("see `twofold.rigor.solve(H, d)` in `twofold/a.py`")) == [
        ("twofold.rigor.solve(H, d)", "twofold.rigor.solve", "(H, d)")
    ]
    assert signature(resolve("twofold.rigor.solve")) == "(H, d)"
    assert signature(resolve("twofold.certify")) == "(anatomy, delta=0.05, *, clip=10.0)"


def anchors(text):
    """The anchors of a page's headings, as mkdocs makes them."""
    from markdown.extensions.toc import slugify

    heads = re.findall(r"^#{1,6} (.+)$", prose(text), re.MULTILINE)
    return {slugify(re.sub(r"[`*]|\[|\]\([^)]*\)", "", head), "-") for head in heads}


@pages
def test_internal_links_exist(page):
    for link in LINK.findall(prose(TEXT[page])):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(TEXT[target]), link


@pages
def test_files_named_in_backticks_exist(page):
    for span in CODE.findall(prose(TEXT[page])):
        if re.fullmatch(r"(twofold|docs|tests|examples|benchmarks)/[\w./-]+", span):
            assert (ROOT / span).exists(), span


def sections(text):
    """The body under each second-level heading."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_theorem_has_its_section_with_its_references():
    described = sections(TEXT[DOCS / "theorems.md"])
    for path in (PACKAGE / "theorems").glob("*.py"):
        module = importlib.import_module(f"twofold.theorems.{path.stem}")
        if not hasattr(module, "STATEMENT"):
            continue
        bodies = [b for b in described.values() if f"`twofold.theorems.{path.stem}`" in b]
        assert len(bodies) == 1, path.stem
        for key in references(module):
            assert f"`{key}`" in bodies[0], (path.stem, key)


def references(module):
    """The bibliography keys of a theorem file."""
    values = [v for k, v in vars(module).items() if k.startswith("REFERENCE")]
    return {key for v in values for key in (v.values() if isinstance(v, dict) else [v])}


def test_every_room_has_its_page():
    heads = [TEXT[page].splitlines()[0] for page in (DOCS / "rooms").glob("*.md")]
    described = {name for head in heads for name in re.findall(r"`twofold\.(\w+)`", head)}
    rooms = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert described == rooms - {"__init__"}


def test_every_study_is_listed():
    from twofold import studies

    assert all(f"`{name}`" in TEXT[DOCS / "rooms" / "studies.md"] for name in studies.names())


def test_the_start_page_shows_the_readme_example():
    example, *_ = [
        body for language, body in blocks(TEXT[ROOT / "README.md"]) if language == "python"
    ]
    assert ("python", example) in blocks(TEXT[DOCS / "index.md"])


def test_every_example_is_shown():
    for path in (ROOT / "examples").glob("*.py"):
        assert f"`examples/{path.name}`" in TEXT[DOCS / "choose.md"]


def test_every_command_has_its_line():
    from twofold import cli

    for command in cli.app.registered_commands:
        name = command.name or command.callback.__name__
        assert f"`twofold {name}" in TEXT[DOCS / "rooms" / "cli.md"]


def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    built = [page.read_text("utf-8") for page in tmp_path.rglob("*.html")]
    assert len(built) >= len(PAGES) - 1
    fetched = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=.?(?:https?:)?//")
    assert fetched.search('<link href="https://a.b/c.css">')
    assert not [page for page in built if fetched.search(page)]


def test_the_site_is_offline():
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert "highlightjs: false" in config and "http" not in config
    assert not re.search(r"<(script|link|img|iframe)\b|@import", "".join(map(prose, TEXT.values())))
    assert "url(" not in (DOCS / "style.css").read_text("utf-8")
