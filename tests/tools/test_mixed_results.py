"""Mixed results under the default passes: what is not shown is named with its size and a handle that opens it."""

import json
import random
import re
from decimal import Decimal
from types import SimpleNamespace

import pytest

from adk_context_pack import ToolCall, default_result_passes, load_payload
from adk_context_pack._adk.known_tools import READ_BACK
from adk_context_pack._json import json_text
from adk_context_pack.conversation.clearing import result_note
from adk_context_pack.conversation.token_estimate import estimate_payload
from adk_context_pack.tools.result_pass import reduce_result

HANDLE = re.compile(r"\b2[0-9a-z]{10}\b")
CHANCE = random.Random(41)
WORDS = re.findall(
    r"\w+",
    "harbour pilot tide barge mooring quay lantern ballast cargo manifest bosun rudder keel anchor hatch winch "
    "fender gangway draught berth tariff seal inspector demurrage lighter stevedore",
)


def words(count):
    """Some words."""
    return " ".join(CHANCE.choice(WORDS) for _ in range(count))


def prose(characters):
    """Sentences."""
    sentences = (f"{words(CHANCE.randint(6, 14)).capitalize()}. " for _ in range(characters // 20 + 1))
    return "".join(sentences)[:characters]


def lots(count):
    """Rows of figures."""
    return [
        {"lot": f"L{n:04}", "berth": f"B{n % 7}", "tons": n % 13, "fee": CHANCE.randint(100, 9999) / 100}
        for n in range(count)
    ]


def hits(count):
    """What a search found."""
    return [
        {
            "title": f"{words(5).title()} {n}",
            "url": f"https://port.example.org/{WORDS[n % 20]}/{n}",
            "snippet": prose(350),
            "score": 0.97 - n / 100,
        }
        for n in range(count)
    ]


def tickets(count):
    """Tickets with people in them."""
    return [
        {
            "id": 700 + n,
            "subject": f"{words(6)} {n}",
            "state": CHANCE.choice(["open", "closed"]),
            "reporter": {"name": words(2), "avatar": f"https://img.example.org/{n % 5}.png"},
            "description": prose(260),
        }
        for n in range(count)
    ]


LOG = "".join(f"09:{n % 60:02} {'ERROR pump 3 lost' if n == 2222 else 'INFO pump ok'} {n}\n" for n in range(3000))
MARKDOWN = "| day | ships |\n|---|---|\n" + "".join(f"| {n} | {n * 3 % 11} |\n" for n in range(45))
PAGE = (
    f"<!doctype html><html><head><style>{'p{a:b}' * 200}</style></head><body><table><tr><th>ship</th><th>crew</th></tr>"
    + "".join(f"<tr><td>V{n}</td><td>{n % 9}</td></tr>" for n in range(70))
    + f"</table><p>{prose(3000)}</p></body></html>"
)
WIDE = [{f"gauge_{c}_{WORDS[c % 20]}": CHANCE.randint(1, 10**6) for c in range(80)} for _ in range(110)]
BY_MONTH = {f"2025-{m:02}": {"calls": m * 7, "ships": m * 3, "note": words(25)} for m in range(1, 13)}
CSV = "lot,tons,fee\n" + "".join(f"L{n},{n % 13},{n * 7 / 100:.2f}\n" for n in range(400))
JSON_LINES = "\n".join(json.dumps({"n": n, "said": prose(120)}) for n in range(90))
# Each with the rows of its tables that are not all shown, and the lengths of its texts that are not.
MIXED = {
    "table beside terms": ({"id": "K-9", "lots": lots(70), "terms": prose(2300)}, [70], []),
    "table beside a long text": ({"id": "K-9", "lots": lots(70), "log": LOG}, [70], [len(LOG)]),
    "table between two texts": ({"head": LOG, "lots": lots(300), "tail": LOG}, [300], [len(LOG)] * 2),
    "table within a text": ({"report": prose(60_000) + "\n\n" + MARKDOWN + prose(60_000)}, [45], None),
    "page with a table": ({"page": PAGE}, [70], [len(PAGE)]), "long prose": ({"document": prose(40_000)}, [], [40_000]),
    "several tables": ({"lots": lots(60), "ships": [{"n": n, "at": words(3)} for n in range(180)]}, [60, 180], []),
    "dict of dicts": ({"customer": "C", "months": BY_MONTH, "notes": LOG}, [], [len(LOG)]),
    "log": ({"stdout": LOG, "code": 0}, [], [len(LOG)]), "log alone": (LOG, [], [len(LOG)]),
    "search hits": ({"results": hits(20), "total": 20}, [], []), "tickets": ({"tickets": tickets(90)}, [90], []),
    "wide table": ({"rows": WIDE}, [110], []), "short prose": ({"document": prose(6000)}, [], []),
    "guide": ("\n\n".join(f"## `{n}/{words(2)}`\n\n* [**{words(2)}**](#{n}): {prose(150)}" for n in range(30)), [], []),
    "JSON in a text": (json.dumps({"id": "K-9", "text": prose(6000)}), [], []), "JSON by line": (JSON_LINES, [90], []),
    "issue": ({**{f"{n}_url": words(6) for n in range(30)}, "n": 1, "body": prose(3000)}, [], []),
    "HTML of prose": ({"body": "".join(f"<p>{prose(400)}</p>" for _ in range(12))}, [], []),
    "deep JSON": ({"cfg": {f"k{n}": {"a": n, "b": {"c": [words(4)]}} for n in range(250)}}, [250], []),
    "MCP": ({"content": [{"type": "text", "text": json.dumps({"lots": lots(150)})}], "isError": False}, [150], []),
    "CSV text": (CSV, [400], []), "strings": ({"names": [words(3) for _ in range(250)]}, [250], []),
    "numbers": (list(range(160)), [160], []), "many short fields": ({f"f{n}": words(12) for n in range(90)}, [], None),
    "texts in rows": ({"docs": [{"id": n, "body": prose(4000)} for n in range(6)]}, [6], []),
    "an empty table beside a log": ({"rows": [], "log": LOG}, [], [len(LOG)]),
    "empty": ({"rows": [], "next": None}, [], []), "clauses": ([{"n": n, "is": prose(250)} for n in range(20)], [], []),
    "blocks": ({"blocks": [{"type": "p", "text": f"{words(12)}."} for _ in range(40)]}, [], []),
    "chat": ("\n".join(f"[0{n % 9}/03/2026, 10:{n % 60:02}] {words(1)}: {prose(60)}." for n in range(70)), [], []),
    "subtitles": ("\n".join(f"{n}\n00:{n:02}:07,1 --> 00:{n:02}:09,3\n{prose(45)}.\n" for n in range(50)), [], []),
    "lines of code": ({"path": "a.py", "lines": [f"    def {words(1)}(self): return {n}" for n in range(90)]}, [], []),
    "lines of a log": ({"lines": LOG.splitlines()[:300]}, [300], []),
    "Chinese": ([{"p": "".join(map(chr, CHANCE.choices(range(0x4E00, 0x9FFF), k=40)))} for _ in range(30)], [], []),
}  # fmt: skip


async def reduced(result, **limits):
    """What the default passes make of a result, and a context that opens what they kept."""
    session = SimpleNamespace(id="s", app_name="a", user_id="u", state={}, events=[])
    context = SimpleNamespace(session=session, artifact_service=None, session_service=None, state=session.state)
    call = ToolCall(tool_name="look", session_id="s", state_delta=session.state, context=context, offered={READ_BACK})
    return await reduce_result(default_result_passes(**limits), result, call), context, call.kept


@pytest.mark.parametrize("name", MIXED)
async def test_what_is_not_shown_is_named_and_opens(name):
    """Each table has its number of rows, each text its length, and each handle what was kept, in fewer tokens."""
    result, tables, texts = MIXED[name]
    before = json_text(result)
    shown, context, kept = await reduced(result)
    said = json_text(shown)
    assert json_text(result) == before
    if shown is result:
        assert (tables, texts) == ([], [])
        return
    assert estimate_payload(shown) < estimate_payload(result)
    assert {*HANDLE.findall(said)} == {each.handle for each in kept}
    opened = [await load_payload(context, each.handle) for each in kept]
    assert all(json_text(each) in before for each in opened)
    limits = shown.get("_row_limits", {}) if isinstance(shown, dict) else {}
    partly = (each["total"] for each in limits.values() if each["shown"] < each["total"] or "cells" in each)
    assert sorted(partly) == sorted(tables)
    if texts is not None:
        assert sorted(int(size) for size in re.findall(r"\[text of (\d+) characters", said)) == texts
    assert ": []" not in said or "[]" in before
    assert not limits or "read_back" in shown["_note"]


async def test_figures_are_exact():
    """The sums that a stub tells are those of decimals over all rows, beside and within texts."""
    for rows in (lots(70), lots(300)):
        shown, _, _ = await reduced({"log": LOG, "lots": rows})
        total = sum(Decimal(str(row["fee"])) for row in rows)
        assert f"fee,{total.normalize()}," in shown["_row_facts"]["lots"]["numbers"]


async def test_few_long_rows_over_a_low_limit_are_capped():
    """A limit of five rows holds for eight tickets with long texts, which a default limit leaves to be read."""
    rows = [{"id": n, "hours": n * 1.5, "note": prose(300), "body": prose(500)} for n in range(8)]
    shown = [(await reduced({"tickets": rows}, max_rows=most))[0] for most in (5, 100)]
    assert ["_row_limits" in each for each in shown] == [True, False]


async def test_all_titles_and_all_columns_are_seen():
    """Hits show each title with its address, tickets their ids, a wide table all its names, a log its worst line."""
    found = MIXED["search hits"][0]["results"]
    said = json_text((await reduced({"results": found}))[0])
    assert all(hit["title"] in said and hit["url"] in said for hit in found)
    seen = (await reduced(MIXED["tickets"][0]))[0]
    shown, total = seen["tickets"].splitlines(), MIXED["tickets"][0]["tickets"]
    assert all(
        {str(ticket["id"]), ticket["subject"]} <= set(line.split(","))
        for line, ticket in zip(shown[1:], total, strict=False)
    )
    assert len(shown) > len(total) / 3
    assert WIDE[0].keys() <= {*re.findall(r"\w+", json_text((await reduced({"rows": WIDE}))[0]))}
    assert "ERROR pump 3 lost" in (await reduced(LOG))[0]


async def test_the_note_on_a_stub_says_what_holds_of_all_rows():
    """In place of a stub or a preview a note keeps whole lines of its facts and outline, and not how its note began."""
    orders = [{"id": n, "paid": f"{n},50 €", "state": "late" if n % 9 == 4 else "sent"} for n in range(90)]
    paid = "paid: sum 4050.0, 0.5 to 89.5, in €; a comma marks the decimals"
    for result, facts in (({"orders": orders}, {paid, "state: sent x80, late x10"}), ({"log": LOG}, set())):
        shown, *_ = await reduced(result)
        note = result_note(shown, estimate_payload(shown))
        assert facts <= {*note["facts"].splitlines()}
        assert note["facts"].splitlines()[0] in shown.get("log", paid)
        assert "began" not in note
        assert estimate_payload(note) < 160
