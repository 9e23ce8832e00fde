"""image_of: tables as the bytes of a database, and what is known of their names."""

import sqlite3
from dataclasses import asdict
from enum import IntEnum

import pytest

from adk_context_pack.sql.guard import all_names
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.sql.sql_names import TableNames, one_line
from adk_context_pack.tables.columns import iter_columns


def loaded(rows, key="rows"):
    return image_of({key: iter_columns(rows)})


def test_an_image_is_a_database():
    """The bytes are a whole SQLite database, with the table and its second name."""
    image = loaded([{"a": 1}, {"a": 2}], "visits")
    connection = sqlite3.connect(":memory:")
    connection.deserialize(image.data)
    assert connection.execute("SELECT sum(a) FROM rows").fetchone() == (3,)
    assert connection.execute("SELECT sum(a) FROM visits").fetchone() == (3,)
    assert all_names([image.names]) == ["rows", "visits", "a"]
    connection.close()


def test_numbers_of_an_enumeration_are_numbers():
    """A column of IntEnum members beside texts loads at once; to look each one up in a range took for ever."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(loaded([{"a": IntEnum("Level", "LOW HIGH").HIGH}, {"a": "none"}]).data)
    assert connection.execute("SELECT a FROM rows").fetchall() == [(2,), (None,)]
    connection.close()


def test_each_image_has_its_number():
    """Two images of the same rows are told apart: a child process knows them by number."""
    assert loaded([{"a": 1}]).number != loaded([{"a": 1}]).number


@pytest.mark.parametrize(("values", "oddly"), [
    (["9", "010"], True), (["09", "10"], False), (["9", "10x"], False), (["a", "bb"], False),
    (["9", None, "010"], True),
])  # fmt: skip
def test_digits_of_several_lengths_are_marked(values, oddly):
    """A column of ids is marked where the order of texts is not that of the numbers that they look like."""
    names = loaded([{"user_id": value} for value in values]).names
    assert names.columns["rows"][0]["digits"] == oddly


def test_nested_columns_are_marked():
    """Columns that hold lists are known as JSON; nested objects are columns of their own."""
    names = loaded([{"a": [1], "b": {"c": 1}, "d": 1}]).names
    assert (names.nested, names.tables) == (["a"], {"rows": ["a", "b.c", "d"]})


def test_names_survive_json():
    """What the parent sends to the child about an image is what the child reads."""
    names = loaded([{"a": [1], "x": 2**70, "user_id": "9"}, {"user_id": "10"}]).names
    assert TableNames(**asdict(names)) == names
    assert names.exact


@pytest.mark.parametrize("name", ["a\nb", "a\r\n\tb", "a\u2028b", "a \x85 b", "a\x1bb"])
def test_a_name_in_a_sentence_is_one_line(name):
    """Line breaks and control characters of every kind become blanks where a name is set within a sentence."""
    assert one_line(name) == "a b"
    assert len(one_line("x" * 500)) == 60
