"""Long texts and deep JSON kept out of the prompt, tried with tools of several kinds in real runs."""

import base64
import copy
import json
import random
import re
from dataclasses import dataclass

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from adk_context_pack import OffloadPayload, ToolCall, estimate_tokens, offload_payload, read_payload
from adk_context_pack._json import json_text
from adk_context_pack.tables.stub_form import PREVIEW
from adk_context_pack.tools.payload_preview import json_shape, text_preview
from adk_context_pack.tools.result_pass import reduce_result
from adk_context_pack.tools.result_plan import ResultLimits, make_plan
from tests.support.in_tool import model_that_calls, pages_of
from tests.support.o200k import o200k
from tests.support.payloads import NASTY_TEXTS
from tests.support.run import run_agent
from tests.support.scripted_model import results_in

LOG = "\n".join(
    f"{i:04d} " + ("FATAL database is gone" if i == 311 else f"INFO request {i} served") for i in range(600)
)
NESTED = {f"key{i}": {"values": list(range(20)), "name": f"name {i}"} for i in range(300)}


def fetcher(value):
    """A tool named `fetch` that returns a value."""

    def fetch():
        """Fetches."""
        return value

    return fetch


async def shown(value, *, settings=None, also=(read_payload,), **run_settings):
    """What the model was shown of a value, and the run."""
    tools = [offload_payload(fetcher(value), **(settings or {})), *also]
    agent = LlmAgent(name="reader", model=model_that_calls(("fetch", {})), tools=tools)
    run = await run_agent(agent, "go", **run_settings)
    return results_in(run.requests[-1])[0].response, run


async def restored(value, **settings):
    """What the first handle in the shown result opens, read in pages."""
    pages = await pages_of(offload_payload(fetcher(value), **settings), read_payload)
    if "json" in pages[0]:
        return {key: item for page in pages for key, item in page["json"].items()}
    return "".join(page["text"] for page in pages)


async def test_a_long_text_is_shown_in_part_and_read_in_full():
    """Of 600 log lines the model sees ends, the FATAL one, size and handle, and reads back every character."""
    seen, _ = await shown(LOG)
    text = seen["result"]
    assert "FATAL database is gone" in text
    assert f"{len(LOG)} characters" in text
    assert "read_payload(handle='2" in text
    assert o200k(seen) < 600
    assert await restored(LOG) == LOG


async def test_the_rest_of_a_result_stays():
    """Only the long field gives way: status, error, code and short lists stay, and the tool's own dict is as it was."""
    value = {"status": "error", "error": "exit 3", "code": 3, "stderr": LOG, "tags": ["a", "b"], "none": None}
    before = copy.deepcopy(value)
    seen, _ = await shown(value)
    assert value == before
    assert {key: seen[key] for key in value if key != "stderr"} == {key: value[key] for key in value if key != "stderr"}
    assert "FATAL database is gone" in seen["stderr"]
    assert await restored(value) == LOG


async def test_a_result_of_many_small_fields_is_kept_whole():
    """Where no single part is large the whole result goes, and its status stays in sight."""
    value = {"status": "partial", **{f"field_{i}": f"value {i}" for i in range(2000)}}
    seen, _ = await shown(value)
    assert seen.keys() == {"status", PREVIEW}
    assert await restored(value) == value


class Page(BaseModel):
    title: str
    body: str


@dataclass
class Sheet:
    title: str
    body: str


@pytest.mark.parametrize(
    "value", [Page(title="t", body=LOG), Sheet(title="t", body=LOG), {"page": {"title": "t", "body": LOG}}]
)
async def test_long_texts_are_found_within_models_and_dicts(value):
    """A pydantic model, a dataclass and a nested dict keep their short fields and give up the long one."""
    seen, _ = await shown(value)
    assert "FATAL" in json.dumps(seen)
    assert '"title": "t"' in json.dumps(seen)
    assert await restored(value) == LOG


@pytest.mark.parametrize("value", ["short", {"a": 1}, [1, 2], 7, None, True, {"text": "word " * 300}])
async def test_small_results_are_the_same_object(value):
    """A result within the budget, or of a kind that has no parts, passes as it is."""
    tool = FunctionTool(fetcher(value))
    context = type("Context", (), {"actions": None, "function_call_id": None})()
    assert await OffloadPayload().reduce(tool, {}, context, value) is value


async def test_a_preview_that_would_not_be_smaller_is_not_made():
    """A text just over the budget stays, since mark and preview together would be as long, and nothing is stored."""
    text = "Quite a short text of a few words, all told. " * 4
    seen, run = await shown(text, settings={"max_tokens": 40, "preview_tokens": 40})
    assert seen == {"result": text}
    assert not [key for key in run.session.state if key.startswith("payload:")]


async def test_reports_say_what_was_kept():
    """Each payload kept is reported with tool, session and handle; a report that fails costs nothing."""
    reports = []

    def report(record):
        reports.append(record)
        raise RuntimeError

    seen, run = await shown(LOG, settings={"on_report": report})
    assert (reports[0].tool, reports[0].session_id) == ("fetch", run.session.id)
    assert reports[0].handle in seen["result"]


@pytest.mark.parametrize(
    "text", ["\ud800 lone " * 3000, "a\0b" * 9000, "\u2028" * 20_000, "[" * 10_000 + "]" * 10_000, "x" * 100_000]
)
async def test_odd_texts_are_kept_exactly(text):
    """Lone surrogates, NUL, U+2028, JSON 10,000 levels deep and one endless line come back as they were."""
    assert await restored(text) == text


async def test_single_tools_have_settings_of_their_own():
    """By name a tool has its own limit or is never touched."""
    for tools, whole in (({"fetch": None}, True), ({"fetch": OffloadPayload(max_tokens=10**6)}, True), ({}, False)):
        seen, _ = await shown(LOG, settings={"tools": tools})
        assert (seen == {"result": LOG}) is whole


@pytest.mark.parametrize("escaped", ["\n", '"', "\u2028"])
def test_a_long_text_of_escapes_goes_by_itself(escaped):
    """A text that costs more within JSON than by itself is still what gives way, not the whole result around it."""
    text = f"a line{escaped}" * 100_000
    plan = make_plan({"status": "ok", "log": text}, ResultLimits(text_tokens=1000, preview_tokens=100, counter=len))
    assert [preview.path for preview in plan.previews] == [("log",)]
    assert [part.value for part in plan.parts] == [text]


async def test_a_preview_says_what_it_is_of_and_keeps_short_fields():
    """A text is called a text and JSON JSON; null and short fields stay beside the preview of the whole."""
    text, _ = await shown({"log": LOG * 5})
    assert text["log"].startswith("[text of ")
    whole, _ = await shown({"status": "ok", "next": None, **{f"k{i}": {"v": "word " * 30} for i in range(300)}})
    assert whole["_preview"].startswith("[JSON of ")
    assert (whole["status"], whole["next"]) == ("ok", None)


@pytest.mark.parametrize("kind", ["image", "audio"])
async def test_media_of_mcp_stay_whatever_their_kind(kind):
    """A picture or a sound in base64 stays while the text beside it goes."""
    media = {"type": kind, "data": "A" * 40_000, "mimeType": f"{kind}/x"}
    found, _ = await shown({"content": [{"type": "text", "text": LOG * 5}, media]})
    assert found["content"][1] == media
    assert len(found["content"][0]["text"]) < 4000


async def test_a_part_that_a_tool_returns_stays_itself():
    """A part of ADK's own, such as a picture, is no payload, however large."""
    part = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"x" * 100_000))
    assert await OffloadPayload().apply(part, ToolCall(tool_name="fetch")) is part


async def test_a_list_with_a_picture_keeps_it():
    """A list in which a picture stands beside a long text has the picture still, as the same part."""
    part = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"x" * 100))
    found = await reduce_result([OffloadPayload(store="state")], [LOG * 5, part], ToolCall(tool_name="fetch"))
    assert isinstance(found, list)
    assert found[1] is part


@pytest.mark.parametrize("text", [
    LOG, "lorem ipsum dolor sit amet " * 3000, json.dumps(NESTED), json.dumps([NESTED] * 3), "x" * 100_000,
    "漢字かな交じり文" * 4000, "\U0001f600" * 20_000, "\n" * 50_000, "[" * 10_000 + "]" * 10_000,
    '{"broken": ' * 5000, "\ud800\0\u2028" * 9000, "1234567890," * 9000,
])  # fmt: skip
def test_a_preview_keeps_its_budget(text):
    """Whatever the text, the preview has at most its tokens, and can be encoded."""
    preview = text_preview(text, max_tokens=400)
    assert 0 < estimate_tokens(preview) <= 400
    assert b"\0" not in preview.encode()


def test_json_shows_its_shape_and_its_trouble():
    """JSON gives keys, sizes and first values, paths that are keys as well, and an error within it is quoted."""
    value = {"by": {f"k{n}": {"a": n} for n in range(9)}, "items": [{"level": "INFO", "m": i} for i in range(500)]}
    value["items"][250]["level"] = "FATAL"
    preview = text_preview(json.dumps(value), max_tokens=400)
    assert '"by":{"object of 9, first":{"a":0},"keys":"k0, k1, k2, k3, k4, k5, k6, k7, k8"}' in preview
    assert '"list of 500, first":{"level":"INFO","m":0}' in preview
    assert '{"level": "FATAL", "m": 250}' in preview
    by_path = {f"src/orders/part_{n}.py": {"lines": {"run": n}} | ({"old": 1} if n % 7 else {}) for n in range(60)}
    assert "src/orders/part_0.py, src/orders/part_1.py" in text_preview(json.dumps(by_path), max_tokens=100)


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


OUTLINES = {
    "log": ([
            f"10:00:{n % 60:02d} {f'ERROR [w-{n}] a.w{n % 3}.x: try {n} failed' if n % 7 == 3 else f'INFO a.B: {n}'}"
            + "\n File x\nKeyError: 'k'" * (n % 7 == 3)
            for n in range(400)
        ],
        ["514 lines, 10:00:00 to 10:00:39, INFO 343, ERROR 57, kinds of trouble: 1]", "3 failed … KeyError: 'k'\n"]),
    "messages": ([f'level=ERROR msg="{a} {n}"' for n in range(99) for a in ("is full:", "no way to")], ["trouble: 2"]),
    "worst first": ([f"ERROR retry {n} failed" if n != 4000 else "FATAL out of disk" for n in range(5000)],
        ["kinds of trouble: 2]", "\n[at 94890] FATAL out of disk\n[at 0 to 118860, 4999 times] "]),
    "many kinds": (
        [f"p{n}x " + ("up" if n % 60 else f"WARNING {'abcdefg'[n // 60]} failed{' so' * 30}") for n in range(420)],
        ["kinds of trouble: 7]", *(f"x WARNING {each} failed" for each in "abcdefg")]),
    "objects": (
        [f'{{"level":"{"warn" if n < 5 else "info"}","n":{n},"msg":"pool is {"dry" * (n < 5)}"}}' for n in range(400)],
        ["\n[at 0 to 172, 5 times] pool is dry"]),
    "zones": (
        [f"2026-01-05T10:00:{n % 60:02d}Z {'INFO [w] is fine' if n != 5 else 'ERROR [w] is full'}" for n in range(300)],
        ["\n[at 190] 10:00:05 ERROR is full\n"]),
    "kernel": ([f"[{n:5d}.000000] {f'sd-5 error (eth{n}): is very full' if n % 90 < 1 else 'up'}" for n in range(400)],
        [" times] sd-5 error (eth"]),
    "calls": ([f'open("{n}.so", O_R) = {n if n != 50 else "-1 EACCES (Permission denied)"}' for n in range(200)],
        ['] open("50.so", O_R) = -1 EACCES (Permission denied)']),
    "odd line": (["Kopf", *["all is well"] * 700, "Ofen kalt", *["so"] * 99], ["…]\n[at 8405] Ofen kalt\n[…]"]),
    "diff": (
        ["diff --git a/x.py b/y.py", "--- a/x.py", "+++ b/y.py", "@@ -1 +1 @@", *["+a"] * 300, "---- a", "-- ", "2.39"],
        ["[diff of 1 files, +300 -1]", "[at 0] x.py y.py +300 -1\n[…]"]),
    "INSERT": (["CREATE TABLE `t` (a int);", *["INSERT INTO `t` VALUES (1,'a),(;'),(2,(SELECT 3));"] * 50],
        ["[SQL dump of 1 tables, 100 rows]", "[at 0] t 100 rows"]),
    "no dump": ([*(f"COPY src{n} /app/{n}" for n in range(150)), "ENV KEY=k"], ["[151 lines]", "ENV KEY"]),
    "functions": (["CREATE FUNCTION a.f(n int) RETURNS int AS 'x';"] * 90, ["[SQL of 90 functions]", "] a.f\n"]),
    "records": (["- id: 1\n  name: Ann"] * 90, ["[180 lines, beginning with id x90, name x90]"]),
    "one line": (["<a><b>1</b></a>" * 90], ["[beginning with a x90, b x90]\n<a><b>1</b></a>"]),
    "names": ([f"{'so is it ' * 900}A-17, B-2, A-17{' so is it' * 900}"], ["[all codes and names there: A-17, B-2]"]),
    "many": ([f"{'so is it ' * 900}{' A-1'.join('0123456789abcdefg')}{' so is it' * 900}"], ["left out …]\nit so is"]),
    "endless line": ([f"{'a b ' * 12_500}FATAL: boom {'c d ' * 12_500}"], ["FATAL: boom"]),
    "page in code": (["vcl 4;", "sub a {", *['"<h1>Hi</h1>"'] * 90], ["[92 lines]"]),
    "COPY": (["COPY public.t (a) FROM stdin;", *["1"] * 300, "\\.", ""], ["[at 0] public.t 300 rows"]),
    "code": (["import os", *["def f(a):\n    return error", "class A:\n    pass"] * 90],
        ["code of 180 definitions", "[at 10 to 4015, 90 alike] def f(a):"]),
    "HTML": (
        ["<html><script>var error;</script><h1>Über <b>uns</b></h1>", *["<p>word</p>"] * 300, "<h2>Hours</h2></html>"],
        ["HTML page of 2 headings", "[at 33] Über uns: word word", "] Hours\n[…]"]),
    "mail": (["From: a@b.c", "To: x", "Subject: Bill", "", *["words of mail"] * 90, "Gate 6 is shut", *["so"] * 90],
        ["[mail of 1 messages]", "[at 0] a@b.c Bill", "] Gate 6 is shut"]),
    "headings": ([f"{n}. Thema\n\nnur Worte hier\n" for n in range(1, 80)],
        ["[text of 79 headings]", "[at 0 to 2097, 79 alike] 1. Thema"]),
    "base64": ([base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(2000)).decode()],
        ["base64 of a PNG image of 2008 bytes"]),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTLINES)
def test_an_outline_says_what_a_text_is(name):
    """Each kind of text is named and counted, and its parts or odd lines come with the offsets where they begin."""
    lines, told = OUTLINES[name]
    text = "\n".join(lines)
    preview = text_preview(text, max_tokens=200)
    assert [part for part in told if part not in preview] == []
    assert "error" not in preview or name in {"code", "kernel"}
    for at, line in re.findall(r"^\[at (\d+)[^]]*\] (\w+)", preview, re.MULTILINE):
        assert line in text[int(at) : int(at) + 60]


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


PROSE = "The demand of this region has grown while prices stayed flat. " * 200


def test_trouble_comes_before_names():
    """Of a log, the line that reports trouble is shown and no list of names."""
    preview = text_preview(f"{PROSE}\nERROR case A-7 failed\n{PROSE}", max_tokens=200)
    assert "ERROR case A-7 failed" in preview
    assert "codes and names" not in preview
