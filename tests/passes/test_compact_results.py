"""CompactResults: names are said once, every value stays, and the session has what the tool returned."""

import json
import re
from contextlib import suppress

import pytest
from google.adk.agents import LlmAgent
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import CompactResults, ContextPackPlugin, resolve_results
from adk_context_pack._json import json_text
from adk_context_pack.conversation.clearing import compacted
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in
from tests.support.shared_data import shared_file


def spread(value):
    """The value that a shorter one stands for, by its form alone; keys of the form are nobody else's here."""
    if isinstance(value, list):
        return list(map(spread, value))
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        with suppress(ValueError):
            return json.loads(value)
    if not isinstance(value, dict):
        return value
    if "csv" in value:
        columns, *rows = lines_of(value["csv"])
        rows = [row({"columns": columns, "every_row": value.get("every_row", {})}, cells) for cells in rows]
        return {str(each[value["key"]]): each for each in rows} if "key" in value else rows
    if "columns" not in value:
        return {key: spread(item) for key, item in value.items()}
    rows = value.get("groups", value.get("rows"))
    held = rows if isinstance(rows, dict) else dict(enumerate(rows))
    # Beside rows that are lists a text is an odd one.
    value = value | {"lines": "groups" in value or not any(isinstance(cells, list) for cells in held.values())}
    placed = {key: row(value, cells, key) for key, cells in held.items()}
    return placed if rows is held else [*placed.values()]


def lines_of(text):
    """The cells of each line: JSON, or else a text."""
    lines = [[]]
    for cell, end in re.findall(r'("(?:[^"\\]|\\.)*"|[^,\n"]+)(,|\n|$)', text):
        with suppress(ValueError):
            cell = json.loads(cell)  # noqa: PLW2901
        lines[-1].append(cell)
        lines += [[]] * (end == "\n")
    return lines


def row(table, cells, key=None):
    if isinstance(cells, dict):
        return spread(cells) | {name: cell for name, cell in table.get("every_row", {}).items() if "." not in name}
    if "groups" in table and isinstance(cells, list):
        return [row(table, each) for each in cells]
    if isinstance(cells, str) and table["lines"]:
        [cells] = lines_of(cells)
    if not isinstance(cells, list):
        return cells
    found = {}
    named = [*zip(table["columns"], cells, strict=True), *table.get("every_row", {}).items()]
    for name, cell in [*named, *([(table["key"], key)] if "key" in table else [])]:
        *outer, last = name.split(".")
        place = found
        for each in outer:
            place = place.setdefault(each, {})
        place[last] = spread(cell)
    return found


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
NAMES = st.sampled_from(["id", "city", "at", "n", "größe"])
ROW = st.fixed_dictionaries({"id": SCALARS, "at": st.fixed_dictionaries({"city": SCALARS, "n": st.lists(SCALARS)})})
ROWS = st.lists(ROW | st.dictionaries(NAMES, SCALARS, min_size=1), max_size=6)
# A dot within a name would look like that between names, and `csv` is a name of the form.
KEYS = st.text(st.characters(exclude_characters=".v", codec="utf-8"))
VALUES = st.recursive(SCALARS, lambda inner: st.dictionaries(NAMES, inner) | ROWS | st.dictionaries(KEYS, ROW))


@given(value=VALUES)
def test_a_shorter_form_says_all_that_the_value_says(value):
    """Whatever rows, keys and nesting there are, the value is made again from the form, to the type of each number."""
    shown = compacted(value)
    assert json.dumps(spread(shown), sort_keys=True) == json.dumps(spread(value), sort_keys=True)
    assert shown is value or len(json_text(shown)) < len(json_text(value))


TWO = [
    {"order_number": 1, "city_name": "Oslo", "is_paid": True},
    {"order_number": 2, "city_name": "Oslo", "is_paid": 1},
]
TABLE = {"csv": "order_number,is_paid\n1,true\n2,1", "every_row": {"city_name": "Oslo"}}
NAMES_APART = {"columns": ["order_number", "is_paid"], "every_row": {"city_name": "Oslo"}}
ODD = NAMES_APART | {"rows": ["1,true", "2,1", {"order_number": 3}]}
GROUPS = NAMES_APART | {"groups": [["1,true"], ["1,true", "2,1"]]}
# A name with a dot is not taken for a nested one.
DOTTED = [{"at.city": number, "at": {"city": 7}} for number in range(9)]
LIST_AMONG_ROWS = {f"key {n}": {"order_number": n, "city_name": f"Oslo {n}"} for n in range(9)} | {"odd": [3, "Rome"]}
LEFT_ALONE = (
    *['[{"n": 1.50}, {"n": 2.25}]', '{"n": 1,    "n": 2}', "[NaN,    1]", "[1,    2"],
    f"{json.dumps(TWO, indent=9)[:-1]}, -0]",
    f"{json.dumps(TWO, indent=9)[:-1]}, {2**53 + 1}]",
)


@pytest.mark.parametrize(("value", "shown"), [
    (TWO, TABLE), ({1: TWO[0], 2: TWO[1]}, TABLE | {"key": "order_number"}),
    ([*TWO, ODD["rows"][2] | ODD["every_row"]], ODD), ([[TWO[0]], TWO], GROUPS),
    (json.dumps({"first": TWO}, indent=4), {"first": TABLE}), *[(text, text) for text in LEFT_ALONE],
    (LIST_AMONG_ROWS, LIST_AMONG_ROWS),
    (DOTTED, {"csv": "\n".join(["at.city", *map(str, range(9))]), "every_row": {"at": {"city": 7}}}),
])  # fmt: skip
def test_forms(value, shown):
    """What all rows share is said once, odd rows stay objects, and a text that JSON would write otherwise stays."""
    assert compacted(value) == shown


ORDERS = [{"order": number, "at": {"city": "Oslo"}, "paid": True} for number in range(20)]


def pay(order: str) -> str:
    return order


def list_orders():
    return {"orders": ORDERS}


async def shown_by(*tools, plugin):
    model = ScriptedModel(answer=lambda request: "done" if results_in(request) else call("list_orders"))
    agent = LlmAgent(name="a", model=model, tools=[*tools, list_orders])
    run = await run_agent(agent, "go", plugins=[plugin])
    stored = [response.response for event in run.events for response in event.get_function_responses()]
    assert stored == [{"orders": ORDERS}]
    return results_in(run.requests[-1])[0].response["orders"]


async def test_a_model_reads_columns_and_rows():
    """A request says each name once, its report says so, and whoever writes references sees the rows."""
    short = {"csv": "\n".join(["order", *map(str, range(20))]), "every_row": {"at.city": "Oslo", "paid": True}}
    assert await shown_by(plugin=(plugin := ContextPackPlugin())) == short
    assert "wrote the results of 1 content" in str(plugin.reports[-1])
    assert await shown_by(resolve_results(pay), plugin=ContextPackPlugin()) == ORDERS
    assert await shown_by(plugin=ContextPackPlugin(passes=[CompactResults(exclude_tools=["list_orders"])])) == ORDERS


async def test_what_a_callback_adds_to_a_content_is_sent_once():
    """An app's own callback adds to the newest result, in place. The next requests do not repeat it."""

    def remind(callback_context, llm_request):
        llm_request.contents[-1].parts[-1].thought_signature = b"mine"
        llm_request.contents[-1].parts.append(types.Part(text="Remember."))

    model = ScriptedModel(answer=lambda request: "done" if len(results_in(request)) > 1 else call("list_orders"))
    agent = LlmAgent(name="a", model=model, tools=[list_orders], before_model_callback=remind)
    run = await run_agent(agent, "go", plugins=[ContextPackPlugin()])
    sent = str(run.requests[-1].contents)
    assert "every_row" in sent
    assert sent.count("Remember.") == sent.count("mine") == 1


def test_recorded_results_say_the_same():
    """Of recorded services too: flights within lists of lists, reservations and users of tau-bench."""
    for record in json.loads(shared_file("tau_bench/gpt-4o-airline.dev.json").read_text(encoding="utf-8")):
        for message in record["traj"]:
            if message["role"] == "tool" and message["content"][:1] in ("[", "{"):
                value = json.loads(message["content"])
                assert spread(compacted(value)) == value
