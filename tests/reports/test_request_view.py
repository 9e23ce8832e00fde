"""A request as text: every part of every kind, detached from the session."""

from google.adk.models.llm_request import LlmRequest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.reports.call_report import ViewPart, request_view
from adk_context_pack.reports.html_page import compare, marked
from tests.support.events import call_part, result_part

PARTS = [
    types.Part(text="hello"),
    types.Part(text="hm", thought=True),
    call_part("look", {"a": 1}),
    result_part("look", {"rows": [1]}),
    types.Part(inline_data=types.Blob(data=b"1234", mime_type="image/png")),
    types.Part(file_data=types.FileData(file_uri="gs://bucket/file", mime_type="text/plain")),
    types.Part(executable_code=types.ExecutableCode(code="print(1)", language=types.Language.PYTHON)),
    types.Part(),
]


def request_of(parts, **config):
    request = LlmRequest(config=types.GenerateContentConfig(**config))
    request.contents = [types.Content(role="user", parts=parts), types.Content(role=None, parts=None)]
    return request


def test_shows_every_kind_of_part():
    """Texts, thoughts, calls, results, media, files and code each say what they are."""
    assert request_view(request_of(PARTS)) == (
        ViewPart("user · text", "hello"),
        ViewPart("user · thought", "hm"),
        ViewPart("tool call · look", '{\n "a": 1\n}'),
        ViewPart("tool result · look", '{\n "rows": [\n  1\n ]\n}'),
        ViewPart("user · media", "image/png, 4 bytes"),
        ViewPart("user · file", "gs://bucket/file"),
        ViewPart("user · code", "print(1)"),
        ViewPart("user · other", ""),
    )


def test_shows_instructions_of_every_form_and_tools():
    """A system instruction may be text, a content or a list; each declared function is a part."""
    function = types.FunctionDeclaration(name="look", description="Looks.")
    text, content, several = (
        request_view(request_of([], system_instruction=form, tools=[types.Tool(function_declarations=[function])]))
        for form in (
            "Be brief.",
            types.Content(parts=[types.Part(text="Be brief.")]),
            ["Be", types.Part(text="brief.")],
        )
    )
    assert text == content
    assert text[0] == ViewPart("system instruction", "Be brief.")
    assert several[0].text == "Be\n\nbrief."
    assert (text[1].label, '"look"' in text[1].text) == ("tool declaration", True)


def test_equal_parts_share_their_text():
    """The part of the second view that equals one of the first is the same object, so it costs no memory."""
    first = request_view(request_of(PARTS))
    assert all(new is old for new, old in zip(request_view(request_of(PARTS), first), first, strict=True))


def test_payloads_that_json_cannot_hold_and_long_ones():
    """Odd keys, cycles and very long results still give a text."""
    odd = {("a", 1): "value"}
    odd_result = types.FunctionResponse.model_construct(name="odd", response=odd)
    (part,) = request_view(request_of([types.Part.model_construct(function_response=odd_result, text=None)]))
    assert "value" in part.text
    (part,) = request_view(request_of([types.Part(text="x" * 300_000)]))
    assert part.text.endswith("100,000 more characters")


views = st.lists(st.builds(ViewPart, st.sampled_from(["user", "model"]), st.text("abc ", max_size=8)), max_size=8)


@given(views, views)
def test_rows_hold_both_requests_whole(before, after):
    """Read down, each side of the rows is the request itself, in order."""
    rows = list(compare(tuple(before), tuple(after)))
    assert [old for old, _ in rows if old is not None] == before
    assert [new for _, new in rows if new is not None] == after


def test_marks_only_what_differs():
    """One changed word is marked, not the sentence; a text that was replaced is marked as a whole."""
    left, right = marked("the quick brown fox jumps", "the quick red fox jumps")
    assert ("brown", True) in left
    assert ("red", True) in right
    assert marked("one two three", "something else entirely")[0] == [("one two three", True)]


def test_long_texts_are_compared_by_lines_or_not_at_all():
    """Comparing stays fast on texts of any size."""
    words = "\n".join("word word word word word" for _ in range(900))
    left, right = marked(words, words + "\nmore")
    assert [different for _, different in right][-1]
    assert not left[0][1]
    huge = "a\n" * 10_000
    assert marked(huge, huge + "x") == ([(huge, True)], [(huge + "x", True)])


def test_tells_what_became_of_each_part():
    """Parts that stayed, went, came or were rewritten each get their row."""
    before = (ViewPart("a", "1"), ViewPart("b", "gone"), ViewPart("c", "old"), ViewPart("d", "4"))
    after = (ViewPart("a", "1"), ViewPart("c", "new"), ViewPart("d", "4"), ViewPart("e", "5"))
    rows = [tuple(part and part.label + part.text for part in pair) for pair in compare(before, after)]
    assert rows == [("a1", "a1"), ("bgone", None), ("cold", "cnew"), ("d4", "d4"), (None, "e5")]
