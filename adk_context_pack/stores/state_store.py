"""Results in the session's own state, as compressed text."""

from __future__ import annotations

from adk_context_pack.errors import StoreError
from adk_context_pack.stores.codec import compress, decompress
from adk_context_pack.stores.result_store import StoreScope
from adk_context_pack.stores.worker import off_loop

# A damaged or forged entry may claim any length.
_MAX_DIGITS = 9


class StateStore:
    """Keeps a result in the text that the session's state holds for it anyway.

    A text takes a fraction of the bytes of the objects. A session service in memory copies it by reference, and one on
    a database writes it without walking through it.

    Attributes:
        name: "state".
    """

    name = "state"

    async def put(self, scope: StoreScope, name: str, data: bytes) -> str:  # noqa: ARG002 - protocol
        """Returns the data as text: their length, a colon, and zlib in base64."""
        return f"{len(data)}:{await off_loop(len(data), compress, data)}"

    async def open(self, scope: StoreScope, name: str, kept: str | None) -> bytes | None:  # noqa: ARG002 - protocol
        """Returns the bytes in `kept`, or None without it.

        Raises:
            StoreError: the text is damaged.
        """
        if kept is None:
            return None
        length, _, text = str(kept).partition(":")
        if not length.isdecimal() or len(length) > _MAX_DIGITS:
            raise StoreError("the stored result cannot be read (its length is missing)")
        return await off_loop(int(length), decompress, text, int(length))

    async def delete(self, scope: StoreScope, name: str, kept: str | None) -> None:
        """Does nothing: the text goes with its entry in state."""
