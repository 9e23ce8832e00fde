"""Makes mutants: a module's source with one operator, constant, condition, result or call of a function changed.

Three kinds of change are left out, since none of them can change what a caller gets:

- in the words of a log line or of a warning;
- `return None` for `return False` (`return True` is still tried);
- `strict=False` for `zip(…, strict=True)`, which only takes away a check of the code by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

_FLIPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
    ast.Break: ast.Continue, ast.Continue: ast.Break,
}  # fmt: skip
# Their words go to people, and no behaviour depends on them.
_UNHEARD = ("logger.", "warnings.")


@dataclass(frozen=True)
class Mutant:
    """One change to one module.

    Attributes:
        path: the module, relative to the root.
        line: the line that changes.
        before: its expression or statement today.
        after: what takes its place.
        number: its place among the mutants of the module.
    """

    path: Path
    line: int
    before: str
    after: str
    number: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before} -> {self.after}"


def mutants(root: Path, path: Path) -> list[Mutant]:
    """Returns every mutant of a module, always in the same order."""
    every = _changed_trees(ast.parse((root / path).read_text()))
    return [
        Mutant(path, node.lineno, _words(node), _words(changed), number)
        for number, (_, node, changed) in enumerate(every)
    ]


def source_of(root: Path, mutant: Mutant) -> str:
    """Returns the whole text of a mutant's module."""
    every = _changed_trees(ast.parse((root / mutant.path).read_text()))
    return ast.unparse(next(islice(every, mutant.number, None))[0])


def _changed_trees(tree: ast.Module) -> Iterator[tuple[ast.Module, Any, Any]]:
    """Yields `tree` with one change at a time, the node that changed, and what took its place."""
    for parent, field, index in list(_places(tree)):
        value = getattr(parent, field)
        node = value if index is None else value[index]
        for changed in _changes(node):
            _set(parent, field, index, changed)
            yield tree, node, changed
            _set(parent, field, index, node)


def _changes(node: Any) -> Iterator[Any]:  # noqa: C901 - a case for each kind of change
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Compare(ops=[op]) if type(op) in _FLIPPED:
            yield ast.Compare(node.left, [_flipped(op)], node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(_flipped(node.op), node.values)
        case ast.BinOp() if type(node.op) in _FLIPPED and not _is_text(node):
            yield ast.BinOp(node.left, _flipped(node.op), node.right)
        case ast.AugAssign() if type(node.op) in _FLIPPED:
            yield ast.AugAssign(node.target, _flipped(node.op), node.value)
        case ast.Return(value=ast.expr() as value) if not _is_constant(value, None, False):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
            yield ast.Pass()
        case ast.Break() | ast.Continue():
            yield _flipped(node)


def _places(node: ast.AST, *, inside: bool = False) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Yields each node that may change, as its parent, the field there, and the index where that is a list."""
    inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list"}:
            continue
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or _is_unheard(child):
                continue
            if inside and hasattr(child, "lineno"):
                yield node, field, index if isinstance(value, list) else None
            yield from _places(child, inside=inside)


def _is_unheard(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "strict" and _is_constant(node.value, True)
    return isinstance(node, ast.Expr | ast.Call) and ast.unparse(node).startswith(_UNHEARD)


def _is_constant(node: ast.expr, *values: object) -> bool:
    return isinstance(node, ast.Constant) and any(node.value is value for value in values)


def _is_text(node: ast.BinOp) -> bool:
    # Another operator on texts fails at once, which says nothing about the tests.
    texts = (side for side in (node.left, node.right) if isinstance(side, ast.JoinedStr | ast.Constant))
    return any(not isinstance(getattr(side, "value", None), int | float) for side in texts)


def _flipped(node: ast.AST) -> Any:
    return _FLIPPED[type(node)]()


def _set(parent: ast.AST, field: str, index: int | None, node: Any) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def _words(node: ast.AST, most: int = 90) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= most else text[:most] + "…"
