"""Quoting of dotted names in SQL."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.sql.sql_names import quote, quote_dotted_names

NAMES = ["metrics.clicks", "metrics.video.views", "campaign.id", "data.rows"]


@pytest.mark.parametrize(("sql", "expected"), [
    ("SELECT metrics.clicks FROM data.rows", "SELECT `metrics.clicks` FROM `data.rows`"),
    ("SELECT r.metrics.clicks", "SELECT r.`metrics.clicks`"), ("SELECT METRICS.Clicks", "SELECT `metrics.clicks`"),
    ("SELECT metrics.video.views", "SELECT `metrics.video.views`"),
    ('SELECT "metrics"."clicks"', "SELECT `metrics.clicks`"), ('SELECT "a""b"', 'SELECT `a"b`'),
    ("SELECT 'metrics.clicks'", "SELECT 'metrics.clicks'"),
    ("SELECT 1 -- metrics.clicks", "SELECT 1 -- metrics.clicks"),
    ("SELECT /* metrics.clicks */ 1", "SELECT /* metrics.clicks */ 1"),
    ("SELECT r.*, r.id, 1.5, .5e3", "SELECT r.*, r.id, 1.5, .5e3"),
    ("SELECT `metrics.clicks`, [campaign.id]", "SELECT `metrics.clicks`, `campaign.id`"),
    ("SELECT 'it''s metrics.clicks', metrics.clicks", "SELECT 'it''s metrics.clicks', `metrics.clicks`"),
    ("SELECT 'unfinished metrics.clicks", "SELECT 'unfinished `metrics.clicks`"), ("metrics.", "metrics."), ("", ""),
])  # fmt: skip
def test_known_dotted_names_are_quoted(sql, expected):
    """Only names that exist are quoted, and never within texts, comments and numbers."""
    assert quote_dotted_names(sql, NAMES) == expected


@given(st.text(alphabet="ab.'\"`[]- /*\n1é", max_size=40))
def test_without_known_names_only_double_quotes_change(sql):
    """Where there is nothing to quote, SQL without double quotes comes out as it went in."""
    plain = sql.replace('"', "")
    assert quote_dotted_names(plain, []) == plain
    quote_dotted_names(sql, ["a.b"])


@given(st.text(min_size=1, max_size=20).filter(lambda name: "\0" not in name))
def test_a_quoted_name_is_one_name(name):
    """Any text can be the name of a column once it is quoted."""
    made = sqlite3.connect(":memory:")
    made.execute(f"CREATE TABLE t ({quote(name)})")
    assert made.execute(f"SELECT {quote(name)} FROM t").description[0][0] == name
