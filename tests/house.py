"""Measures the layout and the docstrings of the package: `python -m tests.house`.

A room is a folder or a top-level file of the package. An arrow is drawn from one room to another that it imports,
imports under `TYPE_CHECKING` included.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import statistics
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

PACKAGE = "adk_context_pack"
ROOT = Path(__file__).resolve().parents[1]
_CONTRACTIONS = re.compile(r"\b(?:e\.g|i\.e|vs|cf|etc)\.")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"'(\[{])|\n\s*\n|\n\s*[-*] ")
_QUESTION_WORDS = re.compile(r"(?:What|Whether|Where|How|Who|Which|When)\b")

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
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def room(self) -> str:
        """The room that the file belongs to."""
        inside = self.path.relative_to(self.package).parts
        return f"{inside[0]}/" if len(inside) > 1 else inside[0]

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.text.count("\n")

    @cached_property
    def docstrings(self) -> list[str]:
        """The docstrings of the module, its classes and its functions."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.Module | ast.ClassDef | Function))
        return [text for node in nodes if (text := ast.get_docstring(node))]

    def imported(self) -> Iterator[str]:
        """Yields the modules of the package that the file imports, anywhere in it."""
        for node in ast.walk(self.tree):
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
        for node in ast.walk(self.tree):
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
        package = self.root / PACKAGE
        return [SourceFile(path, package) for path in sorted(package.rglob("*.py"))]

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

    def functions(self) -> Iterator[tuple[str, int]]:
        """Yields each function's place and its number of lines, without its docstring."""
        for file in self.files:
            for node in ast.walk(file.tree):
                if isinstance(node, Function):
                    yield f"{file.module}.{node.name}", _length_of(node)

    def sentences(self) -> list[str]:
        """Returns the sentences of all docstrings."""
        texts = (_CONTRACTIONS.sub("", text) for file in self.files for text in file.docstrings)
        return [sentence for text in texts for sentence in _SENTENCE_END.split(text) if sentence.strip()]


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


def measures_of(house: House) -> dict[str, str]:
    """Returns what the command prints, a label and a figure each."""
    lengths = sorted(length for _, length in house.functions())
    sentences = house.sentences()
    first_lines = [text.splitlines()[0] for file in house.files for text in file.docstrings]
    file_lengths = sorted(file.lines for file in house.files)
    semicolons = sum(";" in sentence for sentence in sentences)
    questions = sum(bool(_QUESTION_WORDS.match(line)) for line in first_lines)
    rooms = house.room_imports
    return {
        "files": str(len(house.files)),
        "lines": str(sum(file_lengths)),
        "code lines": str(sum(file.code_lines() for file in house.files)),
        "files of 60 to 250 lines": str(sum(60 <= length <= 250 for length in file_lengths)),
        "files above 250 lines": str(sum(length > 250 for length in file_lengths)),
        "top-level modules": str(len(house.top_level)),
        "rooms": str(len(rooms)),
        "arrows between rooms": str(sum(map(len, rooms.values()))),
        "floors": str(max(floors_of(rooms).values())) if not circles_of(rooms) else "circle",
        "deepest chain of files": str(max(floors_of(house.file_imports).values())) if not house.circles() else "circle",
        "import circles": str(len(house.circles())),
        "functions": str(len(lengths)),
        "lines of a function, median / longest": f"{statistics.median(lengths):.0f} / {lengths[-1]}",
        "functions above 40 lines": str(sum(length > 40 for length in lengths)),
        "docstring sentences": str(len(sentences)),
        "of these with a semicolon": f"{semicolons / len(sentences):.1%}",
        "of these with 'is no'": str(sum(bool(re.search(r"(?<!there )\bis no\b", sentence)) for sentence in sentences)),
        "docstrings that begin with a question word": f"{questions / len(first_lines):.1%}",
    }


def _length_of(node: Function) -> int:
    body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
    return (node.end_lineno or body[-1].lineno) - body[0].lineno + 1


def main() -> None:
    """Prints the measures, one a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout")
    for label, figure in measures_of(House(parser.parse_args().root.resolve())).items():
        print(f"{label:44}{figure}")  # noqa: T201 - a command prints


if __name__ == "__main__":
    main()
