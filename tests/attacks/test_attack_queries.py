"""SQL that writes, escapes or never ends, and search patterns that backtrack for ever, through a real Runner."""

from __future__ import annotations

import asyncio
import re

import pytest

from adk_context_pack import ContextPackPlugin, QueryRows, ReadPayload
from tests.attacks.hostile import OddTool, own_run

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = [{"id": number, "note": f"row {number}"} for number in range(2000)]
LONG = [{"id": number, "text": "a" * 2_000_000} for number in range(2)]
NUMBERS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"


def handle_of(results):
    found = results[0]
    return found.get("_handle") or re.search(r"handle='(\w{11})'", str(found)).group(1)


async def ask(sql, rows=ROWS):
    """What the model is told of a query, and of a plain one after it; one second for each."""
    tools = [OddTool("work", {"rows": rows}), QueryRows(max_seconds=1, max_megabytes=64)]
    results, run = await asyncio.wait_for(
        own_run(
            [ContextPackPlugin()],
            tools,
            ("work", {}),
            ("query_rows", {"handle": handle_of, "sql": sql}),
            ("query_rows", {"handle": handle_of, "sql": "SELECT COUNT(*), MIN(id) FROM rows"}),
        ),
        timeout=60,
    )
    assert results[2]["rows"] == [[len(rows), 0]], "the rows are as they were"
    assert run.answer == "done"
    return results[1]


WRITES = [
    "DELETE FROM rows", "UPDATE rows SET id = 1", "INSERT INTO rows VALUES (1, 'x')", "DROP TABLE rows",
    "CREATE TABLE x (a)", "CREATE TEMP TABLE x AS SELECT 1", "CREATE VIEW v AS SELECT 1", "ALTER TABLE rows ADD x",
    "REPLACE INTO rows VALUES (1, 'x')", "WITH x AS (SELECT 1) DELETE FROM rows", "DELETE FROM rows RETURNING *",
    "/* SELECT */ DROP TABLE rows", "SELECT 1; DROP TABLE rows", "BEGIN EXCLUSIVE", "COMMIT", "ROLLBACK", "SAVEPOINT x",
    "VACUUM", "VACUUM INTO 'copy.db'", "REINDEX", "ANALYZE",
    "CREATE TRIGGER t AFTER INSERT ON rows BEGIN SELECT 1; END",
]  # fmt: skip
ESCAPES = [
    "ATTACH 'other.db' AS other", "ATTACH ':memory:' AS other", "DETACH main", "PRAGMA table_info(rows)",
    "PRAGMA writable_schema = ON", "PRAGMA query_only = OFF", "SELECT * FROM pragma_database_list",
    "SELECT load_extension('x')", "SELECT readfile('/etc/passwd')", "SELECT writefile('x', 'y')",
    "SELECT * FROM sqlite_master", "SELECT * FROM sqlite_schema", "SELECT * FROM sqlite_temp_master",
    "SELECT * FROM dbstat", "SELECT * FROM sqlite_dbpage", "SELECT fts3_tokenizer('simple')",
    "SELECT edit('x')", "SELECT sqlite_compileoption_get(1)", "SELECT * FROM generate_series(1, 10)",
    "CREATE VIRTUAL TABLE x USING fts5(a)", "SELECT zeroblob(1000000000)",
    "SELECT hex(randomblob(1000000))", "SELECT 'a' REGEXP 'a'", "SELECT 'a' MATCH 'a'",
]  # fmt: skip
ENDLESS = {
    "recursion": f"{NUMBERS} SELECT COUNT(*) FROM c",
    "recursion that shows": f"{NUMBERS} SELECT n FROM c",
    "cross join": "SELECT COUNT(*) FROM rows a, rows b, rows c, rows d",
    "cross join that sorts": "SELECT a.note FROM rows a, rows b, rows c ORDER BY a.note || b.note || c.note",
    "growing text": "WITH RECURSIVE c(t) AS (SELECT 'xx' UNION ALL SELECT t || t FROM c) SELECT MAX(length(t)) FROM c",
    "growing hex": "SELECT hex(hex(hex(hex(hex(hex(hex(group_concat(note)))))))) FROM rows",
    "concatenation": "SELECT length(group_concat(a.note || b.note)) FROM rows a, rows b",
    "json": "SELECT json_group_array(a.note) FROM rows a, rows b",
    "window": "SELECT COUNT(*) FROM (SELECT SUM(a.id) OVER (ORDER BY b.id) FROM rows a, rows b)",
    "wide format": "SELECT length(printf('%.*c', 2000000000, 'x'))",
    "wide formats": "SELECT format('" + "%.2000000000c" * 100 + "'" + ", 'x'" * 100 + ")",
    "wide number": "SELECT printf('%1000000000d', 1)",
}
SLOW = {
    "instr": "SELECT instr(text, substr(text, 1, 1000000) || 'b') FROM rows",
    "replace": "SELECT length(replace(text, substr(text, 1, 1000000) || 'b', 'c')) FROM rows",
    "growing replace": "SELECT length(replace(text, 'a', text)) FROM rows",
    "trim": "SELECT length(trim(text, substr(replace(text, 'a', 'b'), 1, 1000000) || 'c')) FROM rows",
    "like": f"SELECT text LIKE '%{'a' * 900}b' FROM rows",
    "glob": f"SELECT text GLOB '*{'[a-b]' * 150}c' FROM rows",
    "many likes": f"SELECT {' + '.join(['(text LIKE %a%a%a%b)'.replace(chr(39) * 2, chr(39))] * 50)} FROM rows",
}


@pytest.mark.parametrize("sql", WRITES)
async def test_nothing_is_written(sql):
    """A statement that would change anything is refused, and the rows are as they were."""
    assert "error" in await ask(sql)


@pytest.mark.parametrize("sql", ESCAPES)
async def test_nothing_reaches_out(sql):
    """A statement that would leave its own tables is refused in words."""
    reply = await ask(sql)
    assert "error" in reply
    assert "rows" not in reply


@pytest.mark.parametrize("sql", ENDLESS.values(), ids=ENDLESS)
async def test_what_never_ends_is_stopped(sql):
    """A query without end is stopped, says so, and the next one is answered."""
    reply = await ask(sql)
    assert "stopped" in reply.get("error", "") or "too much" in reply.get("error", "") or "cut" in reply


@pytest.mark.parametrize("sql", SLOW.values(), ids=SLOW)
async def test_long_cells_do_not_stretch_a_query(sql):
    """Functions that compare long texts with long texts answer or refuse in time, and the next query is answered."""
    reply = await ask(sql, LONG)
    assert "error" in reply or len(reply["rows"]) == 2


ODD_SQL = [
    "", " ", ";", "--", "\0", "SELECT 1\0", "SELECT '\ud800'", "SELECT ?", "SELECT :a", "(" * 5000, "1" * 20_000,
    "SELECT " + ",".join("1" * 3000), " UNION ALL ".join(["SELECT 1"] * 900), "SELECT " + "(" * 2000 + ")" * 2000,
    'SELECT "', "SELECT '", "SELECT /*", "SELECT 1 FROM rows WHERE \u2028", "💣", None, 7, ["SELECT 1"],
]  # fmt: skip


@pytest.mark.parametrize("sql", ODD_SQL, ids=lambda sql: ascii(sql)[:30])
async def test_odd_sql_is_answered_in_few_words(sql):
    """What is no query is refused in a short message; the run goes on."""
    reply = await ask(sql)
    assert len(str(reply)) < 2000


@pytest.mark.parametrize(
    "name", ['a"; DROP TABLE rows; --', "a]b`c", "sqlite_x", "", "a\0b", "rowid", "\u2028", "select"]
)
async def test_column_names_do_not_escape(name):
    """Column and table names of any characters are only names."""
    rows = [{"id": number, name: f"v{number}"} for number in range(500)]
    tools = [OddTool("work", {name or "rows": rows}), QueryRows()]
    results, _ = await own_run(
        [ContextPackPlugin()],
        tools,
        ("work", {}),
        ("query_rows", {"handle": handle_of, "sql": "SELECT COUNT(*), SUM(id) FROM rows"}),
    )
    assert results[1]["rows"] == [[500, sum(range(500))]]


TEXTS = {"one letter": "a" * 300_000, "words": "a b c d e f g " * 100_000, "lines": "no needle here\n" * 50_000}
PATTERNS = [
    "(a+)+$", "(a|aa)+$b", "(a*)*b", "(.*)*x", "(?:a?){400}a{400}", "((((a*)*)*)*)*b", "(?R)?b", "(a(?R)?)*b",
    "(?<=(a+)+b)c", "(?P<n>a+)(?P=n)+b", "(?r)(a+)+b", "(?p)(a|aa)+b", "(?b)(?:aaaaaaaaaaab){e<=6}c",
    "(?:(?:a+)+){e<=5}b", "^(([a-z])+.)+[A-Z]([a-z])+$", "a{1,30}" * 40, "(?:a{1,30}){1,30}b", "(" * 240, "\\L<x>",
    "[" * 500, "x" * 501, "(?=(a+))\\1+b", "\\X*b", "(?V1)[[a-z]--[a]]*+b", "(?i)(\u017f|s|\u212a)+b", "*", "\\", "(?",
    "", " ", "\0", "\ud800", "(?#", "a{999999999}", "{compact:secret}", "(?P<a>(?P<a>", None, 7,
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: ascii(pattern)[:30])
async def test_a_search_ends(pattern, text):
    """Every pattern ends in time with an answer or a clear refusal, and the text can still be read."""
    tools = [OddTool("work", text), ReadPayload(max_seconds=1)]
    results, run = await asyncio.wait_for(
        own_run(
            [ContextPackPlugin()],
            tools,
            ("work", {}),
            ("read_payload", {"handle": handle_of, "search": pattern}),
            ("read_payload", {"handle": handle_of, "length": 10}),
        ),
        timeout=60,
    )
    assert set(results[1]) & {"matches", "error", "text"}
    assert "could not be read" not in results[1].get("error", "")
    assert results[2]["text"] == text[:10]
    assert run.answer == "done"
