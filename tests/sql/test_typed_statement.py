"""What values of the right type leave to do: texts in comparisons, functions of texts, texts in calculations."""

import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import RowDatabase
from adk_context_pack.sql.guard import hint_for
from adk_context_pack.sql.load_image import image_of
from adk_context_pack.sql.typed_statement import TypedStatement
from adk_context_pack.tables.columns import iter_columns

NAMES = ("c", "price", "n", "odd", "version", "cents", "day", "slash", "zone", "fee", "zip", "release")
CELLS = """
a|$950|1|1|3.10|0.10|Jan 3, 2026|03/01/2026|2026-01-01T01:00Z|300,25 €|007|1.9.0
b|$870|2|2|3.1|0.20|Dec 5, 2025|25/12/2025|2026-01-01T02:00-08:00|7,00 €|12|1.10.0
c|$640|N/A|abc|3.9|0.30|Feb 1, 2024|01/02/2024|2026-01-01T03:00+02:00|2.000,75 €|30|1.10.0-rc1
d|$1,250|4|4|3.11|0.10|Mar 9, 2025|09/03/2025|2026-01-01T04:00Z|99,5 €|41|2.0.0
e|$12,480|5|5|3.1|0.20|Apr 2, 2026|02/04/2026|2026-01-01T05:00+05:00|12 €|52|1.2.11
f|N/A|6|6|3.2|0.30||05/05/2020|2026-01-01T06:00+09:00|1 €|63|1.2.9
"""
ROWS = [
    dict(zip(NAMES, line.split("|"), strict=True)) | {"ok": ok, "data": data, "at": f"2026-01-31T1{at}:00:00Z"}
    for at, (line, ok, data) in enumerate(
        zip(
            CELLS.strip().splitlines(),
            [True, False, True, True, None, False],
            ['{"q": "2,500", "n": "3"}', '{"q": "1", "n": "4"}', "{}", "{}", "{}", "{}"],
            strict=True,
        ),
        1,
    )
]
MORE = """
1h 30m|1/2/26|x|2026-01-03|3. Jan. 2026|10:20:30|263ms
2h 30m|3/4/26|1|tbd|4. März 2026|11:20:30|7ms
3h|5/6/26|y|2026-01-04|5. Mai 2026|11:20:30|1.250s
45m|5/6/26|y|2026-01-04|5. Februar 2026|11:20:30|263ms
1h|5/6/26|y|2026-01-04|5. Februar 2026|11:20:30|1.250s
2h 1m|5/6/26|y|2026-01-04|5. Februar 2026|11:20:30|1.750s
"""
for at, (row, line) in enumerate(zip(ROWS, MORE.strip().splitlines(), strict=True)):
    row |= dict(zip(("long", "tag", "word", "mixed", "deutsch", "time", "secs"), line.split("|"), strict=True))
    row["month"] = f"2026-0{at + 1}"
    row["stamp"] = 1_700_000_000_000 + 86_400_000 * at
IMAGE = image_of({"rows": iter_columns(ROWS)})


def answer(sql, image=IMAGE):
    return RowDatabase({"2abcdefghjk": image}).query(sql, max_rows=100, max_seconds=5)


def ask(sql, rows):
    return answer(sql, image_of({"rows": iter_columns(rows)})).rows


@pytest.mark.parametrize(("condition", "found"), [
    ("price = '$1,250'", "d"), ("price = '1250.00' OR price = 870", "bd"), ("price IN ('$640', 'N/A')", "cf"),
    ("price LIKE '$1%'", "de"), ("price GLOB '*,*'", "de"), ("lower(r.price) = '$950'", "a"),
    ("instr(price, ',') > 0", "de"), ("length(price) = 4", "abc"), ("price > '$900'", "ade"),
    ("'$900' < price AND price < 2000", "ad"), ("price BETWEEN '$800' AND '$1,000'", "ab"),
    ("price COLLATE NOCASE > 900", "ade"), ("replace(price, '$', '') > 900", "ade"),
    ("coalesce(price, '') LIKE '%80'", "e"), ("CASE price WHEN '$870' THEN 1 ELSE 0 END", "b"),
    ("price * 2 > '$2,000'", "de"), ("price IS NULL", "f"), ("price <> ''", "abcde"), ("odd = 'abc'", "c"),
    ("odd > 3", "def"), ("n = '2'", "b"), ("c = '$1,250' OR c > 'd'", "ef"), ("fee > '99,5 €'", "ac"),
    ("fee > (SELECT avg(fee) FROM rows)", "c"), ("fee = (SELECT max(fee) FROM rows)", "c"),
    ("day >= '2026-01-01'", "ae"), ("day > 'Dec 5, 2025'", "ae"), ("day LIKE 'Jan%' OR day LIKE '2025-12%'", "ab"),
    ("slash < '01/01/2025'", "cf"), ("date(slash) = '25/12/2025'", "b"), ("slash > date('31/12/2025')", "ae"),
    ("zone > '2026-01-01T01:00:00Z'", "bd"),
    ("at LIKE '2026-01-31T1%' AND at > '2026-01-31T11:00:00Z' AND at < datetime('2026-01-31 14:00')", "bc"),
    ("zone >= datetime('2026-01-01', '+1 hour')", "abcd"), ("ok = 'true'", "acd"), ("NOT ok", "bf"),
    ("ok LIKE 'f%'", "bf"), ("version > '3.9' AND release > '1.9.0'", "d"), ("strftime('%Y', day) = 2026", "ae"),
    ("substr(c, 1, 1) = 5", ""), ("(SELECT avg(fee) FROM rows WHERE c > 'a') < fee", "c"),
    ("EXISTS (SELECT 1 FROM rows o WHERE o.price > r.price AND o.c < 'e')", "abc"), ("price = '$0.95k'", "a"),
    ("month = '2026-02'", "b"), ("month >= '2026-02-01' AND month < date('2026-04-01')", "bc"),
    ("strftime('%m', day) = '3' OR strftime('%m', day) IN ('01')", "ad"), ("price || '' = '$950'", "a"),
    ("long > '90 min' AND long < '0.1d'", "f"), ("(c, n) IN (SELECT c, max(n) FROM rows GROUP BY c)", "abdef"),
    ("stamp > DATE('2023-11-17')", "def"), ("long > '2h'", "bcf"), ("long = '1h 30m'", "a"),
    ("long < '01:45:00'", "ade"), ("word = 1", "b"), ("tag = '1/2/26'", "a"), ("tag LIKE '%26' AND c < 'b'", "a"),
    ("deutsch >= '2026-03-01'", "bc"),
])  # fmt: skip
def test_conditions(condition, found):
    """What is written in a condition, as a stub shows it or as a number or date, is found."""
    assert "".join(row[0] for row in answer(f"SELECT c FROM rows r WHERE {condition} ORDER BY c").rows) == found


@pytest.mark.parametrize(("order", "found"), [
    ("price", "fcbade"), ("replace(price, '$', '')", "fcbade"), ("lower(price) DESC", "edabcf"),
    ("price COLLATE NOCASE", "fcbade"), ("day", "fcdbae"), ("slash DESC", "eabdcf"), ("zone, c", "feacdb"),
    ("version, c", "befcad"), ("CASE WHEN c > 'a' THEN price END DESC", "edbcaf"),
])  # fmt: skip
def test_orders(order, found):
    """Rows are in the order of what their cells mean."""
    assert "".join(row[0] for row in answer(f"SELECT c FROM rows ORDER BY {order}").rows) == found


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT sum(price * n) FROM rows", [70_090]), ("SELECT max(price) - min(price) FROM rows r", [11_840]),
        ("SELECT max(lower(price)) FROM rows", [12_480]), ("SELECT sum(cents) FROM rows", [1.2]),
        ("SELECT \"price#text\" FROM rows WHERE c > 'd'", ["$12,480", "N/A"]),
        ("SELECT replace(price, '$', 'USD ') FROM rows WHERE c = 'd'", ["USD 1,250"]),
        ("WITH t(v, k) AS (SELECT price, n FROM rows) SELECT sum(t.v * k) FROM t", [70_090]),
        ("WITH t(v) AS (SELECT price FROM rows), u(w) AS (SELECT v FROM t) SELECT 1 + max(w) FROM u", [12_481]),
        ("SELECT v % 7 FROM (SELECT price AS v FROM rows WHERE c = 'a' UNION SELECT fee FROM rows LIMIT 2)", [1, 0]),
        ("SELECT CAST(price || '' AS REAL) FROM rows WHERE c = 'a'", [950.0]),
        ("SELECT CAST(replace(replace(fee, '.', ''), ',', '.') AS REAL) FROM rows WHERE c = 'c'", [2000.75]),
        ("SELECT CAST(substr(price, 2) AS INTEGER) FROM rows WHERE c = 'e'", [12_480]),
        ("SELECT CAST(zip AS INTEGER) + 1 FROM rows WHERE c = 'a'", [8]),
        ("SELECT printf('%s: %.1f%%', c, fee) FROM rows WHERE c = 'd'", ["d: 99.5%"]),
        ("SELECT strftime('%Y', day) - 1 FROM rows WHERE c < 'c'", [2025, 2024]),
        ("SELECT sum(data ->> '$.n') FROM rows", [7]),
        ("SELECT json_extract(data, '$.n') * n FROM rows WHERE c < 'c'", [3, 8]),
        ("SELECT CAST(replace(data ->> '$.q', ',', '') AS REAL) / 2 FROM rows WHERE c = 'a'", [1250.0]),
        ("SELECT count(*) FROM rows WHERE (n, c) IN ((2, 'b'), (3, 'x'))", [1]),
        ("SELECT sum(n) OVER w - n FROM rows WHERE c < 'c' WINDOW w AS (ORDER BY c)", [0, 1]),
        ("SELECT sum(n) FILTER (WHERE c = 'a') OVER (ORDER BY c) * 2 FROM rows LIMIT 1", [2]),
        ("SELECT 5 -- price * 2\n - 3", [2]), ("SELECT max(n, 2.5) FROM rows WHERE c < 'c'", [2.5, 2.5]),
        ("SELECT date(slash, '+1 day') FROM rows WHERE c = 'b'", ["2025-12-26"]),
        ("SELECT group_concat(ok) FROM rows", ["1,0,1,1,0"]),
        ("SELECT CAST(day AS DATE) FROM rows WHERE c = 'a'", ["2026-01-03"]),
        ("SELECT CAST(at AS TIMESTAMP) FROM rows WHERE c = 'a'", ["2026-01-31 11:00:00"]),
        ("SELECT CAST(c AS STRING) || CAST(c AS VARCHAR(9)) FROM rows WHERE c = 'a'", ["aa"]),
        ("SELECT date(mixed) FROM rows WHERE c < 'd'", ["2026-01-03", None, "2026-01-04"]),
        ("SELECT sum(secs) FROM rows", [4783]),
    ],
)  # fmt: skip
def test_what_can_be_calculated_is(sql, values):
    """Numbers of every origin are calculated with, and texts that are plain numbers as well."""
    assert [row[0] for row in answer(sql).rows] == values


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT CASE WHEN n > 0 THEN c END * 2 FROM rows", "is text such as 'a'"),
        ("SELECT data ->> '$.q' * 2 FROM rows", "is text such as '2,500'"),
        ("SELECT sum(CAST(replace(c, '$', '!') AS REAL)) FROM rows", "is text such as 'a'"),
        ("SELECT count(*) FROM rows WHERE substr(c, 1, 1) < 5", "is text such as 'a'"),
        ("SELECT max(day) - min(day) FROM rows", "Write julianday(b) - julianday(a)"),
        ("SELECT sum(version) FROM rows", '"version" holds texts'),
        ("SELECT 1 FROM rows WHERE price > '€5'", "not '€5'"),
        ("SELECT 1 FROM rows WHERE secs > '1 us'", "not '1 us'"),
        ("SELECT 1 FROM rows WHERE n = 'N/A'", "Write IS NULL"),
        ("SELECT 1 FROM rows WHERE c = 'a' OR 'b'", "x = 'b'"), ("SELECT 1 FROM rows WHERE n = 3 OR 5", "x = 5"),
        ("SELECT 1 FROM rows ORDER BY 'n'", 'Write "n"'), ("SELECT 1 FROM rows WHERE 'n' = '2'", 'Write "n"'),
        ("SELECT avg(c) FROM rows", '"c" holds texts'), ("SELECT CAST(c AS SMALLINT) FROM rows", "such as 'a'"),
        ("SELECT 1 FROM rows WHERE NOT c", "\"c\" = 'the text'"), ("SELECT 1 FROM rows WHERE c AND n", '"c" <> '),
        ("SELECT iif(c, 1, 2) FROM rows", '"c" <> '), ("SELECT CASE WHEN c THEN 1 END FROM rows", '"c" <> '),
        ("SELECT 1 FROM rows WHERE c IS TRUE", '"c" <> '), ("SELECT 1 FROM rows WHERE c = 1", '"c" <> '),
        ("SELECT 1 FROM rows WHERE 1 < n < 5", "a < b AND b < c"), ("SELECT 1 FROM rows WHERE n = NULL", "IS NULL"),
        ("SELECT c[0] FROM rows", "json_extract(x, '$[0]')"), ("SELECT date(tag) FROM rows", "substr(x, 7, 4)"),
        ("SELECT 1 FROM rows WHERE tag > '2026-01-01'", "'1/2/26'"),
        ("SELECT stamp = date('now') FROM rows", "date(stamp)"),
        ("SELECT sum(CAST(time AS REAL)) FROM rows", "unixepoch('1970-01-01 ' || x)"),
        ("SELECT c FROM rows WHERE price > 'cheap'", "\"price\" holds numbers, not 'cheap'. Compare it with a number."),
        ("WITH t(v) AS (SELECT day FROM rows) SELECT v FROM t WHERE v = 'soon'", "holds ISO dates, not 'soon'"),
        ("WITH t(v) AS (SELECT price FROM rows) SELECT v FROM t WHERE v LIKE '$%'", 'Select "price#text" for what'),
        (f"SELECT {'CASE 1 WHEN 1 THEN ' * 400}1{' END' * 400}", "nests too deep"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_says_what_to_write(sql, said):
    """A text is never calculated with by the digits in front, and a comparison that means nothing is refused."""
    with pytest.raises(QueryError) as caught:
        answer(sql)
    assert said in str(caught.value)


def test_names_of_results_are_those_of_the_statement():
    """A result's column is named by the expression that the model wrote, whatever it became."""
    assert answer("SELECT lower(price), fee > '5 €', strftime('%Y', day) - 1, price FROM rows").columns == [
        "lower(price)",
        "fee > '5 €'",
        "strftime('%Y', day) - 1",
        "price",
    ]


def test_what_was_written_and_an_inner_query_leaves_out():
    """Naming it outside of an inner query that selects the numbers alone says what to add to it."""
    with pytest.raises(QueryError) as caught:
        answer('SELECT q."price#text" FROM (SELECT price FROM rows) q')
    assert 'add "price#text" to its SELECT' in hint_for(str(caught.value), [IMAGE.names])


def test_an_unfinished_statement_is_left_to_sqlite():
    """Text that is not a statement is written back without an error."""
    parts = (
        "SELECT (n * ", "SELECT n) * 2", "END * END", "* - + %", "CASE n", "x OVER", "a ->> ", "- -", "f( AS", "x.",
    )  # fmt: skip
    for sql in (*parts, "", "WITH t(", "WITH t AS", "a IN (", "a BETWEEN", "NOT", "CAST(x", "a COLLATE", "a NOT IN"):
        assert sql[:1] in TypedStatement(sql, [], lambda *_: None).written(lambda _: False)


def test_notes_name_the_columns_of_the_statement_alone():
    """A note says what a column holds here, what was left out, where it is as written, and which sum means nothing."""
    assert answer("SELECT c FROM rows WHERE n > 1").notes == ["n: 'N/A' are NULL"]
    assert answer("WITH t AS (SELECT odd AS v FROM rows) SELECT sum(v) FROM t").notes == [
        "odd: 1 of 6 cells is not a number ('abc'), NULL here and left out of figures; as written ('1') in \"odd#text\""
    ]
    assert answer("SELECT day, fee FROM rows").notes == [
        "day: ISO dates here; as written ('Jan 3, 2026') in \"day#text\"",
        "fee: numbers in €; a comma marks the decimals; as written ('300,25 €') in \"fee#text\"",
    ]
    remarks = {
        "sum(ok) / count(*)": "sum(ok) / count(*) drops the rest: write 1.0 * a / b",
        "count(c = 'a')": "write sum(condition)", "at <= '2026-01-31'": "'2026-01-31' is its first moment",
        "day = '2026-01'": "'2026-01' is its first moment", "n + 0.5 / 2": "", "n / 2": "", "at >= '2026-01-31'": "",
    }  # fmt: skip
    for expression, remark in remarks.items():
        assert remark in " ".join(answer(f"SELECT {expression} FROM rows").notes)
        assert bool(remark) == any(
            word in str(answer(f"SELECT {expression} FROM rows").notes) for word in ("write", "its")
        )
    either = image_of({"rows": iter_columns([{"d": "03/04/2026"}, {"d": "01/02/2026"}])})
    assert "01/02/2026 may be two days" in answer("SELECT d FROM rows", either).notes[0]
    totals = image_of({"rows": iter_columns([{"a": name} for name in ("x", "y", "z", "Total")])})
    assert answer("SELECT count(*) FROM rows", totals).notes[0].endswith("leave it out by WHERE \"a\" <> 'Total'")
    ids = image_of({"rows": iter_columns([{"user_id": "9"}, {"user_id": "010"}])})
    assert 'CAST("user_id" AS INTEGER)' in answer("SELECT max(user_id) FROM rows", ids).notes[0]
    assert answer("SELECT user_id FROM rows", ids).notes == []
    ages = image_of({"rows": iter_columns([{"age": 7 * age % 50, "cost": age} for age in range(20)])})
    (note,) = answer("SELECT sum(r.age), sum(cost) FROM rows r", ages).notes
    assert "age seems to hold levels" in note
    assert not answer("SELECT avg(age), sum(cost * age) FROM rows", ages).notes


def test_names_beside_names_of_the_rows():
    """A name that is taken is numbered, and the note names the column that is there."""
    image = image_of({"rows": iter_columns([{"P": "$1.00", "p": "$2,000.00", "p#text": 7}])})
    assert image.names.tables["rows"] == ["P", "P#text", "p_2", "p_2#text", "p#text_2"]
    notes = answer("SELECT p_2 FROM rows", image).notes
    assert notes == ["p_2: p is `p_2` here, beside P; numbers in $; as written ('$2,000.00') in \"p_2#text\""]


@given(
    st.lists(
        st.one_of(
            st.integers(-(10**6), 10**6).map(str),
            st.decimals(-1000, 1000, places=2).map(str),
            st.decimals(-10, 10, places=5).map(str),
            st.floats(-1e9, 1e9).map(repr),
            st.sampled_from(["-0", "1e5", "2.0", "+5", "5.", ".5", "0.10", "9007199254740993", "-9223372036854775808"]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_every_number_can_be_read_as_it_was_written(texts):
    """Where numbers are not written as SQLite writes them, the column beside them has the texts."""
    image = image_of({"rows": iter_columns([{"x": text} for text in texts])})
    beside = '"x#text"' in " ".join(answer("SELECT x FROM rows", image).notes)
    found = answer('SELECT "x#text" FROM rows' if beside else "SELECT x FROM rows", image).rows
    assert [str(row[0]) for row in found] == texts


FORMATS = [
    lambda value: f"{value:,}",
    lambda value: f"${value:,}" if value >= 0 else f"(${-value:,})",
    lambda value: f"{value} EUR",
    lambda value: f"  {value}  ",
    lambda value: f"{value:,}".translate(str.maketrans(",.", ".,")),
    str,
    lambda value: f"{value}%",
]


@pytest.mark.parametrize("seed", range(120))
def test_generated_columns_agree_with_decimal(seed):
    """Sums, means, orders and conditions over generated columns are those of `decimal`."""
    made = random.Random(seed)
    write = made.choice(FORMATS)
    values = [Decimal(made.randint(-(10**6), 10**8)).scaleb(-2) for _ in range(made.randint(4, 60))]
    cells = [write(value) if made.random() < 0.9 or not index else made.choice(["N/A", "", "--", None])
             for index, value in enumerate(values)]  # fmt: skip
    known = {cell: value for cell, value in zip(cells, values, strict=True) if cell not in ("N/A", "", "--", None)}
    present = [known[cell] for cell in cells if cell in known]
    rows = [{"x": cell, "k": index % 3} for index, cell in enumerate(cells)]
    ((total, count, mean, nulls),) = ask("SELECT sum(x), count(x), avg(x), sum(x IS NULL) FROM rows", rows)
    assert Decimal(str(total)) == sum(present)
    assert (count, nulls) == (len(present), len(cells) - len(present))
    assert mean == pytest.approx(float(sum(present) / len(present)), rel=1e-12)
    limit = made.choice(present)
    ((above,),) = ask(f"SELECT count(*) FROM rows WHERE x > {limit}", rows)
    assert above == sum(value > limit for value in present)
    ordered = [row[0] for row in ask("SELECT x FROM rows WHERE x IS NOT NULL ORDER BY x", rows)]
    assert [Decimal(str(cell)) for cell in ordered] == sorted(present)
