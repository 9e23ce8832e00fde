"""A field that no item has is warned of where it must be a mistake, and nowhere else."""

from dataclasses import dataclass

import pytest
from pydantic import BaseModel, ConfigDict

from adk_context_pack.views.state_view import StateView
from tests.support.spans import warned

ITEMS = [{"id": n, "title": f"t{n}", "status": "ok", "result": {"row_count": n}} for n in range(3)]
ROW_COUNT = " (did you mean 'result.row_count'?)"
FAILED = {"id": 9, "status": "failed", "query": "SELECT"}


class Query(BaseModel):
    id: int = 1
    title: str = "t"


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: int = 1


@dataclass
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
    ([Query(), Query()], ("id", "nonsense"), "field 'nonsense'"), ([Row()], ("id", "nonsense"), "field 'nonsense'"),
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
            assert view._fields.is_open
            view.render({"queries": value})
        assert not view._fields.is_open


def test_a_value_that_cannot_be_checked_is_still_shown():
    """Trouble within the check costs no view."""

    class Odd(dict):
        def __iter__(self):
            raise RuntimeError

    view = StateView(owner="CompactState", key="queries", select=("id", "titel"))
    assert view.render({"queries": [Odd(id=1)]}) == '[{"id":1}]'
