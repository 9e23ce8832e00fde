"""version_note: versions are told from decimals by all texts of a column."""

import pytest

from adk_context_pack.sql.load_image import image_of
from adk_context_pack.tables.columns import iter_columns
from adk_context_pack.tables.table_facts import table_facts


def facts(name, cells):
    return table_facts([{name: cell} for cell in cells]).as_dict()["columns"][name]


@pytest.mark.parametrize(("name", "cells"), [
    ("x", ["3.1", "3.10", "3.9"]), ("x", ["3.8", "3.10"]), ("python", ["3.8", "3.9", "3.10", "3.11", "3.12"]),
    ("x", ["2.4", "3.1", "3.10.2"]), ("x", ["1.28", "1.29", "1.30", "1.9"] * 9), ("release", ["1.0", "1.1", "2.0"]),
    ("section", ["2.1", "2.2", "10.1", "10.11"]), ("x", ["2024.1", "2024.10", "2023.2"]),
    ("x", ["v1.2.3", "1.2", "1.3"]),
])  # fmt: skip
def test_versions_are_names(name, cells):
    """Versions are counted and never added up, keep their texts in SQL, and facts and notes say why."""
    said = facts(name, cells)
    assert "sum" not in said
    assert said["distinct"] == len(set(cells))
    assert "not numbers" in said["note"]
    image = image_of({"rows": iter_columns([{name: cell} for cell in cells])})
    assert image.names.tables["rows"] == [name]
    assert image.names.columns["rows"][0]["note"].startswith(f"{name}: ")


@pytest.mark.parametrize(("name", "cells", "total", "note"), [
    ("x", ["1.5", "2.50", "12.75", "0.333"], 17.083, "decimals, not versions: 2.50 is 2.5"),
    ("x", ["1.5", "2.50"], 4, "decimals, not versions: 2.50 is 2.5"),
    ("x", ["4.5", "4.25", "4.10", "3.9"], 16.75, "decimals, not versions: 4.10 is 4.1"),
    ("x", ["0.5", "0.50", "0.333"], 1.333, "decimals, not versions: 0.50 is 0.5"),
    ("x", ["1.5", "1.50", "1.05"], 4.05, "decimals, not versions: 1.50 is 1.5"),
    ("x", ["-1.5", "1.50", "1.5"], 1.5, "decimals, not versions: 1.50 is 1.5"),
    ("x", ["5000.1", "5000.10"], 10000.2, "decimals, not versions: 5000.10 is 5000.1"),
    ("cost", ["3.1", "3.10"], 6.2, None), ("x", ["0.1", "0.10", "0.05"], 0.25, "decimals, not versions: 0.10 is 0.1"),
    ("cost", ["3.10", "4.20", "5.10.2"], 7.3, None), ("x", ["1.0", "2.5", "3"], 6.5, None),
    ("x", ["1.25", "2.50"], 3.75, None),
])  # fmt: skip
def test_decimals_are_numbers(name, cells, total, note):
    """Decimals with different numbers of digits are numbers, and a note says that their zeros mean nothing."""
    said = facts(name, cells)
    assert said["sum"] == pytest.approx(total, abs=1e-12)
    assert said.get("note") == note
