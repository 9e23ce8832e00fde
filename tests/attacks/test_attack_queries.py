"""SQL that writes, escapes or never ends, and search patterns that backtrack for ever, through a real Runner.

Each test of a slow query says why the query ended: an attack with a typing error would pass for a bound that holds.
"""

from __future__ import annotations

import asyncio
import gc
import os
import re
from collections.abc import Awaitable, Callable
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import pytest

from adk_context_pack import ContextPackPlugin, QueryRows, ReadPayload
from adk_context_pack.errors import QueryError
from adk_context_pack.sql import worker_pool
from adk_context_pack.sql.worker_pool import WorkerProcess, shared_pool
from adk_context_pack.tools.open_results import load_tables
from tests.attacks.hostile import Beat, OddTool, heart, own_run
from tests.benchmarks.process_memory import resident_bytes

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = [{"id": number, "note": f"row {number}"} for number in range(2000)]
# Long enough for a second user's whole run on a busy machine.
SECONDS = 3
TOOK_ITS_TIME = re.compile("took longer than|took too long")
LONG = [{"id": number, "text": "a" * 2_000_000} for number in range(2)]
NUMBERS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"


T = TypeVar("T")
_OTHERS_ROWS = 500
_HELD = 20


async def second_user() -> None:
    """Asks a small query of a user's own through a real app, and looks a host name up; both have to be right."""
    tools = [OddTool("work", {"rows": [{"id": number} for number in range(_OTHERS_ROWS)]}), QueryRows(max_seconds=60)]
    query = ("query_rows", {"handle": lambda results: results[0]["_handle"], "sql": "SELECT count(*) FROM rows"})
    results, _ = await own_run([ContextPackPlugin()], tools, ("work", {}), query, user_id="bob")
    assert results[1]["rows"] == [[_OTHERS_ROWS]]
    assert await asyncio.get_running_loop().getaddrinfo("localhost", 80)


class Beside:
    """Watches what others notice between the beginning and the end of an attack.

    Attributes:
        answered: how often the second user had all answers before the attack ended.
        beats: those of the loop during the attack.
        usual: the longest work between two beats where only the second user asks.
    """

    def __init__(self) -> None:
        self.answered = 0
        self.beats: list[Beat] = []
        self.usual = 0.0
        self._begun, self._ended = asyncio.Event(), False

    def begins(self, argument: Callable[[Any], T]) -> Callable[[Any], T]:
        """Returns an argument for the attack's own call: the attack begins when the model makes it."""

        def given(results: Any) -> T:
            self._begun.set()
            return argument(results)

        return given

    def ends(self, argument: Callable[[Any], T]) -> Callable[[Any], T]:
        """Returns an argument for the call after the attack."""

        def given(results: Any) -> T:
            self.end()
            return argument(results)

        return given

    def end(self) -> None:
        """Says that the attack is over."""
        self._ended = True

    async def watch(self, attack: Awaitable[T]) -> T:
        """Runs an attack, and the others beside it."""
        # What ADK imports with the first run of a process holds up its loop for long.
        await second_user()
        async with heart() as beats:
            await second_user()
        self.usual = max(beat.worked for beat in beats)
        others = asyncio.create_task(self._ask())
        # A collection of all that earlier tests left would count as work.
        gc.freeze()
        try:
            return await attack
        finally:
            self._ended = True
            self._begun.set()
            await others
            gc.unfreeze()

    def check_all_went_on(self) -> None:
        """Asserts that the second user had answers before the attack ended, and that nothing held the loop for long."""
        assert self.answered
        assert max(beat.worked for beat in self.beats) < _HELD * self.usual

    async def _ask(self) -> None:
        await self._begun.wait()
        async with heart() as self.beats:
            while not self._ended:
                await second_user()
                self.answered += not self._ended


def handle_of(results):
    found = results[0]
    return found.get("_handle") or re.search(r"handle='(\w{11})'", str(found)).group(1)


async def ask(sql, rows=ROWS):
    """The answer to a query; a plain one after it has to be answered as well."""
    tools = [OddTool("work", {"rows": rows}), QueryRows(max_seconds=SECONDS, max_megabytes=64)]
    return await attacked(tools, "query_rows", {"sql": sql}, {"sql": "SELECT COUNT(*), MIN(id) FROM rows"}, rows)


async def attacked(tools, name, attack, plain, rows=None):
    """The answer to an attack, beside which a second user's query was answered."""
    beside = Beside()
    results, run = await asyncio.wait_for(
        beside.watch(
            own_run(
                [ContextPackPlugin()],
                tools,
                ("work", {}),
                (name, {"handle": beside.begins(handle_of), **attack}),
                (name, {"handle": beside.ends(handle_of), **plain}),
                user_id="mallory",
            )
        ),
        timeout=120,
    )
    if rows is not None:
        assert results[2]["rows"] == [[len(rows), 0]], "the rows are as they were"
    assert run.answer == "done"
    # What is refused at once leaves no time for another user's question.
    if TOOK_ITS_TIME.search(results[1].get("error", "")):
        beside.check_all_went_on()
    return results[1] if rows is not None else results


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
    "SELECT hex(randomblob(1000000))", "SELECT 'a' MATCH 'a'",
]  # fmt: skip
TIME = f"took longer than {SECONDS} s"
MEMORY = "needed too much memory"
LENGTH = "text, row or pattern became too long"
COUNTED_UP = "cut"
GENERATED = "printf('%.*c', 900000, 'a')"


def doubling(levels):
    """Parts of WITH that each name the one before twice."""
    parts = [
        f"c{level} AS (SELECT x FROM c{level - 1} UNION ALL SELECT x FROM c{level - 1})" for level in range(1, levels)
    ]
    return f"WITH c0 AS (SELECT 1 AS x), {', '.join(parts)} SELECT count(*) FROM c{levels - 1}"


def many(expression, times=40):
    return f"SELECT {' + '.join([expression] * times)} FROM rows"


ENDLESS = {
    "recursion": (f"{NUMBERS} SELECT COUNT(*) FROM c", TIME),
    "recursion that shows": (f"{NUMBERS} SELECT n FROM c", COUNTED_UP),
    "cross join": ("SELECT COUNT(*) FROM rows a, rows b, rows c, rows d", TIME),
    "sort": ("SELECT a.note FROM rows a, rows b, rows c ORDER BY a.note || b.note || c.note", f"{TIME}|{MEMORY}"),
    "growing text": (
        "WITH RECURSIVE c(t) AS (SELECT 'xx' UNION ALL SELECT t || t FROM c) SELECT MAX(length(t)) FROM c",
        LENGTH,
    ),
    "backtracking": (f"SELECT '{'a' * 60}b' REGEXP '(a+)+$' FROM rows", TIME),
    "growing hex": ("SELECT hex(hex(hex(hex(hex(hex(hex(group_concat(note)))))))) FROM rows", LENGTH),
    "window": ("SELECT COUNT(*) FROM (SELECT SUM(a.id) OVER (ORDER BY b.id) FROM rows a, rows b)", f"{TIME}|{MEMORY}"),
    "wide formats": ("SELECT format('" + "%.2000000000c" * 50 + "'" + ", 'x'" * 50 + ")", TIME),
    "many LIKE": (many(f"({GENERATED} LIKE '%{'a' * 100}b')"), TIME),
    "many instr": (many(f"instr({GENERATED}, printf('%.*c', 400000, 'a') || 'b')"), TIME),
    "many replace": (many(f"length(replace({GENERATED}, printf('%.*c', 400000, 'a') || 'b', 'c'))"), TIME),
    "doubling parts of WITH": (doubling(20), f"{TIME}|{MEMORY}"),
    "deep parentheses": (f"SELECT {'(' * 100}1{')' * 100} FROM rows", "nests too deep"),
}
SLOW = {
    "instr": ("SELECT instr(text, substr(text, 1, 1000000) || 'b') FROM rows", TIME),
    "replace": ("SELECT length(replace(text, substr(text, 1, 1000000) || 'b', 'c')) FROM rows", TIME),
    "growing replace": ("SELECT length(replace(text, 'a', text)) FROM rows", LENGTH),
    "trim": (
        "SELECT length(trim(text, substr(replace(text, 'a', 'b'), 1, 1000000) || 'c')) FROM rows",
        f"{TIME}|{LENGTH}",
    ),
    "like": (many(f"(text LIKE '%{'a' * 900}b')", 9), TIME),
    "glob": (many(f"(text GLOB '*{'[a-b]' * 150}c')", 10), TIME),
    "many likes": (many(f"(text LIKE '%{'a' * 100}b')"), TIME),
    "many copies": (f"SELECT {','.join(f'upper(text || {n})' for n in range(80))} FROM rows", MEMORY),
    "sorted copies": ("SELECT a.text || b.text || c.text FROM rows a, rows b, rows c, rows d ORDER BY 1", MEMORY),
}


@pytest.mark.parametrize("sql", [*WRITES, *ESCAPES])
async def test_nothing_is_written_or_reaches_out(sql):
    """A statement that would change anything or leave its own tables is refused in words."""
    reply = await ask(sql)
    assert "error" in reply
    assert "rows" not in reply


BOUND = {
    **{name: (*case, ()) for name, case in ENDLESS.items()},
    **{name: (*case, LONG) for name, case in SLOW.items()},
}


@pytest.mark.parametrize(("sql", "why", "rows"), BOUND.values(), ids=BOUND)
async def test_what_never_ends_is_stopped(sql, why, rows):
    """A query without end, or over long texts, is stopped by the bound that is meant for it, and the next one works."""
    reply = await ask(sql, *([rows] if rows else ()))
    # A reply may be cut where that is expected.
    assert "cut" in reply if why == COUNTED_UP else re.search(why, reply.get("error", "")), reply


async def test_others_do_not_wait_for_six_attacks():
    """While one user's six queries compute or wait, another user's query and a host-name lookup end before them."""
    begun = asyncio.Semaphore(0)

    def handle(results):
        begun.release()
        return handle_of(results)

    tools = [OddTool("work", {"rows": ROWS}), QueryRows(max_seconds=120)]
    query = ("query_rows", {"handle": handle, "sql": f"{NUMBERS} SELECT COUNT(*) FROM c"})
    runs = [own_run([ContextPackPlugin()], tools, ("work", {}), query, user_id="mallory") for _ in range(6)]
    attacks = [asyncio.create_task(run) for run in runs]
    try:
        for _ in attacks:
            await begun.acquire()
        await second_user()
        assert not any(attack.done() for attack in attacks)
    finally:
        for attack in attacks:
            attack.cancel()
        await asyncio.gather(*attacks, return_exceptions=True)
        # A query that begins late would take the time of the next test.
        while shared_pool()._running:
            shared_pool().close()
            await asyncio.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is bounded on Linux")
@pytest.mark.parametrize(
    "sql",
    [
        *(sql for sql, why in SLOW.values() if why == MEMORY),
        "SELECT hex(text || text) FROM rows",
        "SELECT json_group_array(text) FROM rows",
        "SELECT group_concat(text || text) FROM rows",
    ],
    ids=lambda sql: sql[:30],
)
def test_memory_stays_within_its_bound(sql, monkeypatch):
    """With 64 MB and one long cell in each row, the peak of the process is less than 128 MB above where it was."""
    monkeypatch.setattr(worker_pool.CACHE, "max_bytes", 2**40)
    process, image = WorkerProcess(), load_tables({"rows": LONG})
    limits = {"max_rows": 9, "max_seconds": 9, "max_bytes": 64 * 2**20}
    try:
        worker_pool.query_images(process, {"h": image}, "SELECT 1 FROM rows", **limits)
        before, status = resident_bytes(process._process.pid), Path(f"/proc/{process._process.pid}/status")
        assert ended_in_words(process, image, sql, limits)
        # Counted while the process still has what it took: the peak is the kernel's own figure.
        peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        assert peak * 1024 - before < 128 * 2**20
    finally:
        process.kill()


@pytest.mark.parametrize("megabytes", [10, 40, 100])
def test_a_process_keeps_no_more_than_its_share(megabytes, monkeypatch):
    """After each statement a process has at most a quarter of the ceiling, or is ended. The next one is answered."""
    monkeypatch.setattr(worker_pool.CACHE, "max_bytes", 4 * megabytes * 2**20)
    process, images = WorkerProcess(), [load_tables({"rows": [{"text": "x" * 2**14}] * 400 * n}) for n in (1, 4)]
    limits = {"max_rows": 9, "max_seconds": 9, "max_bytes": 256 * 2**20}
    try:
        for sql, image in product(["SELECT hex(group_concat(text)) FROM rows", "SELECT 1 FROM rows"], images):
            assert ended_in_words(process, image, sql, limits)
            held = resident_bytes(process._process.pid) if process._process else 0
            assert held <= megabytes * 2**20
            assert abs(held - process.held) < 2**20
    finally:
        process.kill()


def ended_in_words(process, image, sql, limits):
    try:
        worker_pool.query_images(process, {"h": image}, sql, **limits)
    except QueryError as error:
        return MEMORY in str(error) or LENGTH in str(error)
    return True


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
# By default each pattern meets one of the texts, the next pattern the next one.
EACH = [(0, 1, 2) if os.environ.get("WHOLE_LOAD") else (number % 3,) for number in range(len(PATTERNS))]
SEARCHES = [
    (pattern, list(TEXTS.values())[at]) for pattern, places in zip(PATTERNS, EACH, strict=True) for at in places
]


@pytest.mark.parametrize(("pattern", "text"), SEARCHES, ids=lambda searched: ascii(searched)[:30])
async def test_a_search_ends(pattern, text):
    """Every pattern ends in time with an answer or a clear refusal, and the text can still be read."""
    tools = [OddTool("work", text), ReadPayload(max_seconds=SECONDS)]
    results = await attacked(tools, "read_payload", {"search": pattern}, {"length": 10})
    assert set(results[1]) & {"matches", "error", "text"}
    assert "could not be read" not in results[1].get("error", "")
    assert results[2]["text"] == text[:10]


def test_no_pattern_is_kept():
    """Twenty-four patterns that compile to megabytes leave nothing behind in the process that searched for them."""
    process = WorkerProcess()
    patterns = [f"{number}" + "(?:[a-z]{1,9}|x)" * 27 for number in range(24)]
    try:
        for pattern in patterns[:4]:
            search(process, pattern)
        before = resident_bytes(process._process.pid)
        for pattern in patterns:
            search(process, pattern)
        assert resident_bytes(process._process.pid) - before < 16 * 2**20
    finally:
        process.kill()


def search(process, pattern):
    try:
        return worker_pool.search_text(process, "abc" * 100, pattern, start=0, most=3, max_seconds=5)
    except QueryError:
        return None
