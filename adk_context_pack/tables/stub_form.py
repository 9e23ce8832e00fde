"""The form of results that the pack made smaller: the keys of a stub, and the line before a preview.

The code that writes them and the code that reads them again (notes, accounts, replays) share this file.
"""

from __future__ import annotations

import re
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


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredText:
    """The content that a preview replaces.

    Attributes:
        kind: "text" or "JSON".
        characters: the length of the whole.
        handle: opens the whole.
    """

    kind: str
    characters: int
    handle: str

    def __str__(self) -> str:
        """Returns size and handle in a few words."""
        return f"{self.kind} of {self.characters} characters ({HANDLE} {self.handle})"


def stored_text(value: Any) -> StoredText | None:
    """Returns the true size and the handle of a text that a preview stands for; None for any other value."""
    if not isinstance(value, str) or value[:1] != "[" or (found := _MARK.match(value)) is None:
        return None
    return StoredText(kind=found[1], characters=int(found[2]), handle=found[3] or found[4])
