"""Writes the results of a replay as text: sessions and passes first, agents and the headline last."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from adk_context_pack._text import shorten
from adk_context_pack.replay.sums import ReplaySums, Sum
from adk_context_pack.reports.text_table import share, table

_MAX_SESSIONS = 10
_WIDE = 120
_MIN_NAME = 12
_BOLD, _GREEN, _PLAIN = "\x1b[1m", "\x1b[32m", "\x1b[0m"
_NUMBERS = ("calls", "without", "with", "change", "largest with", "cost without", "cost with")
_OPTIONAL = ("largest with", "calls", "cost without", "cost with")
"""The columns that a narrow terminal goes without, the first one first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """The place where the text is shown.

    Attributes:
        width: the number of columns.
        colors: whether it shows colors.
    """

    width: int = _WIDE
    colors: bool = False

    @classmethod
    def of(cls, stream: TextIO) -> Screen:
        """Returns the screen behind a stream. A stream that is not a terminal gets full width and no colors.

        Colors follow https://no-color.org: a set `NO_COLOR` turns them off.
        """
        if not stream.isatty():
            return cls()
        return cls(width=shutil.get_terminal_size().columns, colors=not os.environ.get("NO_COLOR"))

    def painted(self, text: str, *codes: str) -> str:
        """Returns `text` in colors, if the screen shows any."""
        return "".join((*codes, text, _PLAIN)) if self.colors else text


def replay_text(sums: ReplaySums, screen: Screen | None = None) -> str:
    """Returns the sums as tables that fit the screen. Without a model call it says so in place of empty tables."""
    screen = screen or Screen()
    total = sums.total
    if not total.calls:
        return "no model calls found"
    lines = [*_sessions(sums, screen), "", *_passes(sums), "", *_table("agent", sums.agents, screen), ""]
    lines += [
        f"Cost: {sums.prices.input:g} for a million input tokens, {sums.prices.cached:g} for a million cached ones.",
        "The estimate assumes that the provider caches everything that an agent's previous request began with.",
        *sums.notes(),
    ]
    if total.prompt_tokens:
        lines.append(f"When this was recorded, the providers counted {total.prompt_tokens:,} prompt tokens in all.")
    return "\n".join((*lines, "", *_headline(sums, screen)))


def percent(before: float, after: float) -> str:
    """Returns the change from `before` to `after` in percent, with a decimal only where rounding would hide it."""
    if not before or after == before:
        return "0 %"
    change = 100 * (after - before) / before
    rounded = round(change)
    hidden = rounded in (0, -100) and change != rounded
    return f"{change:+.1f} %" if hidden else f"{rounded:+d} %"


def _headline(sums: ReplaySums, screen: Screen) -> Iterator[str]:
    total = sums.total
    yield f"{_number_of(total.calls, 'model call')} in {_number_of(len(sums.sessions), 'session')}"
    saved, money = total.tokens_without - total.tokens_with, total.cost_without - total.cost_with
    verb = "saves" if saved >= 0 else "adds"
    text = (
        f"The pack {verb} {abs(saved):,} of {total.tokens_without:,} tokens"
        f" ({percent(total.tokens_without, total.tokens_with)}) and {_money(money)} of {_money(total.cost_without)}"
        f" ({percent(total.cost_without, total.cost_with)})."
    )
    yield screen.painted(text, _BOLD, _GREEN if saved > 0 else "")


def _number_of(count: int, what: str) -> str:
    return f"{count:,} {what if count == 1 else what + 's'}"


def _money(amount: float) -> str:
    return f"{amount:,.2f}" if abs(amount) >= 1 else f"{amount:.6f}"


def _passes(sums: ReplaySums) -> Iterable[str]:
    rows: list[tuple[str, ...]] = [("pass", "tokens saved", "of all")]
    whole = sums.total.tokens_without
    rows += [(name, f"{saved:,}", share(saved, whole)) for name, saved in sums.passes.items()]
    return table(rows)


def _sessions(sums: ReplaySums, screen: Screen) -> Iterator[str]:
    largest = sorted(sums.sessions, key=lambda entry: -entry[1].tokens_without)
    names = {f"{named.id} ({named.source})": entry for named, entry in largest[:_MAX_SESSIONS]}
    yield from _table("session", names, screen)
    if len(largest) > _MAX_SESSIONS:
        yield f"… and {len(largest) - _MAX_SESSIONS:,} smaller sessions. --json has them all."


def _table(kind: str, entries: Mapping[str, Sum], screen: Screen) -> Iterable[str]:
    columns = list(_NUMBERS)
    rows = {name: _cells(entry) for name, entry in entries.items()}
    spare = [name for name in _OPTIONAL if name in columns]
    name_width = max(len(kind), *map(len, rows), 0)
    while spare and name_width + _width(rows, columns) > screen.width:
        columns.remove(spare.pop(0))
    room = screen.width - _width(rows, columns)
    lines = [(_cut(kind, room), *columns)]
    lines += [(_cut(name, room), *(cells[column] for column in columns)) for name, cells in rows.items()]
    return table(lines)


def _cells(entry: Sum) -> dict[str, str]:
    values = (
        f"{entry.calls:,}",
        f"{entry.tokens_without:,}",
        f"{entry.tokens_with:,}",
        percent(entry.tokens_without, entry.tokens_with),
        f"{entry.largest_with:,}",
        f"{entry.cost_without:.6f}",
        f"{entry.cost_with:.6f}",
    )
    return dict(zip(_NUMBERS, values, strict=True))


def _width(rows: Mapping[str, Mapping[str, str]], columns: Sequence[str]) -> int:
    return sum(2 + max(len(column), *(len(cells[column]) for cells in rows.values()), 0) for column in columns)


def _cut(name: str, room: int) -> str:
    return shorten(name, max(room, _MIN_NAME))
