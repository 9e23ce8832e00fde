"""The form of results that the pack made smaller: the keys of a stub, and the line before a preview.

The code that writes them and the code that reads them again (notes, accounts, replays) share this file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
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

_MARK = re.compile(
    r"\[(text|JSON) of (\d+) characters, shown in part\. The whole is kept"
    r"(?:; read_payload\(handle='(\w+)'\)[^\]]*| as (\w+)[^\]]*)\]"
)


def preview_mark(kind: Literal["text", "JSON"], characters: int, handle: str, *, can_read: bool, refer_in: str) -> str:
    """Returns the line before a preview.

    Args:
        kind: what the whole is.
        characters: its length.
        handle: opens the whole.
        can_read: whether the agent has `read_payload`.
        refer_in: where the agent may write a reference to the whole; "" for nowhere.
    """
    how = f"; read_payload(handle='{handle}') reads and searches it" if can_read else f" as {handle}"
    reference = f"; {{{{result:{handle}}}}} in {refer_in} passes it on" if refer_in else ""
    return f"[{kind} of {characters} characters, shown in part. The whole is kept{how}{reference}]"


_SAMPLE, _PICKED = "A sample of the rows", f", not the first ones (numbers in {LIMITS})"


def rows_note(*, is_sample: bool, has_facts: bool, can_query: bool, are_first: bool = True, refer_in: str = "") -> str:
    """Returns what a model needs to know about the rows that a stub shows.

    Args:
        is_sample: whether rows are missing, and not only cells.
        has_facts: whether the stub has facts.
        can_query: whether the agent has `query_rows`.
        are_first: whether the shown rows are the first ones.
        refer_in: where the agent may write a reference to the whole, "" for nowhere.
    """
    note = (
        f"{_SAMPLE}{'' if are_first else _PICKED}: never count or add them up." if is_sample else "All rows, in part."
    )
    note += f" {FACTS} is exact over all rows (indexes from 0)." if has_facts else ""
    note += f" query_rows answers from all by {HANDLE}." if can_query else " All rows are stored."
    if not refer_in:
        return note
    forms = "{{result:HANDLE.LIST}} or {{result:HANDLE.LIST[0].COLUMN}}"
    return f"{note} In {refer_in}, {forms} passes on the value."


def not_kept(reason: str, tool: str) -> str:
    """Says to a model why the rest of a result cannot be read back, and what to do."""
    return f"The rest was not kept ({reason}): call {tool or 'the tool'} again for less at a time."


def opening(*, can_read: bool) -> str:
    """Says how the whole is opened of a result that a user's own pass made smaller."""
    return "read_payload reads the whole by" if can_read else "the whole is kept as"


def told_to(tools: Collection[str], result: Any) -> Any:
    """Returns a reduced result as it is told to an agent that has these tools; the same object if it names no other.

    Args:
        tools: the names of the agent's tools.
        result: a reduced result of another agent, which names the tools of that one.
    """
    if isinstance(result, str):
        stored = stored_text(result)
        if stored is None or "read_payload" in tools:
            return result
        mark = preview_mark(stored.kind, stored.characters, stored.handle, can_read=False, refer_in="")
        return f"{mark}\n{result.partition(chr(10))[2]}"
    if isinstance(result, Mapping):
        told = {key: told_to(tools, value) for key, value in result.items()}
        note = result.get(NOTE)
        if HANDLE in result and isinstance(note, str) and "read_payload" not in tools:
            told[NOTE] = note.replace(opening(can_read=True), opening(can_read=False))
        # A note without a handle says why nothing was kept.
        if LIMITS in result and HANDLE in result and isinstance(note, str) and "query_rows" not in tools:
            is_sample, are_first, has_facts = _SAMPLE in note, _PICKED not in note, f"{FACTS} is" in note
            told[NOTE] = rows_note(is_sample=is_sample, has_facts=has_facts, can_query=False, are_first=are_first)
        return told if any(told[key] is not value for key, value in result.items()) else result
    if isinstance(result, list):
        items = [told_to(tools, item) for item in result]
        return items if any(new is not old for new, old in zip(items, result, strict=True)) else result
    return result


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredText:
    """The content that a preview replaces.

    Attributes:
        kind: "text" or "JSON".
        characters: the length of the whole.
        handle: opens the whole.
    """

    kind: Literal["text", "JSON"]
    characters: int
    handle: str

    def __str__(self) -> str:
        """Returns size and handle in a few words."""
        return f"{self.kind} of {self.characters} characters ({HANDLE} {self.handle})"


def stored_text(value: Any) -> StoredText | None:
    """Returns the true size and the handle of a text that a preview stands for; None for any other value."""
    if not isinstance(value, str) or value[:1] != "[" or (found := _MARK.match(value)) is None:
        return None
    kind: Literal["text", "JSON"] = "JSON" if found[1] == "JSON" else "text"
    return StoredText(kind=kind, characters=int(found[2]), handle=found[3] or found[4])
