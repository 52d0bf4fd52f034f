"""All of this folder as one file, ``recheck.py``, that needs only NumPy and python-flint."""

from __future__ import annotations

import ast
from pathlib import Path

ORDER = (
    "balls", "subspaces", "sides", "iteration", "pencils", "angles", "preconditioners", "attention",
    "wishart", "information", "operators", "routes", "records", "judging", "proofs", "command",
)  # fmt: skip
HEADER = '''"""Redo a proof file: python recheck.py proof.json. Needs NumPy and python-flint alone.

Exit status: 0 what could be redone agrees, 1 something disagrees, 2 no readable proof file.
Made from twofold/rigor/opinion by standalone.py; read it there.
"""

from __future__ import annotations

'''
FOOTER = '\n\nif __name__ == "__main__":\n    sys.exit(main())\n'


def program() -> str:
    """The text of the stand-alone file."""
    imports: set[str] = set()
    bodies = []
    for name in ORDER:
        text = (Path(__file__).parent / f"{name}.py").read_text("utf-8")
        kept, found = taken_apart(text)
        imports |= found
        bodies.append(kept)
    return HEADER + "\n".join(sorted(imports)) + "\n" + "".join(bodies) + FOOTER


def taken_apart(text: str) -> tuple[str, set[str]]:
    """(a module's text below its docstring and imports, the imports from outside this folder)."""
    lines, imports, last = text.splitlines(), set(), 0
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom | ast.Import):
            origin = getattr(node, "module", None) or ""
            if not origin.startswith(("twofold", "__future__")):
                imports.add(ast.unparse(node))
            last = node.end_lineno or 0
    return "\n" + "\n".join(lines[last:]).rstrip() + "\n", imports
