"""Texts are read as numbers in every notation, and names that only look like numbers are not."""

from decimal import Decimal

import pytest

from adk_context_pack.tables.number_notation import read_number


@pytest.mark.parametrize(("text", "value", "unit"), [
    ("12", 12, ""), ("1,250", 1250, ""), ("12,480.50", Decimal("12480.50"), ""), ("12,34,567", 1234567, ""),
    ("1 250 000", 1250000, ""), ("1\u202f250", 1250, ""), ("1'250.5", Decimal("1250.5"), ""),
    ("$1,250.00", Decimal(1250), "$"), ("US$5,000", 5000, "US$"), ("7 €", 7, "€"), ("EUR 7", 7, "EUR"),
    ("7 EUR", 7, "EUR"), ("5 kr", 5, "kr"), ("12.5%", Decimal("12.5"), "%"), ("12 km", 12, "km"),
    ("5 kr.", 5, "kr"), ("1 200 \u0440\u0443\u0431.", 1200, "\u0440\u0443\u0431"), ("Rs. 7", 7, "Rs"),
    ("80 km/h", 80, "km/h"), ("(1,250)", -1250, ""), ("($5.00)", -5, "$"), ("-$5", -5, "$"), ("$-5", -5, "$"),
    ("1,250-", -1250, ""), ("\u22125", -5, ""), ("+5", 5, ""), ("  25,649   ", 25649, ""),
    ("\u0661\u066b\u0665", Decimal("1.5"), ""), ("\u06f1\u066c\u06f2\u06f5\u06f0", 1250, ""), ("5\u5143", 5, "\u5143"),
    (".5", Decimal("0.5"), ""), ("1.5e-3", Decimal("0.0015"), ""), ("9" * 300, int("9" * 300), ""),
    ("\uffe51\uff0c250", 1250, "\xa5"), ("7.5 \u0631.\u0633", Decimal("7.5"), "\u0631.\u0633"),
])  # fmt: skip
def test_notations_with_a_point(text, value, unit):
    """Separators, signs, currencies, percent, brackets, units and blanks give the number and its unit."""
    written = read_number(text)
    assert (written.value("point"), written.unit) == (value, unit)


@pytest.mark.parametrize(("text", "value"), [
    ("1.250,00", Decimal(1250)), ("12,5", Decimal("12.5")), ("1.250.000", 1250000), ("1 250,5 €", Decimal("1250.5")),
    ("9,55e-05", Decimal("9.55e-05")),
])  # fmt: skip
def test_notations_with_a_comma(text, value):
    """Decimal commas are read where the column has them."""
    assert read_number(text).value("comma") == value
    assert read_number(text).value("point") is None


@pytest.mark.parametrize("text", [
    "007", "+4917612345678", "192.168.1.1", "192.168.100.200", "1.2.3", "12am", "1st", "A4", "5/10", "12:30", "1-2",
    "2024-01-01", "abc", "", "-", "$", "$5%", "1,2,3", "1,25,0", "(5", "5)", "--5", "0x10", "1e5000", "$ ", "1_000",
    " " * 5000, "1 " * 2500, "1" * 3000 + "x", "0" * 3000, "Infinity", "nan", "12\n34", "TL12",
])  # fmt: skip
def test_names_are_not_numbers(text):
    """Codes, versions, addresses, times, ranges and words are not read as numbers, and long ones cost no time."""
    assert read_number(text) is None


@pytest.mark.parametrize(("text", "point", "comma"), [
    ("1,250", 1250, Decimal("1.250")), ("1.250", Decimal("1.250"), 1250), ("950", 950, 950),
    ("1e3", 1000, 1000),
])  # fmt: skip
def test_what_could_be_either(text, point, comma):
    """A text that both decimal marks can read has a value for each, between which its column decides."""
    assert (read_number(text).value("point"), read_number(text).value("comma")) == (point, comma)


@pytest.mark.parametrize(("text", "unit", "value"), [
    ("$1,000.00 USD", "USD", Decimal("1000.00")), ("$1,000.50 CAD", "CAD", Decimal("1000.50")),
    ("US$12 USD", "USD", 12), ("C$12 CAD", "CAD", 12), ("A$7 AUD", "AUD", 7), ("R$7 BRL", "BRL", 7),
    ("€5.25 EUR", "EUR", Decimal("5.25")), ("£5 GBP", "GBP", 5), ("¥900 JPY", "JPY", 900), ("¥900 CNY", "CNY", 900),
    ("-$5 USD", "USD", -5), ("($5.00) USD", None, None), ("$5 EUR", None, None), ("€5 USD", None, None),
    ("C$5 USD", None, None), ("US$5 CAD", None, None), ("£5 JPY", None, None), ("$5 km", None, None),
    ("$5 %", None, None),
])  # fmt: skip
def test_sign_and_code(text, unit, value):
    """A sign in front and a code behind are read where they mean one currency, and never where they differ."""
    found = read_number(text)
    assert (found and (found.unit, found.value("point"))) == (None if unit is None else (unit, value))


@pytest.mark.parametrize("digits", ["1" * 70, "1" * 70 + ".5", "0." + "1" * 70])
def test_long_numbers_keep_their_sign(digits):
    """A number of very many digits is read exactly, below zero as above it."""
    assert read_number(digits).value("point") == Decimal(digits)
    assert read_number(f"-{digits}").value("point") == Decimal(f"-{digits}")


@pytest.mark.parametrize("blanks", [0, 1, 100])
def test_how_long_a_number_with_a_unit_may_be(blanks):
    """Up to 64 characters between the blanks are read in any notation, and with one more digits alone are."""
    pad = " " * blanks
    assert read_number(f"{pad}{'1' * 61} km{pad}").unit == "km"
    assert read_number(f"{pad}{'1' * 62} km{pad}") is None
    assert read_number(f"{pad}{'1' * 66}").value("point") == int("1" * 66)
