"""Mutation testing of the request and result flows with mutmut, in a copy of the tree and its own environment.

    python -m tests.mutation.run                      # every mutant: hours
    python -m tests.mutation.run --sample 150         # as many, drawn at random by --seed
    python -m tests.mutation.run --sample 150 --rooms relays sql    # as many of these folders

It needs `uv`. A mutant that no test notices "survived". The score is the share of the others. What is drawn, and the
survivors, are printed; `mutmut show NAME` in the folder named shows one.
"""

# ruff: noqa: S603, S607, T201 - a command that starts others and prints
from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "mutmut==3.8.1",
    "pytest",
    "pytest-asyncio",
    "hypothesis",
    "aiosqlite",
    "greenlet",
    "sqlalchemy",
    "litellm",
    "tiktoken",
)
COPIED = ("adk_context_pack", "samples", "tests", "pyproject.toml", "README.md", "LICENSE")
SETTINGS = """\
[mutmut]
source_paths=adk_context_pack
only_mutate={rooms}
also_copy=samples
  README.md
pytest_add_cli_args=-p
  no:cacheprovider
  -W
  ignore
{deselected}pytest_add_cli_args_test_selection=tests/passes
  tests/relays
  tests/conversation
  tests/tools
  tests/tables
  tests/sql
  tests/faults/test_refused_delta.py
  tests/test_plugin.py
track_dependencies=false
"""
ROOMS = ("passes", "relays", "conversation", "tools", "tables", "sql")
SMALLEST = "adk_context_pack.stores.handles*"
LOST = ("survived", "no tests", "suspicious")


def main() -> None:
    """Makes the environment and the copy, runs the mutants, and prints the score."""
    wanted = _arguments()
    folder = Path(wanted.folder)
    bin_folder = _environment(folder / "env", wanted.adk)
    tree = _copied_tree(folder / "tree", wanted.deselect)
    mutmut = [str(bin_folder / "mutmut")]
    # Makes the mutants and learns which test runs which function, whatever is asked for.
    subprocess.run([*mutmut, "run", "--max-children", "1", SMALLEST], cwd=tree, check=False)
    names = [name for name, _ in _results(mutmut, tree) if name.split(".")[1] in wanted.rooms]
    drawn = random.Random(wanted.seed).sample(names, min(wanted.sample or len(names), len(names)))
    try:
        command = [*mutmut, "run", "--max-children", str(wanted.children), *(drawn if wanted.sample else ())]
        subprocess.run(command, cwd=tree, check=False, timeout=60 * wanted.minutes or None)
    except subprocess.TimeoutExpired:
        print(f"stopped after {wanted.minutes} minutes")
    _print_score(dict(_results(mutmut, tree)), drawn, wanted)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=0, help="how many mutants; 0 for all")
    parser.add_argument("--seed", type=int, default=20250601)
    parser.add_argument("--rooms", nargs="+", default=ROOMS, help="folders of the package to draw from")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so many; 0 for never")
    parser.add_argument("--children", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--deselect", action="append", default=[], help="a test to leave out; may be repeated")
    parser.add_argument("--adk", default="google-adk", help="the requirement, such as google-adk==2.13.0")
    parser.add_argument("--folder", default=Path(tempfile.gettempdir(), "adk_context_pack_mutation"))
    return parser.parse_args()


def _environment(folder: Path, adk: str) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run(["uv", "venv", "-q", "-p", sys.executable, str(folder)], check=True)
        subprocess.run(["uv", "pip", "install", "-q", "--python", str(python), adk, "regex", *PACKAGES], check=True)
    return python.parent


def _copied_tree(tree: Path, deselected: list[str]) -> Path:
    # The mutants of a former run may belong to a tree that has changed since.
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, tree / name)
    lines = "".join(f"  --deselect={test}\n" for test in deselected)
    rooms = "\n  ".join(f"adk_context_pack/{room}/*" for room in ROOMS)
    (tree / "setup.cfg").write_text(SETTINGS.format(deselected=lines, rooms=rooms))
    return tree


def _results(mutmut: list[str], tree: Path) -> list[tuple[str, str]]:
    done = subprocess.run([*mutmut, "results", "--all", "true"], cwd=tree, check=True, capture_output=True, text=True)
    pairs = (line.strip().rpartition(": ") for line in done.stdout.splitlines())
    return [(name, status) for name, _, status in pairs if name.startswith("adk_context_pack.")]


def _print_score(results: dict[str, str], drawn: list[str], wanted: argparse.Namespace) -> None:
    statuses = Counter(results[name] for name in drawn)
    tried = sum(count for status, count in statuses.items() if status != "not checked")
    lost = sum(statuses[status] for status in LOST)
    for name in drawn:
        if results[name] in LOST:
            print(results[name], name)
    share = f"{100 * (tried - lost) / tried:.0f} %" if tried else "none"
    print(
        f"seed {wanted.seed}: {len(results)} mutants, {tried} tried, {tried - lost} noticed ({share}); {dict(statuses)}"
    )


if __name__ == "__main__":
    main()
