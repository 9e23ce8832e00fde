"""A store of the user's own, through the plugin, over restarts, and when it fails."""

from __future__ import annotations

import asyncio

import pytest
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from adk_context_pack import ContextPackPlugin, PayloadStore, StoreError, load_payload, query_rows
from adk_context_pack.errors import SettingError
from adk_context_pack.stores import result_store
from tests.attacks.hostile import OddTool, own_run
from tests.support.in_tool import in_tool

ROWS = [{"id": number, "amount": number} for number in range(3000)]


class Bucket:
    """Objects in a dict that stands for a service outside the process."""

    name = "bucket"

    def __init__(self, objects=None, how=""):
        self.objects, self.how = {} if objects is None else objects, how

    async def put(self, scope, name, data):
        if self.how == "raises":
            raise OSError("disk full of secret 4711")
        if self.how == "hangs":
            await asyncio.sleep(3600)
        path = f"{scope.app_name}/{scope.user_id}/{scope.session_id}/{name}"
        self.objects[path] = data[:7] if self.how == "half" else data
        return path

    async def open(self, scope, name, kept):
        return self.objects.get(kept)

    async def delete(self, scope, name, kept):
        self.objects.pop(kept, None)


async def test_the_plugin_keeps_results_in_a_store_of_the_apps_own():
    """The model reads back every row by its handle, and state holds the name of the object and no rows."""
    bucket = Bucket()
    results, run = await own_run(
        [ContextPackPlugin(store=PayloadStore(place=bucket))],
        [OddTool("work", {"rows": ROWS}), query_rows],
        ("work", {}),
        ("query_rows", {"handle": lambda found: found[0]["_handle"], "sql": "SELECT COUNT(*), SUM(amount) FROM rows"}),
    )
    assert results[1]["rows"] == [[3000, sum(range(3000))]]
    (entry,) = [value for key, value in run.session.state.items() if key.startswith("rows:")]
    assert (entry["stored"], entry["store"]) == ("store", "bucket")
    assert entry["kept"] in bucket.objects
    assert len(str(entry)) < 300


async def test_another_process_opens_it_by_a_store_of_the_same_name(monkeypatch):
    """A handle opens where a store of that name is known, and is one clear error where none is."""
    bucket, sessions = Bucket(), InMemorySessionService()

    async def keep(context):
        return await PayloadStore(place=bucket).put(context, ROWS, tool_name="t")

    async def load(context):
        return await load_payload(context, handle)

    handle = await in_tool(keep, session_service=sessions)
    monkeypatch.setattr(result_store, "_KNOWN", {})
    with pytest.raises(StoreError, match="no store of that name"):
        await in_tool(load, session_service=sessions)
    PayloadStore(place=Bucket(bucket.objects))
    assert await in_tool(load, session_service=sessions) == ROWS


@pytest.mark.parametrize("how", ["raises", "hangs", "half"])
async def test_a_store_that_fails_leaves_nothing_behind(how):
    """A store that raises, hangs or keeps half of a result is one error without its message, and state is untouched."""
    bucket = Bucket(how=how)

    async def act(context):
        with pytest.raises(StoreError, match="the bucket service") as caught:
            await PayloadStore(place=bucket, timeout_s=0.05).put(context, ROWS, tool_name="t")
        assert "4711" not in str(caught.value)
        return dict(context.session.state)

    assert await in_tool(act) == {}
    assert bucket.objects == {}


async def test_an_object_that_was_exchanged_is_not_given_out():
    """Other bytes under the name of a result are refused, and a lost object says so."""
    bucket = Bucket()

    async def act(context):
        handle = await PayloadStore(place=bucket).put(context, ROWS, tool_name="t")
        (path,) = bucket.objects
        bucket.objects[path] = b"[1]"
        with pytest.raises(StoreError, match="something else than was stored"):
            await load_payload(context, handle)
        del bucket.objects[path]
        with pytest.raises(StoreError, match="gone from the bucket service"):
            await load_payload(context, handle)

    await in_tool(act)


async def test_what_expires_is_deleted():
    """The objects of expired results go, so that a bucket does not grow for ever."""
    bucket = Bucket()

    async def act(context):
        store = PayloadStore(place=bucket, max_results=2)
        return [await store.put(context, [number], tool_name="t") for number in range(5)]

    handles = await in_tool(act)
    assert sorted(path[-16:-5] for path in bucket.objects) == sorted(handles[-2:])


def test_a_place_that_is_neither_a_name_nor_a_store_is_refused():
    """The error names the setting and its value."""
    with pytest.raises(SettingError, match="place must be a ResultStore or one of"):
        PayloadStore(place="nowhere")
