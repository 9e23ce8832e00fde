"""A progress bar for long work, on a terminal only."""

from __future__ import annotations

from time import monotonic
from typing import TextIO

_WIDTH = 24
_PATIENCE_S = 0.5
_STEP_S = 0.1


class Progress:
    """Shows how much is done, once the work takes longer than half a second.

    Args:
        stream: where it is drawn; a stream that is no terminal gets nothing.

    Attributes:
        total: how many sessions there are, where that is known.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.total: int | None = None
        self._start = self._drawn = monotonic()
        self._shown = False
        self._active = stream.isatty()

    def step(self, done: int, calls: int) -> None:
        """So many sessions are done, with so many model calls."""
        now = monotonic()
        if not self._active or now - self._start < _PATIENCE_S or now - self._drawn < _STEP_S:
            return
        self._drawn = now
        self._shown = True
        self._stream.write(f"\r{self._bar(done)} {calls:,} calls, {now - self._start:.0f} s\x1b[K")
        self._stream.flush()

    def end(self) -> None:
        """Wipes the bar off the terminal."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False

    def _bar(self, done: int) -> str:
        if not self.total:
            return f"{done:,} sessions"
        filled = min(_WIDTH, _WIDTH * done // self.total)
        return f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {done:,}/{self.total:,} sessions"
