"""error_of: one answer to "did this fail?", for every shape that tools return."""

import json
from pathlib import Path

import pytest

from adk_context_pack.tables.failure import error_of, has_failed

# What a result says about its failure, null for one that did not fail, and the result.
TEXT = Path(__file__).with_name("golden").joinpath("failures.txt").read_text("utf-8")
RESULTS = [tuple(map(json.loads, line.split(" <- "))) for line in TEXT.splitlines()]


@pytest.mark.parametrize(("said", "result"), RESULTS, ids=str)
def test_a_failure_is_told_in_its_own_words_and_a_success_never(said, result):
    """What says that it failed is a failure with its own message, and a count, an empty field or good news is none."""
    assert error_of(result) == said
    assert said is not None or not has_failed(result)


def test_rows_beside_an_error_are_a_partial_result():
    """A result with rows and an `error` did not fail as a whole, unless its status says so."""
    rows = {"error": "one shard timed out", "rows": [1, 2]}
    assert not has_failed(rows)
    assert has_failed({**rows, "status": "error"})
    assert has_failed({"error": "quota"})
    assert has_failed({"errors": ["a", "b"]})


@pytest.mark.parametrize("empty", ["  ", " None ", "NO ERRORS"])
def test_an_empty_word_among_blanks_is_not_an_error(empty):
    """Words for "no error" count with blanks around them and in any case, and not as the start of a longer text."""
    assert not has_failed({"error": empty})
    assert has_failed({"error": f"{empty} of the servers answered " * 100_000})
