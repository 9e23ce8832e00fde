"""Says which tests run on older releases of ADK. `python -m tests.versions.choose` writes the list, `chosen.txt`.

A test runs there because it enters what differs there. One that the list does not know runs there too, until the
command has judged it, except in folders whose code knows nothing of ADK.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_suffix(".txt")
FREE_OF_ADK = frozenset({"search", "sql", "tables"})
"""Folders of the package that import nothing of ADK, so that their tests tell nothing of a release."""


def read(text: str) -> dict[str, bool]:
    """Returns True for each test that runs on older releases, and False for those that do not, by `file::function`."""
    known, file = {}, ""
    for line in text.splitlines():
        mark, _, name = line.partition(" ")
        if mark in {"+", "-"}:
            known[f"{file}::{name}"] = mark == "+"
        elif mark != "#":
            file = line
    return known


def written(known: dict[str, bool]) -> str:
    """Returns the text of the list."""
    lines, last = ["# python -m tests.versions.choose: + runs on older releases of ADK, - on the newest alone"], None
    for name, runs in sorted(known.items()):
        file, _, function = name.partition("::")
        lines += [file] * (file != last) + [f"{'+' if runs else '-'} {function}"]
        last = file
    return "\n".join([*lines, ""])


def runs_on_older(name: str, known: dict[str, bool]) -> bool:
    """Returns True if a test runs on older releases, given as `tests/folder/test_file.py::function`."""
    return known.get(name, name.split("/")[1] not in FREE_OF_ADK)


def existing() -> Iterator[str]:
    """Yields the name of every test function that there is."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield f"{path.relative_to(ROOT).as_posix()}::{node.name}"
