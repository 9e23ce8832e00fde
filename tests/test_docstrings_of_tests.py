"""Every test says in one sentence what it proves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("test_*.py"))


def functions_of(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The test functions of a file, those in classes included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node


def fault_of(docstring: str | None) -> str | None:
    """What is wrong with a test's docstring, or None."""
    if not docstring:
        return "has no docstring"
    text = " ".join(docstring.split())
    return None if text.endswith(".") else "ends without a full stop"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_every_test_says_what_it_proves(path):
    """A test without a sentence cannot be judged by its reader."""
    faults = [f"{node.name} {fault}" for node in functions_of(path) if (fault := fault_of(ast.get_docstring(node)))]
    assert not faults


def test_file_names_are_unique():
    """Without packages, pytest tells test files apart by name when it is asked for one."""
    names = [path.name for path in FILES]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})


@pytest.mark.parametrize("docstring", [None, "", "No full stop"])
def test_a_missing_sentence_is_noticed(docstring):
    """The check itself can fail."""
    assert fault_of(docstring)
