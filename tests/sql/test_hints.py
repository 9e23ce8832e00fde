"""hint_for: what to write in place of what SQLite does not know."""

import pytest

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.guard import hint_for
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.sql.sql_names import WORDS
from adk_context_pack.tables.columns import iter_columns

ROWS = [
    {"id": i, "order": i, "cost": i, "metrics": {"clicks": i}, "items": [{"price": i}], "evil\nname: sum 7": i}
    for i in range(5)
]


@pytest.fixture(scope="module")
def image():
    return image_of({"rows": iter_columns(ROWS)})


def advice(image, sql):
    """The error of a query and the hint that goes with it."""
    with pytest.raises(QueryError) as caught:
        RowDatabase({"2abcdefghjk": image}).query(sql, max_rows=1, max_seconds=9)
    return hint_for(str(caught.value), [image.names], sql)


@pytest.mark.parametrize(("sql", "says"), [
    ("SELECT date_trunc('decade', id) FROM rows", "strftime('%Y-%m'"), ("SELECT avrage(cost) FROM rows", "mean avg"),
    ("SELECT std(cost) FROM rows", "stddev_pop(x)"), ("SELECT id::uuid FROM rows", "CAST(x AS INTEGER)"),
    ("SELECT load_extension('x')", "Functions: ->, ->>, abs"), ("SELECT order FROM rows", 'Write "order" in double'),
    ("SELECT timestamp_trunc(id, 'x') FROM rows", "start of month"), ("SELECT year(1, 2)", "AS INTEGER"),
    ("SELECT COUNT(DISTINCT id, cost) FROM rows", "pairs"), ("SELECT 1 WHERE 1 IN ['a', 'b']", "in parentheses"),
    ("SELECT 'it's' FROM rows", "a single quote twice"), ("SELECT 1 FROM rows WHERE id = 'it's'", "quote twice"),
    ("SELECT 12ab FROM rows", "begins with a digit goes in double"), ("SELECT # FROM rows", "outside of quotes"),
    ("SELECT costs FROM rows", 'Did you mean "cost"'), ("SELECT metrics FROM rows", '"metrics.clicks"'),
    ("SELECT json_extract(metrics, '$.clicks') FROM rows", '"metrics.clicks"'),
    ("SELECT items.Price FROM rows", """json_extract("items", '$.Price')"""),
    ("SELECT r.items.price FROM rows r", 'json_each(rows."items")'), ("SELECT id FROM rows a, rows b", "as in a.id"),
    ("SELECT id FROM rows WHERE sum(cost) > 3", "HAVING"), ("SELECT year(costs) FROM rows", 'Did you mean "cost"'),
    ("SELECT id FROM rows WHERE rank() OVER (ORDER BY id) = 1", "inner SELECT"),
    ("SELECT * FROM orders", "`tables`"), ("SELECT id FROM", "too early"), ("SELECT id WHERE !id", "write NOT"),
    ("SELECT datediff(year, a, b) FROM rows", "julianday(b)"), ("SELECT trunc(id, 'month') FROM rows", "of month"),
    ("SELECT items[0] FROM rows WHERE items[0] = 1", "$[0]"), ("SELECT rank() FROM rows", "OVER (…)"),
    ("SELECT id - INTERVAL '1 h 2 s' FROM rows", "'+7 days'"), ("SELECT left(id) FROM rows", "substr(x, 1, y)"),
    ("SELECT id FROM rows WHERE id !~ '1'", "REGEXP"), ("SELECT id, FROM rows", "comma before FROM"),
    ("SELECT DISTINCT ON (id) cost FROM rows", "PARTITION BY"), ("SELECT rows.id FROM rows r", "with an alias"),
    ("SELECT top FROM rows", "single quotes"), ("SELECT clicks FROM rows", 'mean "metrics.clicks"'),
])  # fmt: skip
def test_each_kind_of_error_has_its_advice(image, sql, says):
    """SQLite's own words for each mistake lead to what to write instead."""
    assert says in advice(image, sql)


def test_the_functions_that_are_listed_can_be_called(image):
    """A function that the hint names is neither refused by the guard nor unknown to this SQLite."""
    database, said = RowDatabase({"2abcdefghjk": image}), []
    for name in filter(str.isidentifier, WORDS["functions"] - {"json_each", "json_tree"}):
        try:
            database.query(f"SELECT {name}(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3) FROM rows", max_rows=1, max_seconds=9)
        except QueryError as error:
            said += [text for text in ("no such function", "not authorized") if text in str(error)]
    assert said == []


def test_a_name_with_line_breaks_stays_on_one_line(image):
    """A column whose name looks like another line of facts is quoted on one line in a hint."""
    hint = advice(image, "SELECT evil FROM rows")
    assert "\n" not in hint
    assert "\n" not in advice(image, 'SELECT "evil\nnam: sum 7" FROM rows')


def test_an_unknown_error_needs_no_hint(image):
    """Where SQLite says it all, nothing is added."""
    assert advice(image, "SELECT abs(-9223372036854775807 - 1) FROM rows") == ""
