"""The HTML page: self-contained, whole, and deaf to what requests hold."""

import base64
import hashlib
import json
import re
from tempfile import TemporaryDirectory

from adk_context_pack import CastNarrative, ContextPipeline, ReportLog, StripForContext, write_html
from adk_context_pack.reports.html_page import ADDED, CHANGED, REMOVED, SAME, keep_page
from adk_context_pack.stores.byte_cache import Theirs
from tests.reports.test_report_log import report
from tests.support.reported import SECRET, reported_run

ATTACK = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<!-- ]]> \u2028 \u2029 \ud800 \x00 \u202e &lt; {{data}}"
)


def kept():
    return ContextPipeline([StripForContext(), CastNarrative()], keep_requests=True)


def page_of(reports, **settings):
    with TemporaryDirectory() as folder:
        return write_html(reports, f"{folder}/page.html", **settings).read_text(encoding="utf-8")


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def sides(data, call):
    """The texts of both requests of a call, put together again from the page's data."""
    before, after = [], []
    for status, *more in call["rows"]:
        if status == SAME:
            run = [first + step for first, length in zip(more[::2], more[1::2], strict=True) for step in range(length)]
            before += [text_of(data, part) for part in run]
            after += [text_of(data, part) for part in run]
        elif status == CHANGED:
            one, other = ("".join(data["texts"][text] for text, _ in side) for side in data["changes"][more[2]])
            assert [one, other] == [text_of(data, part) for part in more[:2]]
            before.append(one)
            after.append(other)
        else:
            {REMOVED: before, ADDED: after}[status].append(text_of(data, more[0]))
    return before, after


def text_of(data, part):
    return data["texts"][data["parts"][part][1]]


async def test_holds_every_call_with_both_requests():
    """Each call's categories, passes, prefix and both requests can be read back from the page."""
    _, pipeline = await reported_run("Where is Oslo?", "And Rome?", pipeline=kept())
    data = data_of(page_of(pipeline.reports))
    assert [call["agent"] for call in data["calls"]] == [each.agent for each in pipeline.reports]
    for call, each in zip(data["calls"], pipeline.reports, strict=True):
        assert sum(call["categories"].values()) == call["tokens_after"] == each.tokens_after
        assert sum(call["without"].values()) == each.tokens_without_pack
        assert sides(data, call) == (
            [part.text for part in each.request_before],
            [part.text for part in each.request_after],
        )
    assert [each["name"] for each in data["calls"][-1]["passes"]] == ["strip_for_context", "cast_narrative"]
    assert data["calls"][1]["prefix"]["share"] == 1.0
    found = {row[0] for call in data["calls"] for row in call["rows"]}
    assert {SAME, REMOVED} <= found


async def test_a_run_of_unchanged_parts_is_a_pair_of_numbers():
    """Parts that stay as they are take a row for the whole run, and each text is on the page once."""
    _, pipeline = await reported_run(*["Where is Oslo?"] * 4, pipeline=ContextPipeline([], keep_requests=True))
    data = data_of(page_of(pipeline.reports))
    second = pipeline.reports[1].request_after
    assert data["calls"][1]["rows"] == [[SAME, 0, len(second)]]
    assert len(set(data["texts"])) == len(data["texts"])


async def test_without_kept_requests_holds_no_payload():
    """A page of reports alone shows numbers and no request."""
    _, pipeline = await reported_run()
    page = page_of(pipeline.reports)
    assert SECRET not in page
    assert "rows" not in data_of(page)["calls"][0]


async def test_is_one_file_that_asks_for_nothing(tmp_path):
    """No address, no import, no inline handler: the page is complete, and its policy allows its own script only."""
    _, pipeline = await reported_run(pipeline=kept())
    page = write_html(pipeline.reports, tmp_path / "report.html", title="a <b> & c").read_text(encoding="utf-8")
    outside = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    # The name of SVG is never asked for, though it is spelled as an address.
    outside = outside.replace('"http://www.w3.org/2000/svg"', "")
    assert not re.search(
        r"https?:|url\(|@import|\bsrc=|\bhref=|innerHTML|insertAdjacent|document\.write|eval\(", outside
    )
    assert "<h1>a &lt;b&gt; &amp; c</h1>" in page
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page


async def test_attack_text_stays_text():
    """What requests hold cannot end the element it stands in, and comes back character by character."""
    _, pipeline = await reported_run(ATTACK, pipeline=kept())
    page = page_of(pipeline.reports, title=ATTACK)
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    data = data_of(page)
    assert any(text == ATTACK for text in data["texts"])


def test_reports_that_a_log_dropped_are_counted():
    """A log that is full says how many reports it dropped, and the page tells. Deleted sessions do not count."""
    log = ReportLog(max_reports=2)
    for _ in range(5):
        log.add(report())
    log.drop(Theirs("app", "user", frozenset({"s"}), is_all=False))
    assert (len(log), log.dropped, data_of(page_of(log))["dropped"]) == (0, 3, 3)
    log.clear()
    assert log.dropped == 0


async def test_the_address_of_a_kept_page_is_in_the_log(tmp_path, monkeypatch, caplog):
    """The line at the end of a run holds an address that a terminal can open, also for a relative path."""
    monkeypatch.chdir(tmp_path)
    with caplog.at_level("INFO", "adk_context_pack"):
        await keep_page([report()], (tmp_path / "page.html").relative_to(tmp_path))
    assert (tmp_path / "page.html").is_file()
    assert (tmp_path / "page.html").as_uri() in caplog.text
