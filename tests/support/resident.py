"""The memory of a process, as Linux tells it."""

import os
from pathlib import Path


def resident_bytes(pid: int | str = "self") -> int:
    """Returns the bytes that the operating system has given to a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
