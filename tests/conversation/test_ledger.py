"""The ledger: identifiers of what left a request, bounded, and a function of what left alone."""

from __future__ import annotations

import itertools
import re
from re import _parser as parser
from unittest.mock import Mock

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import CastNarrative, ClearToolResults, FitTokenBudget
from adk_context_pack.conversation.ledger import _MAX_OF_CONTENT, _NAMES, arguments_in, ledger_text, result_names
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.passes.recall_memory import slim_loaded, slim_preloaded
from adk_context_pack.tables.stub_form import HANDLE, NOTE, preview_mark
from tests.support.events import agent_called, agent_said, call_part, result_part, tool_returned, user_said
from tests.support.requests import call_for, everything, request_for

EVENTS = [
    user_said("Pay $1,250.00 for order A-4711 from /srv/bills/may.pdf, I am ada@example.org."),
    agent_called("a", "get_user", "c1", user="ada_li_3668"),
    tool_returned("a", "get_user", {"born": "1990-04-05", "card": "card_99", "zip": 78701, "note": "a b c"}, "c1"),
    agent_said("a", "You are Ada."),
]
CONTENTS = [event.content for event in EVENTS]


def ledger(left=(0, 1, 2, 3), max_tokens=400, contents=CONTENTS, users=(0,)) -> str:
    return ledger_text(contents, set(left), users=users, max_tokens=max_tokens)


def test_names_stand_with_their_tool():
    """Ids, addresses, paths, dates and amounts stand with their tool, the user's first, and plain words do not."""
    said = "$1,250.00 A-4711 /srv/bills/may.pdf ada@example.org"
    assert ledger() == f"said: {said}; get_user: ada_li_3668 card_99 78701 1990-04-05"
    assert ledger(left=(3,)) == ledger(max_tokens=0) == ""


def test_the_marker_names_what_left_and_zero_turns_it_off(monkeypatch):
    """A value that left stands in the marker, unless nobody wants it. While a cut stays, it is searched for once."""
    events = [*EVENTS, *itertools.chain(*[(user_said("More."), agent_said("a", "words " * 400)) for _ in range(12)])]
    request, model_call = request_for("a", [*events, user_said("Go on.")]), call_for("a", events)
    asked = Mock(wraps=ledger_text)
    monkeypatch.setattr("adk_context_pack.passes.fit_token_budget.ledger_text", asked)
    first, second = (everything(FitTokenBudget(max_tokens=3000).apply(request, model_call)) for _ in range(2))
    assert (first, asked.call_count) == (second, 1)
    assert "ada_li_3668" in first.partition("Named there: ")[2]
    without = everything(FitTokenBudget(max_tokens=3000, max_ledger_tokens=0).apply(request, model_call))
    assert "ada_li_3668" not in without


@pytest.mark.parametrize("retold", [False, True])
def test_a_relay_is_not_taken_for_the_user(retold):
    """Relays have the user's role, but the user's own names come first, and old relays are not searched."""
    calls = [agent_called("b", "find", f"c{n}", sku="Q-7" if n < 100 else f"K-{n % 7}") for n in range(300)]
    found = [tool_returned("b", "find", {"ok": f"Z-{n}"}, f"c{n}") for n in range(300)]
    events = [user_said("Compare A-4711."), *itertools.chain(*zip(calls, found, strict=True)), user_said("Go on.")]
    request, model_call = request_for("a", events), call_for("a", events)
    if retold:
        request = CastNarrative().apply(request, model_call)
    text = everything(FitTokenBudget(max_tokens=3000).apply(request, model_call))
    named = re.findall(r"[AKQZ]-\d+", text.partition("Named there: ")[2].partition("\n")[0])
    assert named[0] == "A-4711"
    # How many contents the accounts are differs by release. Of single relays the oldest have the commonest name.
    assert retold or {"Q-7", "K-3"}.intersection(named) == {"K-3"}


def test_no_text_makes_the_search_slow():
    """Each repetition in the pattern has a bound, so a long text of odd words costs no more than its length."""

    def repeats(tree):
        for code, value in tree:
            if code is parser.MAX_REPEAT or code is parser.MIN_REPEAT:
                yield value[1]
            for inner in value if isinstance(value, tuple | list) else [value]:
                for each in inner if isinstance(inner, list) else [inner]:
                    if isinstance(each, parser.SubPattern):
                        yield from repeats(each)

    found = list(repeats(parser.parse(_NAMES.pattern)))
    assert len(found) > 10
    assert max(found) <= 100


def test_names_keep_no_result_from_being_cleared():
    """A result that is cleared without names in its note is cleared with them, in a small budget with twice as many."""
    body = {"ids": [f"A-{n}" for n in range(9_000)]}
    events = [user_said("Hi."), agent_called("a", "t", "c1"), tool_returned("a", "t", body, "c1")]
    events += [agent_said("a", "Yes."), user_said("And?")]
    limits = ((0, 10_000), (20, 10_000), (40, 10_001))
    clears = [ClearToolResults(keep_results=0, max_ledger_tokens=n, max_tokens=most) for n, most in limits]
    none, small, large = (
        clear.apply(request_for("a", events), call_for("a", events)).contents[2].parts[0].function_response.response
        for clear in clears
    )
    assert small == large == none | {"named": " ".join(body["ids"][:16])}


@pytest.mark.parametrize(("cell", "named"), [
    (None, ""), (True, ""), (False, ""), (99, ""), (-99, ""), (99.5, ""), (100, "100"), (-100, "-100"),
    ("ab", ""), ("abc", "abc"), ("a bc", ""), ("x" * 60, "x" * 60), ("x" * 61, ""), ({"total": "a bc"}, ""),
    ("by ann.lee8, on 10.7.0.5 (0a:1b:22:3c:44:5d), as BL/K17.", "BL/K17 ann.lee8 10.7.0.5 0a:1b:22:3c:44:5d"),
    ("by 530 U.S. 812, [2009] EWCA Civ 24 (VI ZR 26/16)", "'VI ZR 26/16' '530 U.S. 812' '[2009] EWCA Civ 24'"),
    ("at @lena-k of HRB 123 in KX61 XRT, 9/1705", "9/1705 @lena-k 'HRB 123' 'KX61 XRT'"), ("to a@b.de#c", "a@b.de"),
    ("New York", "'New York'"), ("17 High St", "'17 High St'"), ("New\nYork", ""), ({"95234": "a bc"}, "95234"),
    ("in src/a/b.py::test_c now", "src/a/b.py::test_c"), ({"R-1": {"n": 1}, "R-2": {"n": 2}}, "R-1 R-2"),
])  # fmt: skip
def test_which_values_of_a_result_are_named(cell, named):
    """Whole numbers from 100 on, short texts without blanks, names, ids as keys, and identifiers in other texts."""
    for response in (cell, {"a": cell}, {"a": [cell, cell]}, [{"a": {"b": cell}}]):
        assert result_names(response, max_tokens=80, said="") == named


def test_codes_come_before_words_and_small_numbers():
    """What calls ask with is named first, then words, times and places. Nothing is named that is said anyway."""
    body = {"seats": 120, "at": "14:00:00", "city": "New York", "no": 4711470, "km": 98.5, "cards": [{"fee": 120.5}]}
    body |= {"day": "2026-05-24", "card": "card_99", "price": 980.5}
    assert result_names(body, max_tokens=80, said="card_99") == "4711470 980.5 14:00:00 'New York' 2026-05-24 120"


def test_what_is_of_a_key_that_was_asked_with_comes_first():
    """Names of one key are named before newer ones if agents asked with others of it, however many these are."""
    listed, newer = result_part("all", {"no": [f"T{n}" for n in range(10, 20)]}), result_part("x", ["S21", "S22"])
    contents = [*map(content, (listed, call_part("one", {"t": "T12"}), newer))]
    assert ledger(range(3), 12, contents, users=()) == "all: T12 T10 T11 T13"


def test_a_stub_gives_its_names_and_not_its_size():
    """What its rows and its preview hold is named, and neither its lengths nor its handles."""
    text = f"{preview_mark('text', 98765, '0000000000a', opener='read_back', refer_in='')}\nabout D-4 of HRB 12"
    stub = {"rows": [{"id": "C-3"}], "text": text, HANDLE: "0000000000b", NOTE: "Of 54321 rows."}
    assert ledger(contents=[content(result_part("find", stub))], left=(0,), users=()) == "find: C-3 D-4 'HRB 12'"


def test_what_tools_take_comes_first():
    """Values under keys named as arguments of tools, or in such objects, come first, with all of their numbers."""
    schemas = {"a": ("vehicle_ids", "tripId", "ref"), "read_back": ("handle",)}
    schemas = {name: {"type": "OBJECT", "properties": {key: {} for key in keys}} for name, keys in schemas.items()}
    tools = [types.FunctionDeclaration(name=name, parameters=schema) for name, schema in schemas.items()]
    taken = arguments_in(LlmRequest(config={"tools": [types.Tool(function_declarations=tools)]}))
    body = {"rpm": [*range(4100, 4600, 100)], "vehicle": "V-8", "alert": "A-1", "handle": "H-2", "trip": {"id": "T-3"}}
    body |= {"vehicles": [{"id": number} for number in range(901, 907)], "bookingRef": "R-4", "refs": [{"no": "N-6"}]}
    names = "V-8 T-3 R-4 N-6 901 902 903 904 905 906 A-1 H-2 4100 4200 4300 4400"
    assert result_names(body, max_tokens=200, said="", taken=taken) == names
    # Without a name of its own, an id is that of what the tool is named after.
    trips = {"data": [{"fee": "A-2", "id": "T-5"}, {"fee": "A-3", "id": "T-6"}]}
    for tool, result, names in (("get", body, "V-8 T-3 R-4 N-6 901"), ("list_trips", trips, "T-5 T-6 A-2 A-3")):
        said = [content(result_part(tool, result))]
        assert ledger_text(said, {0}, users=(), max_tokens=13, taken=taken) == f"{tool}: {names}"


def test_so_many_values_of_a_result_are_searched():
    """The search ends with a number of values, or behind the value with which the characters are too many."""
    plain = ["a b"] * _MAX_OF_CONTENT
    assert result_names([*plain[1:], "A-4711"], max_tokens=80, said="") == "A-4711"
    assert result_names([*plain, "A-4711"], max_tokens=80, said="") == ""
    assert result_names(["a b" * 6_666, "c", "A-4711"], max_tokens=80, said="") == "A-4711"
    assert result_names(["a b" * 6_668, "A-4711"], max_tokens=80, said="") == ""


def test_the_order_of_names():
    """What users said comes first, then the newest by their rank, and the first of a content before its last."""
    said = [agent_said("a", text) for text in ("Old-1 and Twice-2", "Twice-2, New-4 and New-3")]
    said += [agent_called("a", "look", "c", key="Asked-9"), user_said("for User-5")]
    contents = [event.content for event in said]
    assert ledger(contents=contents, users=(3,)) == "said: User-5 Twice-2 New-4 Old-1 New-3; look: Asked-9"
    assert ledger(contents=contents, users=(3,), max_tokens=8) == "said: User-5"


def memory(*texts, author="ann", time="2026-01-02"):
    parts = [{"text": text, "thought": None, "inline_data": None} for text in texts]
    return {"content": {"parts": parts, "role": "user"}, "author": author, "timestamp": time, "custom_metadata": {}}


def content(*parts):
    return types.Content(role="user", parts=list(parts))


def loaded(*contents):
    return slim_loaded(LlmRequest(contents=list(contents)), 100, TokenMeter())


@pytest.mark.parametrize("response", [
    {}, {"memories": []}, {"memories": "none"},
    {"memories": [5, {"content": None}, {"content": {"parts": None}}, {"content": {"parts": [{"text": ""}]}}]},
    {"error": "no service"}, {"memories": ["[ann] " + "word " * 60]},
])  # fmt: skip
def test_what_stays_as_it_is(response):
    """A result without memories, or one whose memories are lines already, is the very same object."""
    result = content(result_part("load_memory", response))
    (found,) = loaded(result)
    assert found is result
    assert found.parts[0].function_response.name == "load_memory"


def test_other_parts_of_a_content_stay():
    """Beside a result that shrinks, words and results of other tools are the same objects."""
    other, words = result_part("look", {"memories": [memory("z")]}), types.Part(text="hi")
    (found,) = loaded(content(other, result_part("load_memory", {"memories": [memory("x")]}), words))
    assert found.parts[0] is other
    assert found.parts[2] is words
    assert found.parts[1].function_response.response == {"memories": ["[ann, 2026-01-02] x"]}


def test_preloaded_memories_are_ranked():
    """Entries have their time, and lines without one are entries as well. What is around them stays."""
    entries = [f"Time: T{n}\nann: {'crane' if n == 3 else 'boat'} {n}\n  {'more ' * 40}" for n in range(1, 5)]
    text = "Before.\n<PAST_CONVERSATIONS>\n" + "\n".join(entries) + "\n</PAST_CONVERSATIONS>\nAfter."
    found = slim_preloaded(text, "the crane", 100, TokenMeter())
    assert found.startswith("Before.\n<PAST_CONVERSATIONS>\n[T3] ann: crane 3\n")
    assert found.endswith("\n</PAST_CONVERSATIONS>\nAfter.")
    assert "boat 4" not in found
    plain = "<PAST_CONVERSATIONS>\n" + "ann: one\n" * 60 + "bo: two\n</PAST_CONVERSATIONS>"
    assert slim_preloaded(plain, "two", 60, TokenMeter()).split("\n")[1] == "[memory] bo: two"
    assert slim_preloaded(text, "the crane", 1000, TokenMeter()) == text
