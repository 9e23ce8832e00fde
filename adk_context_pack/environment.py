"""Reads the plugin's settings from environment variables."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeVar

from adk_context_pack.errors import SettingError, positive
from adk_context_pack.reports.prices import Prices

Value = TypeVar("Value")
_PREFIX = "ADK_CONTEXT_PACK_"
_A_PAGE = "the path of an .html file in a folder that exists"
_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Holds the settings of a plugin that may come from environment variables.

    They are for a plugin that ADK builds without arguments, as `adk web --extra_plugins` does. An argument that is
    given wins over its variable, and an empty variable counts as not set.

    | variable | argument | value | without it |
    | --- | --- | --- | --- |
    | `ADK_CONTEXT_PACK_SHADOW` | `shadow` | `1`, `true`, `yes`, `on`, or `0`, `false`, `no`, `off` | off |
    | `ADK_CONTEXT_PACK_MAX_TOKENS` | `max_tokens` | tokens, at least 1 | four fifths of the model's window |
    | `ADK_CONTEXT_PACK_MAX_MEMORY` | `max_memory_bytes` | bytes, at least 1 | 256 MiB |
    | `ADK_CONTEXT_PACK_REPORT` | `report_file` | an `.html` file in a folder that exists | no file |
    | `ADK_CONTEXT_PACK_PRICES` | `prices` | prices of a million input and cached tokens: `1.25,0.31` | none |
    """

    shadow: bool
    max_tokens: int | None
    max_memory_bytes: int | None
    report_file: Path | None
    prices: Prices | None = None

    @classmethod
    def read(
        cls,
        *,
        shadow: bool | None,
        max_tokens: int | None,
        max_memory_bytes: int | None = None,
        report_file: str | PathLike[str] | None,
        prices: Prices | None = None,
    ) -> Environment:
        """Returns the arguments, and the variables for those that are None.

        Raises:
            SettingError: an argument or a variable that cannot work. The message names it and its value.
        """
        if not isinstance(shadow, bool | None):
            raise SettingError.of("ContextPackPlugin", "shadow", shadow, "True, False or None")
        if shadow is None:
            shadow = _variable("SHADOW", lambda text: _WORDS[text.lower()], "1 or 0")
        if max_tokens is None:
            max_tokens = _variable("MAX_TOKENS", _number, "a whole number of tokens, at least 1")
        if max_memory_bytes is None:
            max_memory_bytes = _variable("MAX_MEMORY", _number, "a whole number of bytes, at least 1")
        else:
            positive("ContextPackPlugin", "max_memory_bytes", max_memory_bytes)
        page = _variable("REPORT", _page, _A_PAGE) if report_file is None else _given_page(report_file)
        if not isinstance(prices, Prices | None):
            raise SettingError.of("ContextPackPlugin", "prices", prices, "Prices(input=…, cached=…) or None")
        if prices is None:
            prices = _variable("PRICES", _prices, "two numbers from 0 up such as 1.25,0.31")
        return cls(
            shadow=bool(shadow),
            max_tokens=max_tokens,
            max_memory_bytes=max_memory_bytes,
            report_file=page,
            prices=prices,
        )


def _variable(name: str, read: Callable[[str], Value], expected: str) -> Value | None:
    text = os.environ.get(_PREFIX + name, "").strip()
    if not text:
        return None
    try:
        return read(text)
    except (KeyError, ValueError):
        raise SettingError.of("ContextPackPlugin", _PREFIX + name, text, expected) from None


def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _prices(text: str) -> Prices:
    return Prices(**dict(zip(("input", "cached"), map(float, text.split(",")), strict=True)))


def _page(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in {".html", ".htm"} or not path.parent.is_dir():
        raise ValueError(text)
    return path


def _given_page(value: str | PathLike[str]) -> Path:
    try:
        return _page(os.fspath(value))
    except (TypeError, ValueError):
        raise SettingError.of("ContextPackPlugin", "report_file", value, _A_PAGE) from None
