"""Finds the functions and classes of ADK whose code is not the same on all releases of the matrix, in their sources."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def differing(newest: Path, others: Iterable[Path]) -> set[str]:
    """Returns what is different on any other release, as `google/adk/events/event.py::Event.is_final_response`.

    A class is its bases, decorators and fields, since its methods count by themselves. A function includes the
    constants of its module that it reads. Docstrings and annotations of functions do not count.

    Args:
        newest: the folder that holds `google/adk` of the newest release.
        others: the same folders of the others.
    """
    theirs = [dict(_definitions(other)) for other in others]
    return {name for name, code in _definitions(newest) if any(other.get(name) != code for other in theirs)}


def _definitions(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((folder / "google" / "adk").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {name: ast.dump(node) for node in tree.body for name in _assigned(node)}
        for name, node in named_in(tree, f"{path.relative_to(folder).as_posix()}::"):
            yield name, _code(node, constants)


def named_in(around: ast.AST, prefix: str) -> Iterator[tuple[str, _Function | ast.ClassDef]]:
    """Yields the functions and classes of a module with their names, methods after their class."""
    for node in ast.iter_child_nodes(around):
        if isinstance(node, _Function | ast.ClassDef):
            yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from named_in(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.ExceptHandler | ast.With):
            yield from named_in(node, prefix)


def _assigned(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))


def _code(node: _Function | ast.ClassDef, constants: dict[str, str]) -> str:
    if isinstance(node, ast.ClassDef):
        fields = [each for each in node.body if not isinstance(each, _Function | ast.ClassDef | ast.Expr)]
        return ast.dump(ast.ClassDef(node.name, node.bases, node.keywords, fields, node.decorator_list))
    for inner in ast.walk(node):
        if isinstance(inner, _Function):
            inner.returns = None
            inner.body = inner.body[bool(ast.get_docstring(inner)) :]
        elif isinstance(inner, ast.arg):
            inner.annotation = None
    read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return "\n".join([ast.dump(node), *(constants[name] for name in sorted(read & constants.keys()))])
