"""Reading a payload to its end, or by search, in a real run."""

import json
from functools import reduce
from types import SimpleNamespace

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.tool_context import ToolContext
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import PayloadStore, estimate_tokens, read_payload
from adk_context_pack._json import json_text
from adk_context_pack.sql.pattern_search import find_places
from adk_context_pack.tools import open_results as module
from adk_context_pack.tools.open_results import json_page, matches_reply, page_of, place_of
from tests.support.in_tool import model_that_calls, pages_of
from tests.support.run import run_agent, session_service
from tests.support.scripted_model import results_in

ODD = "a\u2028b\u2029c\x85d\r\ne\0f\x1bg\U0001f600h\u0301i\ufeffj" * 3000
LIMITS = {"offset": 0, "max_matches": 20, "max_tokens": 4000, "max_seconds": 1}


def matches_in(text, pattern, *, offset, max_matches, max_tokens, max_seconds):  # noqa: PLR0913 - a limit each
    """What a search gives, found in this process."""
    start = place_of(text, offset)
    places = find_places(text, pattern, start=start, most=max_matches + 1, max_seconds=max_seconds)
    return matches_reply(text, places, max_matches=max_matches, max_tokens=max_tokens)


def keeper(value):
    """A tool that keeps a value and returns its handle."""

    async def keep(tool_context: ToolContext) -> dict:
        """Keeps the result."""
        return {"handle": await PayloadStore().put(tool_context, value, tool_name="keep", kind="payload")}

    return keep


async def read_all(value, *, tool=read_payload, **settings):
    """The pages that a model gets which reads on until there is no next offset."""
    return await pages_of(keeper(value), tool, **settings)


async def ask(value, *arguments, tool=read_payload):
    """What a model is told for each set of arguments."""
    calls = [("keep", {})]
    calls += [("read_payload", {"handle": lambda results: results[0]["handle"], **args}) for args in arguments]
    agent = LlmAgent(name="reader", model=model_that_calls(*calls), tools=[keeper(value), tool])
    run = await run_agent(agent, "go")
    return [result.response for result in results_in(run.requests[-1])[1:]]


@pytest.mark.parametrize("text", ["x" * 100_000, ODD, "漢字" * 9000, "\ud800a" * 9000, "short", ""])
async def test_all_pages_together_are_the_original(text):
    """One line of 100,000 characters, any unicode, a lone surrogate: read page by page to the end, nothing changed."""
    pages = await read_all(text)
    assert "".join(page["text"] for page in pages) == text
    sizes = [estimate_tokens(page["text"]) for page in pages]
    limits = zip([*sizes[:-1], sizes[-1] / 3], [12_000, *(16_000,) * 99], strict=False)
    assert all(size <= most for size, most in limits)
    assert {page["total_characters"] for page in pages} == {len(text)}


async def test_json_comes_in_pages_of_json():
    """A list of lines is read without a backslash before each quote, and each page says where it begins in the whole.

    What is nested too deep is a text.
    """
    (whole,) = await read_all(['a "b"', "c"])
    assert whole["json"] == ['a "b"', "c"]
    pages = await read_all({"id": 7, "a.$": ['NaN = "\\u0041", 4111111111111111'] * 4500})
    counts = [len(page["json"]["a.$"]) for page in pages]
    assert (sum(counts), len(counts)) == (4500, 6)
    assert (pages[0]["json"]["id"], pages[1]["first"], pages[1]["json"].keys()) == (7, f"a.$[{counts[0]}]", {"a.$"})
    tree = reduce(lambda inner, _: [[], inner, []], range(300), "leaf")
    assert json.loads("".join(page["text"] for page in await read_all(tree))) == tree


VALUES = st.recursive(
    st.none() | st.integers(0, 999) | st.text('ab,"[]{}:\\', max_size=9),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text('ab,"[\\', max_size=2), inner, max_size=5),
    max_leaves=40,
)


def leaves(value):
    """The values in JSON that hold no others, in their order."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [leaf for each in inner for leaf in leaves(each)] or [value]


@given(VALUES, st.integers(5, 90))
def test_pages_of_json_hold_each_value_once(value, size):
    """Pages of any size, each from where the one before ended, have all values in order, until one is too long."""
    text, start, found = json_text(value), 0, []
    while start is not None and (page := json_page(text, start, min(len(text), start + size))) is not None:
        start, found = page["next_offset"], [*found, *leaves(page["json"])]
    assert found == leaves(value)[: len(found)]
    assert start is not None or len(found) == len(leaves(value))
    assert json_page(text, 0, len(text))["json"] == value


async def test_what_a_database_cannot_write_comes_escaped(tmp_path):
    """With a session database a page with lone surrogates is JSON-escaped and says so; the run does not end."""
    text = '\ud800\n"x"\\' * 3000
    async with session_service("sqlite", tmp_path) as sessions:
        pages = await read_all(text, session_service=sessions)
    assert all(page["escaped"] for page in pages)
    assert "".join(json.loads(f'"{page["text"]}"') for page in pages) == text
    assert json_page('{"\ud800":[1,2]}', len('{"\ud800":[1,'), len('{"\ud800":[1,2]}')) is None


def test_nul_is_escaped_for_postgresql_only():
    """PostgreSQL refuses NUL in an event, so it comes escaped there; SQLite takes it as it is."""
    for dialect, escaped in (("postgresql", True), ("sqlite", False)):
        service = SimpleNamespace(db_engine=SimpleNamespace(dialect=SimpleNamespace(name=dialect)))
        context = SimpleNamespace(_invocation_context=SimpleNamespace(session_service=service))
        assert module._storable({"text": "a\0"}, context).get("escaped", False) is escaped


@given(st.text(st.characters()), st.integers(1, 50), st.integers(-60, 60), st.integers(0, 9))
def test_pages_follow_each_other(text, max_tokens, offset, length):
    """From any offset on, pages begin where the one before ended, move on, and end at the end."""
    start = min(len(text), offset) if offset >= 0 else max(0, len(text) + offset)
    read, place = "", offset
    while True:
        page = page_of(text, offset=place, length=length, max_tokens=max_tokens)
        read += page["text"]
        if page["next_offset"] is None:
            break
        assert page["next_offset"] > page["offset"]
        place = page["next_offset"]
    assert read == text[start:]


async def test_positions_may_count_from_the_end():
    """A negative offset reads the tail; one beyond the end gives an empty page that says how long the text is."""
    tail, beyond, part = await ask("0123456789", {"offset": -3}, {"offset": 99}, {"offset": 2, "length": 4})
    assert (tail["text"], tail["next_offset"]) == ("789", None)
    assert (beyond["text"], beyond["total_characters"]) == ("", 10)
    assert (part["text"], part["next_offset"]) == ("2345", 6)


async def test_search_gives_places_to_read_from():
    """A word is found whatever its case, with its offset and line; the search goes on from next_offset."""
    text = "\n".join(f"line {i} {'ERROR boom' if i % 100 == 50 else 'fine'}" for i in range(3000))
    first, none = await ask(text, {"search": "error"}, {"search": "nothing like this"})
    assert len(first["matches"]) == 20
    assert first["matches"][0] == {"offset": text.index("ERROR"), "line": 51, "text": "line 50 ERROR boom"}
    assert (first["total"], none["total"]) == (30, 0)
    (rest,) = await ask(text, {"search": "error", "offset": first["next_offset"]})
    assert rest["total"] == 30
    found = [match["offset"] for match in first["matches"] + rest["matches"]]
    assert found == [i for i in range(len(text)) if text.startswith("ERROR", i)]
    assert (none["matches"], none["next_offset"]) == ([], None)


async def test_few_matches_come_with_the_lines_around_them():
    """Of several patterns each has its total, and up to five matches come in order with whole lines around them."""
    text = "\n".join(f"{i} {'pump on' if i == 700 else 'leak' if i in {90, 800} else 'fine'}" for i in range(3000))
    (reply,) = await ask(text, {"search": "leak\npump"})
    assert reply["total"] == {"leak": 2, "pump": 1}
    assert [match["line"] for match in reply["matches"]] == [91, 701, 801]
    shown = set(reply["matches"][1]["text"].split("\n"))
    assert {"699 fine", "700 pump on", "701 fine"} < shown < set(text.split("\n"))


async def test_a_place_is_read_with_the_record_that_it_is_in():
    """A search for words of one field shows the field below it, whether or not the neighbours look like each other."""
    text = "\n".join(f"name: cylinder {i}\nshelf: {i % 7}\nweight: {i * 3}" for i in range(300))
    for search in ("cylinder 70$", "weight of the cylinder called 70"):
        assert "weight: 210" in (await ask(text, {"search": search}))[0]["matches"][0]["text"]


async def test_words_of_scripts_without_spaces_are_ranked_by_pairs():
    """A question in Japanese or Chinese finds the line that shares most pairs of letters with it."""
    for question, line in (("返品の期限はいつまでですか", "返品期限は十四日"), ("违约金是多少?", "支付违约金百分之八")):
        text = "\n".join([*["期限内に支付する書類"] * 40, line, *["书類は保管されます"] * 40])
        assert (await ask(text, {"search": question}))[0]["matches"][0]["line"] == 41


async def test_words_are_ranked_where_no_place_has_all_of_them():
    """Lines with most words and the rarest in any form come first, then names, and what the next line says counts."""
    text = "\n".join("the valve is open" for _ in range(90)) + "\nthe boilers were tested\nits relief valves leak\nfine"
    log = "".join(f"By {by}\nin {each} 2019\n{'when ' * 60}\n" for each in ("May", "Jul") for by in ("Li", "Reed"))
    for told, search, line in ((text, "leaking relief valve", 92), (log, "When did Reed commit in July?", 10)):
        found = (await ask(told, {"search": search}))[0]
        assert (found["matches"][0]["line"], found["note"][-10:]) == (line, "best first")


def test_a_search_keeps_its_budget():
    """Long lines around matches are clipped and the answer stays within its tokens."""
    reply = matches_in("y" * 500 + ("needle" + "x" * 5000) * 50, "needle", **{**LIMITS, "max_tokens": 500})
    assert estimate_tokens(json.dumps(reply)) < 700
    assert reply["next_offset"] is not None


@pytest.mark.parametrize("name", ["offset", "length"])
async def test_an_argument_that_is_no_number_is_named(name):
    """The model is told which of its arguments was no integer."""
    (reply,) = await ask("text", {name: "many"})
    assert name in reply["error"]


def test_what_stands_around_a_match_is_bounded():
    """Behind a match some characters of its line are shown, however far its end is."""
    ((match,)) = matches_in("needle" + "x" * 5000 + "\nend", "needle", **LIMITS)["matches"]
    assert len(match["text"]) < 600
