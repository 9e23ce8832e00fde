"""What every test shares: markers, Hypothesis' profiles, and no network behind anybody's back.

`python -m pytest -m quick -n 2` runs the tests to run between two commits. They touch every module of the package, and
leave out the folders that drive whole apps, other processes, real clients or thousands of generated conversations.
"""

from __future__ import annotations

import os
from pathlib import Path

# LiteLLM, which ADK imports where it is installed, otherwise asks the network for its price list, three times.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from hypothesis import HealthCheck, settings

from tests.support.laws_settings import LAWS_EXAMPLES, LAWS_SEED

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


SLOW_FOLDERS = {"attacks", "benchmarks", "faults", "laws", "providers", "samples", "sessions", "support"}


FREE_OF_ADK = {"search", "sql", "tables"}
"""Folders of the package that import nothing of ADK, so that their tests tell nothing of a release."""


def pytest_configure(config):
    config.addinivalue_line("markers", "quick: what runs between two commits; given to all tests but the slow ones")
    config.addinivalue_line("markers", "newest: tells nothing of a release, so that it runs on the newest ADK alone")
    config.addinivalue_line("markers", "slow: takes a second or more, so that it is not among the quick ones")
    config.addinivalue_line("markers", "laws: the laws of a pass over generated conversations; see LAWS_EXAMPLES")


def pytest_collection_modifyitems(items):
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder not in SLOW_FOLDERS and item.get_closest_marker("slow") is None:
            item.add_marker("quick")
        if folder in FREE_OF_ADK:
            item.add_marker("newest")


def pytest_terminal_summary(terminalreporter):
    done = [r for reports in terminalreporter.stats.values() for r in reports if getattr(r, "when", "") == "call"]
    counts = [value for report in done for name, value in report.user_properties if name == "laws"]
    if counts:
        tried = [fingerprint for fingerprints, _ in counts for fingerprint in fingerprints]
        terminalreporter.write_line(
            f"laws: LAWS_SEED={LAWS_SEED} LAWS_EXAMPLES={LAWS_EXAMPLES}: {len(tried)} conversations,"
            f" {len(set(tried))} of them different, {sum(times for _, times in counts)} times through passes"
        )
