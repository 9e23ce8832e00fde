"""Finds out which tests enter which functions, so that a mutant meets only those that can notice it."""

from __future__ import annotations

import ast
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.mutants import Mutant


class Recorder:
    """A plugin of pytest that writes down which lines of a folder each test runs, and how long it takes.

    Args:
        folder: a folder of the package.
        target: the file to write.
    """

    def __init__(self, folder: Path, target: Path) -> None:
        import coverage  # noqa: PLC0415 - only its own command needs it

        self._folder, self._target = folder, target
        self._seconds: dict[str, float] = defaultdict(float)
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=[f"{folder}/*"])
        self._coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Gives the lines that run from now on to a test, with its fixtures."""
        test = item.nodeid.partition("[")[0]
        self._coverage.switch_context(test)
        start = time.perf_counter()
        yield
        self._seconds[test] += time.perf_counter() - start

    def pytest_sessionfinish(self) -> None:
        """Writes what was found."""
        self._coverage.stop()
        data = self._coverage.get_data()
        found = [[str(Path(file).relative_to(self._folder.parents[1])), data.contexts_by_lineno(file)]
                 for file in data.measured_files()]  # fmt: skip
        self._target.write_text(json.dumps({"seconds": self._seconds, "tests": found}))


class Reach:
    """Which tests enter a function.

    Args:
        files: what `Recorder` wrote, for one folder after the other.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._lines: dict[str, dict[int, list[str]]] = {}
        self._seconds: dict[str, float] = {}
        for file in files:
            found = json.loads(file.read_text())
            self._seconds |= found["seconds"]
            self._lines |= {path: {int(line): tests for line, tests in lines.items()} for path, lines in found["tests"]}

    def tests_of(self, root: Path, mutant: Mutant) -> list[str] | None:
        """Returns the tests that enter a mutant's function, the fastest first; None where any test may notice it."""
        body = _body(ast.parse((root / mutant.path).read_text()), mutant.line)
        if body is None:
            return None
        lines = self._lines.get(str(mutant.path), {})
        tests = {test for line in body for test in lines.get(line, ()) if test}
        return sorted(tests, key=lambda test: self._seconds.get(test, 0.0))


def _body(tree: ast.Module, line: int) -> range | None:
    """Returns the lines of the innermost function around a line; None where its results are kept between tests."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    around = [node for node in functions if node.lineno <= line <= _end(node)]
    inner = max(around, key=lambda node: node.lineno)
    # A default is computed when its module is imported, and a cached result by whichever test comes first.
    if line < inner.body[0].lineno or any("cache" in ast.unparse(each) for each in inner.decorator_list):
        return None
    return range(inner.body[0].lineno, _end(inner) + 1)


def _end(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return node.end_lineno or node.lineno
