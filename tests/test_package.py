"""The package as a whole: what it exports, and that its files agree with each other."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from google.adk.agents import BaseAgent
from google.adk.models import BaseLlm

import adk_context_pack
from adk_context_pack import SettingError, testing

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "adk_context_pack").rglob("*.py"))
ADK_FIELDS = {*BaseAgent.model_fields, *BaseLlm.model_fields}
PUBLIC = Path(__file__).with_name("public.txt")
RUN_TIME = {"google", "pydantic", "pydantic_core", "regex", "opentelemetry", "adk_context_pack"}


def test_exports_are_loaded_and_typed():
    """Every name in `__all__` can be imported, is public, is found by `dir()`, and is what the stub says."""
    package = adk_context_pack
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    typed = {a.asname: (n.module, a.name) for n in stub if isinstance(n, ast.ImportFrom) for a in n.names}
    assert list(typed) == list(package.__all__)
    assert not [name for name in typed if name.startswith("_")]
    assert set(typed) <= set(dir(package))
    for name, (module, inside) in typed.items():
        assert getattr(package, name) is getattr(import_module(module), inside)
    with pytest.raises(
        AttributeError, match=r"'adk_context_pack' has no attribute 'CapRow' \(did you mean 'CapRows'\?\)"
    ):
        _ = package.CapRow


def test_a_name_that_goes_says_what_to_write(monkeypatch):
    """For one minor version an old name is the new one, and a warning at the line that uses it names that."""
    monkeypatch.setitem(adk_context_pack._renamed, "LimitRows", "CapRows")
    with pytest.warns(DeprecationWarning, match="LimitRows is gone with the next .* write CapRows") as seen:
        assert adk_context_pack.LimitRows is adk_context_pack.CapRows
    assert seen[0].filename == __file__


def offered() -> list[str]:
    """Returns the dotted names of all that is public, and of its settings and members."""
    found = []
    for package, name in ((each, name) for each in (adk_context_pack, testing) for name in each.__all__):
        value = getattr(package, name)
        bases = getattr(value, "__mro__", ())
        taken = inspect.signature(value).parameters if callable(value) and Exception not in bases else ()
        own = {each for c in bases if c.__module__.startswith("adk_context_pack") for each in (*vars(c), *taken)}
        members = sorted(each for each in {*own, *taken} - ADK_FIELDS if not each.startswith(("_", "model_")))
        found += [f"{package.__name__}.{name}", *(f"{package.__name__}.{name}.{member}" for member in members)]
    return found


@pytest.mark.newest
def test_nothing_public_is_gone():
    """Names, settings and members of the last release are there, or say for one minor version what to write.

    After a release: `python -c "from tests.test_package import *; PUBLIC.write_text(chr(10).join(offered()))"`.
    """
    gone = set(PUBLIC.read_text().split()) - set(offered())
    assert not [each for each in gone if each.rpartition(".")[2] not in adk_context_pack._renamed]


def test_rooms_free_of_adk_load_without_it():
    """The package alone loads none of its modules, and all of tables, SQL and search load neither ADK nor its SDK."""
    code = """
import sys, adk_context_pack
print([name for name in sys.modules if name.startswith("adk_context_pack.")])
for module in sys.argv[1:]:
    __import__(module)
print([name for name in sys.modules if name.startswith(("google.adk", "google.genai"))])
"""
    files = [
        path.relative_to(ROOT).with_suffix("") for path in SOURCES if path.parent.name in {"search", "sql", "tables"}
    ]
    command = [sys.executable, "-c", code, *(".".join(file.parts) for file in files if file.stem != "__init__")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT)  # noqa: S603 - our own files
    assert done.stdout.split() == [b"[]", b"[]"]


@pytest.mark.parametrize("package", [adk_context_pack, testing])
def test_every_public_object_has_a_description(package):
    """The reference and editors describe each public name, the members of its class, and its settings by name."""
    for value in filter(callable, [getattr(package, name) for name in package.__all__]):
        classes = [c for c in getattr(value, "__mro__", [value]) if c.__module__.startswith("adk_context_pack")]
        described = "".join(inspect.getdoc(c) or "" for c in (*classes, type(value), getattr(value, "__init__", None)))
        others = {inspect.getdoc(c.__init__) for c in {*getattr(value, "__mro__", ())} - {*classes, object}}
        # Editors show the docstring of the nearest `__init__` that has one.
        assert "__init__" not in vars(value) or value.__init__.__doc__ or not others - {None, object.__init__.__doc__}
        taken = {} if Exception in getattr(value, "__mro__", ()) else inspect.signature(value).parameters
        settings = {name for name, setting in taken.items() if setting.kind is setting.KEYWORD_ONLY}
        for name in {name for c in classes for name in vars(c) if name[0] != "_"} - settings - {"model_post_init"}:
            member = getattr(value, name)
            assert inspect.getdoc(member) or not (inspect.isroutine(member) or isinstance(member, property)), name
        assert not [name for name in settings - ADK_FIELDS if not re.search(rf"\b{name}\b", described)], value


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_nothing_beyond_its_dependencies(path):
    """No module imports at its top what pyproject does not name as a run-time dependency."""
    import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    known = set(sys.stdlib_module_names) | RUN_TIME
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= known
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] in known


def test_no_pass_imports_another():
    """A pass can be read, and taken out, by itself."""
    other = re.compile(r"^from adk_context_pack\.passes\.(?!(?:context_pass|slots|state_view) )", re.MULTILINE)
    for path in SOURCES:
        if path.parent.name == "passes" and "(ContextPass)" in (text := path.read_text(encoding="utf-8")):
            assert not other.search(text), path


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


def test_a_setting_error_is_a_value_error():
    """Code that catches ValueError catches a bad setting."""
    assert issubclass(SettingError, ValueError)
