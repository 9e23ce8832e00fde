"""Collects the warnings of the pack that a real run gives."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from adk_context_pack import ContextPackWarning
from adk_context_pack.errors import warn_once


@contextmanager
def warned() -> Iterator[list[str]]:
    """Yields the texts of the warnings within, as in a fresh process. The list is complete at the end."""
    warn_once.cache_clear()
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield texts
    texts += [str(entry.message) for entry in seen if issubclass(entry.category, ContextPackWarning)]
