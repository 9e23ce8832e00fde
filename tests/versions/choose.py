# ruff: noqa: S603, T201 - a command that starts others and prints
"""Chooses the tests that run on older releases of ADK, and writes `chosen.txt`.

    python -m tests.versions.choose             # a quarter of an hour on two cores
    python -m tests.versions.choose --forget    # takes out what is no longer there, in a second

It runs the suite once on the installed release, to learn which functions of ADK and of the package each test enters,
and compares the sources of ADK on the releases of the gate. Of all that differs, and of the functions of the package
that deal with ADK, each is then entered by four of the chosen tests, if there are four. Of several tests the fastest is
taken. What a process did not live to write down stays as it was judged. Needs Python 3.12 and `uv`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import google.adk

from tests.versions.chosen import LIST, ROOT, existing, read, written
from tests.versions.differing import differing
from tests.versions.entered import FOLDER

UV = ("uv",)
TIMES = 4
LONG = 4.0
"""Seconds. A test that takes longer is chosen only for what too few others enter."""
FACING = re.compile(r"^adk_context_pack/(_adk/|conversation/relay|plugin|stores/append|passes/(pipeline|context_pass))")
"""Files of the package that read or change what ADK made."""


class Entry(NamedTuple):
    """What a test function enters, with all of its cases, and their processor time."""

    seconds: float
    entered: frozenset[str]


def main() -> None:
    """Records the suite, chooses, and writes the list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forget", action="store_true", help="only take out tests that are no longer there")
    parser.add_argument("--recorded", type=Path, help="a folder of an earlier run: used if it is there, else filled")
    wanted = parser.parse_args()
    there = set(existing())
    if wanted.forget:
        LIST.write_text(written({name: runs for name, runs in read(LIST.read_text()).items() if name in there}))
        return
    with tempfile.TemporaryDirectory() as folder:
        recorded = wanted.recorded or Path(folder, "recorded")
        if not recorded.exists():
            _record(recorded)
        entries = entries_of(recorded)
        differs = differing(_sources(google.adk.__file__), _others(Path(folder)))
    chosen = choose(entries, differs)
    judged = {**read(LIST.read_text()), **{name: name in chosen for name in entries}}
    LIST.write_text(written({name: runs for name, runs in judged.items() if name in there}))
    seconds = sum(entries[name].seconds for name in chosen)
    print(f"{len(chosen)} of {len(entries)} tests, {seconds:.0f} s of processor time while recorded")


def choose(entries: dict[str, Entry], differs: Iterable[str]) -> set[str]:
    """Returns the names of tests of which four enter each thing that counts, beginning with what few tests enter."""
    counted, entering = set(differs), defaultdict(list)
    # The magnitude is as a rule the same in each run, which then chooses the same tests.
    for name in sorted(entries, key=lambda name: (math.frexp(max(entries[name].seconds, 0.06))[1], name)):
        for thing in entries[name].entered:
            if thing in counted or FACING.match(thing):
                entering[thing].append(name)
    chosen: set[str] = set()
    for tests in sorted(entering.values(), key=len):
        others = [name for name in tests if name not in chosen and (entries[name].seconds < LONG or len(tests) < TIMES)]
        chosen.update(others[: max(0, TIMES - len(chosen.intersection(tests)))])
    return chosen


def _record(folder: Path) -> None:
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-p", "tests.versions.entered", "-n", "2", "-m", "not newest"]
    settings = {"LAWS_EXAMPLES": "60", "LAWS_SHRINK": "0", "CI": "", FOLDER: str(folder)}
    subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, check=False)


def entries_of(folder: Path) -> dict[str, Entry]:
    """Returns what a recorded run has found, by test function."""
    seconds, entered = defaultdict(float), defaultdict(set)
    for line in (line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()):
        case = json.loads(line)
        seconds[case["test"]] += case["seconds"]
        entered[case["test"]] |= set(case["entered"])
    return {name: Entry(seconds[name], frozenset(entered[name])) for name in entered}


def _others(folder: Path) -> list[Path]:
    """Fetches the sources of ADK on the releases of the gate."""
    gate = (ROOT / ".ci" / "common").read_text()
    found = re.search(r'^releases="(.*)"$', gate, re.MULTILINE)
    assert found
    releases = found[1].split()
    for release in releases:
        target = ["--target", str(folder / release), f"google-adk=={release}"]
        subprocess.run([*UV, "pip", "install", "-q", "--no-deps", "--python", sys.executable, *target], check=True)
    return [folder / release for release in releases]


def _sources(file: str | None) -> Path:
    assert file
    return Path(file).parents[2]


if __name__ == "__main__":
    main()
