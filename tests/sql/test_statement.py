"""check_statement: refuses what would only run into a limit, and nothing that people really ask."""

import itertools
import json
from pathlib import Path

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.guard import MAX_SQL_LENGTH, check_statement, mentioned_handles
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.tables.columns import iter_columns

ANALYSES = json.loads((Path(__file__).parent / "analytical_queries.json").read_text(encoding="utf-8"))


def refused(sql):
    with pytest.raises(QueryError) as caught:
        check_statement(sql)
    return str(caught.value)


def expanded():
    """Every query of the file, with its placeholders filled in every way."""
    for query in ANALYSES["queries"]:
        keys = [key for key in ANALYSES["values"] if f"<{key}>" in query]
        for values in itertools.product(*(ANALYSES["values"][key] for key in keys)):
            sql = query
            for key, value in zip(keys, values, strict=True):
                sql = sql.replace(f"<{key}>", value)
            yield sql


@pytest.fixture(scope="module")
def database():
    images = {handle: image_of({"rows": iter_columns(rows)}) for handle, rows in ANALYSES["tables"].items()}
    return RowDatabase(images)


def test_no_real_analysis_is_refused(database):
    """Several hundred analytical queries pass the look, and SQLite runs each of them."""
    handles = list(ANALYSES["tables"])
    count = 0
    for sql in expanded():
        check_statement(sql, handles)
        database.query(sql, max_rows=5, max_seconds=60)
        count += 1
    assert count >= 300


@pytest.mark.parametrize(("sql", "says"), [
    ("", "Only SELECT"), ("-- nothing", "Only SELECT"), ("DELETE FROM rows", "Only SELECT"),
    ("EXPLAIN SELECT 1", "begin with SELECT"), ("SELECT 1; SELECT 2", "one statement at a time"),
    ("SELECT 1; DROP TABLE rows", "one statement at a time"),
    ("SELECT 1" + " " * MAX_SQL_LENGTH, "longer than 10000 characters"),
])  # fmt: skip
def test_what_is_refused_says_what_to_do(sql, says):
    """Each kind of refused text gets its own words."""
    assert says in refused(sql)


@pytest.mark.parametrize("sql", ["SELECT 1;", "SELECT 1 ; ;", "SELECT ';'", "VALUES (1)", "/* a; b */ SELECT 1 -- ; c"])
def test_a_semicolon_alone_is_not_a_second_statement(sql):
    """A semicolon at the end, in a text or in a comment is left alone."""
    check_statement(sql)


def test_handles_are_found_where_they_are_names():
    """A handle counts as a table where it is a name, in any case, and not within a text or another word."""
    handles = ["2abcdefghjk", "2bcdefghjkm", "2cdefghjkmn"]
    sql = "SELECT '2cdefghjkmn' FROM rows JOIN 2ABCDEFGHJK.orders ON 1 JOIN \"2bcdefghjkm\" b"
    assert mentioned_handles(sql, handles) == ["2abcdefghjk", "2bcdefghjkm"]
    assert mentioned_handles("SELECT 1", handles) == []
