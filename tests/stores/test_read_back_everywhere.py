"""What a model reads back of a result is the same from every place, of every service, for every type of value."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from pydantic import BaseModel

from adk_context_pack import PayloadStore, read_payload
from tests.support.in_tool import in_tool
from tests.support.run import SERVICES, session_service

np = pytest.importorskip("numpy")


class Colour(enum.Enum):
    RED = "red"


class Money(BaseModel):
    amount: Decimal
    day: date


@dataclasses.dataclass
class Point:
    x: float


ODD = {
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

    async def keep(context):
        return await PayloadStore(place=place).put(context, ODD, tool_name="t", key=key)

    async def read(context):
        return await read_payload(handle, context)

    async with session_service(kind, tmp_path) as sessions:
        handle = await in_tool(keep, session_service=sessions, artifact_service=artifacts)
        reply = await in_tool(read, session_service=sessions, artifact_service=artifacts)
    assert reply["text"] == SHOWN
    assert json.loads(reply["text"])["text"] == ODD["text"]
