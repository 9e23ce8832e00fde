"""The form of results that the pack made smaller: the keys of a stub, and the line before a preview.

The code that writes them and the code that reads them again (notes, accounts, replays) share this file.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

LIMITS = "_row_limits"
"""For each capped list, how many rows are shown and how many there are."""
FACTS = "_row_facts"
"""For each capped table, what was computed from all of its rows."""
HANDLE = "_handle"
"""The handle of the full result."""
NOTE = "_note"
"""The notes that the model needs about the rows above."""
PREVIEW = "_preview"
"""The preview of a whole result."""

SIGNS = HANDLE, "characters, shown in part"
"""Each reduced result holds one of these texts, however it is written out."""

_MARK = re.compile(r"\[(text|JSON) of (\d+) characters, shown in part[^\]]*?(?:handle='(\w+)'|kept as (\w+))[^\]]*\]")


def preview_mark(kind: Literal["text", "JSON"], characters: int, handle: str, *, opener: str, refer_in: str) -> str:
    """Returns the line before a preview, with the tool that opens the whole and where a reference may stand, if any."""
    how = f"{opener}(handle='{handle}') reads and searches all" if opener else f"kept as {handle}"
    reference = f"; {{{{result:{handle}}}}} in {refer_in} passes it on" if refer_in else ""
    return f"[{kind} of {characters} characters, shown in part; {how}{reference}]"


_ROWS = {
    "none": "No row is shown, since there was no room for any.",
    "first": "Only the first rows: never count or sum them.",
    "some": f"Only some rows, numbered from 0 in {LIMITS}: never count or sum them.",
    "all": "All rows, in part.",
}


def rows_note(*, shown: str, has_facts: bool, opener: str, refer_in: str = "", paged: bool = False) -> str:
    """Returns what a model needs to know about a stub that shows "all", "some", the "first" or "none" of its rows."""
    rows = ("the page" if paged else "all rows") + ("" if shown == "some" else ", numbered from 0")
    note = _ROWS[shown] + f" {FACTS} is exact over {rows}." * has_facts + _asking(opener)
    if not refer_in:
        return note
    forms = "{{result:HANDLE.LIST}} or {{result:HANDLE.LIST[0].COLUMN}}"
    return f"{note} In {refer_in}, {forms} passes on the value."


def not_kept(reason: str, tool: str) -> str:
    """Says to a model why the rest of a result cannot be read back, and what to do."""
    return f"The rest was not kept ({reason}): call {tool or 'the tool'} again for less at a time."


def _asking(opener: str) -> str:
    return f" {opener} answers from all by {HANDLE}." if opener else " All rows are stored."


def opening(opener: str) -> str:
    """Says how the whole is opened of a result that a user's own pass made smaller."""
    return f"{opener} reads the whole by" if opener else "the whole is kept as"


def told_to(asks: str, reads: str, result: Any) -> Any:
    """Returns a reduced result as an agent with other tools to ask and to read reads it, the same object if it can."""
    if isinstance(result, str):
        if (stored := stored_text(result)) is None:
            return result
        mark = preview_mark(stored.kind, stored.characters, stored.handle, opener=reads, refer_in="")
        return result if result.startswith(mark[:-1]) else f"{mark}\n{result.partition(chr(10))[2]}"
    if isinstance(result, Mapping):
        told = {key: told_to(asks, reads, value) for key, value in result.items()}
        note = result.get(NOTE)
        # A note without a handle says why nothing was kept.
        if HANDLE in result and isinstance(note, str):
            note = re.sub(r"\w+ reads the whole by|the whole is kept as", opening(reads), note)
            # Another agent may refer to nothing.
            asked = rf"(?: \w+ answers from all by {HANDLE}| All rows are stored)\.(?: In .* passes on the value\.)?"
            told[NOTE] = re.sub(asked, _asking(asks), note)
        return told if any(told[key] is not value for key, value in result.items()) else result
    if isinstance(result, list):
        items = [told_to(asks, reads, item) for item in result]
        return items if any(new is not old for new, old in zip(items, result, strict=True)) else result
    return result


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredText:
    """The content that a preview replaces: its kind, its length, and the handle that opens it."""

    kind: Literal["text", "JSON"]
    characters: int
    handle: str

    def __str__(self) -> str:
        """Returns size and handle in a few words."""
        return f"{self.kind} of {self.characters} characters ({HANDLE} {self.handle})"


def lines_of_facts(response: Mapping[str, Any]) -> Iterator[str]:
    """Yields what a reduced result says of the whole: a line for each column and each group, and a text's outline."""
    facts = response.get(FACTS)
    for table in facts.values() if isinstance(facts, Mapping) else ():
        said = {name: str(text) for name, text in table.items()} if isinstance(table, Mapping) else {}
        for column in csv.DictReader(io.StringIO(said.get("numbers", ""))):
            told = {name: text if name == "remark" else f"{name} {text}" for name, text in column.items() if text}
            ends = f"{column.get('min')} to {column.get('max')}"
            words = [told.get("sum"), ends, told.get("missing"), told.get("remark")]
            yield f"{column.get('column')}: {', '.join(filter(None, words))}"
        yield from (*said.get("others", "").splitlines(), *said.get("sums", "").splitlines())
    for value in response.values():
        if stored_text(value) is not None:
            yield from (line for line in value.splitlines()[1:] if line.startswith("[") and line != "[…]")


def stored_text(value: Any) -> StoredText | None:
    """Returns the true size and the handle of a text that a preview stands for, or None for any other value."""
    if not isinstance(value, str) or value[:1] != "[" or (found := _MARK.match(value)) is None:
        return None
    kind: Literal["text", "JSON"] = "JSON" if found[1] == "JSON" else "text"
    return StoredText(kind=kind, characters=int(found[2]), handle=found[3] or found[4])
