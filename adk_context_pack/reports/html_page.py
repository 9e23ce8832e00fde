"""The reports as one HTML file that needs nothing else: no server, no network."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import html
import json
import logging
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any

from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.categories import CATEGORIES
from adk_context_pack.reports.request_diff import DiffRow, compare, marked
from adk_context_pack.reports.request_view import ViewPart

logger = logging.getLogger("adk_context_pack")

_WRITING = Lock()
_PAGE = Path(__file__).with_name("page")


def write_html(
    reports: Iterable[CallReport], path: str | PathLike[str], *, title: str = "What each model call was sent"
) -> Path:
    """Writes reports as a self-contained HTML page: a bar for each call, without and with the pack.

    The page shows tokens by category, the savings of each pass and the prefix kept. If the requests were kept
    (`ContextPipeline(keep_requests=True)`), it also shows them, as ADK had built them and as the model received them.
    Such a page contains whatever users and tools wrote, so treat the file as you treat your sessions.

    Args:
        reports: reports, such as `pipeline.reports`.
        path: the file to write. An existing file is replaced.
        title: the page's heading.

    Returns:
        The path of the file.

    Raises:
        OSError: the file cannot be written.
    """
    target = Path(path)
    target.write_text(html_page(reports, title=title), encoding="utf-8", errors="replace")
    return target


async def keep_page(reports: Iterable[CallReport], path: Path) -> None:
    """Writes the page at the end of a run, off the event loop, and logs its path. A failure is logged too."""
    try:
        await asyncio.to_thread(_write_locked, reports, path)
        logger.info("the report of all model calls is in %s", path)
    except Exception:
        logger.exception("the report of all model calls could not be written")


def _write_locked(reports: Iterable[CallReport], path: Path) -> None:
    # Runs that end at the same time write the same file.
    with _WRITING:
        write_html(reports, path)


def html_page(reports: Iterable[CallReport], *, title: str = "What each model call was sent") -> str:
    """Returns the page that `write_html` writes, as text."""
    texts: dict[str, int] = {}
    data = {"categories": CATEGORIES, "calls": [_call(report, texts) for report in reports], "texts": texts}
    data["texts"] = list(texts)
    style, script = ((_PAGE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
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


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _embedded(data: Mapping[str, Any]) -> str:
    # Pure ASCII, so lone surrogates and U+2028 are escapes. No character in it could end the element.
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _call(report: CallReport, texts: dict[str, int]) -> dict[str, Any]:
    call = report.to_dict()
    call["prefix"] = {**call["prefix"], "previous": report.prefix.previous_tokens}
    if report.request_before is not None and report.request_after is not None:
        call["rows"] = [_row(row, texts) for row in compare(report.request_before, report.request_after)]
    return call


def _row(row: DiffRow, texts: dict[str, int]) -> dict[str, Any]:
    label = row.after or row.before
    found: dict[str, Any] = {"status": row.status, "label": label.label if label else ""}
    if row.status == "changed" and row.before and row.after:
        found["before"], found["after"] = (
            [[_index(text, texts), int(different)] for text, different in side]
            for side in marked(row.before.text, row.after.text)
        )
        return found
    for name, part in (("before", row.before), ("after", row.after)):
        if isinstance(part, ViewPart):
            found[name] = [[_index(part.text, texts), 0]]
    return found


def _index(text: str, texts: dict[str, int]) -> int:
    # Most texts occur in call after call, so the file holds each of them once.
    return texts.setdefault(text, len(texts))
