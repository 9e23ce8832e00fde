"""Dates are put in the order of time, in the notations that people use, and told as they were written."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.tables.moments import is_date_text, read_dates, sorts_as_text


@pytest.mark.parametrize(("values", "low", "high"), [
    (["2022-02-01 2:20:51", "2022-02-01 10:00:00"], "2022-02-01 2:20:51", "2022-02-01 10:00:00"),
    (["Jan 3, 2026", "3 Dec 2025", "2 January 2026"], "3 Dec 2025", "Jan 3, 2026"),
    (["03-Jan-2026", "Sat, 03 Jan 2025 10:15:00 GMT"], "Sat, 03 Jan 2025 10:15:00 GMT", "03-Jan-2026"),
    (["03/Feb/2026:10:15:00 +0100", "3 maart 2025"], "3 maart 2025", "03/Feb/2026:10:15:00 +0100"),
    (["03/04/2026", "13/01/2026"], "13/01/2026", "03/04/2026"), (["8/1/15", "7/27/15", "1/31/99"], "1/31/99", "8/1/15"),
    (["03/04/2026", "01/13/2026"], "01/13/2026", "03/04/2026"),
    (["1/13/2026 1:05 PM", "1/13/2026 12:05 AM"], "1/13/2026 12:05 AM", "1/13/2026 1:05 PM"),
    (["7 мая 2025 г.", "6 maj 2025", "5 marraskuuta 2024"], "5 marraskuuta 2024", "7 мая 2025 г."),  # noqa: RUF001
    (["14-Mar-25", "1-Jan-99", "20250311T205700Z"], "1-Jan-99", "14-Mar-25"),
    (["03.01.25", "30.12.24", "10.01.25", "17.01.25"], "30.12.24", "17.01.25"),
    (["25/01/03 9:30", "24/12/30", "25/01/10", "25/01/17"], "24/12/30", "25/01/17"),
    (["27. 2. 2024", "3. 11. 2023"], "3. 11. 2023", "27. 2. 2024"),
    (["2024-Q1", "2023-Q4"], "2023-Q4", "2024-Q1"), (["2024-10", "2024-9-30"], "2024-9-30", "2024-10"),
    (["Mon Jan  5 10:00:00 2026", "5 janvier 2026 à 9:30", "20260105T0915Z", "2026. 1. 5. 오전 9:10",
      "Sa, 03.01.2026", "05JAN2026", "1. Quartal 2026", "24Q1", "Jan 5 2026 09:20:00 GMT+0000 (UTC)"], "24Q1",
     "Mon Jan  5 10:00:00 2026"), (["2024/01", "2023/12"], "2023/12", "2024/01"),
    (["/Date(1760000000000-0500)/", "/Date(990000000123)/"], "/Date(990000000123)/", "/Date(1760000000000-0500)/"),
    (["5. 1. 2026 9h30", "klo 9.40 05.01.2026"], "5. 1. 2026 9h30", "klo 9.40 05.01.2026"),
    (["Apr 2024", "août 2023", "2024 Mar", "Dezember 2023"], "août 2023", "Apr 2024"),
    (["Q1 2024", "4T23", "KW 9/2024", "H2/2023", "2024M02", "01/2024", "2024年4月"], "H2/2023", "2024年4月"),
    ([f"{month}/1/{year}" for year in (2023, 2024) for month in (1, 4, 7, 10)], "1/1/2023", "10/1/2024"),
    (["2024-03-10T00:00Z", "2024-03-09T23:59+00:00"], "2024-03-09T23:59+00:00", "2024-03-10T00:00Z"),
])  # fmt: skip
def test_order_of_time(values, low, high):
    """The range is that of the moments, with offsets and fractions, in the text that stood there."""
    assert read_dates(values)[:2] == (low, high)


@pytest.mark.parametrize("values", [
    ["03/04/2026", "02/05/2026"], ["13/01/2026", "01/13/2026"], ["2024-01-01", "soon"], ["2024-13-01 "], ["12.5"],
    ["1-Jan-45"], ["13/01/26", "1/13/26"], ["7/27/40"], [], ["03.01.25", "04.02.26"], ["Dec01", "Nov28"],
    ["O1T01", "O1T24"], ["2009/10", "2010/11", "2011/12", "2012/13"], ["Q1.10", "Q2.11"], ["FY24", "FY25"],
    ["Jan 24", "Jan 25", "Feb 2"], ["Q5 2024"], ["KW 54/2024"], ["Marketing 2024"],
])  # fmt: skip
def test_no_order(values):
    """Where day and month cannot be told apart, or a text is not a date, there is no range."""
    assert read_dates(values) is None


MOMENTS = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001  hypothesis takes naive limits
    max_value=datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.integers(-14 * 4, 14 * 4).map(lambda quarter: timezone(timedelta(minutes=15 * quarter))),
)


@given(st.lists(st.one_of(MOMENTS, st.dates(date(1900, 1, 1), date(2100, 1, 1))), min_size=1, max_size=20))
def test_iso_texts_agree_with_python(moments):
    """The first and the last of ISO texts with any offset and fraction are those that Python's moments give."""

    def key(value):
        return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=UTC)

    texts = {value.isoformat(): key(value) for value in moments}
    low, high, *_ = read_dates(texts)
    assert (texts[low], texts[high]) == (min(texts.values()), max(texts.values()))
    assert [key(value) for value in read_dates(moments)[:2]] == [min(texts.values()), max(texts.values())]


def test_texts_that_look_like_dates():
    """Each notation is recognized in one text alone, and numbers, words and times of day are not dates."""
    dates = ["2024-01-01", "1/2/2024", "Jan 3, 2026", "2024-W05", "2024-01-01T10:00:00.123456789Z"]
    others = ["3.10", "12", "2024", "1/2", "January", "10:00", "192.168.1.1", "2024-01-01 or so"]
    assert [*filter(is_date_text, [*dates, *others])] == dates


@pytest.mark.parametrize(("texts", "sorts"), [
    (["2024-01-01", "2023-12-31"], True), (["2024-01-01T00:00:00Z", "2023-12-31T10:00:00Z"], True),
    (["2024-01-01T00:00:00+02:00", "2023-12-31T10:00:00+02:00"], True), ([], True),
    (["2024-01-01T00:00:00+02:00", "2023-12-31T10:00:00Z"], False),
    (["2024-01-01T00:00:00+02:00", "2023-12-31T10:00:00+03:00"], False),
    (["2024-01-01T00:00:00", "2023-12-31T10:00:00Z"], True),
    (["2024-01-01T00:00:00", "2023-12-31T10:00:00+02:00"], False), (["2024-01-01", "soon"], False),
    (["1/2/2024"], False), (["Jan 3, 2026"], False),
])  # fmt: skip
def test_dates_that_sort_as_texts(texts, sorts):
    """ISO dates of one zone do, also beside some without one if it is UTC; two zones and other notations do not."""
    assert sorts_as_text(texts) is sorts
