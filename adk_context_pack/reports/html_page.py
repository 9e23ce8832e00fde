"""The reports as one HTML file that needs nothing else: no server, no network."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import count, groupby
from os import PathLike
from pathlib import Path
from string import Template
from threading import Lock
from typing import Any

from adk_context_pack.errors import at_least, instances, logged, logger
from adk_context_pack.reports.call_report import CATEGORIES, CallReport, RequestView, ViewPart, categories_without
from adk_context_pack.reports.token_use import Prices, ReportLog, TokenUse

Segments = list[tuple[str, bool]]
"""A text in pieces, and for each whether it is marked as different."""

ViewPair = tuple[ViewPart | None, ViewPart | None]
"""A part of a request and what became of it, or None in the place of one that came or went."""


def compare(before: RequestView, after: RequestView) -> Iterator[ViewPair]:
    """Yields the parts of two views side by side, in order. A rewritten part is beside the original."""
    for _, left, left_end, right, right_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone = list(before[left:left_end])
        for part in after[right:right_end]:
            place = next((index for index, old in enumerate(gone) if old.label == part.label), None)
            if place is None:
                yield None, part
                continue
            yield from ((old, None) for old in gone[:place])
            yield gone[place], part
            del gone[: place + 1]
        yield from ((old, None) for old in gone)


def marked(before: str, after: str) -> tuple[Segments, Segments]:
    """Returns both texts in pieces, with those marked that the other one does not have."""
    # By words, and long texts by lines.
    for piece in (r"\w+|\s+|[^\w\s]", r".*\n|.+"):
        one, other = re.findall(piece, before), re.findall(piece, after)
        # Comparing is quadratic at worst.
        if max(len(one), len(other)) <= 1_500:  # noqa: PLR2004 - words or lines
            # Blanks and commas are everywhere. Without this heuristic, each one is compared with every other.
            codes = SequenceMatcher(None, one, other, autojunk=True).get_opcodes()
            same = (piece for tag, start, end, _, _ in codes if tag == "equal" for piece in one[start:end])
            kept, *said = (sum(not piece.isspace() for piece in pieces) for pieces in (same, one, other))
            # With less of the shorter text in common it was replaced, not edited, and single marks say nothing.
            if 2 * kept >= min(said):
                left = [("".join(one[start:end]), tag != "equal") for tag, start, end, _, _ in codes if start < end]
                right = [("".join(other[start:end]), tag != "equal") for tag, _, _, start, end in codes if start < end]
                return left, right
            break
    return [(before, True)], [(after, True)]


SAME, REMOVED, ADDED, CHANGED = range(4)
"""The first entry of a row, which says what became of its parts."""


def page_calls(reports: Iterable[CallReport]) -> dict[str, list[Any]]:
    """Returns calls for the page as JSON values."""
    # Most parts of a request are in the next one too, and in the same order. So the page holds each part once, by its
    # place among the keys here, and a run of unchanged parts is its first number and its length.
    texts = defaultdict[str, int](count().__next__)
    parts = defaultdict[ViewPart, int](count().__next__)
    changes = defaultdict[tuple[ViewPart, ViewPart], int](count().__next__)

    def rows(pairs: Iterable[ViewPair]) -> Iterator[list[Any]]:
        for is_same, group in groupby(pairs, key=lambda pair: pair[0] == pair[1]):
            if is_same:
                # As the first number and the length of each run of parts that follow one another.
                run = [SAME]
                for part in (parts[part] for part, _ in group if part is not None):
                    if len(run) > 1 and run[-2] + run[-1] == part:
                        run[-1] += 1
                    else:
                        run += [part, 1]
                yield run
                continue
            for before, after in group:
                numbers = (parts[part] for part in (before, after) if part is not None)
                if before is None or after is None:
                    yield [ADDED if before is None else REMOVED, *numbers]
                else:
                    yield [CHANGED, *numbers, changes[before, after]]

    calls = []
    for report in reports:
        calls.append(call := report.to_dict())
        call["without"] = {name: tokens for name, tokens in categories_without(report).items() if tokens}
        call["prefix"]["previous"] = report.prefix.previous_tokens
        if report.request_before is not None and report.request_after is not None:
            call["rows"] = list(rows(compare(report.request_before, report.request_after)))
    pairs = [marked(before.text, after.text) for before, after in changes]
    pieces = [[[[texts[text], int(is_new)] for text, is_new in side] for side in pair] for pair in pairs]
    named = [[part.label, texts[part.text]] for part in parts]
    return {"calls": calls, "changes": pieces, "parts": named, "texts": list(texts)}


_WRITING = Lock()
_PAGE = Path(__file__).with_name("page")


def write_html(  # noqa: PLR0913 - each is a setting
    reports: Iterable[CallReport],
    path: str | PathLike[str],
    *,
    title: str = "Where the tokens go",
    prices: Prices | None = None,
    max_calls: int = 500,
    use: TokenUse | None = None,
) -> Path:
    """Writes reports as a self-contained HTML page that shows where tokens and money go, and returns its path.

    The page begins with the sums, without the pack and with it: by agent, tool, category and pass, the share of the
    model's window, and what to do about the largest entries. Below are the calls, to sort, filter and search. If the
    requests were kept (`ContextPipeline(keep_requests=True)`), a call also shows its request, as ADK had built it and
    as the model received it. Such a page contains whatever users and tools wrote: treat it as you treat your sessions.

    Args:
        reports: reports, such as `pipeline.reports`.
        path: the file to write. An existing file is replaced.
        title: the page's heading.
        prices: the prices of input tokens. Without them the page shows tokens only.
        max_calls: the most calls to show one by one, the newest ones. The sums count all.
        use: sums over more calls than `reports` holds, in the place of those over `reports` with `prices`.

    Raises:
        OSError: the file cannot be written.
        SettingError: `max_calls` is less than 1.
    """
    at_least("write_html", "max_calls", max_calls, 1)
    dropped = reports.dropped if isinstance(reports, ReportLog) and use is None else 0
    # A log that other threads write to is read once, so that sums and calls are those of the same reports.
    found = instances("write_html", "reports", reports, CallReport, "plugin.reports[0]")
    sums = use or TokenUse.of(found, prices)
    worst = [each._asdict() for each in sums.offenders()]
    data = {"categories": CATEGORIES, "use": sums.to_dict(), "offenders": worst, "dropped": dropped}
    data |= page_calls(found[-max_calls:])
    style = (_PAGE / "page.css").read_text(encoding="utf-8")
    scripts = ("elements.js", "overview.js", "request.js", "timeline.js")
    script = "\n".join((_PAGE / name).read_text(encoding="utf-8") for name in scripts)
    # Only this very script and style may run, should any text of a request ever get out of its place.
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    # Pure ASCII, so lone surrogates and U+2028 are escapes. No character in it could end the element.
    embedded = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    embedded = embedded.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    page = Template((_PAGE / "page.html").read_text(encoding="utf-8"))
    text = page.substitute(policy=policy, heading=html.escape(title), style=style, script=script, embedded=embedded)
    (target := Path(path)).write_text(text, encoding="utf-8", errors="replace")
    return target


async def keep_page(reports: Iterable[CallReport], path: Path, prices: Prices | None = None) -> None:
    """Writes the page at the end of a run, off the event loop, and logs its address. A failure is logged too."""

    def write() -> str:
        # Runs that end at the same time write the same file.
        with _WRITING:
            return write_html(reports, path, prices=prices).resolve().as_uri()

    with logged("the report of all model calls could not be written"):
        logger.info("the report of all model calls is in %s", await asyncio.to_thread(write))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
