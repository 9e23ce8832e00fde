"""Shortens texts, with a mark where something is missing."""

from __future__ import annotations


def shorten(text: str, limit: int) -> str:
    """Returns `text`, or its beginning with a mark at its end, in at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def shorten_middle(text: str, limit: int) -> str:
    """Returns `text`, or both of its ends with a mark between them, in at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit // 2]}…{text[1 - limit // 2 :]}"


def shorten_counted(text: str, limit: int) -> str:
    """Returns `text`, or its first `limit` characters with a mark that says how many are missing."""
    return text if len(text) <= limit else f"{text[:limit]}… [+{len(text) - limit} characters]"
