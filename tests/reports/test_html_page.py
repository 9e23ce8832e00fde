"""The HTML page: self-contained, whole, and deaf to what requests hold."""

import base64
import hashlib
import json
import re
import shutil
import subprocess

import pytest

from adk_context_pack.passes.cast_narrative import CastNarrative
from adk_context_pack.passes.pipeline import ContextPipeline
from adk_context_pack.passes.strip_for_context import StripForContext
from adk_context_pack.reports.html_page import html_page, write_html
from tests.support.reported import SECRET, reported_run

ATTACK = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<!-- ]]> \u2028 \u2029 \ud800 \x00 \u202e &lt; {{data}}"
)


def kept():
    return ContextPipeline([StripForContext(), CastNarrative()], keep_requests=True)


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def side(data, row, name):
    return "".join(data["texts"][index] for index, _ in row.get(name, []))


async def test_holds_every_call_with_both_requests():
    """Each call's categories, passes, prefix and both requests can be read back from the page."""
    _, pipeline = await reported_run(pipeline=kept())
    data = data_of(html_page(pipeline.reports))
    assert [call["agent"] for call in data["calls"]] == ["scout", "scout", "writer"]
    writer, report = data["calls"][-1], pipeline.reports[-1]
    assert sum(writer["categories"].values()) == writer["tokens_after"] == report.tokens_after
    assert [each["name"] for each in writer["passes"]] == ["strip_for_context", "cast_narrative"]
    assert data["calls"][1]["prefix"]["share"] == 1.0
    before = [side(data, row, "before") for row in writer["rows"] if "before" in row]
    after = [side(data, row, "after") for row in writer["rows"] if "after" in row]
    assert before == [part.text for part in report.request_before]
    assert after == [part.text for part in report.request_after]
    assert {"same", "removed"} <= {row["status"] for row in writer["rows"]}


async def test_without_kept_requests_holds_no_payload():
    """A page of reports alone shows numbers and no request."""
    _, pipeline = await reported_run()
    page = html_page(pipeline.reports)
    assert SECRET not in page
    assert "rows" not in data_of(page)["calls"][0]


async def test_is_one_file_that_asks_for_nothing(tmp_path):
    """No address, no import, no inline handler: the page is complete, and its policy allows its own script only."""
    _, pipeline = await reported_run(pipeline=kept())
    page = write_html(pipeline.reports, tmp_path / "report.html", title="a <b> & c").read_text(encoding="utf-8")
    outside = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
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
    page = html_page(pipeline.reports, title=ATTACK)
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    data = data_of(page)
    assert any(text == ATTACK for text in data["texts"])


async def test_runs_in_a_real_browser(tmp_path):
    """In a real browser the page shows every call, and attack text neither runs nor is lost."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("chromium is not installed")
    _, pipeline = await reported_run("Hello " + ATTACK.replace("\ud800", "").replace("\x00", ""), pipeline=kept())
    page = write_html(pipeline.reports, tmp_path / "report.html")
    switches = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
    command = [browser, *switches, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout  # noqa: ASYNC221, S603
    assert shown.count('class="call"') == 3
    assert "<title>What each model call was sent</title>" in shown
    assert "Without the pack" in shown
