"""DropOldMedia: media of earlier turns make way for references, and the newest message keeps its own."""

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event_actions import EventActions
from google.adk.tools.load_artifacts_tool import load_artifacts_tool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adk_context_pack import ContextPackPlugin, DropOldMedia, DropOldThoughts, FitTokenBudget
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.errors import counted
from adk_context_pack.passes.drop_old_parts import _saved_before
from tests.support.adk_contents import request_of
from tests.support.events import agent_said, call_part, event, result_part, user_said
from tests.support.requests import applied, call_for, everything, request_for
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

PNG = b"\x89PNG" * 1_000


def picture(name=None, data=PNG, mime_type="image/png"):
    return types.Part(inline_data=types.Blob(mime_type=mime_type, data=data, display_name=name))


def link(uri, mime_type="application/pdf"):
    return types.Part(file_data=types.FileData(file_uri=uri, mime_type=mime_type))


def asked(text, *parts):
    said = user_said(text)
    said.content.parts += parts
    return said


def turns(*parts):
    """A turn with media, and one without."""
    return [asked("What is this?", *parts), agent_said("a", "A cat."), user_said("Which colour?")]


def references(request):
    return [part.text for content in request.contents for part in content.parts if (part.text or "").startswith("[Rem")]


def media(request):
    return [part for content in request.contents for part in content.parts if part.inline_data or part.file_data]


def test_media_of_earlier_turns_become_references():
    """Type, bytes and name are told, the query of an address is not, and the words around stay."""
    events = turns(picture("cat.png"), picture(), link("https://bucket/a/report.pdf?sig=secret"))
    call = call_for("a", events)
    result = DropOldMedia().apply(request_for("a", events), call)
    assert call.notes == ["removed the media of 1 content"]
    assert references(result) == [
        '[Removed after its turn: image/png, 4,000 bytes, "cat.png".]',
        "[Removed after its turn: image/png, 4,000 bytes.]",
        '[Removed after its turn: application/pdf, "report.pdf".]',
    ]
    assert media(result) == []
    assert "What is this?" in everything(result)
    assert TokenMeter().request(result) < TokenMeter().request(request_for("a", events)) - 600


@pytest.mark.parametrize(("settings", "kept"), [
    ({"min_bytes": 4_001}, 1), ({"min_bytes": 4_000}, 0), ({"keep_types": ["image/png"]}, 1),
    ({"keep_types": ["image/*"]}, 1), ({"keep_types": ["text/*"]}, 0),
])  # fmt: skip
def test_small_media_and_kept_types_stay(settings, kept):
    """Media under the limit stay, and so do those of a kept type or kind."""
    assert len(media(applied(DropOldMedia(**settings), "a", turns(picture())))) == kept


@pytest.mark.skipif("parts" not in types.FunctionResponse.model_fields, reason="results hold no media here")
def test_media_in_a_tools_result_go_and_the_result_stays():
    """The result keeps its call, its id and its fields, with a reference beside them, and the session is as it was."""
    returned = result_part("draw", {"ok": True}, "1")
    blob = types.FunctionResponseBlob(mime_type="image/png", data=PNG, display_name="cat.png")
    returned.function_response.parts = [types.FunctionResponsePart(inline_data=blob)]
    made = event("a", returned, role="user")
    made.actions.artifact_delta = {"cat.png": 0}
    events = [
        user_said("Draw."),
        event("a", call_part("draw", {}, "1")),
        made,
        agent_said("a", "Drawn."),
        user_said("?"),
    ]
    result = applied(DropOldMedia(), "a", events)
    (found,) = [
        part.function_response for content in result.contents for part in content.parts if part.function_response
    ]
    note = '[Removed after its turn: image/png, 4,000 bytes, artifact "cat.png".]'
    assert (found.response, found.parts) == ({"ok": True, "_media": [note]}, None)
    assert len(returned.function_response.parts) == 1


def test_a_turn_that_lost_its_media_is_still_the_users():
    """A budget behind the pass drops the old turn, which it could not if the turn had become nobody's."""
    events = [asked("What is this? " * 300, picture()), agent_said("a", "A cat."), user_said("Which colour?")]
    call_ = call_for("a", events)
    lean = DropOldMedia().apply(request_for("a", events), call_)
    result = FitTokenBudget(max_tokens=100).apply(lean, call_)
    assert "What is this?" not in everything(result)
    assert "Which colour?" in everything(result)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loads", [False, True])
async def test_the_reference_leads_back_to_the_artifact(loads):
    """In a real run the model asks for the artifact that the reference names, and is shown the picture again."""

    async def save(tool_context: ToolContext) -> str:
        """Saves the picture."""
        await tool_context.save_artifact("cat.png", picture("cat.png"))
        return "saved"

    def answer(request):
        shown = [len(part.inline_data.data) for part in media(request)]
        if results_in(request, "load_artifacts"):
            return f"I see {shown}."
        if not results_in(request, "save"):
            return call("save")
        if any("load_artifacts" in text for text in references(request)):
            return call("load_artifacts", artifact_names=["cat.png"])
        return f"{shown} {references(request)}"

    tools = [save, load_artifacts_tool] if loads else [save]
    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=tools)
    plugin = ContextPackPlugin(passes=[DropOldMedia(on_error="raise")])
    message = [types.Part(text="Keep this."), picture("cat.png")]
    run = await run_agent(agent, message, "What is on it?", plugins=[plugin])
    reference = '[Removed after its turn: image/png, 4,000 bytes, artifact "cat.png".]'
    assert run.answer == ("I see [4000]." if loads else f"[] {[reference]}")
    assert len(media(run.requests[0])) == 1
    assert run.session.events[0].content.parts[1].inline_data.data == PNG


def test_which_artifacts_there_were_by_the_end_of_a_turn():
    """An artifact counts from the turn on in which it was first saved. Beyond the session's turns there are none."""
    saved = [EventActions(artifact_delta={name: version}) for name, version in (("a", 0), ("b", 0), ("a", 1))]
    events = [
        user_said("one", actions=saved[0]),
        agent_said("a", "1"),
        user_said("two"),
        agent_said("a", "2", actions=saved[1]),
        event("user", result_part("f", {"a": 1})),
        user_said("three", actions=saved[2]),
    ]
    assert _saved_before(events) == [set(), {"a"}, {"a", "b"}]


THOUGHT = types.Part(text="Let me see.", thought=True)
SIGNED = types.Part(text="Signed.", thought=True, thought_signature=b"sig")


def turn(number):
    signed_call = call_part("t", {"n": number}, f"adk-{number}")
    signed_call.thought_signature = b"call-sig"
    return [
        user_said(f"Q{number}"),
        event("a", THOUGHT, SIGNED, signed_call),
        event("a", result_part("t", {"x": 1}, f"adk-{number}"), role="user"),
        event("a", THOUGHT, types.Part(text=f"A{number}")),
    ]


def thoughts(request):
    return [[part.text for part in content.parts if part.thought] for content in request.contents]


def test_never_leaves_a_content_empty_or_touches_idle_requests():
    """A content of nothing but thoughts stays. A request with no turn whose thoughts may go comes back as it is."""
    only = [user_said("Q"), event("a", THOUGHT, types.Part(text="", thought_signature=b"s")), user_said("R")]
    assert all(content.parts for content in applied(DropOldThoughts(), "a", only).contents)
    for keep_turns, events in ((1, turn(1)), (2, [*turn(1), *turn(2)]), (3, [*turn(1), *turn(2)]), (50, turn(1))):
        raw = request_for("a", events)
        assert DropOldThoughts(keep_turns=keep_turns).apply(raw, call_for("a", events)) is raw


@pytest.mark.parametrize("other", [{"function_call": types.FunctionCall(name="t")}, {"thought_signature": b"s"}])
def test_a_thought_that_is_also_something_else_stays(other):
    """A part with a thought's text and a call or a signature is not dropped."""
    both = types.Part(text="So I call it.", thought=True, **other)
    events = [user_said("Q1"), event("a", both, types.Part(text="A1")), user_said("Q2")]
    assert thoughts(applied(DropOldThoughts(), "a", events)) == [[], ["So I call it."], []]


@pytest.mark.parametrize(("parts", "left"), [
    ([THOUGHT], [THOUGHT]), ([THOUGHT, THOUGHT], [THOUGHT, THOUGHT]), ([THOUGHT, types.Part(text="A")], ["A"]),
    ([types.Part(text="A"), THOUGHT, types.Part(text="B")], ["A", "B"]), ([SIGNED, THOUGHT], [SIGNED]),
    ([types.Part(text="A")], ["A"]),
])  # fmt: skip
def test_what_is_left_of_a_content(parts, left):
    """Thoughts go where something else is left; a content that loses nothing is the same object, and is not counted."""
    events = [user_said("Q"), event("a", *parts), event("a", THOUGHT, types.Part(text="A")), user_said("R")]
    # ADK leaves out contents of nothing but thoughts, which other callers may send.
    raw, call = request_of([each.content for each in events]), call_for("a", events)
    result = DropOldThoughts().apply(raw, call)
    wanted = [types.Part(text=part) if isinstance(part, str) else part for part in left]
    assert result.contents[1].parts == wanted
    lost = len(left) < len(parts)
    assert (result.contents[1] is raw.contents[1]) is not lost
    assert call.notes == [f"dropped the thoughts of {counted(1 + lost, 'content')}"]
