"""Chooses the tests that a mutant meets: the quick ones of its folder first, then more of the suite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutants import Mutant
from tests.mutation.reach import Reach

HOMES = {
    "conversation": ("conversation", "passes"), "passes": ("passes",),
    "tables": ("tables",), "tools": ("tools",), "stores": ("stores", "tools"), "sql": ("sql", "tools"),
    "agents": ("agents", "passes"), "reports": ("reports",), "replay": ("replay",),
    "search": ("search", "tools"),
}  # fmt: skip
"""Folders of tests that run over a mutant of each folder of the package."""
INVARIANTS = ("tests/test_invariants.py", "tests/test_settings.py")
LAWS = ("tests/laws/test_pass_laws.py", "tests/laws/test_reach_laws.py")
PLUGIN = ("tests/test_plugin.py", "tests/test_plugin_apps.py", "tests/plugin")
_REQUEST = (LAWS, PLUGIN)
WIDER = {
    "conversation": _REQUEST, "passes": _REQUEST, "tables": (("tests/tools",), ("tests/agents",)),
    "tools": (PLUGIN,), "stores": (PLUGIN,), "sql": (("tests/agents",),), "agents": (PLUGIN,),
    "reports": (PLUGIN,), "replay": (), "search": (("tests/agents",),),
}  # fmt: skip
"""What else runs over a mutant that the quick tests of its folder let pass, besides the slow tests there."""
# These take a minute each, and what they measure is memory and threads.
_LEFT_OUT = {"test_memory_bound.py", "test_threads.py"}


@dataclass(frozen=True)
class Round:
    """Tests that run together.

    Attributes:
        kind: "quick" for the quick tests of the mutant's own folder, "suite" for all others.
        names: their files and folders.
        options: further options of pytest.
    """

    kind: str
    names: tuple[str, ...]
    options: tuple[str, ...] = ()


def rounds_of(root: Path, mutant: Mutant, reach: Reach, most: str, *, passed_quick: bool = False) -> list[Round]:
    """Returns the rounds of a mutant up to the kind `most`: the quick tests that enter its function come first."""
    room = mutant.path.parts[1]
    if passed_quick:
        return _wider(root, room)
    tests = reach.tests_of(root, mutant)
    rounds = (
        quick_rounds(root, room) if tests is None else [Round("quick", tuple(tests), ("-m", "quick"))] * bool(tests)
    )
    return rounds if most == "quick" else rounds + _wider(root, room)


def quick_rounds(root: Path, room: str) -> list[Round]:
    """Returns the quick tests of a folder."""
    return [Round("quick", tuple(_files(root, room)), ("-m", "quick"))]


def rounds_of_room(root: Path, room: str) -> list[Round]:
    """Returns all rounds of a folder, which must pass over the package as it is."""
    return quick_rounds(root, room) + _wider(root, room)


def _wider(root: Path, room: str) -> list[Round]:
    slow = Round("suite", tuple(_files(root, room)), ("-m", "not quick"))
    return [*(Round("suite", names) for names in WIDER[room]), slow]


def _files(root: Path, room: str) -> list[str]:
    paths = [path for home in HOMES[room] for path in sorted((root / "tests" / home).glob("test_*.py"))]
    return [str(path.relative_to(root)) for path in paths if path.name not in _LEFT_OUT] + [*INVARIANTS]
