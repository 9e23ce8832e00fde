# ruff: noqa: E501  a statement and its answer in a line
"""Statements of the kinds that models write, and their answers as computed from the values of the rows."""

from collections import defaultdict
from datetime import date
from decimal import Decimal

EPOCH = date(1970, 1, 1)
JULIAN = Decimal("2440587.5")


def present(rows, name="fee"):
    return [row[name] for row in rows if row[name] is not None]


def keys(rows, test):
    return [row["k"] for row in rows if test(row)]


def some(rows, test):
    """The rows with a fee that meet a condition on it."""
    return [row for row in rows if row["fee"] is not None and test(row["fee"])]


def by(rows, key, value):
    groups = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return [(name, value(groups[name])) for name in sorted(groups)]


def mean(values):
    return sum(values, Decimal(0)) / len(values) if values else None


def total(rows):
    values = present(rows)
    return sum(values) if values else None


def by_fee(rows, *, last=False):
    """Rows with a fee in the order of fees, those of one fee by their key."""
    sign = -1 if last else 1
    return sorted(some(rows, bool), key=lambda row: (sign * row["fee"], row["k"]))


def month(row):
    return row["day"].strftime("%Y-%m")


def running(rows):
    added = Decimal(0)
    for row in rows:
        added += row["fee"] or 0
        yield row["k"], added


def lagged(rows):
    former = None
    for row in rows:
        fee = row["fee"]
        yield row["k"], None if None in (fee, former) else fee - former
        former = fee


STATEMENTS = [
    ("SELECT sum(fee), count(fee), count(*) FROM rows", lambda r, **_: [(total(r), len(present(r)), len(r))]),
    ("SELECT avg(fee), total(fee) FROM rows WHERE k < {n}", lambda r, n, **_: [(mean(present(r[:n])), Decimal(total(r[:n]) or 0))]),
    ("SELECT min(fee), max(fee) FROM rows WHERE k > {n}", lambda r, n, **_: [(min(present(r[n + 1 :])), max(present(r[n + 1 :])))]),
    ("SELECT max(coalesce(fee, '{own_fee}')) FROM rows WHERE day >= date('{own_day}')", lambda r, own, **_: [max(w["fee"] or own["fee"] for w in r if w["day"] >= own["day"])]),
    ("SELECT k FROM rows WHERE fee > {low} ORDER BY k", lambda r, low, **_: keys(some(r, lambda f: f > low), bool_)),
    ("SELECT k FROM rows WHERE fee <= {high} AND fee >= {low} ORDER BY k", lambda r, low, high, **_: keys(some(r, lambda f: low <= f <= high), bool_)),
    ("SELECT count(*) FROM rows WHERE fee BETWEEN {low} AND {high}", lambda r, low, high, **_: [len(some(r, lambda f: low <= f <= high))]),
    ("SELECT count(*) FROM rows WHERE fee NOT BETWEEN {low} AND {high}", lambda r, low, high, **_: [len(some(r, lambda f: not low <= f <= high))]),
    ("SELECT k FROM rows WHERE fee IN ({low}, {high}) ORDER BY k", lambda r, low, high, **_: keys(some(r, lambda f: f in (low, high)), bool_)),
    ("SELECT count(*) FROM rows WHERE fee <> {low}", lambda r, low, **_: [len(some(r, lambda f: f != low))]),
    ("SELECT count(*) FROM rows WHERE {low} < fee", lambda r, low, **_: [len(some(r, lambda f: f > low))]),
    ("SELECT k, fee FROM rows WHERE fee IS NOT NULL ORDER BY fee DESC, k LIMIT {n}", lambda r, n, **_: [(w["k"], w["fee"]) for w in by_fee(r, last=True)][:n]),
    ("SELECT k FROM rows WHERE fee IS NOT NULL ORDER BY fee, k LIMIT {n}", lambda r, n, **_: [w["k"] for w in by_fee(r)][:n]),
    ("SELECT k FROM rows ORDER BY fee IS NULL, fee, k LIMIT 3 OFFSET {n}", lambda r, n, **_: [w["k"] for w in by_fee(r)][n : n + 3]),
    ("SELECT count(*) FROM rows WHERE fee IS NULL", lambda r, **_: [len(r) - len(present(r))]),
    ("SELECT fee * 2 + {n} FROM rows WHERE k = 0", lambda r, n, **_: [r[0]["fee"] * 2 + n]),
    ("SELECT k, fee / 4 FROM rows WHERE fee > {high} ORDER BY k", lambda r, high, **_: [(w["k"], w["fee"] / 4) for w in some(r, lambda f: f > high)]),
    ("SELECT round(sum(fee) / count(fee), 2) FROM rows", lambda r, **_: [round(mean(present(r)), 2)]),
    ("SELECT abs(fee - {high}) FROM rows WHERE k = 1", lambda r, high, **_: [abs(r[1]["fee"] - high)]),
    ("SELECT town, sum(fee) FROM rows GROUP BY town ORDER BY town", lambda r, **_: by(r, town, total)),
    ("SELECT town, avg(fee) AS a FROM rows WHERE k < 30 + {n} GROUP BY 1 ORDER BY 1", lambda r, n, **_: by(r[: 30 + n], town, lambda g: mean(present(g)))),
    ("SELECT town, max(fee) FROM rows GROUP BY town HAVING max(fee) > {low} ORDER BY 1", lambda r, low, **_: [g for g in by(r, town, lambda g: max(present(g))) if g[1] > low]),
    ("SELECT town, sum(fee) AS s FROM rows GROUP BY town HAVING s > {high} * 3 ORDER BY s DESC", lambda r, high, **_: sorted((g for g in by(r, town, total) if g[1] > high * 3), key=lambda g: -g[1])),
    ("SELECT town, count(*) FROM rows WHERE fee > {low} GROUP BY town ORDER BY 2 DESC, 1", lambda r, low, **_: sorted(by(some(r, lambda f: f > low), town, len), key=lambda g: (-g[1], g[0]))),
    ("SELECT sum(CASE WHEN town = 'Oslo' THEN fee ELSE 0 END) FROM rows", lambda r, **_: [total([w for w in r if w["town"] == "Oslo"])]),
    ("SELECT sum(CASE WHEN fee > {low} THEN 1 ELSE 0 END) * 100.0 / count(*) FROM rows", lambda r, low, **_: [Decimal(100 * len(some(r, lambda f: f > low))) / len(r)]),
    ("SELECT CASE WHEN fee >= {high} THEN 'high' WHEN fee >= {low} THEN 'mid' ELSE 'low' END AS band, count(*) FROM rows WHERE fee > 0 GROUP BY band ORDER BY band", lambda r, low, high, **_: by(some(r, bool), lambda w: "high" if w["fee"] >= high else "mid" if w["fee"] >= low else "low", len)),
    ("WITH t(v) AS (SELECT fee FROM rows) SELECT sum(v * 2), max(v), count(*) FROM t WHERE v > {low}", lambda r, low, **_: [(2 * sum(found), max(found), len(found)) for found in [[f for f in present(r) if f > low]]]),
    ("WITH t AS (SELECT k, fee AS v FROM rows WHERE k < {n}) SELECT k, v * 2 FROM t WHERE v IS NOT NULL ORDER BY v DESC, k", lambda r, n, **_: [(w["k"], w["fee"] * 2) for w in by_fee(r[:n], last=True)]),
    ("WITH a AS (SELECT town, fee FROM rows), b AS (SELECT town, sum(fee) AS s FROM a GROUP BY town) SELECT max(s) - min(s) FROM b", lambda r, **_: [max(g[1] for g in by(r, town, total)) - min(g[1] for g in by(r, town, total))]),
    ("SELECT v + 1 FROM (SELECT w AS v FROM (SELECT fee AS w, k FROM rows) WHERE k = 2)", lambda r, **_: [r[2]["fee"] + 1]),
    ("SELECT q.f FROM (SELECT fee AS f FROM rows) q WHERE q.f > {high} ORDER BY q.f", lambda r, high, **_: sorted(f for f in present(r) if f > high)),
    ("SELECT k FROM rows WHERE fee > (SELECT avg(fee) FROM rows) ORDER BY k", lambda r, **_: keys(some(r, lambda f: f > mean(present(r))), bool_)),
    ("SELECT k FROM rows WHERE fee = (SELECT max(fee) FROM rows WHERE k < {n})", lambda r, n, **_: keys(r, lambda w: w["fee"] == max(present(r[:n])))),
    ("SELECT k FROM rows r WHERE fee >= (SELECT max(o.fee) FROM rows o WHERE o.town = r.town) ORDER BY k", lambda r, **_: keys(some(r, bool), lambda w: w["fee"] == max(present([o for o in r if o["town"] == w["town"]])))),
    ("SELECT count(*) FROM rows a JOIN rows b ON a.fee < b.fee AND a.k < {n}", lambda r, n, **_: [sum(a < b for a in present(r[:n]) for b in present(r))]),
    ("SELECT fee FROM rows WHERE k < {n} UNION SELECT {low} ORDER BY 1 DESC", lambda r, n, low, **_: sort_nulls({w["fee"] for w in r[:n]} | {low})),
    ("SELECT max(f) FROM (SELECT fee AS f FROM rows WHERE k < 9 UNION ALL SELECT fee * 2 FROM rows WHERE k = {n})", lambda r, n, **_: [max([*present(r[:9]), *(2 * f for f in present(r[n : n + 1]))])]),
    ("SELECT k, rank() OVER (ORDER BY fee DESC) FROM rows WHERE fee > 0 ORDER BY k", lambda r, **_: [(w["k"], 1 + sum(f > w["fee"] for f in present(r))) for w in some(r, bool)]),
    ("SELECT k, sum(fee) OVER (ORDER BY k) FROM rows ORDER BY k LIMIT {n}", lambda r, n, **_: list(running(r))[:n]),
    ("SELECT k, fee - lag(fee) OVER (ORDER BY k) FROM rows ORDER BY k", lambda r, **_: list(lagged(r))),
    ("SELECT k, lead(fee, 1, 0) OVER (ORDER BY k) - {n} FROM rows WHERE k IN (0, 1)", lambda r, n, **_: [(0, r[1]["fee"] - n), (1, Decimal(-n))]),
    ("SELECT town, k FROM (SELECT town, k, row_number() OVER (PARTITION BY town ORDER BY fee DESC) AS p FROM rows) WHERE p = 1 ORDER BY 1", lambda r, **_: by(r, town, lambda g: by_fee(g, last=True)[0]["k"])),
    ("SELECT k, fee > avg(fee) OVER (PARTITION BY town) FROM rows WHERE k < {n} AND fee > 0 ORDER BY k", lambda r, n, **_: [(w["k"], int(w["fee"] > mean([o["fee"] for o in some(r[:n], bool) if o["town"] == w["town"]]))) for w in some(r[:n], bool)]),
    ("SELECT first_value(fee) OVER (ORDER BY fee DESC) * 2 FROM rows LIMIT 1", lambda r, **_: [2 * max(present(r))]),
    ("SELECT round(fee, 1) FROM rows WHERE k = 3", lambda r, **_: [Decimal(str(round(float(r[3]["fee"]), 1)))]),
    ("SELECT CAST(fee AS INTEGER) FROM rows WHERE k = {n} AND fee > 0", lambda r, n, **_: [int(w["fee"]) for w in some(r[n : n + 1], bool)]),
    ("SELECT sum(CAST(fee AS REAL)) FROM rows WHERE k <= {n}", lambda r, n, **_: [total(r[: n + 1])]),
    ("SELECT sum(coalesce(fee, 0)), avg(ifnull(fee, 0)) FROM rows", lambda r, **_: [(total(r), total(r) / len(r))]),
    ("SELECT coalesce(fee, 0) + 1 FROM rows WHERE k = 5", lambda r, **_: [Decimal(1)]),
    ("SELECT printf('%.2f', fee) FROM rows WHERE k = 4", lambda r, **_: [f"{r[4]['fee']:.2f}"]),
    ("SELECT printf('%s: %.1f', town, sum(fee)) FROM rows WHERE k < 2 GROUP BY town HAVING count(*) = 9", lambda r, **_: []),
    ("SELECT k FROM rows WHERE fee = '{own_fee}' ORDER BY k", lambda r, own, **_: keys(r, lambda w: w["fee"] == own["fee"])),
    ("SELECT count(*) FROM rows WHERE fee IN ('{own_fee}', '{own_fee}')", lambda r, own, **_: [len(some(r, lambda f: f == own["fee"]))]),
    ("SELECT count(*) FROM rows WHERE fee > '{own_fee}'", lambda r, own, **_: [len(some(r, lambda f: f > own["fee"]))]),
    ("WITH t AS (SELECT fee AS v FROM rows) SELECT count(*) FROM t WHERE v >= '{own_fee}'", lambda r, own, **_: [len(some(r, lambda f: f >= own["fee"]))]),
    ("SELECT count(*) FROM rows WHERE fee BETWEEN '{own_fee}' AND {high}", lambda r, own, high, **_: [len(some(r, lambda f: own["fee"] <= f <= high))]),
    ("SELECT sum(CASE fee WHEN '{own_fee}' THEN 1 ELSE 0 END) FROM rows", lambda r, own, **_: [len(some(r, lambda f: f == own["fee"]))]),
    ("SELECT count(*) > 0 FROM rows WHERE fee LIKE '{own_fee}'", lambda r, **_: [1]),
    ("SELECT town, max(fee) FROM rows GROUP BY town HAVING max(fee) > '{own_fee}' ORDER BY 1", lambda r, own, **_: [g for g in by(r, town, lambda g: max(present(g))) if g[1] > own["fee"]]),
    ("SELECT k FROM rows WHERE wait > 100 ORDER BY wait, k", lambda r, **_: [w["k"] for w in sorted(r, key=lambda w: (w["wait"], w["k"])) if w["wait"] > 100]),
    ("SELECT sum(wait), max(wait), min(wait) FROM rows WHERE k >= {n}", lambda r, n, **_: [(sum(w["wait"] for w in r[n:]), max(w["wait"] for w in r[n:]), min(w["wait"] for w in r[n:]))]),
    ("SELECT count(*) FROM rows WHERE wait < '{own_wait}'", lambda r, own, **_: [sum(w["wait"] < own["wait"] for w in r)]),
    ("SELECT avg(wait) / 60.0 FROM rows WHERE wait <> '{own_wait}'", lambda r, own, **_: [mean([w["wait"] for w in r if w["wait"] != own["wait"]]) / 60]),
    ("SELECT wait, count(*) FROM rows GROUP BY wait ORDER BY wait", lambda r, **_: by(r, lambda w: w["wait"], len)),
    ("SELECT count(*) FROM rows WHERE day > '{first}'", lambda r, first, **_: [sum(w["day"] > first for w in r)]),
    ("SELECT count(*) FROM rows WHERE day BETWEEN '{first}' AND '{last}'", lambda r, first, last, **_: [sum(first <= w["day"] <= last for w in r)]),
    ("SELECT count(*) FROM rows WHERE date(day) >= date('{first}', '+1 month') OR day = '{last}'", lambda r, first, last, **_: [sum(w["day"] >= next_month(first) or w["day"] == last for w in r)]),
    ("SELECT k FROM rows WHERE day = '{own_day}' ORDER BY k", lambda r, own, **_: keys(r, lambda w: w["day"] == own["day"])),
    ("SELECT k FROM rows WHERE day >= '{own_day}' ORDER BY day DESC, k", lambda r, own, **_: [w["k"] for w in sorted(r, key=lambda w: (-w["day"].toordinal(), w["k"])) if w["day"] >= own["day"]]),
    ("SELECT min(day), max(day) FROM rows WHERE k > {n}", lambda r, n, **_: [(min(w["day"] for w in r[n + 1 :]), max(w["day"] for w in r[n + 1 :]))]),
    ("SELECT strftime('%Y-%m', day) AS m, sum(fee) FROM rows GROUP BY m ORDER BY m", lambda r, **_: by(r, month, total)),
    ("SELECT strftime('%Y', day) AS y, count(*) FROM rows WHERE CAST(strftime('%m', day) AS INTEGER) < 7 GROUP BY y ORDER BY y", lambda r, **_: by([w for w in r if w["day"].month < 7], lambda w: str(w["day"].year), len)),
    ("SELECT count(*) FROM rows WHERE strftime('%Y', day) = '2025'", lambda r, **_: [sum(w["day"].year == 2025 for w in r)]),
    ("SELECT count(*) FROM rows WHERE strftime('%Y', day) = 2025", lambda r, **_: [sum(w["day"].year == 2025 for w in r)]),
    ("SELECT julianday(max(day)) - julianday(min(day)) FROM rows WHERE k < {n}", lambda r, n, **_: [Decimal((max(w["day"] for w in r[:n]) - min(w["day"] for w in r[:n])).days)]),
    ("SELECT julianday(day), unixepoch(day) FROM rows WHERE k = {n}", lambda r, n, **_: [(JULIAN + (r[n]["day"] - EPOCH).days, (r[n]["day"] - EPOCH).days * 86_400)]),
    ("SELECT k, julianday(day) - julianday(lag(day) OVER (ORDER BY k)) FROM rows WHERE k < {n} ORDER BY k", lambda r, n, **_: [(k, Decimal((r[k]["day"] - r[k - 1]["day"]).days) if k else None) for k in range(n)]),
    ("WITH t(d, v) AS (SELECT day, fee FROM rows) SELECT date(d, 'start of month'), sum(v) FROM t GROUP BY 1 ORDER BY 1", lambda r, **_: [(f"{name}-01", value) for name, value in by(r, month, total)]),
    ("SELECT substr(day, 1, 7), count(*) FROM rows GROUP BY 1 ORDER BY 1", lambda r, **_: by(r, month, len)),
    ("SELECT count(*) FROM rows WHERE day LIKE '2024-1%'", lambda r, **_: [sum(str(w["day"]).startswith("2024-1") for w in r)]),
    ("SELECT count(*) > 0 FROM rows WHERE day LIKE '{own_day}'", lambda r, **_: [1]),
    ("SELECT count(*) FROM rows WHERE paid = 1", lambda r, **_: [sum(w["paid"] is True for w in r)]),
    ("SELECT count(*) FROM rows WHERE paid AND fee > {low}", lambda r, low, **_: [sum(w["paid"] is True for w in some(r, lambda f: f > low))]),
    ("SELECT count(*) FROM rows WHERE NOT paid", lambda r, **_: [sum(w["paid"] is False for w in r)]),
    ("SELECT count(*) FROM rows WHERE paid = 'true' OR paid = false", lambda r, **_: [len(present(r, "paid"))]),
    ("SELECT count(*) FROM rows WHERE paid = '{own_paid}'", lambda r, own, **_: [sum(w["paid"] is own["paid"] for w in r)]),
    ("SELECT count(*) FROM rows WHERE paid <> '{own_paid}'", lambda r, own, **_: [sum(w["paid"] is (not own["paid"]) for w in r)]),
    ("SELECT count(*) FROM rows WHERE paid IS TRUE AND paid IN (1, 'yes')", lambda r, **_: [sum(w["paid"] is True for w in r)]),
    ("SELECT town, sum(paid), avg(paid) FROM rows GROUP BY town ORDER BY 1", lambda r, **_: [(t, v[0], v[1]) for t, v in by(r, town, lambda g: (sum(present(g, "paid")), mean([Decimal(p) for p in present(g, "paid")])))]),
    ("SELECT sum(fee) FILTER (WHERE paid), sum(CASE paid WHEN 'no' THEN fee END) FROM rows", lambda r, **_: [(total([w for w in r if w["paid"]]), total([w for w in r if w["paid"] is False]))]),
    ("SELECT iif(paid, 'y', 'n'), count(*) FROM rows WHERE paid IS NOT NULL GROUP BY 1 ORDER BY 1", lambda r, **_: by([w for w in r if w["paid"] is not None], lambda w: "ny"[w["paid"]], len)),
    ("SELECT p, count(*) FROM (SELECT paid AS p FROM rows) WHERE p = 'false' GROUP BY p", lambda r, **_: [(0, sum(w["paid"] is False for w in r))]),
    ("SELECT sum(CAST(replace(replace(fee, '$', ''), ',', '') AS REAL)) FROM rows", lambda r, **_: [total(r)]),
    ("SELECT count(*) FROM rows WHERE CAST(replace(fee, ' ', '') AS REAL) > {low}", lambda r, low, **_: [len(some(r, lambda f: f > low))]),
]  # fmt: skip


def town(row):
    return row["town"]


def bool_(_row):
    return True


def sort_nulls(values):
    return sorted(values - {None}, reverse=True) + [None] * (None in values)


def next_month(day):
    """What SQLite makes of a day and a month: a day that is not there runs over into the month after."""
    year, at = divmod(day.year * 12 + day.month, 12)
    first = date(year, at + 1, 1)
    return date.fromordinal(first.toordinal() + day.day - 1)
