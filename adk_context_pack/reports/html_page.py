"""The reports as one HTML file that needs nothing else: no server, no network."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import html
import json
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any

from adk_context_pack.errors import at_least
from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.categories import CATEGORIES
from adk_context_pack.reports.offenders import offenders
from adk_context_pack.reports.page_calls import PageCalls
from adk_context_pack.reports.prices import Prices
from adk_context_pack.reports.report_log import ReportLog
from adk_context_pack.reports.token_use import TokenUse

logger = logging.getLogger("adk_context_pack")

_WRITING = Lock()
_PAGE = Path(__file__).with_name("page")
_SCRIPTS = ("elements.js", "overview.js", "request.js", "timeline.js")
_TITLE = "Where the tokens go"
_MAX_CALLS = 500


def write_html(  # noqa: PLR0913 - each is a setting
    reports: Iterable[CallReport],
    path: str | PathLike[str],
    *,
    title: str = _TITLE,
    prices: Prices | None = None,
    max_calls: int = _MAX_CALLS,
    use: TokenUse | None = None,
) -> Path:
    """Writes reports as a self-contained HTML page that shows where tokens and money go.

    The page begins with the sums, without the pack and with it: by agent, tool, category and pass, the share of the
    model's window, and what to do about the largest entries. Below are the calls, to sort, filter and search. If the
    requests were kept (`ContextPipeline(keep_requests=True)`), a call also shows its request, as ADK had built it and
    as the model received it. Such a page contains whatever users and tools wrote, so treat the file as you treat your
    sessions.

    Args:
        reports: reports, such as `pipeline.reports`.
        path: the file to write. An existing file is replaced.
        title: the page's heading.
        prices: the prices of input tokens. Without them the page shows tokens only.
        max_calls: the most calls to show one by one, the newest ones. The sums count all.
        use: sums over more calls than `reports` holds, in the place of those over `reports` with `prices`.

    Returns:
        The path of the file.

    Raises:
        OSError: the file cannot be written.
        SettingError: `max_calls` is less than 1.
    """
    page = html_page(reports, title=title, prices=prices, max_calls=max_calls, use=use)
    target = Path(path)
    target.write_text(page, encoding="utf-8", errors="replace")
    return target


async def keep_page(reports: Iterable[CallReport], path: Path, prices: Prices | None = None) -> None:
    """Writes the page at the end of a run, off the event loop, and logs its address. A failure is logged too."""
    try:
        address = await asyncio.to_thread(_write_locked, reports, path, prices)
        logger.info("the report of all model calls is in %s", address)
    except Exception:
        logger.exception("the report of all model calls could not be written")


def _write_locked(reports: Iterable[CallReport], path: Path, prices: Prices | None) -> str:
    # Runs that end at the same time write the same file.
    with _WRITING:
        return write_html(reports, path, prices=prices).resolve().as_uri()


def html_page(
    reports: Iterable[CallReport],
    *,
    title: str = _TITLE,
    prices: Prices | None = None,
    max_calls: int = _MAX_CALLS,
    use: TokenUse | None = None,
) -> str:
    """Returns the page that `write_html` writes, as text."""
    at_least("html_page", "max_calls", max_calls, 1)
    data = _data(reports, max_calls, use, prices)
    style = (_PAGE / "page.css").read_text(encoding="utf-8")
    script = "\n".join((_PAGE / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    # Only this very script and style may run, should any text of a request ever get out of its place.
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    heading = html.escape(title)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{heading}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{heading}</h1>\n"
        f'<div id="page"><noscript>This page needs JavaScript, which is in the file itself.</noscript></div>\n</main>\n'
        f'<script type="application/json" id="data">{_embedded(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _data(reports: Iterable[CallReport], max_calls: int, use: TokenUse | None, prices: Prices | None) -> dict[str, Any]:
    # A log that other threads write to is read once, so that sums and calls are those of the same reports.
    dropped = reports.dropped if isinstance(reports, ReportLog) and use is None else 0
    newest: deque[CallReport] = deque(maxlen=max_calls)
    sums = TokenUse(prices=prices) if use is None else use
    for report in reports:
        newest.append(report)
        if use is None:
            sums.add(report)
    shown = PageCalls(newest)
    return {
        "categories": CATEGORIES,
        "use": sums.to_dict(),
        "offenders": [asdict(each) for each in offenders(sums)],
        "dropped": dropped,
        "calls": shown.calls,
        "changes": shown.changes,
        "parts": shown.parts,
        "texts": shown.texts,
    }


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _embedded(data: Mapping[str, Any]) -> str:
    # Pure ASCII, so lone surrogates and U+2028 are escapes. No character in it could end the element.
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
