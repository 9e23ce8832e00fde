"""The one writer of JSON: its spelling of odd values, and that reading and writing again changes nothing."""

import dataclasses
import enum
import ipaddress
import json
from collections import OrderedDict, UserDict, deque
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, HttpUrl, SecretStr

from adk_context_pack._json import exact_json, json_text, shorten, shorten_counted

PACKAGE = Path(__file__).resolve().parents[1] / "adk_context_pack"


class Plain(enum.Enum):
    RED = "red"


class Text(str, enum.Enum):  # noqa: UP042 - the form that most code has
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


@dataclasses.dataclass
class Point:
    x: Decimal


class Order(BaseModel):
    day: date
    cost: Decimal = Decimal("1.10")
    hidden: str = Field(default="no", exclude=True)
    link: HttpUrl = HttpUrl("https://example.com/a")
    key: SecretStr = SecretStr("4711")
    custom_name: int = Field(default=1, alias="customName")


SPELLINGS = [
    (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
    (date(2026, 1, 2), "2026-01-02"),
    (time(1, 2), "01:02:00"),
    (timedelta(seconds=5), "0:00:05"),
    (Plain.RED, "red"),
    (Text.RED, "red"),
    (Number.ONE, 1),
    (Decimal("1.10"), "1.10"),
    (Fraction(1, 3), "1/3"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (PurePosixPath("a/b"), "a/b"),
    (ipaddress.ip_address("::1"), "::1"),
    (b"hi", "aGk="),
    (bytearray(b"hi"), "aGk="),
    (memoryview(b"hi"), "aGk="),
    ((1, 2), [1, 2]),
    ({"b", "a"}, ["a", "b"]),
    (frozenset({2, 1}), [1, 2]),
    (deque([1]), [1]),
    (UserDict(a=1), {"a": 1}),
    (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (Point(Decimal(2)), {"x": "2"}),
    (
        Order(day=date(2026, 1, 2), customName=7),
        {"day": "2026-01-02", "cost": "1.10", "link": "https://example.com/a", "key": "**********", "customName": 7},
    ),
    (ValueError("no such table"), "no such table"),
    ({date(2026, 1, 2): 1, Plain.RED: 2, (1, 2): 3, None: 4, 5: 6, True: 7, Decimal(8): 9}, {
        "2026-01-02": 1, "red": 2, "[1,2]": 3, "null": 4, "5": 6, "true": 7, "8": 9,
    }),
]  # fmt: skip


@pytest.mark.parametrize(("value", "spelled"), SPELLINGS, ids=lambda value: type(value).__name__)
def test_every_odd_value_has_one_spelling(value, spelled):
    """Stores and counters write a value in the same way, alone, in rows, and after it was read and written again."""
    for whole, expected in ((value, spelled), ({"rows": [{"cell": value}]}, {"rows": [{"cell": spelled}]})):
        text = exact_json(whole)
        assert json.loads(text) == expected
        assert json_text(whole) == text
        assert json_text(json.loads(text)) == text


def test_numbers_of_numpy_and_pandas():
    """Scalars, arrays, moments and missing values are recognised without importing either library."""
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    value = {
        "integer": np.int64(7), "float": np.float32(0.5), "truth": np.bool_(True), "array": np.array([[1, 2]]),
        "day": np.datetime64("2026-01-02"), "nanoseconds": np.datetime64("2026-01-02T03:04:05.000000006"),
        "none": np.datetime64("NaT"), "moment": pd.Timestamp("2026-01-02"), "missing": pd.NaT, "na": pd.NA,
        "series": pd.Series([1, 2]), np.int64(1): np.str_("text"),
    }  # fmt: skip
    assert json.loads(exact_json(value)) == {
        "integer": 7, "float": 0.5, "truth": True, "array": [[1, 2]],
        "day": "2026-01-02", "nanoseconds": "2026-01-02T03:04:05.000000006",
        "none": None, "moment": "2026-01-02T00:00:00", "missing": None, "na": None,
        "series": [1, 2], "1": "text",
    }  # fmt: skip
    assert json_text(value) == exact_json(value)


@pytest.mark.slow
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.decimals() | st.binary()
    | st.dates() | st.datetimes() | st.uuids() | st.timedeltas() | st.frozensets(st.integers()),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.dates(), inner),
))  # fmt: skip
def test_writing_what_was_read_gives_the_same_text(value):
    """For any value, the text of what a store reads back is the text of what the tool returned."""
    try:
        text = exact_json(value)
    except ValueError:
        return  # two keys with one text
    assert json_text(value) == text == json_text(json.loads(text))


def test_circles_and_depth():
    """A value inside itself and endless depth end: as an error for a store, as words for a counter."""
    circle: list = [1]
    circle.append(circle)
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for value, said in ((circle, "<circular>"), (deep, "<nested too deeply>")):
        with pytest.raises((ValueError, RecursionError)):
            exact_json(value)
        assert said in json_text(value)


def test_odd_values_are_reported():
    """A caller learns of every value that JSON could not hold, and hears nothing of plain ones."""
    odd: list = []
    exact_json({"a": [Decimal(1), 1, "x", None]}, on_odd=odd.append)
    assert odd == [Decimal(1)]
    exact_json({(1, 2): 3}, on_odd=odd.append)
    assert len(odd) > 1


def test_nobody_else_decides_how_a_value_is_spelled():
    """No other module hands `json` a rule for odd values."""
    writers = [path.name for path in PACKAGE.rglob("*.py") if "default=str" in path.read_text()]
    assert writers == []


@pytest.mark.parametrize(("function", "text"), [(shorten, "abcde…"), (shorten_counted, "abcdef… [+4 characters]")])
def test_what_is_left_is_where_it_was(function, text):
    """The beginning stays, alone or with the number of characters that are missing."""
    assert function("abcdefghij", 6) == text
