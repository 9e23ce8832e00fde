"""Shortens the long cells of a row, so that some rows can be shown whatever makes them long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

_MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class CellLimits:
    """The most that is shown of a cell.

    Attributes:
        characters: of a text.
        entries: of a list within a row; a dict within a row shows four times as many keys.
    """

    characters: int
    entries: int


STEPS = (CellLimits(1_000, 20), CellLimits(300, 8), CellLimits(100, 3), CellLimits(40, 1))
"""The limits that are tried one after the other until some rows fit."""


def shortened(row: Any, limits: CellLimits) -> Any:
    """Returns a row with its long texts and lists cut, each with a mark that says how much is left out.

    The very same object where nothing is long. All columns of the row stay.
    """
    if isinstance(row, str):
        return _text(row, limits)
    if isinstance(row, Mapping):
        changed = {key: new for key, cell in row.items() if (new := _cell(cell, limits, 1)) is not cell}
        return {**row, **changed} if changed else row
    if isinstance(row, (list, tuple)):
        return _entries(row, limits, 1)
    return row


def _cell(cell: Any, limits: CellLimits, depth: int) -> Any:
    if isinstance(cell, str):
        return _text(cell, limits)
    if isinstance(cell, Mapping):
        if depth >= _MAX_DEPTH:
            return f"… {len(cell)} keys"
        most = 4 * limits.entries
        new = {key: _cell(item, limits, depth + 1) for key, item in islice(cell.items(), most)}
        if len(cell) > most:
            return {**new, "…": f"{len(cell) - most} more keys"}
        return new if any(new[key] is not item for key, item in cell.items()) else cell
    if isinstance(cell, (list, tuple)):
        if depth >= _MAX_DEPTH:
            return f"… {len(cell)} entries"
        return _list(cell, limits, depth)
    return cell


def _list(cell: Sequence[Any], limits: CellLimits, depth: int) -> Any:
    if len(cell) <= limits.entries:
        return _entries(cell, limits, depth)
    return [*_entries(cell[: limits.entries], limits, depth), f"… {len(cell) - limits.entries} more"]


def _entries(cells: Sequence[Any], limits: CellLimits, depth: int) -> Any:
    new = [_cell(cell, limits, depth + 1) for cell in cells]
    return new if any(one is not other for one, other in zip(new, cells, strict=True)) else cells


def _text(text: str, limits: CellLimits) -> str:
    left_out = len(text) - limits.characters
    mark = f"… {left_out} more characters"
    return f"{text[: limits.characters]}{mark}" if left_out > len(mark) else text
