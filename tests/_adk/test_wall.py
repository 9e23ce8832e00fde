"""The wall: what differs between ADK releases, or is private to ADK, is used in `_adk/` alone."""

import ast
import re

import pytest

from tests.house import HOUSE_FILES, SourceFile

RELEASE_DEPENDENT = {
    "canonical_tools_cache",
    "isolation_scope",
    "live_request_queue",
    "live_session_id",
    "rewind_before_invocation_id",
}
"""Attributes of ADK's objects that not every supported release has."""
OUTSIDE = [file for file in HOUSE_FILES if file.room != "_adk/"]


def probed(tree: ast.AST) -> list[str]:
    """Returns the names that are looked up with `getattr` or `hasattr` on anything but a module's own names."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    asked = (node.args[1] for node in calls if node.func.id in {"getattr", "hasattr"} and len(node.args) > 1)
    return [name.value for name in asked if isinstance(name, ast.Constant) and isinstance(name.value, str)]


def faults_of(text: str) -> list[str]:
    """Returns what a file of the package may not do outside the wall."""
    tree = ast.parse(text)
    private = [name for name in probed(tree) if re.match(r"_(?!_)", name) and name != "_fields"]
    varying = [name for name in probed(tree) if name in RELEASE_DEPENDENT]
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    from_adk = (node for node in imports if (node.module or "").startswith("google.adk"))
    named = [
        f"{node.module}.{alias.name}"
        for node in from_adk
        for alias in node.names
        if "._" in f"{node.module}.{alias.name}"
    ]
    return [*private, *varying, *named, *re.findall("SLF001", text)]


@pytest.mark.parametrize("file", OUTSIDE, ids=lambda file: file.module)
def test_nothing_private_to_adk_is_used_outside_the_wall(file: SourceFile):
    """Only `_adk/` reads private names of ADK, or attributes that some releases lack."""
    assert not faults_of(file.text)


@pytest.mark.parametrize("line", [
    'getattr(context, "_invocation_context", None)',
    'hasattr(event, "isolation_scope")',
    "from google.adk.flows.llm_flows import _fencing",
    "tool._get_declaration()  # noqa: SLF001",
])  # fmt: skip
def test_a_hole_in_the_wall_is_noticed(line):
    """Each way around the wall is found."""
    assert faults_of(line)
