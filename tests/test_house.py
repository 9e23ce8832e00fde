"""The layout: rooms on floors, imports that point down, and measures that only fall."""

import json
from collections import Counter

import pytest

from tests.house import RECORD, House, circles_of, deepest_chain, excess, files_in, floors_of, lowered, measures_of

FLOORS = (
    ("_adk/", "_json.py", "errors.py", "search/"), ("stores/", "tables/"), ("conversation/",),
    ("reports/", "sql/"), ("tools/",), ("passes/",), ("agents/",),
    ("plugin.py", "testing/"), ("replay/",), ("__init__.py",),
    ("__main__.py",),
)  # fmt: skip
"""The rooms from the ground up. A room may import from lower floors only."""
HOUSE = House()
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def upward(imports: dict[str, set[str]]) -> list[str]:
    """Returns the arrows that do not point to a lower floor."""
    return [
        f"{room} imports {other}"
        for room, others in sorted(imports.items())
        for other in sorted(others)
        if FLOOR_OF.get(other, len(FLOORS)) >= FLOOR_OF.get(room, -1)
    ]


def test_every_room_has_a_floor():
    """A new folder or top-level module is given its place in the list of floors."""
    assert set(HOUSE.room_imports) <= set(FLOOR_OF)


def test_imports_point_down():
    """No room imports one on its own floor or above, type checking included."""
    assert not upward(HOUSE.room_imports)


def test_an_upward_arrow_is_noticed():
    """The check of the floors can fail."""
    assert upward({"errors.py": {"plugin.py"}, "reports/": {"sql/"}}) == [
        "errors.py imports plugin.py",
        "reports/ imports sql/",
    ]


def test_circles_and_floors_are_measured():
    """A circle of three is found, and the longest chain of imports gives a room's floor."""
    assert circles_of({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    assert floors_of({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": 3, "b": 2, "c": 1}
    assert deepest_chain({"c": set(), "b": {"c"}, "a": {"b", "c"}}) == ["a", "b", "c"]


@pytest.mark.newest
def test_nothing_grows():
    """No measure of the package, of its tests or of the way of something small is above its recorded figure."""
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    figures = measures_of(HOUSE)
    assert set(figures) == set(recorded)
    assert not excess(figures, recorded)


def test_what_grew_is_named():
    """A measure above its figure is told with what has most of it, and recording never raises a figure."""
    figures = {"lines": Counter({"sql": 2_000, "text": 50}), "rooms": Counter(["a"]), "new": Counter(a=5)}
    recorded = {"lines": 2_030, "rooms": 2, "new": 5}
    assert excess(figures, recorded) == ["lines: 2,050, which is 20 more than recorded; most in sql 2,000, text 50"]
    assert lowered(figures, recorded) == {"lines": 2_030, "rooms": 1, "new": 5}


def test_figures_are_what_a_file_holds(tmp_path):
    """Code lines, constants, patterns and private functions are counted by what a reader would call so."""
    (tmp_path / "some.py").write_text(
        '"""Says it.\n\nAnd; more.\n"""\n\nimport re\n\n_TOP = 1\nA: int = 2\nc, (D, e) = 3, (4, 5)\n'
        "_PATTERN = re.compile(\n    'a'  # why\n)\n\n\ndef _once():\n    # why\n    return _twice(_twice(TOP))\n"
        "\n\ndef _twice(value):\n    return value\n\n\ndef shown():\n    return _once()\n"
    )
    [file] = files_in(tmp_path)
    assert (file.lines, file.code_lines(), file.used_once(), file.constants()) == (26, 13, 1, 4)
    assert [sentence for sentence in file.sentences if ";" in sentence] == ["And; more."]
