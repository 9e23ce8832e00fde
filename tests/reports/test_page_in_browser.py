"""The page in a real browser: what it shows, finds, sorts and fits, and what it does not run."""

import random
import re

import pytest

from adk_context_pack import (
    CastNarrative,
    ContextPipeline,
    ModelCall,
    Prices,
    ReportLog,
    ReportTotals,
    StripForContext,
    default_passes,
    write_html,
)
from tests.reports.test_html_page import ATTACK
from tests.support.adk_contents import contents_of, request_of
from tests.support.browser import browser
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.reported import reported_run

pytestmark = pytest.mark.slow
_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_SHOWN = "[...document.querySelectorAll('.calls .at')].map((each) => Number(each.textContent))"
_STATUS = "document.querySelector('.status').textContent"
_FOCUS = "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
AGENTS = ("planner", "analyst", "writer")
TOOLS = {"list_orders": 60, "search_docs": 20, "get_user": 2}
_EXPAND = """(async () => {
  [...document.querySelectorAll(".tools button")].find((each) => each.textContent === "open all").click();
  await new Promise((done) => setTimeout(done, 100));
  return document.querySelectorAll(".call[aria-expanded=true]").length;
})()"""


def many_reports(calls: int) -> ReportLog:
    """Returns reports of so many calls of three agents, with their requests."""
    choose = random.Random(1)
    pipeline = ContextPipeline(default_passes(max_tokens=60_000), max_reports=calls, keep_requests=calls)
    events = [user_said("What was sold in Oslo?")]
    for number in range(calls):
        agent, tool = choose.choice(AGENTS), choose.choice(list(TOOLS))
        request = request_of(contents_of(events, agent))
        request.model = "gemini-2.5-flash"
        call = ModelCall(
            agent_name=agent,
            session_id="session",
            invocation_id=f"run {number // 10}",
            events=list(events),
            user_content=events[0].content,
        )
        pipeline.reports.add(pipeline.run(request, call)[1])
        rows = [{"id": row, "city": f"Oslo {number}", "sold": choose.random()} for row in range(TOOLS[tool])]
        events += [
            agent_called(agent, tool, f"c{number}", city=f"Oslo {number}"),
            tool_returned(agent, tool, {"rows": rows}, f"c{number}"),
            agent_said(agent, "I have seen it. " * choose.randint(1, 30)),
        ]
    return pipeline.reports


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def reports():
    return many_reports(24)


@pytest.fixture
def opened(page, reports, tmp_path):
    """The page of 24 calls, with prices."""
    page.open(write_html(reports, tmp_path / "page.html", prices=Prices()))
    return page


def choose(page, key, value, event="change"):
    """Sets a chooser or the search, as a user does, and returns the numbers of the calls that are then shown."""
    place = "input[type=search]" if key == "search" else f"select[data-key={key}]"
    page.run(
        f"{{const e = document.querySelector('{place}'); e.value = {value!r}; e.dispatchEvent(new Event('{event}'))}}"
    )
    page.run("new Promise((done) => setTimeout(done, 250))")
    return page.run(_SHOWN)


async def test_attack_text_neither_runs_nor_is_lost(page, tmp_path):
    """What requests hold is shown as text, and no script in it runs."""
    attack = ATTACK.replace("\ud800", "").replace("\x00", "")
    pipeline = ContextPipeline([StripForContext(), CastNarrative()], keep_requests=True)
    await reported_run("Hello " + attack, pipeline=pipeline)
    page.open(write_html(pipeline.reports, tmp_path / "report.html"))
    page.run("document.querySelectorAll('.call').forEach((each) => each.click())")
    for _ in range(2):
        page.run("document.querySelectorAll('details').forEach((each) => { each.open = true })")
        page.run("new Promise((done) => setTimeout(done, 200))")
    assert page.run("document.querySelectorAll('.call').length") == 3
    assert page.run("document.title") == "Where the tokens go"
    assert page.run("document.images.length") == 0
    texts = page.run("[...document.querySelectorAll('pre')].map((each) => each.textContent)")
    assert any(attack in text for text in texts)


def test_the_first_screen_has_the_totals_of_the_reports(opened, reports):
    """The sums at the top are those of `ReportTotals`, and the rows of each table add up to them."""
    totals = ReportTotals.of(reports)
    assert opened.run("document.querySelector('#tokens-sent').textContent") == f"{totals.tokens_after:,}"
    says = opened.run("document.querySelector('.says').textContent")
    assert says.startswith(f"The pack saves {totals.tokens_saved:,} of {totals.tokens_without_pack:,} tokens and ")
    for title in ("By agent", "By category"):
        cells = opened.run(
            f"[...document.querySelectorAll('[data-card=\"{title}\"] tbody tr')]"
            ".map((row) => [row.cells[1].textContent, row.cells[2].textContent])"
        )
        without, sent = (sum(int(cell.replace(",", "")) for cell in column) for column in zip(*cells, strict=True))
        assert (without, sent) == (totals.tokens_without_pack, totals.tokens_after), title
    assert opened.run("document.querySelectorAll('.worst li').length") <= 5
    assert opened.run("document.querySelector('.legend').textContent").startswith("Prefix kept is the share of")


def test_calls_are_filtered_sorted_and_searched(opened, reports):
    """Agent, order and search each give the calls that the reports say, and the line above adds them up."""
    everything = list(range(1, 25))
    assert opened.run(_SHOWN) == everything
    agents = list(dict.fromkeys(each.agent for each in reports))
    writers = [number for number, each in enumerate(reports, 1) if each.agent == "writer"]
    assert choose(opened, "agent", str(agents.index("writer"))) == writers
    of_writers = ReportTotals.of(each for each in reports if each.agent == "writer")
    assert f"{of_writers.tokens_without_pack:,} → {of_writers.tokens_after:,} tokens" in opened.run(_STATUS)
    assert choose(opened, "agent", "") == everything
    by_tokens = sorted(everything, key=lambda number: (-reports[number - 1].tokens_after, number))
    assert choose(opened, "order", "most tokens") == by_tokens
    assert choose(opened, "order", "in order") == everything
    # In the result of the tenth call, and so in the requests of all later ones that show it.
    needle = "oslo 9"
    expected = [
        number
        for number, each in enumerate(reports, 1)
        if any(needle in f"{part.label} {part.text}".lower() for part in (*each.request_before, *each.request_after))
    ]
    assert choose(opened, "search", needle.upper(), "input") == expected
    assert 0 < len(expected) < 24
    assert choose(opened, "search", "no such text", "input") == []
    assert opened.run(_STATUS).startswith("0 of 24 calls")


def test_calls_left_out_are_told(page, reports, tmp_path):
    """Where the page shows some calls only, it says so, and its sums are those of all."""
    page.open(write_html(reports, tmp_path / "page.html", max_calls=5))
    assert len(page.run(_SHOWN)) == 5
    assert page.run("document.querySelector('.left-out').textContent") == (
        "The newest 5 of 24 calls are shown here. The sums above count all."
    )
    total = ReportTotals.of(reports).tokens_after
    assert page.run("document.querySelector('#tokens-sent').textContent") == f"{total:,}"


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_window(page, reports, tmp_path, width):
    """All calls open at once, also one that is built late, and fit the window of a phone and of a computer."""
    path = write_html(reports, tmp_path / "page.html", prices=Prices())
    page.open(path, width=width)
    assert page.run(_OVERFLOW) <= 0
    assert page.run(_EXPAND) == 24
    page.run("document.querySelector('.calls li:last-child').scrollIntoView()")
    page.run("new Promise((done) => setTimeout(done, 300))")
    assert page.run("document.querySelector('.calls li:last-child .detail').textContent").find("The request") > 0
    assert page.run(_OVERFLOW) <= 0


def test_the_keyboard_reaches_calls(opened):
    """Tab goes through the controls to the calls, arrow keys move between them, Enter opens one, and focus shows."""
    opened.run("document.querySelector('select[data-key=order]').focus()")
    for _ in range(3):
        opened.press("Tab")
    assert opened.run(_FOCUS).startswith("call 1, ")
    assert opened.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    opened.press("ArrowDown")
    assert opened.run(_FOCUS).startswith("call 2, ")
    opened.press("Enter")
    assert opened.run("document.activeElement.getAttribute('aria-expanded')") == "true"


# The relative luminance and the contrast of the WCAG, over each text of the page and what is behind it.
_CONTRASTS = """(() => {
  const channel = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = numbers(color);
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  };
  const behind = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    if (numbers(color)[3] !== 0) return color;
    return element.parentElement ? behind(element.parentElement) : "rgb(255, 255, 255)";
  };
  const found = {};
  for (const element of document.querySelectorAll("main *")) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found[`${element.tagName}.${element.className}`] = contrast.toFixed(2);
  }
  return found;
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(opened, scheme):
    """Each text has a contrast of at least 4.5 to what is behind it, in light and in dark."""
    opened.prefer(scheme)
    opened.run("document.querySelectorAll('.call')[20].click()")
    assert opened.run(_CONTRASTS) == {}
    dark = re.match(r"rgb\((\d+)", opened.run("getComputedStyle(document.body).backgroundColor"))
    assert (int(dark[1]) < 100) == (scheme == "dark")
