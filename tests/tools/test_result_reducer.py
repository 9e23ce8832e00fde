"""ResultReducer: tables first, then whatever else is large."""

from types import SimpleNamespace

import pytest

from adk_context_pack.tools.cap_rows import CapRows
from adk_context_pack.tools.offload_payload import OffloadPayload
from adk_context_pack.tools.result_reducer import ResultReducer
from tests.support.in_tool import in_tool

ROWS = [{"id": number} for number in range(50)]
LONG = "a long text " * 2000
REDUCER = ResultReducer(rows=CapRows(max_rows=5, facts=False), payloads=OffloadPayload(max_tokens=1000))


async def reduced(result, reducer=REDUCER, name="fetch", *, answer=False):
    """What a tool named `name` gives in place of `result`."""

    async def action(context):
        context.actions.skip_summarization = answer or None
        return await reducer.reduce(SimpleNamespace(name=name), {}, context, result)

    return await in_tool(action)


async def test_tables_are_capped_and_other_large_things_go():
    """Each by its own settings; in a result with both, both."""
    assert len((await reduced({"rows": ROWS}))["rows"]) == 5
    assert "read_payload" not in str(await reduced({"rows": ROWS}))
    assert len(str(await reduced({"text": LONG}))) < 3000
    both = await reduced({"id": 7, "rows": ROWS, "text": LONG, "status": "ok"})
    assert list(both)[:4] == ["id", "rows", "text", "status"]
    assert len(both["rows"]) == 5
    assert len(both["text"]) < 3000
    assert (both["id"], both["status"], both["_row_limits"]) == (7, "ok", {"rows": {"shown": 5, "total": 50}})


async def test_many_fields_beside_a_table_give_way_to_one_preview():
    """Where no single field is large, what stands beside the table goes as a whole."""
    result = {"rows": ROWS, "status": "ok", **{f"note_{number}": "a middling text " * 20 for number in range(40)}}
    shown = await reduced(result)
    assert len(shown["rows"]) == 5
    assert shown["status"] == "ok"
    assert len(shown["_preview"]) < 3000
    assert not any(key.startswith("note_") for key in shown)


@pytest.mark.parametrize(
    ("result", "settings"),
    [
        ({"rows": ROWS[:3], "text": "short"}, {}),
        ({"error": "no", "text": LONG}, {}),
        ({"text": LONG, "rows": ROWS}, {"name": "load_skill"}),
        ({"text": LONG, "rows": ROWS}, {"name": "finish_task"}),
        ({"text": LONG, "rows": ROWS}, {"answer": True}),
        ({"text": LONG, "rows": ROWS}, {"reducer": ResultReducer(rows=None, payloads=None)}),
        (
            {"text": LONG, "rows": ROWS},
            {
                "reducer": ResultReducer(
                    rows=CapRows(tools={"fetch": None}), payloads=OffloadPayload(tools={"fetch": None})
                )
            },
        ),
    ],
)
async def test_what_stays_is_the_same_object(result, settings):
    """Small results, errors, skills, ADK's own tools, answers to the user, and what settings leave out."""
    assert await reduced(result, **settings) is result


async def test_one_without_the_other():
    """Either part can be switched off."""
    only_rows = ResultReducer(rows=CapRows(max_rows=5), payloads=None)
    assert (await reduced({"rows": ROWS, "text": LONG}, only_rows))["text"] is LONG
    only_payloads = ResultReducer(rows=None, payloads=OffloadPayload(max_tokens=1000))
    assert (await reduced({"rows": ROWS, "text": LONG}, only_payloads))["rows"] is ROWS


@pytest.mark.parametrize(("name", "rows"), [("small", 3), ("whole", 50), ("fetch", 5)])
async def test_each_tool_has_its_own_settings(name, rows):
    """Settings by a tool's name stand in place of those for all, and None leaves its tables whole."""
    caps = CapRows(max_rows=5, facts=False, tools={"small": CapRows(max_rows=3, facts=False), "whole": None})
    assert len((await reduced({"rows": ROWS}, ResultReducer(rows=caps, payloads=None), name))["rows"]) == rows
