"""What stands for a long text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack import estimate_tokens
from adk_context_pack._json import json_text
from adk_context_pack.tools.payload_preview import json_shape, text_preview
from tests.support.payloads import NASTY_TEXTS

LOG = "\n".join(
    f"2026-01-01 00:{i // 60:02d}:{i % 60:02d} "
    + ("FATAL database is gone" if i == 311 else f"INFO request {i} served")
    for i in range(600)
)
NESTED = {f"key{i}": {"values": list(range(20)), "name": f"name {i}"} for i in range(300)}


@pytest.mark.parametrize(
    "text",
    [
        LOG,
        "lorem ipsum dolor sit amet " * 3000,
        json.dumps(NESTED),
        json.dumps([NESTED] * 3),
        "x" * 100_000,
        "漢字かな交じり文" * 4000,
        "\U0001f600" * 20_000,
        "\n" * 50_000,
        "[" * 10_000 + "]" * 10_000,
        '{"broken": ' * 5000,
        "\ud800\0\u2028" * 9000,
        "1234567890," * 9000,
    ],
)
def test_a_preview_keeps_its_budget(text):
    """Whatever the text, the preview has at most its tokens, and can be encoded."""
    preview = text_preview(text, max_tokens=400)
    assert 0 < estimate_tokens(preview) <= 400
    assert preview.encode()
    assert "\0" not in preview


def test_the_worst_lines_come_first_and_each_kind_once():
    """Thousands of equal errors take one line, so that the one FATAL after them has room."""
    lines = [f"ERROR retry {i} failed after {i * 3} ms" for i in range(5000)]
    lines[4000] = "FATAL out of disk"
    preview = text_preview("\n".join(lines), max_tokens=300)
    assert "FATAL out of disk" in preview
    assert preview.count("ERROR") < 20


def test_a_fatal_word_in_one_endless_line_is_shown_with_its_surroundings():
    """Of a line of 100,000 characters the part around the word is shown."""
    text = "a b " * 12_500 + "FATAL: boom " + "c d " * 12_500
    assert "FATAL: boom" in text_preview(text, max_tokens=300)


def test_json_shows_its_shape_and_its_trouble():
    """JSON gives keys, sizes and first values; an error within it is quoted."""
    value = {"page": 1, "items": [{"level": "INFO", "m": i} for i in range(500)]}
    value["items"][250]["level"] = "FATAL"
    preview = text_preview(json.dumps(value), max_tokens=400)
    assert '"page":1' in preview
    assert '"list of 500, first":{"level":"INFO","m":0}' in preview
    assert '{"level": "FATAL", "m": 250}' in preview


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(), inner, max_size=8),
        max_leaves=60,
    ),
    st.integers(40, 400),
)
def test_a_shape_is_json_and_keeps_its_budget(value, budget):
    """The shape of any JSON is JSON again, and gives way in depth until it fits."""
    shape = json_shape(value, max_tokens=budget)
    assert json.loads(json.dumps(shape)) == shape
    assert estimate_tokens(json_text(shape)) <= budget


@pytest.mark.parametrize("text", ["", "short", *NASTY_TEXTS])
def test_a_short_text_is_its_own_preview(text):
    """A text within the budget stays whole, control characters aside."""
    safe = "".join("\ufffd" if (c < " " and c not in "\t\n\r") or "\ud800" <= c <= "\udfff" else c for c in text)
    assert text_preview(text, max_tokens=2000) == safe


def test_a_shape_that_fits_nowhere_is_the_smallest():
    """Where no shape fits its budget, by whatever counter, the smallest one is given."""
    assert json_shape(NESTED, max_tokens=1, counter=lambda _: 10**6) == "object of 300 keys"
    assert json_shape([1] * 40, max_tokens=1, counter=lambda _: 10**6) == "list of 40"


def test_a_line_too_long_for_what_is_left_ends_the_list():
    """Lines of trouble are shown whole until the next does not fit; no line is cut to fill the rest."""
    long = "FATAL the second " + "x" * 180
    text = "\n".join(["INFO fine"] * 300 + ["FATAL the first", long, "ERROR the third"] + ["INFO fine"] * 300)
    preview = text_preview(text, max_tokens=120)
    assert "] FATAL the first\n[…]" in preview
    assert "the second" not in preview
    assert "the third" not in preview


@pytest.mark.parametrize("characters", range(320, 480, 4))
def test_a_text_a_little_too_long_is_whole_or_cut_with_a_mark(characters):
    """At every length around the budget the preview is the text, or says how much of it is left out."""
    text = ("abcd " * 200)[:characters]
    preview = text_preview(text, max_tokens=100)
    assert preview == text or "characters left out" in preview


def test_without_trouble_the_ends_have_the_whole_budget():
    """Where nothing is to report, beginning and end fill the budget, the beginning with the larger part."""
    text = " ".join(f"{number} plain words" for number in range(4000))
    head, tail = re.split(r"\n\[… \d+ characters left out …\]\n", text_preview(text, max_tokens=400))
    assert text.startswith(head)
    assert text.endswith(tail)
    assert 250 <= estimate_tokens(head + tail) <= 400
    assert 1.1 < len(head) / len(tail) < 1.7


def test_ends_are_whole_lines():
    """Of a log whole lines are shown at both ends."""
    head, tail = re.split(
        r"\n\[… \d+ characters left out …\]\n(?:\[at .*\n)*(?:\[…\]\n)?", text_preview(LOG, max_tokens=400)
    )
    assert set(head.split("\n")) <= set(LOG.split("\n"))
    assert set(tail.split("\n")) <= set(LOG.split("\n"))


PROSE = "The demand of this region has grown while prices stayed flat. " * 200


def test_trouble_comes_before_names():
    """Of a log, the line that reports trouble is shown and no list of names."""
    preview = text_preview(f"{PROSE}\nERROR case A-7 failed\n{PROSE}", max_tokens=200)
    assert "ERROR case A-7 failed" in preview
    assert "codes and names" not in preview
