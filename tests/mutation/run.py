"""Mutation testing: one change at a time to the package, in a copy, and the tests of the same folder over it.

    python -m tests.mutation.run                                       # 150 mutants, drawn by --seed
    python -m tests.mutation.run --sample 300 --rooms relays tables    # more, of these folders
    python -m tests.mutation.run --at adk_context_pack/relays/proof.py:27    # all of one line

A mutant that no test notices "survived". The score is the share of the others. Survivors are printed with their line.
Each mutant first meets the test files that name its module, then the other quick ones of the folders in `HOMES`. Each
run is a fork of this process, which has ADK imported already. It therefore needs Linux or macOS.
"""

# ruff: noqa: T201 - a command that prints
from __future__ import annotations

import argparse
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, mutants, source_of

ROOT = Path(__file__).parents[2]
COPIED = ("adk_context_pack", "samples", "tests", "pyproject.toml", "README.md")
HOMES = {
    "relays": ("relays", "passes"),
    "conversation": ("conversation", "passes"),
    "passes": ("passes",),
    "tables": ("tables",),
    "tools": ("tools",),
    "stores": ("stores", "tools"),
    "sql": ("sql", "tools"),
}
"""Folders of tests that run over a mutant of each folder of the package."""

DEFAULT = ("relays", "conversation", "passes", "tables")
# What the tests import, so that a fork has it. Nothing of the package is among these.
HEAVY = ("google.adk.runners", "google.adk.agents", "google.adk.apps", "hypothesis", "sqlalchemy", "litellm", "pandas")
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-W", "ignore", "-m", "quick")
_NO_TESTS = pytest.ExitCode.NO_TESTS_COLLECTED


@dataclass
class Trial:
    """A mutant under test in one of the copies."""

    mutant: Mutant
    tree: Path
    rounds: deque[list[str]]
    until: float = 0.0


def main() -> None:
    """Draws mutants, tries them, and prints the survivors and the score."""
    wanted = _arguments()
    for name in HEAVY:
        _import(name)
    found = [mutant for path in _modules(wanted) for mutant in mutants(ROOT, path)]
    if wanted.at:
        drawn = [mutant for mutant in found if f"{mutant.path}:{mutant.line}" in wanted.at]
    else:
        drawn = random.Random(wanted.seed).sample(found, min(wanted.sample or len(found), len(found)))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees = [_copied_tree(Path(folder, str(number))) for number in range(wanted.children)]
        survivors = _survivors(drawn, trees, wanted.seconds)
    noticed = len(drawn) - len(survivors)
    share = f"{100 * noticed / len(drawn):.0f} %" if drawn else "none"
    print(f"seed {wanted.seed}: {len(found)} mutants, {len(drawn)} tried, {noticed} noticed ({share})")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=150, help="how many mutants; 0 for all")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--rooms", nargs="+", default=DEFAULT, choices=HOMES, help="folders of the package")
    parser.add_argument("--at", nargs="+", default=(), help="only the mutants of these places, as path:line")
    parser.add_argument("--children", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=240, help="when a run of tests counts as endless: noticed")
    return parser.parse_args()


def _modules(wanted: argparse.Namespace) -> list[Path]:
    if wanted.at:
        return sorted({Path(place.rpartition(":")[0]) for place in wanted.at})
    rooms = (ROOT / "adk_context_pack" / room for room in sorted(wanted.rooms))
    return [path.relative_to(ROOT) for room in rooms for path in sorted(room.glob("*.py"))]


def _import(name: str) -> None:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        importlib.import_module(name)
    except ImportError:
        print(f"without {name}")


def _copied_tree(tree: Path) -> Path:
    tree.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy2(source, tree / name)
    return tree


def _survivors(drawn: list[Mutant], trees: list[Path], seconds: float) -> list[Mutant]:
    """Tries all mutants, one in each copy at a time, and returns those that every test let pass."""
    waiting, free, running, survivors = deque(drawn), list(trees), {}, []
    while waiting or running:
        while waiting and free:
            trial = _begin(waiting.popleft(), free.pop())
            running[_fork(trial, seconds)] = trial
        process, passed = _ended(running)
        trial = running.pop(process)
        if passed and trial.rounds:
            running[_fork(trial, seconds)] = trial
            continue
        if passed:
            survivors.append(trial.mutant)
            print(trial.mutant, flush=True)
        _write(trial, (ROOT / trial.mutant.path).read_text())
        free.append(trial.tree)
    return survivors


def _begin(mutant: Mutant, tree: Path) -> Trial:
    folders = [ROOT / "tests" / home for home in HOMES[mutant.path.parts[1]]]
    files = [path for folder in folders for path in sorted(folder.glob("test_*.py"))]
    module = ".".join(mutant.path.with_suffix("").parts)
    near = [path for path in files if mutant.path.stem in path.stem or f"{module} import" in path.read_text()]
    rounds = ([str(path.relative_to(ROOT)) for path in group] for group in (near, [p for p in files if p not in near]))
    trial = Trial(mutant, tree, deque(names for names in rounds if names))
    _write(trial, source_of(ROOT, mutant))
    return trial


def _write(trial: Trial, source: str) -> None:
    path = trial.tree / trial.mutant.path
    path.write_text(source)
    # Python compares a module with its compiled form by size and by whole seconds.
    shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)


def _fork(trial: Trial, seconds: float) -> int:
    trial.until = time.monotonic() + seconds
    names = trial.rounds.popleft()
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        status = _run_tests(trial.tree, names)
    finally:
        os._exit(status)


def _run_tests(tree: Path, names: list[str]) -> int:
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    os.chdir(tree)
    for name in [name for name in sys.modules if name.partition(".")[0] in {"tests", "adk_context_pack"}]:
        del sys.modules[name]
    sys.path[:] = [str(tree), *(entry for entry in sys.path if entry not in {"", str(ROOT)})]
    return int(pytest.main([*OPTIONS, *names]))


def _ended(running: dict[int, Trial]) -> tuple[int, bool]:
    """Waits for a process and returns it, and True where all tests passed."""
    while True:
        for process, trial in running.items():
            if time.monotonic() > trial.until:
                os.killpg(process, signal.SIGKILL)
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                return process, os.waitstatus_to_exitcode(status) in (0, _NO_TESTS)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
