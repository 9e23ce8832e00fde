"""Tells what the memory of this process is spent on, by the figures of Python's allocator and of glibc's.

The resident memory of a process that lives on says little by itself. It holds what is in use, what the allocators keep
of memory that was freed, and the code of libraries. These figures tell the first two apart, for all threads. Both
allocators count for themselves, so that a figure costs milliseconds and a process need not be traced from its start.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

MB = 2**20
_USED = re.compile(r"# bytes in allocated blocks\s*=\s*([\d,]+)")
_TAKEN = re.compile(r"arenas \* \d+ bytes/arena\s*=\s*([\d,]+)")


class Memory(NamedTuple):
    """Megabytes of this process.

    Attributes:
        resident: what the operating system has given to it.
        used: what Python and the libraries in C have asked for and not freed.
        unused: what the allocators keep of memory that was freed. Not all of it need be resident.
    """

    resident: float
    used: float
    unused: float


class _Mallinfo(ctypes.Structure):
    _names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    _fields_ = tuple((name, ctypes.c_size_t) for name in _names)


def measured() -> Memory | None:
    """Returns the figures after a collection of garbage, or None where the C library is not glibc 2.33 or newer."""
    gc.collect()
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return None
    mallinfo.restype = _Mallinfo
    found = mallinfo()
    used, taken = _small_objects()
    return Memory(
        resident=resident_bytes() / MB,
        used=(used + found.uordblks + found.hblkhd) / MB,
        unused=(taken - used + found.fordblks) / MB,
    )


def trimmed() -> float | None:
    """Makes glibc give freed memory back to the operating system, and returns what is resident then."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return None
    trim(0)
    return resident_bytes() / MB


def _small_objects() -> tuple[int, int]:
    """Returns the bytes of objects of up to 512 bytes, and of the arenas that Python keeps for them."""
    # Python writes these figures to the standard error of C and gives them out nowhere else.
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        try:
            os.dup2(file.fileno(), 2)
            sys._debugmallocstats()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        text = file.read().decode()
    # With PYTHONMALLOC=malloc there are none, and glibc's figures hold all objects.
    return _number(_USED, text), _number(_TAKEN, text)


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found[1].replace(",", "")) if found else 0


def resident_bytes(pid: int | str = "self") -> int:
    """Returns the bytes that the operating system has given to a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
