"""Measures version 0.1.0 of the package, or another revision, beside today's in one run.

A benchmark names its figures as `Row`s, and `print_rows` prints a line for each figure. The package and the tests of
the other revision are taken from git into a folder, with today's benchmarks in the place of theirs. Both sides do the
same work through the public API, each with its own test helpers, in processes of their own that take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import io
import json
import logging
import shutil
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

VERSION_0_1 = "8b2e8125c9d51dc49e156c3875a805f5870459fe"
ROOT = Path(__file__).parents[2]
NOW = "now"
_SHARED = ("tests/attacks", "tests/benchmarks")


class Row(NamedTuple):
    """One measurement, which gives one or more figures by name.

    Attributes:
        what: what is measured.
        function: a function at the top level of its module, which may be async. It returns the figures by name.
        arguments: its arguments, as JSON has them.
        goals: goals by figure.
        rounds: how often each side measures; the median is printed.
    """

    what: str
    function: Callable[..., Any]
    arguments: Sequence[Any] = ()
    goals: Mapping[str, float] = {}
    rounds: int = 1


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Returns a parser with the option that names the other revision."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    text = "a git revision to measure beside today's, or none (default: version 0.1.0)"
    parser.add_argument("--baseline", default=VERSION_0_1, metavar="REVISION", help=text)
    return parser


def print_rows(rows: Iterable[Row], revision: str) -> None:
    """Prints a line for each figure, with that of the other revision beside today's."""
    with folders(revision) as sides:
        print(f"| what | {' | '.join(sides)} | goal |\n| --- {'| --- ' * len(sides)}| --- |", flush=True)
        for row in rows:
            found = compared(row, sides)
            for name in found[NOW]:
                cells = [found[side].get(name, "does not run") for side in sides]
                shown = " | ".join(map(_cell, (*cells, row.goals.get(name, ""))))
                print(f"| {row.what}: {name} | {shown} |", flush=True)


@contextmanager
def folders(revision: str) -> Iterator[dict[str, Path]]:
    """Yields the folder of each side by its name, that of the other revision first where git has it."""
    with tempfile.TemporaryDirectory() as folder:
        sides = {NOW: ROOT}
        if revision != "none":
            name = "0.1.0" if revision == VERSION_0_1 else revision[:12]
            if _unpacked(revision, Path(folder)):
                sides = {name: Path(folder), **sides}
            else:
                print(f"Git has no {name} here, so only today's figures follow.", flush=True)
        yield sides


def compared(row: Row, sides: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Returns the figures of each side, whose processes take turns."""
    found: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
    for number in range(row.rounds):
        for side in list(sides)[:: -1 if number % 2 else 1]:
            found[side].append(measured(row, sides[side]))
    return {side: {name: median(one[name] for one in each) for name in each[0]} for side, each in found.items()}


def measured(row: Row, folder: Path) -> dict[str, Any]:
    """Returns the figures that a process finds with the package in a folder, or none where that cannot do the work.

    Raises:
        RuntimeError: today's package cannot do the work, or another package than that of the folder was measured.
    """
    module = sys.modules[row.function.__module__].__spec__.name
    command = [sys.executable, "-m", __name__, module, row.function.__name__, json.dumps(row.arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - this file
    if done.returncode and folder == ROOT:
        raise RuntimeError(done.stderr)
    if done.returncode:
        print(f"{row.what} does not run there: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {}
    answer = json.loads(done.stdout.splitlines()[-1])
    if not Path(answer["package"]).is_relative_to(folder.resolve()):
        raise RuntimeError(f"{answer['package']} was measured, which is not the package in {folder}")
    return answer["figures"]


def _unpacked(revision: str, folder: Path) -> bool:
    command = [shutil.which("git") or "git", "archive", revision, "adk_context_pack", "tests"]
    with suppress(OSError):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)  # noqa: S603 - git
        if not done.returncode:
            with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
                archive.extractall(folder, filter="data")
            for shared in _SHARED:
                shutil.rmtree(folder / shared)
                shutil.copytree(ROOT / shared, folder / shared)
            return True
    return False


def _cell(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value


def _measure(module: str, function: str, arguments: str) -> None:
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    figures = getattr(importlib.import_module(module), function)(*json.loads(arguments))
    if inspect.isawaitable(figures):
        figures = asyncio.run(figures)
    package = importlib.import_module("adk_context_pack").__file__
    print("\n" + json.dumps({"package": package, "figures": figures}))


if __name__ == "__main__":
    _measure(*sys.argv[1:])
