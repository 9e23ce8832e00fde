"""What values of the right type leave to do: texts in comparisons, functions of texts, texts in calculations."""

import json
import random
from decimal import Decimal
from pathlib import Path

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
1h 30m|1/2/26|x|2026-01-03|3. Jan. 2026|10:20:30|263ms|9:05|14-Mar-25|Łódź|00.000|2026-05-01
2h 30m|3/4/26|1|tbd|4. März 2026|11:20:30|7ms|10:30|2-Feb-26|ŁÓDŹ|00.500|2026-05-02
3h|5/6/26|y|2026-01-04|5. Mai 2026|11:20:30|1.250s|DNF|30-Nov-99|łódź|01.000|2026-05-03
45m|5/6/26|y|2026-01-04|5. Februar 2026|11:20:30|263ms|1:00:30|1-Jan-26|ZÜRICH|02.000|2026-05-04
1h|5/6/26|y|2026-01-04|5. Februar 2026|11:20:30|1.250s|59:00|15-Mar-25|zürich|03.000|2026-05-05
2h 1m|5/6/26|y|2026-01-04|5. Februar 2026|11:20:30|1.750s|8:00|1-May-25|Zug|04.250|2026-05-06
"""
for at, (row, line) in enumerate(zip(ROWS, MORE.strip().splitlines(), strict=True)):
    names = ("long", "tag", "word", "mixed", "deutsch", "time", "secs", "lap", "short", "Ort.Ä", "frac", "dt")
    row |= dict(zip(names, line.split("|"), strict=True))
    row["frac"], row["whole"] = f"2026-05-01T10:00:{row['frac']}Z", f"2026-05-0{at + 1}T10:00:00.000Z"
    row["month"], row["minute"], row["eth"] = f"2026-0{at + 1}", f"2026-01-31 1{at}:05", f"0.{10**17 + at}"
    row["utc"], row["rand"] = f"2026-01-0{at + 1} 10:00:00+00:00", f"R {10**at} 000.50"
    row["dash"], row["micro"] = f"{at + 13}-02-2026 10:00:00", f"2026-01-31 1{at}:00:00.{at}00250"
    row["digits"], row["sec"] = [*range(20260103, 20260108), None][at], 1_700_000_000 + 86_400 * at
    row["stamp"], row["plz"], row["third"] = 1_700_000_000_000 + 86_400_000 * at, f"0{at + 1}234", str(at / 3)
    row["moon"], row["quart"] = "AprMayJunJulAugSep"[3 * at :][:3], f"Q{(at + 3) % 4 + 1} {2023 + (at + 3) // 4}"
    row["few"], row["who"], row["area"] = ("NA", str(at))[at > 3], ("NA", "Ann")[at > 3], ("NA", "EMEA")[at > 3]
CASES = json.loads(Path(__file__).with_name("typed_statements.json").read_text("utf-8"))
IMAGE = image_of({"rows": iter_columns(ROWS)})


def answer(sql, image=IMAGE):
    return RowDatabase({"2abcdefghjk": image}).query(sql, max_rows=100, max_seconds=5)


def ask(sql, rows):
    return answer(sql, image_of({"rows": iter_columns(rows)})).rows


@pytest.mark.parametrize(("condition", "found"), CASES["conditions"])
def test_conditions(condition, found):
    """What is written in a condition, as a stub shows it or as a number or date, is found."""
    assert "".join(row[0] for row in answer(f"SELECT c FROM rows r WHERE {condition} ORDER BY c").rows) == found


@pytest.mark.parametrize(("order", "found"), CASES["orders"])
def test_orders(order, found):
    """Rows are in the order of what their cells mean."""
    assert "".join(row[0] for row in answer(f"SELECT c FROM rows ORDER BY {order}").rows) == found


@pytest.mark.parametrize(("sql", "values"), CASES["values"])
def test_what_can_be_calculated_is(sql, values):
    """Numbers of every origin are calculated with, and texts that are plain numbers as well."""
    assert [row[0] for row in answer(sql).rows] == values


@pytest.mark.parametrize(("expression", "value"), CASES["foreign"])
def test_words_of_other_databases(expression, value):
    """A call that other databases have is answered as they do, also within another one, and a text stays what it is."""
    assert answer(f"SELECT {expression}").rows == [[value]]


DEEP = (f"SELECT {'CASE 1 WHEN 1 THEN ' * 400}1{' END' * 400}", "nests too deep")


@pytest.mark.parametrize(("sql", "said"), [*CASES["refusals"], DEEP])
def test_what_cannot_be_answered_says_what_to_write(sql, said):
    """A text is never calculated with by the digits in front, and a comparison that means nothing is refused."""
    with pytest.raises(QueryError) as caught:
        answer(sql)
    assert said in str(caught.value)


@pytest.mark.parametrize(("cells", "texts", "other"), CASES["notations"].values(), ids=CASES["notations"])
def test_a_text_is_compared_by_what_it_means_in_every_position(cells, texts, other):
    """However a value is written and wherever, its row is found, and a text that is no value is told."""
    image = image_of({"rows": iter_columns([{"k": k, "c": cell} for k, cell in enumerate(cells)])})
    for position, kind in CASES["positions"].items():
        wrong = []
        for text in [text for text in texts if other or "'?'" not in position]:
            due = kind
            try:
                found = answer(f"SELECT k FROM rows r WHERE {position.replace('{}', repr(text))}", image).rows
            except QueryError as error:
                found = [] if "not '?'" in str(error) else str(error)
                due = "none" if found == [] else kind
            wrong += [(text, found)] * (found != {"same": [[0]], "other": [[1], [2], [3]], "none": []}[due])
        assert not wrong, position
    for sign in ("=", "<>", "IN") if other else ():
        try:
            said = " ".join(answer(f"SELECT k FROM rows WHERE c {sign} ('{other}')", image).notes)
        except QueryError as error:
            said = str(error)
        assert f"not '{other}'" in said or "as written" in said


def test_names_of_results_are_those_of_the_statement():
    """A result's column is named by the expression that the model wrote, whatever it became."""
    names = ["lower(price)", "fee > '5 €'", "strftime('%Y', day) - 1", "price"]
    assert answer(f"SELECT {', '.join(names)} FROM rows").columns == names


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
        assert sql[:1] in TypedStatement(sql, {}).written(lambda _: False)


def test_notes_name_the_columns_of_the_statement_alone():
    """A note says what a column holds here, what was left out, where it is as written, and which sum means nothing."""
    assert answer("SELECT c FROM rows WHERE n > 1").notes == ["n: 'N/A' are NULL"]
    assert answer("SELECT c FROM rows ORDER BY rand").notes == ["rand holds texts, in which '10' is less than '9'."]
    assert answer("SELECT rand FROM rows ORDER BY CAST(replace(substr(rand, 3), ' ', '') AS REAL), lap").notes == []
    assert answer("WITH t AS (SELECT odd AS v FROM rows) SELECT sum(v) FROM t").notes == [
        "odd: 1 of 6 cells is not a number ('abc'), NULL here and left out of figures; as written ('1') in \"odd#text\""
    ]
    assert answer("SELECT day, fee FROM rows").notes == [
        "day: ISO dates here; as written ('Jan 3, 2026') in \"day#text\"",
        "fee: numbers in €; a comma marks the decimals; as written ('300,25 €') in \"fee#text\"",
    ]
    remarks = {
        "sum(ok) / 2": "sum(ok) / 2 drops the rest: write 1.0 * a / b", "n + 0.5 / 2": "", "n / 2": "",
        "count(c = 'a')": "write sum(condition)", "count(who)": "'NA' counts as NULL in who", "at >= '2026-01-31'": "",
        "at <= '2026-01-31'": "'2026-01-31' is its first moment", "day = '2026-01'": "'2026-01' is its first moment",
    }  # fmt: skip
    for expression, remark in remarks.items():
        said = " ".join(answer(f"SELECT {expression} FROM rows").notes)
        assert remark in said
        assert bool(remark) == any(word in said for word in ("write", "its", "counts as NULL"))
    either = image_of({"rows": iter_columns([{"d": "03/04/2026"}, {"d": "01/02/2026"}])})
    assert "01/02/2026 may be two days" in answer("SELECT d FROM rows", either).notes[0]
    parts = [("x", 900), ("y", 1100), ("Sum A", 2000), ("z", 5), ("Sum B", 5), ("Total", 2005)]
    totals = image_of({"rows": iter_columns([{"a": name, "n": n} for name, n in parts])})
    asked = answer('SELECT sum(n), (SELECT group_concat(a) FROM "rows#apart") FROM rows', totals)
    assert asked.rows == [[2005, "Sum A,Sum B,Total"]]
    assert 'rows 2, 4, 5; they are in "rows#apart"' in asked.notes[0]
    ids = image_of({"rows": iter_columns([{"user_id": "9"}, {"user_id": "010"}])})
    assert 'CAST("user_id" AS INTEGER)' in answer("SELECT max(user_id) FROM rows", ids).notes[0]
    assert answer("SELECT user_id FROM rows", ids).notes == []
    ages = image_of({"rows": iter_columns([{"age": 7 * age % 50, "cost": age} for age in range(20)])})
    (note,) = answer("SELECT sum(r.age), sum(cost) FROM rows r", ages).notes
    assert "age seems to hold levels" in note
    assert not answer("SELECT avg(age), sum(cost * age) FROM rows", ages).notes


def test_names_beside_names_of_the_rows():
    """A name that is taken is numbered, found as it is written, and the note names the column that is there."""
    image = image_of({"rows": iter_columns([{"P": "$1.00", "p": "$2,000.00", "p#text": 7}])})
    assert image.names.tables["rows"] == ["P", "P#text", "p_2", "p_2#text", "p#text_2"]
    assert answer("SELECT r.p + P FROM rows r", image).rows == [[2001]]
    (note,) = answer("SELECT p_2 FROM rows", image).notes
    assert note == "p_2: p is `p_2` here, beside P; numbers in $; as written ('$2,000.00') in \"p_2#text\""


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
