"""The package as a whole: what it exports, and that its files agree with each other."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import adk_context_pack

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "adk_context_pack").rglob("*.py"))
RUN_TIME = {"google", "pydantic", "pydantic_core", "regex", "opentelemetry", "adk_context_pack"}
OPTIONAL = {"sqlalchemy", "aiosqlite"}


def test_exports_are_there_once():
    """Every name in `__all__` can be imported, stands there once, and is public; the linter keeps them sorted."""
    names = list(adk_context_pack.__all__)
    assert len(set(names)) == len(names)
    assert not [name for name in names if name.startswith("_")]
    assert all(hasattr(adk_context_pack, name) for name in adk_context_pack.__all__)


def test_every_public_name_has_a_docstring():
    """Whoever asks `help()` for a public class or function is told something."""
    for name in adk_context_pack.__all__:
        value = getattr(adk_context_pack, name)
        if callable(value):
            assert (value.__doc__ or getattr(type(value), "__doc__", "")).strip(), name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_nothing_beyond_its_dependencies(path):
    """No module imports at its top what pyproject does not name as a run-time dependency."""
    import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    known = set(__import__("sys").stdlib_module_names) | RUN_TIME
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= known
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] in known


def test_passes_and_tables_keep_to_their_rooms():
    """No pass imports another pass, and neither tables nor SQL know anything of ADK."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        room = path.parent.name
        if room == "passes" and "(ContextPass)" in text:
            imported = set(re.findall(r"^from adk_context_pack\.passes\.(\w+)", text, re.MULTILINE))
            assert imported == {"context_pass"}, path
        if room in {"tables", "sql"}:
            assert not re.search(r"^(from|import) google", text, re.MULTILINE), path


def test_the_version_stands_in_the_changelog():
    """The version of the package is the newest entry of the changelog."""
    newest = re.search(r"^## \[?([0-9.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert newest[1] == adk_context_pack.__version__


def test_the_readme_command_is_what_ci_runs():
    """The command by which the README tests the package is the one that `.ci/run` calls."""
    command = re.search(r"^(python3.*pytest.*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert command
    if (ROOT / ".ci" / "run").exists():
        assert command[1] in (ROOT / ".ci" / "run").read_text()
