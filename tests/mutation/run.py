"""Mutation testing: one change at a time to the package, in a copy, and the tests over it.

    python -m tests.mutation.run                                       # 150 mutants, drawn by --seed
    python -m tests.mutation.run --sample 300 --rooms passes tables    # more, of these folders
    python -m tests.mutation.run --at adk_context_pack/conversation/relayed_blocks.py:27    # all of one line
    python -m tests.mutation.run --record found.jsonl    # keeps what is known; started again, tries only the rest
    python -m tests.mutation.run --record found.jsonl --tests quick    # the first round alone; the second can follow

A mutant that no test notices "survived". Survivors are printed with their line, and marked where only the suite notices
them. Two scores are printed: the share that the quick tests of the mutant's own folder notice, and the share that the
suite notices. For the second, whatever passed the quick tests also meets the rounds of `rounds.py`: the laws over 100
generated conversations, the plugin or the tools, and the slow tests. The rest of the suite is not tried, so the true
share may be higher. `mutants.py` says which changes are left out because they cannot change behaviour.

Each run is a fork of this process, which has ADK imported already. It therefore needs Linux or macOS. `--check` first
runs all these tests over the package as it is, since a test that fails there would notice every mutant.
"""

# ruff: noqa: T201 - a command that prints
from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mutation.mutants import Mutant, mutants, source_of
from tests.mutation.reach import Reach, Recorder
from tests.mutation.rounds import HOMES, Round, quick_rounds, rounds_of, rounds_of_room

ROOT = Path(__file__).parents[2]
COPIED = ("adk_context_pack", "samples", "tests", "pyproject.toml", "README.md")
DEFAULT = ("conversation", "passes", "tables")
# What the tests import, so that a fork has it. Nothing of the package is among these.
HEAVY = ("google.adk.runners", "google.adk.agents", "google.adk.apps", "hypothesis", "sqlalchemy", "litellm", "pandas")
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-W", "ignore")
NOBODY = "nobody"
_NO_TESTS = pytest.ExitCode.NO_TESTS_COLLECTED


class Trial(NamedTuple):
    """A mutant, and the rounds of tests that it has still to meet."""

    mutant: Mutant
    rounds: deque[Round]


class Outcome(NamedTuple):
    """The kind of round that noticed a mutant, or nobody, and the last kind that was tried."""

    kind: str
    tests: str


def main() -> None:
    """Draws mutants, tries them, and prints the survivors and the scores."""
    wanted = _arguments()
    for name in HEAVY:
        imported(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root, *trees = (copied_tree(Path(folder, str(number))) for number in range(1 + wanted.children))
        found = [mutant for path in _modules(wanted) for mutant in mutants(root, path)]
        texts = {mutant: f"{mutant.path}\n{source_of(root, mutant)}" for mutant in _drawn(found, wanted)}
        keys = {mutant: hashlib.sha256(text.encode()).hexdigest() for mutant, text in texts.items()}
        known = _known(wanted.record)
        if wanted.check:
            _check(root, sorted({mutant.path.parts[1] for mutant in keys}), wanted.seconds)
        settled = {key for key, of in known.items() if of.kind != NOBODY or wanted.tests in ("quick", of.tests)}
        untried = [mutant for mutant, key in keys.items() if key not in settled]
        fresh = {mutant.path.parts[1] for mutant in untried if keys[mutant] not in known}
        reach = Reach(_recorded(root, sorted(fresh)))
        trials = [
            Trial(mutant, deque(rounds_of(root, mutant, reach, wanted.tests, passed_quick=keys[mutant] in known)))
            for mutant in untried
        ]
        for mutant, kind in tried(root, deque(trials), trees, wanted.seconds):
            known[keys[mutant]] = Outcome(kind, wanted.tests)
            _note(mutant, keys[mutant], known[keys[mutant]], wanted.record)
    _print_scores(Counter(known[key].kind for key in keys.values()), len(found), wanted.seed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=150, help="how many mutants; 0 for all")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--rooms", nargs="+", default=DEFAULT, choices=HOMES, help="folders of the package")
    parser.add_argument("--at", nargs="+", default=(), help="only the mutants of these places, as path:line")
    parser.add_argument(
        "--tests", choices=("quick", "suite"), default="suite", help="which tests; quick ones come first"
    )
    parser.add_argument("--children", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=240, help="when a run of tests counts as endless: noticed")
    parser.add_argument("--record", type=Path, help="a file of what is known already, and to add to")
    parser.add_argument("--check", action="store_true", help="first run the tests over the package as it is")
    return parser.parse_args()


def _modules(wanted: argparse.Namespace) -> list[Path]:
    if wanted.at:
        return sorted({Path(place.rpartition(":")[0]) for place in wanted.at})
    rooms = (ROOT / "adk_context_pack" / room for room in sorted(wanted.rooms))
    return [path.relative_to(ROOT) for room in rooms for path in sorted(room.glob("*.py"))]


def _drawn(found: list[Mutant], wanted: argparse.Namespace) -> list[Mutant]:
    if wanted.at:
        return [mutant for mutant in found if f"{mutant.path}:{mutant.line}" in wanted.at]
    return random.Random(wanted.seed).sample(found, min(wanted.sample or len(found), len(found)))


def imported(name: str) -> None:
    """Imports what tests import, if it is there, so that forks have it."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        importlib.import_module(name)
    except ImportError:
        print(f"without {name}")


def copied_tree(tree: Path) -> Path:
    """Copies what mutants and their tests need."""
    tree.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy2(source, tree / name)
    return tree


def _known(record: Path | None) -> dict[str, Outcome]:
    lines = record.read_text().splitlines() if record and record.exists() else []
    return {entry["key"]: Outcome(entry["noticed_by"], entry["tests"]) for entry in map(json.loads, lines)}


def _note(mutant: Mutant, key: str, outcome: Outcome, record: Path | None) -> None:
    if outcome.kind != "quick":
        print(f"{mutant}{'  (the suite notices it)' if outcome.kind == 'suite' else ''}", flush=True)
    if record:
        entry = {"key": key, "noticed_by": outcome.kind, "tests": outcome.tests, "mutant": str(mutant)}
        with record.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def _print_scores(counts: Counter[str], found: int, seed: int) -> None:
    tried = counts.total()
    print(f"seed {seed}: {found} mutants, {tried} tried")
    for count, who in ((counts["quick"], "the quick tests"), (counts["quick"] + counts["suite"], "the suite")):
        print(f"noticed by {who}: {count} ({100 * count / max(tried, 1):.0f} %)")


def _recorded(root: Path, rooms: list[str]) -> list[Path]:
    """Runs the quick tests of each folder once, and returns the files that say which lines they run."""
    files = [root / f"reach-{room}.json" for room in rooms]
    running = {
        _fork(root, quick_rounds(root, room)[0], file): math.inf for room, file in zip(rooms, files, strict=True)
    }
    while running:
        process, passed = _ended(running)
        del running[process]
        if not passed:
            sys.exit("the quick tests fail over the package as it is")
    return files


def _check(root: Path, rooms: list[str], seconds: float) -> None:
    for tests in dict.fromkeys(tests for room in rooms for tests in rounds_of_room(root, room)):
        if not _ended({_fork(root, tests): time.monotonic() + seconds})[1]:
            sys.exit(f"These tests fail over the package as it is: {' '.join(tests.options + tests.names)}")


def tried(root: Path, waiting: deque[Trial], free: list[Path], seconds: float) -> Iterator[tuple[Mutant, str]]:
    """Tries all mutants, one in each copy at a time, and yields each with the kind of round that noticed it.

    The rounds of the suite, which take longer, begin when all mutants have met the quick ones.
    """
    running: dict[int, tuple[Trial, Path, float]] = {}
    while waiting or running:
        while waiting and free:
            trial = waiting.popleft()
            if not trial.rounds:
                yield trial.mutant, NOBODY
                continue
            tree = free.pop()
            _write(tree, trial.mutant, source_of(root, trial.mutant))
            running[_fork(tree, trial.rounds[0])] = trial, tree, time.monotonic() + seconds
        process, passed = _ended({process: until for process, (_, _, until) in running.items()})
        trial, tree, _ = running.pop(process)
        _write(tree, trial.mutant, (root / trial.mutant.path).read_text())
        free.append(tree)
        tests = trial.rounds.popleft()
        if not passed or not trial.rounds:
            yield trial.mutant, NOBODY if passed else tests.kind
        elif trial.rounds[0].kind == "suite":
            waiting.append(trial)
        else:
            waiting.appendleft(trial)


def _write(tree: Path, mutant: Mutant, source: str) -> None:
    path = tree / mutant.path
    path.write_text(source)
    # Python compares a module with its compiled form by size and by whole seconds.
    shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)


def _fork(tree: Path, tests: Round, record: Path | None = None) -> int:
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        status = _run_tests(tree, tests, record)
    finally:
        os._exit(status)


def _run_tests(tree: Path, tests: Round, record: Path | None) -> int:
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    os.chdir(tree)
    os.environ.update(LAWS_EXAMPLES="100", LAWS_SHRINK="0")
    for name in [name for name in sys.modules if name.partition(".")[0] in {"tests", "adk_context_pack"}]:
        del sys.modules[name]
    sys.path[:] = [str(tree), *(entry for entry in sys.path if entry not in {"", str(ROOT)})]
    plugins = [Recorder(tree / "adk_context_pack" / record.stem.partition("-")[2], record)] if record else []
    return int(pytest.main([*OPTIONS, *tests.options, *tests.names], plugins))


def _ended(running: dict[int, float]) -> tuple[int, bool]:
    """Waits for one of the processes, given with their deadlines, and returns it, and True where all tests passed."""
    while True:
        for process, until in running.items():
            if time.monotonic() > until:
                os.killpg(process, signal.SIGKILL)
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                return process, os.waitstatus_to_exitcode(status) in (0, _NO_TESTS)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
