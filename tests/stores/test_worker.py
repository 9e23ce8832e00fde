"""Long work beside the event loop, and results that are written in pieces."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack._json import exact_json, without_surrogates
from adk_context_pack.stores import json_parts
from adk_context_pack.stores.codec import encode
from adk_context_pack.stores.worker import OFF_LOOP_BYTES, off_loop


async def test_long_work_leaves_the_loop_and_never_enters_asyncios_pool():
    """Small work runs at once, large work in a thread of the pack's own, while the loop goes on."""
    assert await off_loop(10, threading.get_ident) == threading.get_ident()
    name = await off_loop(OFF_LOOP_BYTES, lambda: threading.current_thread().name)
    assert name.startswith("adk_context_pack")
    go = threading.Event()
    waiting = [asyncio.ensure_future(off_loop(OFF_LOOP_BYTES, go.wait, 30)) for _ in range(8)]
    await asyncio.sleep(0.05)
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("adk_context_pack")]
    assert len(ours) <= 2
    assert await asyncio.to_thread(lambda: "asyncio's pool is free") == "asyncio's pool is free"
    go.set()
    assert await asyncio.gather(*waiting) == [True] * 8


FORKED = """
import asyncio, os
from adk_context_pack.stores.worker import OFF_LOOP_BYTES, off_loop
def done():
    return asyncio.run(asyncio.wait_for(off_loop(OFF_LOOP_BYTES, lambda: "done"), 20))
done()
child = os.fork()
if not child:
    os._exit(done() != "done")
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_threads_of_its_own():
    """A server that forks after a run, as gunicorn with preload does, works on in its child."""
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=120)  # noqa: S603 - the text above


ROWS = st.lists(st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.floats() | st.text(max_size=3)))


@pytest.mark.slow
@given(
    st.dictionaries(st.text(max_size=3), ROWS | st.text()) | ROWS | st.text() | st.text('a\ud83d\ude00"é', max_size=9)
)
def test_pieces_make_the_same_text_as_the_whole(value):
    """A result that is written in pieces is the same JSON as one that is written at once, as text and as UTF-8."""
    items, characters = json_parts._ITEMS_AT_ONCE, json_parts._CHARACTERS_AT_ONCE
    whole = encode(value)
    try:
        json_parts._ITEMS_AT_ONCE, json_parts._CHARACTERS_AT_ONCE = 2, 3
        in_pieces = json_parts.dumps(value, exact_json)
        assert encode(value) == whole
    finally:
        json_parts._ITEMS_AT_ONCE, json_parts._CHARACTERS_AT_ONCE = items, characters
    assert in_pieces == exact_json(value)
    assert whole.data.decode() == without_surrogates(in_pieces)


def test_no_piece_is_long():
    """The text, the rows and the members of a large result are written in pieces of a bounded length."""
    rows, members = [{"id": 1}] * 9_500, {f"key {number}": number for number in range(9_500)}
    pieces = list(json_parts.parts({"log": "x" * 2_500_000, "rows": rows, "members": members}, exact_json))
    assert max(map(len, pieces)) == json_parts._CHARACTERS_AT_ONCE
    assert sum(len(piece) > 1_000 for piece in pieces) == 3 + 10 + 10
