"""The layout: rooms on floors, imports that point down, and files that read in a minute."""

import ast
import re

import pytest

from tests.house import House, circles_of, floors_of

FLOORS = (
    ("_adk/", "_json.py", "_text.py", "errors.py", "search/"),
    ("stores/", "tables/"),
    ("conversation/",),
    ("relays/", "reports/", "sql/", "views/"),
    ("passes/",),
    ("agents/", "tools/"),
    ("environment.py", "pack_settings.py", "testing/"),
    ("replay/",),
    ("plugin.py",),
    ("__init__.py",),
    ("__main__.py",),
)
"""The rooms from the ground up. A room may import from lower floors only."""

MAX_TOP_LEVEL = 8
MAX_ROOMS = 22
MAX_LINES = 250
MAX_FUNCTION = 40
MAX_SEMICOLONS = 0.07

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
    assert upward({"errors.py": {"plugin.py"}, "relays/": {"views/"}}) == [
        "errors.py imports plugin.py",
        "relays/ imports views/",
    ]


def test_no_modules_import_each_other_in_a_circle():
    """No circle of imports exists between files, type checking included."""
    assert not HOUSE.circles()


def test_circles_and_floors_are_measured():
    """A circle of three is found, and the longest chain gives a room's floor."""
    assert circles_of({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    assert floors_of({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": 3, "b": 2, "c": 1}


def test_few_rooms():
    """The package can be drawn from memory: few modules at the top level, few rooms in all."""
    assert len(HOUSE.top_level) <= MAX_TOP_LEVEL
    assert len(HOUSE.room_imports) <= MAX_ROOMS


@pytest.mark.parametrize("file", HOUSE.files, ids=lambda file: file.module)
def test_files_and_functions_are_short(file):
    """Each file and each function reads in a minute."""
    assert file.lines <= MAX_LINES
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            assert (node.end_lineno or 0) - body[0].lineno < MAX_FUNCTION, node.name


def test_docstrings_are_plain():
    """Few sentences of the docstrings hold a semicolon, and nothing "is no" something."""
    sentences = HOUSE.sentences()
    assert sum(";" in sentence for sentence in sentences) / len(sentences) <= MAX_SEMICOLONS
    assert not [sentence for sentence in sentences if re.search(r"(?<!there )\bis no\b", sentence)]
