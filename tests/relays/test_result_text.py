"""Results of other agents as text: quoted, shaped, with the one way to the whole."""

import pytest

from adk_context_pack import estimate_tokens
from adk_context_pack.relays.narrative import Limits, ResultSizes, ResultTexts, handle_in, whole_text

LIMITS = Limits(said=100, args=100, result=100, error=100, whole=10, allowance=100)
HANDLE = "2abcdefghjk"


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"a": 1, "b": [2]}, '{"a":1,"b":[2]}'),
        ({"result": "x" * 60}, f'"{"x" * 60}"'),
        ({"result": "x" * 61}, "x" * 61),
        ({"output": {"a": 1}}, '{"a":1}'),
        ({"result": 1, "more": 2}, '{"result":1,"more":2}'),
        ({"error": "no such table"}, "error: no such table"),
        ({"error": {"code": 3}}, '{"error":{"code":3}}'),
        ({"error": "no", "more": 2}, '{"error":"no","more":2}'),
        ("plain", '"plain"'),
        (None, "null"),
    ],
)
def test_the_whole_text(response, text):
    """A wrapper alone says nothing and is left out, and an error alone is one."""
    assert whole_text(response) == text


@pytest.mark.parametrize(("length", "is_kept"), [(158, True), (159, False)])
def test_what_is_too_long_is_not_counted(length, is_kept):
    """A text is kept up to 60 characters above the longest shape, or up to what the quoted tokens can have."""
    written = ResultTexts(LIMITS).of({"result": ["x" * (length - 2)]})
    assert written.length == length + 2
    text = f'["{"x" * (length - 2)}"]'
    assert (written.written, written.tokens) == ((text, estimate_tokens(text)) if is_kept else ("", 0))
    assert written.text == text


@pytest.mark.parametrize("shown", ["x" * 499, "x" * 500])
def test_the_size_of_a_long_result_is_remembered(shown):
    """A long result is measured once in a session, a short one in each run, and both have the same text."""
    sizes, response = ResultSizes(), {"a": 1}
    first = ResultTexts(LIMITS, sizes).of(response, shown)
    assert len(sizes) == (len(shown) >= 500)
    again = ResultTexts(LIMITS, sizes).of(dict(response), shown)
    assert (again.tokens, again.length, again.text) == (first.tokens, first.length, first.text)
    assert bool(again.written) is (len(shown) < 500)


@pytest.mark.parametrize(
    ("response", "handle"),
    [
        ({"_handle": HANDLE}, HANDLE),
        ({"_handle": "short"}, ""),
        ({"_handle": 7, "note": f'read it with handle: "{HANDLE}"'}, HANDLE),
        ({"_handle": HANDLE, "note": "handle='3abcdefghjk'"}, HANDLE),
        ({"note": "handle='IOIOIOIOIOI'"}, ""),
        ({"rows": [f"handle='{HANDLE}'"]}, ""),
        ([f"handle='{HANDLE}'"], ""),
        ({}, ""),
    ],
)
def test_the_handle_of_a_result(response, handle):
    """The first handle is the result's own, else one that one of its texts names."""
    assert handle_in(response) == handle
