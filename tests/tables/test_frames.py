"""Frames, series, arrays and scalars of other libraries are read as rows without their libraries being imported."""

import datetime as dt
import subprocess
import sys

import pytest

from adk_context_pack.tables.columns import frame_rows, plain_cell, without_frames
from adk_context_pack.tables.find_tables import find_tables, replace_rows

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
numpy = pytest.importorskip("numpy")
DATA = {"city": ["Oslo", "Bergen", None], "visits": [12, 7, 31], "share": [0.24, None, 0.62]}
ROWS = [
    {"city": "Oslo", "visits": 12, "share": 0.24},
    {"city": "Bergen", "visits": 7, "share": None},
    {"city": None, "visits": 31, "share": 0.62},
]


def test_frames_are_rows():
    """A frame of pandas and one of polars give the same rows, and missing cells are None."""
    assert frame_rows(pandas.DataFrame(DATA)) == ROWS
    assert frame_rows(polars.DataFrame(DATA)) == ROWS


def test_all_of_pyarrow_is_read():
    """Columns of one name are both there, and batches, arrays and scalars give Python's own values."""
    pyarrow = pytest.importorskip("pyarrow")
    twice = pyarrow.table([[1, None], ["x", "y"]], names=["a", "a"])
    assert frame_rows(twice) == [{"a": 1, "a_2": "x"}, {"a": None, "a_2": "y"}]
    assert frame_rows(pyarrow.table(DATA).to_batches()[0]) == ROWS
    assert frame_rows(pyarrow.chunked_array([[1], [None, 3]])) == [1, None, 3]
    assert without_frames({"n": pyarrow.scalar(5), "m": [pyarrow.scalar(None)]}) == {"n": 5, "m": [None]}


def test_an_index_with_a_name_is_a_column():
    """What pandas keeps beside the columns is not lost, and the count of the rows is not a column."""
    frame = pandas.DataFrame(DATA).dropna()
    assert frame_rows(frame.set_index("city"))[0] == {"city": "Oslo", "visits": 12, "share": 0.24}
    assert frame_rows(frame.groupby(["city", "visits"]).sum())[0] == {"city": "Oslo", "visits": 12, "share": 0.24}
    assert frame_rows(frame[["visits"]].set_axis(["x"], axis=0))[0] == {"index": "x", "visits": 12}


def test_columns_in_levels_are_dotted():
    """Columns with two levels of names have both in their name, and two of one name are both there."""
    frame = pandas.DataFrame([[1, 2]], columns=pandas.MultiIndex.from_tuples([("cost", "sum"), ("cost", "")]))
    assert frame_rows(frame) == [{"cost.sum": 1, "cost": 2}]
    assert frame_rows(pandas.DataFrame([[1]], columns=["k"], index=[3]).rename_axis("k")) == [{"k": 3, "k_2": 1}]


def test_series_and_arrays_are_lists():
    """A series gives its values, with its index where that has names; an array gives nested lists."""
    assert frame_rows(pandas.Series([1, 2])) == [1, 2]
    assert frame_rows(pandas.Series([1, 2], index=["a", "b"], name="n")) == [
        {"index": "a", "n": 1},
        {"index": "b", "n": 2},
    ]
    assert frame_rows(polars.Series([1, None])) == [1, None]
    assert frame_rows(numpy.array([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]


def test_cells_become_json():
    """Moments are ISO texts, numpy's scalars are Python's numbers, and missing moments are None."""
    frame = pandas.DataFrame({"at": [pandas.Timestamp("2026-01-01T10:00"), pandas.NaT], "n": pandas.array([1, None])})
    assert frame_rows(frame) == [{"at": "2026-01-01T10:00:00", "n": 1}, {"at": None, "n": None}]
    assert type(plain_cell(numpy.int64(7))) is int
    assert type(plain_cell(numpy.float32(0.5))) is float
    assert plain_cell(numpy.float64("nan")) is None
    assert plain_cell([numpy.int64(1), {"a": numpy.bool_(True)}]) == [1, {"a": True}]
    assert plain_cell(dt.date(2026, 1, 1)) == "2026-01-01"


def test_a_frame_in_a_result_is_a_table():
    """A frame is found under its key, and fewer rows take its place as plain rows."""
    value = {"status": "ok", "frame": pandas.DataFrame(DATA)}
    (table,) = find_tables(value)
    assert (table.key, table.rows) == ("frame", ROWS)
    assert replace_rows(value, {"frame": ROWS[:1]}) == {"status": "ok", "frame": ROWS[:1]}
    assert find_tables(polars.DataFrame(DATA))[0].rows == ROWS


def test_a_result_without_frames_is_the_same_object():
    """Only a result that holds a frame or a numpy scalar is rewritten."""
    plain = {"rows": ROWS, "n": 1, "text": "x", "tuple": (1, 2)}
    assert without_frames(plain) is plain
    assert without_frames({"n": numpy.int64(3), "rows": ROWS}) == {"n": 3, "rows": ROWS}
    assert without_frames([pandas.DataFrame(DATA), 1]) == [ROWS, 1]
    assert without_frames([numpy.int64(1)] * 200) == [1] * 200
    assert without_frames(pandas.DataFrame(DATA)) == ROWS
    odd = {"value": object()}
    assert without_frames(odd) is odd


def test_no_library_is_imported():
    """Finding tables does not import pandas, polars, pyarrow or numpy."""
    code = (
        "import sys; from adk_context_pack.tables.find_tables import find_tables; find_tables({'rows': [object()]});"
        "assert not {'pandas', 'polars', 'pyarrow', 'numpy'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


@pytest.mark.parametrize("wrap", [lambda inner: {"in": inner}, lambda inner: [inner], lambda inner: [{"in": inner}, 1]])
def test_frames_are_looked_for_to_a_depth(wrap):
    """A frame and a number of numpy are found up to twelve levels deep, and what is deeper stays the same object."""
    number, frame, plain, rows = numpy.int64(7), pandas.DataFrame({"a": [1]}), 7, [{"a": 1}]
    levels = 2 if isinstance(wrap(0), list) and len(wrap(0)) == 2 else 1
    for depth in range(0, 16, levels):
        if depth <= 12:
            assert (without_frames(number), without_frames(frame)) == (plain, rows)
            assert type(without_frames(number)) is type(plain)
        else:
            assert without_frames(number) is number
            assert without_frames(frame) is frame
        number, frame, plain, rows = map(wrap, (number, frame, plain, rows))
