"""Measures how large and how tangled the package is: `python -m tests.house`.

Each measure is a ratchet: `tests/house.json` holds what it was when it was last recorded, and a test fails when it is
more. `--record` lowers the recorded figures to today's and never raises one. After a conflict in the file, take either
side and record again. A room is a folder or a top-level file of the package. An arrow is drawn from one room to another
that it imports, imports under `TYPE_CHECKING` included.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

PACKAGE = "adk_context_pack"
ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_suffix(".json")
MAX_FUNCTION = 40
_CONTRACTIONS = re.compile(r"\b(?:e\.g|i\.e|vs|cf|etc)\.")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"'(\[{])|\n\s*\n|\n\s*[-*] ")
_IS_NO = re.compile(r"(?<!there )\bis no\b")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class SourceFile:
    """One file of the package.

    Attributes:
        path: the file.
        package: the folder of the package.
    """

    path: Path
    package: Path

    @cached_property
    def text(self) -> str:
        """The file's text."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed file."""
        return ast.parse(self.text)

    @property
    def module(self) -> str:
        """The module's dotted name."""
        parts = self.path.relative_to(self.package.parent).with_suffix("").parts
        stub = [] if self.path.suffix == ".py" else ["(stub)"]
        return ".".join([*(parts[:-1] if parts[-1] == "__init__" else parts), *stub])

    @property
    def room(self) -> str:
        """The room that the file belongs to."""
        inside = self.path.relative_to(self.package).parts
        return f"{inside[0]}/" if len(inside) > 1 else inside[0].removesuffix("i")

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.text.count("\n")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the parsed file."""
        return list(ast.walk(self.tree))

    @property
    def functions(self) -> list[Function]:
        """All functions and methods."""
        return [node for node in self.nodes if isinstance(node, Function)]

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of the docstrings of the module, its classes and its functions."""
        nodes = (node for node in self.nodes if isinstance(node, ast.Module | ast.ClassDef | Function))
        texts = (_CONTRACTIONS.sub("", text) for node in nodes if (text := ast.get_docstring(node)))
        return [sentence for text in texts for sentence in _SENTENCE_END.split(text) if sentence.strip()]

    def used_once(self) -> int:
        """Returns how many private functions and methods the file names in one place only."""
        named = Counter(getattr(node, "id", None) or getattr(node, "attr", None) for node in self.nodes)
        names = [node.name for node in self.functions if node.name.startswith("_") and not node.name.endswith("__")]
        return sum(named[name] == 1 for name in names)

    def constants(self) -> int:
        """Returns how many names in capitals the module binds."""
        bound = [node for node in self.tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
        targets = [target for node in bound for target in getattr(node, "targets", None) or [node.target]]
        return sum(name.id.isupper() for node in targets for name in ast.walk(node) if isinstance(name, ast.Name))

    def imported(self) -> Iterator[str]:
        """Yields the modules of the package that the file imports, anywhere in it."""
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
                yield str(node.module)
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name.split(".")[0] == PACKAGE)

    def code_lines(self) -> int:
        """Returns the number of lines that hold code, without blank lines, comments and docstrings."""
        held: set[int] = set()
        skipped = {
            tokenize.COMMENT,
            tokenize.NL,
            tokenize.NEWLINE,
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.ENDMARKER,
        }
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in skipped:
                held.update(range(token.start[0], token.end[0] + 1))
        for node in self.nodes:
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                held.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return len(held)


@dataclass(frozen=True)
class House:
    """The package's files, and what ties them together.

    Attributes:
        root: the folder that holds the package.
    """

    root: Path = field(default=ROOT)

    @cached_property
    def files(self) -> list[SourceFile]:
        """All Python files of the package."""
        return files_in(self.root / PACKAGE)

    @cached_property
    def file_imports(self) -> dict[str, set[str]]:
        """Maps each module to the modules of the package that it imports."""
        modules = {file.module for file in self.files}
        return {
            file.module: {name for name in file.imported() if name in modules} - {file.module} for file in self.files
        }

    @cached_property
    def room_imports(self) -> dict[str, set[str]]:
        """Maps each room to the other rooms that it imports."""
        rooms = {file.module: file.room for file in self.files}
        found: dict[str, set[str]] = {room: set() for room in rooms.values()}
        for file in self.files:
            found[file.room] |= {rooms[name] for name in self.file_imports[file.module]} - {file.room}
        return found

    @property
    def top_level(self) -> list[str]:
        """The modules beside the folders."""
        return sorted(room for room in self.room_imports if not room.endswith("/"))

    def circles(self) -> list[set[str]]:
        """Returns the sets of modules that import each other in a circle."""
        return circles_of(self.file_imports)


def files_in(folder: Path) -> list[SourceFile]:
    """Returns all Python files of a folder, stubs included."""
    return [SourceFile(path, folder) for path in sorted(folder.rglob("*.py*")) if path.suffix in {".py", ".pyi"}]


HOUSE_FILES = House().files


def floors_of(imports: dict[str, set[str]]) -> dict[str, int]:
    """Returns the length of the longest chain of imports below each room, for imports without a circle."""
    heights: dict[str, int] = {}

    def height(room: str) -> int:
        if room not in heights:
            heights[room] = 1 + max((height(other) for other in imports[room]), default=0)
        return heights[room]

    return {room: height(room) for room in imports}


def circles_of(imports: dict[str, set[str]]) -> list[set[str]]:
    """Returns the strongly connected sets of more than one node."""
    reach: dict[str, set[str]] = {}
    for start in imports:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = imports[waiting.pop()] - seen
            seen |= new
            waiting.extend(new)
        reach[start] = seen
    found: list[set[str]] = []
    for node in imports:
        circle = {other for other in reach[node] if node in reach[other]}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


def deepest_chain(imports: dict[str, set[str]]) -> list[str]:
    """Returns the longest chain of imports, top first, for imports without a circle."""
    heights = floors_of(imports)
    chain: list[str] = []
    below: Iterable[str] = heights
    while step := max(below, key=lambda node: (heights[node], node), default=""):
        chain.append(step)
        below = imports[step]
    return chain


def measures_of(house: House) -> dict[str, Counter[str]]:
    """Returns the share of each file, room or module in each measure. A measure is the sum of its shares."""
    per_file = {
        "lines": lambda file: file.lines,
        "code lines": lambda file: file.code_lines(),
        "private functions used once": lambda file: file.used_once(),
        "functions above 40 lines": lambda file: sum(_length_of(node) > MAX_FUNCTION for node in file.functions),
        "module constants": lambda file: file.constants(),
        "regular expressions": lambda file: sum(map(_compiles, file.nodes)),
        "docstring sentences with a semicolon": lambda file: sum(";" in sentence for sentence in file.sentences),
        "docstring sentences with 'is no'": lambda file: sum(map(bool, map(_IS_NO.search, file.sentences))),
    }
    found = {label: Counter({file.module: count(file) for file in house.files}) for label, count in per_file.items()}
    crossed = crossings(house.root)
    ways = {way: Counter(crossed[f"small {way}"]) for way in ("request", "result")}
    return {
        **found,
        "lines of the tests": Counter({file.module: file.lines for file in files_in(house.root / "tests")}),
        "files": Counter(file.room for file in house.files),
        "rooms": Counter(list(house.room_imports)),
        "top-level modules": Counter(house.top_level),
        "arrows between rooms": Counter({room: len(others) for room, others in house.room_imports.items()}),
        "modules in import circles": Counter(module for circle in house.circles() for module in circle),
        "deepest chain of files": Counter([] if house.circles() else deepest_chain(house.file_imports)),
        **{f"calls that a small {way} crosses": calls for way, calls in ways.items()},
        **{f"files that a small {way} crosses": Counter(list(calls)) for way, calls in ways.items()},
        "modules that the plugin loads": Counter(name.rpartition(".")[0] for name in crossed["loaded"]),
    }


def crossings(root: Path) -> dict[str, Any]:
    """Returns what `crossings.py` tells of a checkout."""
    command = [sys.executable, "-P", str(Path(__file__).parent / "support" / "crossings.py")]
    # With bytecode for ADK alone the pack would seem to take twice its time.
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own file
    return json.loads(done.stdout)


def excess(figures: dict[str, Counter[str]], recorded: dict[str, int]) -> list[str]:
    """Returns a sentence for each measure that is more than what is recorded, with those that have most of it."""
    return [
        f"{label}: {shares.total():,}, which is {shares.total() - recorded[label]:,} more than recorded; most in "
        + ", ".join(f"{name} {share:,}" for name, share in shares.most_common(5))
        for label, shares in figures.items()
        if shares.total() > recorded[label]
    ]


def lowered(figures: dict[str, Counter[str]], recorded: dict[str, int]) -> dict[str, int]:
    """Returns the figures to record: today's, and none above what is recorded."""
    return {label: min(shares.total(), recorded.get(label, shares.total())) for label, shares in figures.items()}


def _length_of(node: Function) -> int:
    body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
    return (node.end_lineno or body[-1].lineno) - body[0].lineno + 1


def _compiles(node: ast.AST) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Attribute) and ast.unparse(function) in {"re.compile", "regex.compile"}


def main() -> None:
    """Prints each measure with its recorded figure, and records lower ones if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout")
    parser.add_argument("--record", action="store_true", help="lower the recorded figures to today's")
    options = parser.parse_args()
    figures = measures_of(House(options.root.resolve()))
    recorded = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for label, shares in figures.items():
        print(f"{label:40}{shares.total():8}{recorded.get(label, ''):>8}")  # noqa: T201 - a command prints
    share = statistics.median(crossings(options.root.resolve())["share"] for _ in range(5))
    print(f"processor time of importing the plugin, added to importing ADK: {share:.1%}")  # noqa: T201
    if options.record:
        RECORD.write_text(json.dumps(lowered(figures, recorded), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
