"""Shortens texts, with a mark where something is missing, and reads the words of markup."""

from __future__ import annotations

import re
from html import unescape

_MARKUP = re.compile(r"(?is)<(script|style|svg|noscript|template)\b.*?(?:</\1\s*>|\Z)|<!--.*?-->|<[/!]?[a-z][^<>]*>")


def shorten(text: str, limit: int) -> str:
    """Returns `text`, or its beginning with a mark at its end, in at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def shorten_middle(text: str, limit: int) -> str:
    """Returns `text`, or both of its ends with a mark between them, in at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit // 2]}…{text[1 - limit // 2 :]}"


def shorten_counted(text: str, limit: int) -> str:
    """Returns `text`, or its first `limit` characters with a mark that says how many are missing."""
    return text if len(text) <= limit else f"{text[:limit]}… [+{len(text) - limit} characters]"


def without_markup(text: str, *, between: str = " ", has_comments: bool = False) -> str:
    """Returns the words of HTML or XML: no tags, scripts and styles, and comments only if they are asked for."""
    marked = text.replace("<!--", " ").replace("-->", " ") if has_comments else text
    lines = unescape(_MARKUP.sub(between, marked)).splitlines()
    return between.join(" ".join(line.split()) for line in lines if line.strip()).strip()
