"""The goals for finding tables, on the benchmark's own forms."""

from tests.benchmarks.bench_find_tables import score


def test_nearly_all_forms_are_read_and_nothing_else_is_taken_for_a_table():
    """At least 95 of 100 forms are read and can be queried, and no other text is a table."""
    read, forms, taken, others = score()
    assert forms >= 100
    assert others >= 40
    assert read >= 0.95 * forms
    assert taken == 0
