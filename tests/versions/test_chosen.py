"""The choice of the tests that run on older releases of ADK."""

import sys

import pytest

from tests.versions.choose import Entry, choose
from tests.versions.chosen import LIST, existing, read, runs_on_older, written
from tests.versions.differing import differing
from tests.versions.entered import TOOL, Entered

pytestmark = pytest.mark.newest
NEW = "X = 1\nclass A(B):\n    f: int = 0\n    def g(self): return X\n"
OURS = "adk_context_pack/conversation/relayed_blocks.py::is_proven"


def test_the_list_names_tests_that_are_there():
    """A test that was renamed or deleted is not in the list any more."""
    gone = sorted(read(LIST.read_text(encoding="utf-8")).keys() - set(existing()))
    assert not gone, "run `python -m tests.versions.choose --forget`, which takes a second"


def test_an_unknown_test_runs_on_older_releases_but_not_where_nothing_is_known_of_adk():
    """What the list says counts, and for a new test its folder, so that none is lost before the list is made again."""
    known = read(written({"tests/relays/test_a.py::test_b": False, "tests/relays/test_a.py::test_c": True}))
    assert known == {"tests/relays/test_a.py::test_b": False, "tests/relays/test_a.py::test_c": True}
    names = (
        "relays/test_a.py::test_b",
        "relays/test_a.py::test_c",
        "relays/test_a.py::test_d",
        "sql/test_a.py::test_b",
    )
    assert [runs_on_older(f"tests/{name}", known) for name in names] == [False, True, True, False]


def test_four_tests_enter_each_thing_that_counts():
    """Fast tests come first, a slow one runs for what too few others enter, and none for what is the same anywhere."""
    both, rare, nothing = frozenset({"a", OURS}), frozenset({"a", "rare"}), frozenset({"same"})
    entries = {f"t{n}": Entry(n / 10, both) for n in range(6)}
    entries |= {"slow": Entry(9, rare), "idle": Entry(0, nothing), "one": Entry(0.5, frozenset({OURS}))}
    assert choose(entries, {"a", "rare", "other"}) == {"t0", "t1", "t2", "t3", "slow"}


@pytest.mark.parametrize(("before", "found"), [
    (NEW, set()), (NEW.replace("return X", "'Words.'; return X").replace("(self)", "(self) -> int"), set()),
    (NEW.replace("X = 1", "X = 2"), {"A.g"}), (NEW.replace("int = 0", "str = ''"), {"A"}),
    (NEW.replace("return", "return not"), {"A.g"}),
])  # fmt: skip
def test_fields_constants_and_bodies_differ(tmp_path, before, found):
    """A class differs by its fields, a function by its body and the constants that it reads, nothing by its words."""
    for folder, text in (("new", NEW), ("old", before)):
        path = tmp_path / folder / "google" / "adk" / "a.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert differing(tmp_path / "new", [tmp_path / "old"]) == {f"google/adk/a.py::{name}" for name in found}


@pytest.mark.xfail(sys.version_info < (3, 12), raises=AttributeError, reason="sys.monitoring is new in Python 3.12")
def test_functions_and_classes_that_are_entered_are_found():
    """A method counts, and so does the class of an event that is only built."""
    from google.adk.events.event import Event  # noqa: PLC0415 - the module that the test asks about

    entered = Entered()
    entered.start()
    Event(author="a").is_final_response()
    found = entered.stop()
    sys.monitoring.free_tool_id(TOOL)
    assert {"google/adk/events/event.py::Event", "google/adk/events/event.py::Event.is_final_response"} <= found
