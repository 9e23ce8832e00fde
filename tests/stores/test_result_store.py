"""A store of the user's own, through the plugin, over restarts, and when it fails."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
import math
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from uuid import UUID

import pytest
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from pydantic import BaseModel

from adk_context_pack import ContextPackPlugin, PayloadStore, StoreError, load_payload, read_payload
from adk_context_pack.stores import payload_store
from tests.support.in_tool import in_tool
from tests.support.run import SERVICES, session_service

ROWS = [{"id": number, "amount": number} for number in range(3000)]
FAILURES = {
    "raises": OSError("disk full of secret 4711"),
    "times out": TimeoutError("4711"),
    "is cancelled": asyncio.CancelledError(),
    "runs out of memory": MemoryError(),
    "is deep": RecursionError(),
    "leaves": SystemExit(1),
}
ODD = ("hangs", "half", "half for good", "is slow twice", "is no coroutine", "answers with a dict")


class Bucket:
    """Objects in a dict that stands for a service outside the process."""

    name = "bucket"

    def __init__(self, objects=None, how=""):
        self.objects, self.how = {} if objects is None else objects, how

    def put(self, scope, name, data):
        if self.how == "is no coroutine":
            return None
        return self._put(f"{scope.app_name}/{scope.user_id}/{scope.session_id}/{name}", data)

    async def _put(self, path, data):
        if self.how in FAILURES:
            raise FAILURES[self.how]
        await asyncio.sleep({"hangs": 3600, "is slow twice": 0.15}.get(self.how, 0))
        self.objects[path] = data[:7] if self.how.startswith("half") else data
        return {"path": path} if self.how == "answers with a dict" else path

    async def open(self, scope, name, kept):
        await asyncio.sleep({"is slow twice": 0.15, "never opens": 3600}.get(self.how, 0))
        return self.objects.get(kept)

    async def delete(self, scope, name, kept):
        if self.how in ("half for good", "never deletes"):
            await asyncio.sleep(3600)
        self.objects.pop(kept["path"] if isinstance(kept, dict) else kept, None)


@pytest.fixture
async def waited(monkeypatch):
    """How long the loop has waited in all, in seconds of a clock that waiting alone moves, and at once."""
    waits, loop = [0.0], asyncio.get_running_loop()
    select = loop._selector.select

    def skip(timeout):
        waits.append(timeout or 0.0)
        return select(timeout and 0)

    monkeypatch.setattr(loop._selector, "select", skip)
    monkeypatch.setattr(loop, "time", lambda: sum(waits))
    return lambda: round(sum(waits), 2)


async def test_another_process_opens_it_by_a_store_of_the_same_name(monkeypatch):
    """A handle opens where a store of that name is known, and is one clear error where none is."""
    bucket, sessions = Bucket(), InMemorySessionService()

    keep = partial(PayloadStore(place=bucket).put, value=ROWS, tool_name="t")
    load = partial(load_payload, handle=await in_tool(keep, session_service=sessions))
    monkeypatch.setattr(payload_store, "KNOWN_STORES", {})
    with pytest.raises(StoreError, match="no store of that name"):
        await in_tool(load, session_service=sessions)
    PayloadStore(place=Bucket(bucket.objects))
    assert await in_tool(load, session_service=sessions) == ROWS


@pytest.mark.parametrize("how", [*FAILURES, *ODD])
async def test_a_store_that_fails_is_one_error_in_time(how, waited):
    """Whatever a store answers, however slowly, is one error without payload, and state is untouched."""
    bucket = Bucket(how=how)

    async def act(context):
        with pytest.raises(StoreError, match="the bucket service") as caught:
            await PayloadStore(place=bucket, timeout_s=0.2).put(context, ROWS, tool_name="t")
        assert waited() <= 0.2
        assert "4711" not in str(caught.value)
        return dict(context.session.state)

    assert await in_tool(act) == {}
    assert bool(bucket.objects) == (how == "half for good")


async def test_results_expire_in_time(waited):
    """A store that never answers a delete holds up the next result once, however many expire with it."""
    bucket = Bucket(how="never deletes")

    async def act(context):
        for number in range(12):
            await PayloadStore(place=bucket).put(context, [number], tool_name="t")
        handle = await PayloadStore(place=bucket, max_results=1, timeout_s=1).put(context, ROWS, tool_name="t")
        assert waited() == 1
        return await load_payload(context, handle)

    assert await in_tool(act) == ROWS


@pytest.mark.parametrize("how", ["save_artifact", "load_artifact"])
async def test_auto_keeps_in_state_what_an_artifact_service_does_not_take(how, monkeypatch, caplog):
    """Beside an artifact service that fails, state keeps what it may hold, and no more."""
    artifacts = InMemoryArtifactService()

    async def failing(*_, **__):
        raise ConnectionError("4711")

    monkeypatch.setattr(InMemoryArtifactService, how, failing)

    async def act(context):
        handle = await PayloadStore().put(context, ROWS, tool_name="t")
        with pytest.raises(StoreError, match=r"^larger than what the session may hold \(4 MiB\)$"):
            await PayloadStore().put(context, os.urandom(6_000_000).hex(), tool_name="t")
        return await load_payload(context, handle)

    assert await in_tool(act, artifact_service=artifacts) == ROWS
    assert "a result is kept in state: the ADK artifact service failed (ConnectionError)" in caplog.text
    assert "4711" not in caplog.text


async def test_a_result_that_cannot_be_read_back_is_an_error_in_log_and_report(caplog, waited):
    """Other bytes, a lost object and a store that is away in its own time are refused, logged and reported."""
    bucket, plugin = Bucket(), ContextPackPlugin()

    async def act(context):
        handle = await PayloadStore(place=bucket, timeout_s=0.5).put(context, ROWS, tool_name="t")
        (path,) = bucket.objects
        bucket.objects[path] = b"[1]"
        with pytest.raises(StoreError, match="something else than was stored"):
            await load_payload(context, handle)
        del bucket.objects[path]
        with pytest.raises(StoreError, match="gone from the bucket service"):
            await load_payload(context, handle)
        bucket.how, before = "never opens", waited()
        assert "did not answer within 0.5 s" in (await read_payload(handle, context))["error"]
        assert waited() - before == 0.5
        return handle

    handle = await in_tool(act, plugins=[plugin])
    said = ("something else", "gone from", "within 0.5 s")
    lost = [(each.tool, each.handle, each.error) for each in plugin.result_reports]
    assert [found[:2] for found in lost] == [("t", handle)] * 3
    for text, (*_, error) in zip(said, lost, strict=True):
        assert text in error
        assert f"could not be read: {error}" in caplog.text


np = pytest.importorskip("numpy")


class Colour(enum.Enum):
    RED = "red"


class Money(BaseModel):
    amount: Decimal
    day: date


@dataclasses.dataclass
class Point:
    x: float


ODD_VALUES = {
    "dates": [date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2)],  # noqa: DTZ001
    "enum": Colour.RED,
    "models": [Money(amount=Decimal("1.10"), day=date(2026, 1, 2)), Point(1.5)],
    "numbers": [Decimal("1.10"), math.nan, math.inf, 1e16, -0.0, 2**70],
    "bytes": b"\xff\x00",
    "sequences": ((1, 2), {"b", "a"}, frozenset({3})),
    "keys": {1: "one", None: "none", date(2026, 1, 2): "day", Colour.RED: "red"},
    "id": UUID(int=1),
    "numpy": [np.int8(7), np.float64(0.1), np.float32(0.5), np.bool_(True), np.array([1]), np.datetime64("2026-01-02")],
    "text": "line\u2028 é \0",
}  # fmt: skip
SHOWN = (
    '{"dates":["2026-01-02","2026-01-02T00:00:00+00:00","2026-01-02T00:00:00"],"enum":"red",'
    '"models":[{"amount":"1.10","day":"2026-01-02"},{"x":1.5}],'
    '"numbers":["1.10",NaN,Infinity,1e+16,-0.0,1180591620717411303424],"bytes":"/wA=",'
    '"sequences":[[1,2],["a","b"],[3]],"keys":{"1":"one","null":"none","2026-01-02":"day","red":"red"},'
    '"id":"00000000-0000-0000-0000-000000000001","numpy":[7,0.1,0.5,true,[1],"2026-01-02"],'
    '"text":"line\u2028 é \\u0000"}'
)


@pytest.mark.parametrize("key", [None, "results:mine"])
@pytest.mark.parametrize("place", ["state", "artifacts"])
@pytest.mark.parametrize("kind", SERVICES)
async def test_every_place_shows_the_same(kind, place, key, tmp_path):
    """Dates, enums, models, decimals, bytes, sets, odd keys and numpy's numbers read the same, and in one spelling."""
    artifacts = InMemoryArtifactService()
    keep = partial(PayloadStore(place=place).put, value=ODD_VALUES, tool_name="t", key=key)
    async with session_service(kind, tmp_path) as sessions:
        settings = {"session_service": sessions, "artifact_service": artifacts}
        handle = await in_tool(keep, **settings)
        reply = await in_tool(partial(read_payload, handle), **settings)
    assert reply["text"] == SHOWN
    assert json.loads(reply["text"])["text"] == ODD_VALUES["text"]
