"""check_pass: good passes pass, and each bad one is named by the law that it breaks."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.genai import types

import adk_context_pack as p
from adk_context_pack.stores.payload_store import ArtifactStore
from adk_context_pack.testing import (
    LAWS,
    Conversation,
    RecordedRequest,
    check_declared_tools,
    check_pass,
    check_references,
    check_result_pass,
    check_store,
)
from tests.support import breakers
from tests.support.events import agent_said, user_said
from tests.support.histories import many_turns
from tests.support.kept import Shelf
from tests.support.references import ROWS, Taker, agent_of, handle_in
from tests.support.requests import call_for, request_for
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def raises(request, call):
    raise KeyError("odd")


BAD = [
    (breakers.writes_into_an_event, "pure"), (breakers.swaps_the_requests_list, "pure"),
    (breakers.copies_for_nothing, "idle_is_identity"), (breakers.drops_one_each_time, "settled"),
    (breakers.adds_a_note, "never_grows"), (breakers.drops_results, "paired"), (breakers.forgets_the_user, "heard"),
    (breakers.cuts_a_window, "steady"), (breakers.empties_results, "reachable"),
    (breakers.empties_results, "active_stays"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "law"), BAD, ids=lambda value: getattr(value, "__name__", value))
def test_a_bad_pass_is_named_by_its_law(bad, law):
    """Tried on that law alone the pass is caught, and the message names pass and law and shows the conversation."""
    with pytest.raises(AssertionError, match=f'{bad.__name__} breaks the law "{law}"') as caught:
        check_pass(bad, except_for=LAWS.keys() - {law})
    assert "Conversation for agent" in str(caught.value)


def test_every_law_has_a_pass_that_breaks_it():
    """No law stands there that nothing was ever seen to break."""
    assert {law for _, law in BAD} == set(LAWS)


def test_a_pass_that_raises_is_said_to_raise():
    """The error is not taken for a broken law, and its cause is attached."""
    with pytest.raises(AssertionError, match="raises raises KeyError") as caught:
        check_pass(raises)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("good", "except_for"),
    [
        (p.StripForContext(), {"reachable"}), (p.CastNarrative(), ()), (p.ClearToolResults(), {"steady"}),
        (p.FitTokenBudget(max_tokens=300), {"steady"}), (p.DropOldMedia(min_bytes=0), {"steady", "never_grows"}),
        (p.DropOldThoughts(), {"steady"}), (p.KeepNewestResult(min_tokens=1), {"steady"}),
        (p.CompactState(key="queries"), {"never_grows"}), (lambda request, call: request, ()),
    ],
    ids=lambda value: getattr(value, "name", ""),
)  # fmt: skip
def test_good_passes_pass(good, except_for):
    """The pack's own passes keep the laws on the kit's conversations, and so does one that does nothing."""
    check_pass(good, examples=30, state={"queries": [{"id": 1}]}, except_for=except_for)


@pytest.mark.slow
def test_sessions_of_ones_own_are_tried_too():
    """A conversation that only an own session has is enough to catch a pass."""

    @dataclass(frozen=True, kw_only=True)
    class HidesMagicWord(p.ContextPass):
        """Drops what the user says after a magic word."""

        def apply(self, request, call):
            kept = [c for c in request.contents if "abracadabra" not in (c.parts[0].text or "")]
            return request if len(kept) == len(request.contents) else breakers.with_contents(request, kept)

    check_pass(HidesMagicWord(), examples=50)
    own = Conversation(agent="a", events=[user_said("hi"), agent_said("a", "yes?"), user_said("abracadabra")])
    with pytest.raises(AssertionError, match='hides_magic_word breaks the law "heard"'):
        check_pass(HidesMagicWord(), conversations=[own], examples=0)


def test_requests_of_ones_own_are_tried_on_all_laws_but_steady():
    """Pairs of request and call, where there is no session; the request itself is not written into."""
    events = many_turns(2)
    pairs = [(request_for("a", events), call_for("a", events))]
    before = pairs[0][0].model_copy(deep=True)
    check_pass(breakers.cuts_a_window, requests=pairs, examples=0, except_for={"paired", "heard", "settled"})
    with pytest.raises(AssertionError, match='swaps_the_requests_list breaks the law "pure"'):
        check_pass(breakers.swaps_the_requests_list, requests=pairs, examples=0)
    assert pairs[0][0] == before


@pytest.mark.parametrize("setting", [{"except_for": {"stedy"}}, {"except_for": "steady"}])
def test_a_law_that_does_not_exist_is_refused(setting):
    """A slip in a name would otherwise spare nothing, or everything."""
    with pytest.raises(p.SettingError, match="ste"):
        check_pass(p.StripForContext(), **setting)


@dataclass(frozen=True, kw_only=True)
class DropLog(p.ResultPass):
    """Leaves out the field `log`."""

    async def apply(self, result, call):
        """Returns the result without its log."""
        if not isinstance(result, dict) or "log" not in result:
            return result
        return {key: value for key, value in result.items() if key != "log"}


@dataclass(frozen=True, kw_only=True)
class Breaks(p.ResultPass):
    """Breaks one law."""

    how: str

    async def apply(self, result, call):
        """Breaks it on results that are dicts."""
        if not isinstance(result, dict) or not result:
            return result
        if self.how == "pure":
            result["seen"] = True
        broken = {
            "idle is identity": dict(result),
            "never grows": {**result, "note": "a note"},
            "failures": {"gone": True} if "status" in result or "error" in result or "isError" in result else result,
        }
        if self.how == "raises":
            raise ZeroDivisionError
        return broken.get(self.how, result)


@pytest.mark.parametrize("entry", [p.CapRows(max_rows=5), p.OffloadPayload(), DropLog()], ids=lambda entry: entry.name)
def test_passes_that_keep_the_laws_pass(entry):
    """The package's own passes and a simple one keep every law on every shape of result."""
    check_result_pass(entry, results=[{"log": "x", "a": [1, 2]}])


@pytest.mark.parametrize("how", ["pure", "idle is identity", "never grows", "failures", "raises"])
def test_a_pass_that_breaks_a_law_is_noticed(how):
    """Each law finds the pass that breaks it, and the message names the law."""
    with pytest.raises(AssertionError, match=how):
        check_result_pass(Breaks(how=how))


async def test_a_store_keeps_the_rules_and_is_left_empty():
    """A plain store over a dict passes and is left empty, and so does the store over ADK's artifact services."""
    shelf = Shelf()
    await check_store(shelf)
    assert shelf.kept == {}
    await check_store(ArtifactStore(), artifact_service=InMemoryArtifactService())


class Shared(Shelf):
    def place(self, scope, name):
        return name


class Truncating(Shelf):
    async def open(self, scope, name, kept):
        data = await super().open(scope, name, kept)
        return data and data[:999]


class Keeping(Shelf):
    async def delete(self, scope, name, kept):
        pass


@pytest.mark.parametrize(("store", "rule"), [
    (Shared(), "another scope"), (Truncating(), "came back as others"), (Keeping(), "still there"),
    (object(), "has `name`"),
], ids=["shared", "truncating", "keeping", "object"])  # fmt: skip
async def test_a_broken_store_is_named(store, rule):
    """A store that shares scopes, loses bytes, keeps what is deleted or lacks a method fails with the rule."""
    with pytest.raises(AssertionError, match=rule):
        await check_store(store)


async def test_the_law_notices_what_was_not_shown():
    """`check_references` fails for a session whose tool was given a result that no request shows, as far as named."""
    step = lambda request: call("take", value=f"{{{{result:{handle_in(request)}.page}}}}")  # noqa: E731
    run = await run_agent(agent_of(call("list_orders"), step, taker=Taker()), "Go.")
    check_references(run.session.events, run.requests)
    check_references(run.session.events, [], tools={"other"})
    for setting in ({}, {"tools": {"take"}}):
        with pytest.raises(AssertionError, match=r"take was given .* which a was not shown"):
            check_references(run.session.events, run.requests[:1], **setting)


async def test_the_law_holds_for_answers():
    """A handle that an event lists for its answer needs a request that shows it."""
    answer = "All of {{{{result:{}.page.total}}}}.".format
    tools = [p.resolve_results(ROWS, in_answers=True)]
    run = await run_agent(
        agent_of(call("list_orders"), lambda request: answer(handle_in(request)), taker=Taker(), tools=tools), "Go."
    )
    check_references(run.session.events, run.requests)
    with pytest.raises(AssertionError, match="an answer may refer to"):
        check_references(run.session.events, run.requests[:1])


def request_with(*names, agent="a", description="d"):
    functions = [types.FunctionDeclaration(name=name, description=description) for name in names]
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=functions)])
    return RecordedRequest(agent=agent, model="m", contents=[], config=config)


@pytest.mark.parametrize(
    "later",
    [request_with("one"), request_with("two", "one"), request_with("one", "two", description="other")],
    ids=["gone", "moved", "changed"],
)
def test_a_declaration_that_goes_changes_or_moves_is_noticed(later):
    """Each of the three fails, and the message names the agent and the tool."""
    with pytest.raises(AssertionError, match=r"a is shown another declaration .* of (one|two)"):
        check_declared_tools([request_with("one", "two"), later])


def test_agents_are_looked_at_one_by_one():
    """New declarations at the end are fine, and those of another agent do not count."""
    check_declared_tools([request_with("one"), request_with("three", agent="b"), request_with("one", "two")])


def book(city: str) -> dict:
    """Books a room."""
    return {"booked": city}


@pytest.mark.parametrize("batch", [None, 1])
async def test_the_law_holds_for_deferred_tools(batch):
    """Whether tools are found or also declared in batches, no declaration changes in a session."""
    find = call("find_tools", query="book a room")
    model = ScriptedModel(answer=lambda request: "Found." if results_in(request, "find_tools") else find)
    agent = LlmAgent(name="a", model=model, tools=[p.defer_tools(book, batch=batch)])
    await run_agent(agent, "Book a room in Oslo.", "Thanks.")
    assert len(model.requests) > 2
    check_declared_tools(model.requests)
