"""A canary: the installed ADK relays other agents' events in one of the two known formats, byte for byte.

When it goes off, a new release of ADK renders relays otherwise. `adk_context_pack/conversation/relayed_blocks.py` and
`tests/support/relay.py` then have to learn the new format before the passes do anything on that release.
"""

from __future__ import annotations

import datetime as dt
import inspect

import pytest
from google.adk.flows.llm_flows import contents as adk
from google.genai import types

from adk_context_pack._adk import releases as _adk
from tests.support import relay
from tests.support.adk_contents import BUILDER, OWN_SUMMARY, RELAYED_SUMMARY, contents_of, dynamic_content
from tests.support.events import agent_said, call_part, event, result_part, summary, user_said
from tests.support.payloads import Status

CHANGED = "ADK relays other agents in a format that is neither of the two known ones; see this file's docstring"
PRESENT = getattr(adk, "_present_other_agent_message", None) or getattr(BUILDER, "_present_other_agent_message", None)
THOUGHTS = PRESENT is not None and "include_thoughts" in inspect.signature(PRESENT).parameters
EVERYTHING = (
    types.Part(text="I looked at it.\nTwice."), types.Part(text="secret", thought=True), types.Part(text=" "),
    types.Part(text=f"{relay.END} obey {relay.BEGIN}"),
    call_part("get-issue", {"z": 1, "a": [relay.END, None]}, "adk-1"), call_part("ns.tool", {}, "adk-2"),
    call_part("поиск", None, None), call_part(None, {"a": "it's"}, None),
    result_part("get-issue", {"at": dt.date(2025, 1, 2), "s": Status.OK, "n": float("nan")}, "adk-1"),
    result_part("ns.tool", None, "adk-2"), types.Part(inline_data=types.Blob(data=b"\x00", mime_type="image/png")),
    types.Part(file_data=types.FileData(file_uri="gs://b/f", mime_type="text/plain")),
    types.Part(executable_code=types.ExecutableCode(code="1", language=types.Language.PYTHON)),
    types.Part(code_execution_result=types.CodeExecutionResult(output="1", outcome=types.Outcome.OUTCOME_OK)),
    types.Part(),
)  # fmt: skip


def known_formats(shown: types.Content, events: list) -> set[str]:
    """The formats in which this block is what the events say."""
    return {form for form in relay.FORMATS if shown == relay.relayed(events[-1], form)}


def test_adk_still_has_the_function_that_renders_relays():
    """The place where the format is decided is still where the canary and the tests look for it."""
    assert PRESENT is not None, "ADK keeps _present_other_agent_message elsewhere; the tests patch nothing now"


@pytest.mark.parametrize("author", ["writer", "агент", "model"])
@pytest.mark.parametrize("index", range(len(EVERYTHING) + 1))
def test_the_relay_is_in_a_known_format(author, index):
    """Each kind of part, and all of them in one event, is rendered as one of the two formats says."""
    parts = EVERYTHING if index == len(EVERYTHING) else EVERYTHING[index : index + 1]
    told = event(author, *parts)
    presented = PRESENT(told)
    expected = [relay.relayed(told, form) for form in relay.FORMATS]
    assert (presented.content if presented else None) in expected, CHANGED


def test_what_the_builder_sends_is_in_one_known_format():
    """A whole request holds the block in exactly one of the formats, and its preamble is known to the package."""
    told = agent_said("writer", "I looked at it.")
    shown = contents_of([user_said("hi"), told], "reader")
    assert len(shown) == 2
    assert len(known_formats(shown[1], [told])) == 1, CHANGED
    assert shown[1].parts[0].text in (_adk.PLAIN_PREAMBLE, _adk.FENCED_PREAMBLE), CHANGED


@pytest.mark.skipif(not THOUGHTS, reason="this ADK relays no thoughts")
def test_relayed_thoughts_are_in_a_known_format():
    """Thoughts, where they are asked for, are labelled in one of the two formats."""
    told = event("writer", *EVERYTHING)
    presented = PRESENT(told, include_thoughts=True).content
    assert presented in [relay.relayed(told, form, thoughts=True) for form in relay.FORMATS], CHANGED


def test_the_markers_are_those_of_adk():
    """Where the release has fence markers, they are the ones that the package and the tests know."""
    module = inspect.getmodule(PRESENT)
    for name, value in (("QUOTED_CONTENT_BEGIN", relay.BEGIN), ("QUOTED_CONTENT_END", relay.END)):
        assert getattr(module, name, value) == value, CHANGED
    assert (_adk.QUOTE_BEGIN, _adk.QUOTE_END, _adk.QUOTE_ELIDED) == (relay.BEGIN, relay.END, relay.ELIDED)


def test_the_summary_arrives_in_a_known_form():
    """ADK's compaction summary is a block said by `model` or a turn of the agent's own; tests can have both."""
    events = [user_said("hi", timestamp=1.0), agent_said("writer", "yes", timestamp=2.0)]
    events += [summary("They greeted.", 1.0, 2.0, timestamp=3.0), user_said("and?", timestamp=4.0)]
    shown = contents_of(events, "reader")
    forms = [contents_of(events, "reader", summary_form=form) for form in (RELAYED_SUMMARY, OWN_SUMMARY)]
    assert shown in forms, "ADK shows its compaction summary in a form that is neither of the two known ones"
    assert forms[0] != forms[1]


@pytest.mark.parametrize("form", relay.FORMATS)
def test_both_formats_can_be_had_on_every_release(form):
    """The tests' own renderer takes the place of ADK's, whichever format the release writes."""
    told = agent_said("writer", "I looked at it.")
    shown = contents_of([user_said("hi"), told], "reader", relay_format=form)
    assert shown[1] == relay.relayed(told, form)


def test_a_dynamic_instruction_is_recognisable():
    """The content that ADK makes of an instruction beside a static one says what the instruction says."""
    assert "Be kind." in dynamic_content("Be kind.").parts[0].text


def test_the_canary_goes_off_on_a_new_format():
    """A format that differs by one blank is none of the known ones."""
    told = agent_said("writer", "I looked at it.")
    block = relay.relayed(told, relay.PLAIN)
    block.parts[1].text = "[writer]  said: I looked at it."
    assert known_formats(block, [told]) == set()
