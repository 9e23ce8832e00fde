"""query_images and search_text: limits per query, images that a process forgot, and the words for each ending."""

from contextlib import nullcontext

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql import worker, worker_pool
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.sql.worker import Jobs
from adk_context_pack.sql.worker_pool import JobEndedError, WorkerProcess, query_images, search_text
from adk_context_pack.tables.columns import iter_columns

LIMITS = {"max_rows": 5, "max_seconds": 30, "max_bytes": 2**27}


def image(*values):
    return image_of({"rows": iter_columns([{"x": value} for value in values])})


@pytest.fixture
def process():
    made = WorkerProcess()
    yield made
    made.kill()


class HereProcess:
    """Answers in this process, as a child would, and counts what it was sent."""

    def __init__(self, at_rest=2**60):
        self.holds, self.jobs, self.asked, self.at_rest = set(), Jobs(), [], at_rest

    def ask(self, header, blobs=(), *, seconds):
        self.asked.append(header["do"])
        header.get("limits", {}).update(at_rest=self.at_rest)
        answer = self.jobs.answer(header, list(blobs))
        answer.pop("held", None)
        return answer


def test_images_are_sent_once():
    """The first query sends its tables, the next ones only their number."""
    here, rows = HereProcess(), image(1, 2)
    for _ in range(3):
        assert query_images(here, {"h": rows}, "SELECT sum(x) FROM rows", **LIMITS).rows == [[3]]
    assert here.asked == ["open", "query", "query", "query"]


def test_images_that_were_dropped_are_sent_again():
    """Where a process had no room for the tables any more, they are sent again and the query is answered."""
    here, one, two = HereProcess(at_rest=1), image(1), image(2)
    for rows, value in ((one, 1), (two, 2), (one, 1)):
        assert query_images(here, {"h": rows}, "SELECT x FROM rows", **LIMITS).rows == [[value]]
    assert here.asked == ["open", "query", "open", "query", "query", "open", "query"]
    assert not here.jobs._databases


def test_what_a_process_holds_is_bounded(monkeypatch):
    """The parent's notes on what a process holds do not grow for ever."""
    monkeypatch.setattr(worker_pool, "_MAX_HELD", 3)
    here = HereProcess()
    for value in range(9):
        query_images(here, {f"h{value}": image(value)}, "SELECT x FROM rows", **LIMITS)
    assert len(here.holds) < 7


def test_bounds_of_the_process_are_those_of_the_query(monkeypatch):
    """The time and the memory after which a process ends come with each query, also over the same tables."""
    seen, here, rows = [], HereProcess(), image(1)
    monkeypatch.setattr(worker, "_bounded", lambda limits: seen.append(limits) or nullcontext())
    for seconds, size in ((2, 2**25), (4, 2**27)):
        query_images(here, {"h": rows}, "SELECT x FROM rows", **LIMITS | {"max_seconds": seconds, "max_bytes": size})
    found = [(each["kill_seconds"], each["max_bytes"]) for each in seen]
    assert found == [(pytest.approx(3.1), 2**25), (pytest.approx(6.1), 2**27)]


def test_floats_and_large_numbers_cross_unchanged(process):
    """What the child answers arrives as it was: 64-bit integers, floats to the last digit, text of any kind."""
    values = [2**63 - 1, 1 - 2**63, 0.1 + 0.2, 5e-324, "\U0001f600\u2028\u2400", None]
    sql = "SELECT * FROM rows"
    found = [query_images(process, {"h": image(value)}, sql, **LIMITS).rows[0][0] for value in values]
    assert found == values


@pytest.mark.parametrize(("by_time", "says"), [(True, "took longer than 30 s"), (False, "needed too much memory")])
def test_a_process_that_ends_is_told_in_words(monkeypatch, by_time, says):
    """A query and a search that end with their process say whether time or memory ended them."""

    def ends(*_, **__):
        raise JobEndedError(by_time=by_time)

    here = HereProcess()
    monkeypatch.setattr(here, "ask", ends)
    with pytest.raises(QueryError, match=says):
        query_images(here, {"h": image(1)}, "SELECT 1", **LIMITS)
    with pytest.raises(QueryError, match="took too long" if by_time else "too much memory"):
        search_text(here, "text", "x", start=0, most=1, max_seconds=30)


def test_a_search_keeps_no_text():
    """The child forgets the text with the search, and finds places in any text, lone surrogates included."""
    here = HereProcess()
    assert search_text(here, "a\ud800b\U0001f600b", "b", start=0, most=9, max_seconds=9)["spans"] == [(2, 3), (4, 5)]
    assert here.jobs._text == ""


def test_no_memory_is_an_answer(monkeypatch):
    """A child that runs out of memory outside of SQLite answers in words and goes on."""
    here = HereProcess()
    query_images(here, {"h": image(1)}, "SELECT 1", **LIMITS)
    monkeypatch.setattr(worker.RowDatabase, "query", lambda *_, **__: [0] * 10**15)
    with pytest.raises(QueryError, match="too much memory"):
        query_images(here, {"h": image(2)}, "SELECT 1", **LIMITS)


def test_memory_is_not_bounded_where_it_cannot_be_read(monkeypatch, tmp_path):
    """Where the system does not say how much memory a process has, queries run without that limit."""
    monkeypatch.setattr(worker, "_STATM", tmp_path / "missing")
    assert query_images(HereProcess(), {"h": image(1)}, "SELECT x FROM rows", **LIMITS | {"max_bytes": 1}).rows == [[1]]
