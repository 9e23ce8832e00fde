"""The view of a state value: what `select` may be, what JSON is made of the value, and which fields are mistakes."""

from __future__ import annotations

import dataclasses
import enum
import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from adk_context_pack import SettingError
from adk_context_pack.passes.state_view import StateView
from tests.support.spans import warned

BY_STATUS = {
    "status": {
        "success": ("id", "title", "status", "row_count"),
        ("failed", "error"): ("id", "error_message", "query"),
        None: ("id", "depends_on"),
    }
}
QUERIES = [
    {"id": "q1", "title": "Spend", "status": "success", "row_count": 812, "query": "SELECT a", "rows": [1] * 50},
    {"id": "q2", "title": "Clicks", "status": "failed", "error_message": "bad field", "query": "SELECT b"},
    {"id": "q3", "title": "Trend", "status": "pending", "depends_on": ["q1"], "query": "SELECT c"},
    {"id": "q4", "title": "No status", "depends_on": None},
]


def render_view(value, select=None):
    return StateView(owner="Test", key="k", select=select).render({"k": value}, strict=True)


class Status(enum.Enum):
    SUCCESS = "success"
    FAILED = "failed"


class Query(BaseModel):
    id: str
    status: Status
    row_count: int = 0
    query: str = ""


@dataclasses.dataclass
class Plain:
    id: str
    n: int


def test_models_enums_and_dataclasses_are_items():
    """Pydantic models and dataclasses are read by their fields, and an enum decides by its value."""
    items = [Query(id="a", status=Status.SUCCESS, row_count=3), Query(id="b", status=Status.FAILED, query="SELECT")]
    assert render_view(items, BY_STATUS) == (
        '[{"id":"a","status":"success","row_count":3},{"id":"b","query":"SELECT"}]'
    )
    assert render_view(Plain("a", 1), ("n",)) == '{"n":1}'
    assert render_view({"x": Plain("a", 1)}, ("n",)) == '{"x":{"n":1}}'
    assert render_view([Plain("a", 1)]) == '[{"id":"a","n":1}]'
    assert render_view(items[0]) == '{"id":"a","status":"success","row_count":3,"query":""}'


def test_new_names_paths_and_functions_of_an_item():
    """A field can have another name, come from a nested value, or be computed."""
    select = {"id": "query_id", "rows": "result.row_count", "n": lambda item: len(item["result"]["rows"])}
    item = {"query_id": "a", "result": {"row_count": 2, "rows": [1, 2]}, "x": 1}
    assert render_view([item], select) == '[{"id":"a","rows":2,"n":2}]'
    assert render_view([{"a.b": 1, "a": {"b": 2}}], ("a.b",)) == '[{"a.b":1}]'


def test_a_function_gets_the_whole_value():
    """A function sees the value as it is in the state, not item by item."""
    assert render_view(QUERIES, lambda value: {"count": len(value)}) == '{"count":4}'


def test_json_text_of_an_output_key_is_read():
    """Text that holds JSON, as an agent's `output_key` stores it, is read; other text in brackets is text."""
    assert render_view(json.dumps(QUERIES), BY_STATUS) == render_view(QUERIES, BY_STATUS)
    assert render_view("[not JSON", ("id",)) == '"[not JSON"'


def test_a_set_of_fields_has_one_order():
    """A set is sorted, since its own order changes from process to process and would move the prompt."""
    assert render_view([{"b": 1, "a": 2, "c": 3}], {"c", "a", "b"}) == '[{"a":2,"b":1,"c":3}]'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(JSON)
def test_what_json_can_hold_is_held_exactly(value):
    """The view of a JSON value without a `select` is that value."""
    assert json.loads(render_view(value, lambda whole: whole)) == value


def test_an_async_select_is_refused():
    """A callback that ADK calls synchronously cannot wait for a function."""

    async def later(value):
        return value

    with pytest.raises(SettingError, match="not async"):
        StateView(owner="Test", key="q", select=later)


def test_a_select_that_raises_is_told_and_logged(caplog):
    """A failing function leaves an error that a model can read, a line in the log, and no payload in either."""
    view = StateView(owner="Test", key="q", select=lambda value: value["secret"])
    assert view.render({"q": []}) == '{"error":"no view of q: TypeError"}'
    assert "the view of state key q could not be made" in caplog.text
    with pytest.raises(TypeError):
        view.render({"q": []}, strict=True)


class Level(enum.IntEnum):
    HIGH = 3


class Array:
    """What numeric libraries have in common."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = numbers

    def tolist(self) -> list[float]:
        return list(self._numbers)


def test_mappings_numbers_and_arrays_that_json_does_not_know():
    """A read-only mapping, an enum of numbers and an array of a numeric library read as what they hold."""
    assert render_view({"a": MappingProxyType({"b": 1}), "level": Level.HIGH}) == '{"a":{"b":1},"level":3}'
    assert render_view([float("nan"), Level.HIGH, Array(1, 2.5)]) == '["NaN",3,[1,2.5]]'
    assert render_view({"values": Array(1, 2)}) == '{"values":[1,2]}'


def test_a_path_that_ends_early_finds_nothing():
    """Where a path leads through a missing field or a number there is no field, and the others are there."""
    items = [{"id": 1, "a": {"b": 2}}, {"id": 2, "a": 3}, {"id": 3}]
    assert render_view(items, ("id", "a.b")) == '[{"id":1,"a.b":2},{"id":2},{"id":3}]'


ITEMS = [{"id": n, "title": f"t{n}", "status": "ok", "result": {"row_count": n}} for n in range(3)]
ROW_COUNT = " (did you mean 'result.row_count'?)"
FAILED = {"id": 9, "status": "failed", "query": "SELECT"}


class Typed(BaseModel):
    id: int = 1
    title: str = "t"


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: int = 1


@dataclasses.dataclass
class Row:
    id: int = 1


def said(*values, select):
    view = StateView(owner="CompactState", key="queries", select=select)
    with warned() as texts:
        for value in values:
            view.render({"queries": value})
    return texts


@pytest.mark.parametrize(("value", "select", "word"), [
    (ITEMS, ("id", "titel"), "field 'titel' (did you mean 'title'?)"),
    ({"q1": ITEMS[0]}, ("id", "Statsu"), "field 'Statsu' (did you mean 'status'?)"),
    (ITEMS, {"id": "id", "rows": "result.row_cuont"}, "field 'result.row_cuont'" + ROW_COUNT),
    (ITEMS, {"statsu": {"ok": ("id",), None: ("id",)}}, "deciding field 'statsu' (did you mean 'status'?)"),
    (ITEMS, {"zone": {"ok": ("id",)}}, "deciding field 'zone'"),
    ([FAILED], {"status": {"failed": ("id", "qurey"), None: ("id",)}}, "field 'qurey' (did you mean 'query'?)"),
    ([Typed(), Typed()], ("id", "nonsense"), "field 'nonsense'"), ([Row()], ("id", "nonsense"), "field 'nonsense'"),
])  # fmt: skip
def test_a_misspelled_field_is_named_once(value, select, word):
    """The warning has the key, the field and the nearest field, however often the view is rendered."""
    assert said(value, value, select=select) == [f"CompactState of 'queries': no item has the {word}"]


def test_a_view_of_empty_items_is_a_mistake():
    """Where items have none of several requested fields, each is named."""
    assert len(said(ITEMS, select=("alpha", "omega"))) == 2


@pytest.mark.parametrize(("value", "select"), [
    ([], ("id", "titel")), ({}, ("id", "titel")), (None, ("id", "titel")), ("plain text", ("id", "titel")),
    (["a", "b"], ("id", "titel")), (ITEMS, ("id", "error_message")), (ITEMS, ("id", "title", "titel")),
    (ITEMS, ("id", "result.note")), ([{"id": 1}], ("result.row_count", "result.rows")),
    (ITEMS, {"status": {"failed": ("id", "qurey"), None: ("id",)}}),
    ([{"id": 1, "title": "t"}], {"status": {"failed": ("id",), None: ("id",)}}), ([Open()], ("id", "nonsense")),
    (ITEMS, lambda items: [item["id"] for item in items]), (ITEMS, {"n": lambda item: item["id"]}), (ITEMS, None),
])  # fmt: skip
def test_a_field_that_may_still_come_is_not_named(value, select):
    """Empty values, fields that only some items get, and cases without items are no mistakes."""
    assert not said(value, value, select=select)


def test_a_field_that_came_is_never_named():
    """A field that some item has had may be missing later, even beside a similar one."""
    assert not said([{"id": 1, "titel": "t"}], [{"id": 1, "title": "t"}], select=("id", "titel"))


def test_the_check_ends():
    """Once all fields were seen, and after a number of values, nothing is looked at again."""
    for value, times, select in ((ITEMS, 1, ("id", "title")), (ITEMS, 20, ("id", "error"))):
        view = StateView(owner="CompactState", key="queries", select=select)
        for _ in range(times):
            assert min(len(view._fields._open), view._fields._looks) > 0
            view.render({"queries": value})
        assert min(len(view._fields._open), view._fields._looks) == 0


def test_a_value_that_cannot_be_checked_is_still_shown():
    """Trouble within the check costs no view."""

    class Odd(dict):
        def __iter__(self):
            raise RuntimeError

    view = StateView(owner="CompactState", key="queries", select=("id", "titel"))
    assert view.render({"queries": [Odd(id=1)]}) == '[{"id":1}]'
