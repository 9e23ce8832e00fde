"""What every test shares: markers, Hypothesis' profiles, and no network behind anybody's back.

`python -m pytest -m quick -n 2` runs the tests to run between two commits. They touch every module of the package, and
leave out the folders that drive whole apps, other processes, real clients or thousands of generated conversations.
"""

import os
import random
import sys
from collections import defaultdict
from pathlib import Path

# LiteLLM, which ADK imports where it is installed, otherwise asks the network for its price list, three times.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
import pytest
from hypothesis import HealthCheck, settings

from tests.support.laws_settings import LAWS_EXAMPLES, LAWS_SEED
from tests.support.shared_data import NOT_HERE
from tests.versions import chosen

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
SLOW_FOLDERS = {"attacks", "benchmarks", "faults", "laws", "providers", "samples", "sessions", "support"}
KNOWN = chosen.read(chosen.LIST.read_text(encoding="utf-8"))
ORDER_SEED = os.environ.get("ORDER_SEED")
"""A number by which the files are shuffled, and the tests in each."""
# A check that is not made there is a check that failed. `.ci/on_release` names the release, where features may lack.
NOTHING_SKIPS = bool(os.environ.get("CI")) and "ADK_RELEASE" not in os.environ


def pytest_configure(config):
    config.addinivalue_line("markers", "quick: what runs between two commits; given to all tests but the slow ones")
    config.addinivalue_line("markers", "newest: tells nothing of a release, so that it runs on the newest ADK alone")
    config.addinivalue_line("markers", "older: runs before each commit on older releases of ADK; see tests/versions")
    config.addinivalue_line("markers", "slow: takes a second or more, so that it is not among the quick ones")
    config.addinivalue_line("markers", "laws: the laws of a pass over generated conversations; see LAWS_EXAMPLES")


def pytest_report_header():
    return f"shuffled by ORDER_SEED={ORDER_SEED}" if ORDER_SEED else None


def pytest_collection_modifyitems(items):
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder not in SLOW_FOLDERS and item.get_closest_marker("slow") is None:
            item.add_marker("quick")
        if folder in chosen.FREE_OF_ADK:
            item.add_marker("newest")
        if not item.get_closest_marker("newest") and chosen.runs_on_older(item.nodeid.partition("[")[0], KNOWN):
            item.add_marker("older")
    if ORDER_SEED:
        draw = random.Random(ORDER_SEED).random
        place = defaultdict(draw)
        items.sort(key=lambda item: (place[item.path], draw()))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = [str(report.longrepr[2]) for report in reporter.stats.get("skipped", ())] if reporter else []
    unwanted = [reason for reason in skipped if not reason.removeprefix("Skipped: ").startswith(NOT_HERE)]
    if unwanted and NOTHING_SKIPS:
        reporter.write_line(f"Under CI nothing may skip on the newest ADK, but {len(unwanted)} did.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    done = [r for reports in terminalreporter.stats.values() for r in reports if getattr(r, "when", "") == "call"]
    counts = [value for report in done for name, value in report.user_properties if name == "laws"]
    if counts:
        tried = [fingerprint for fingerprints, _ in counts for fingerprint in fingerprints]
        terminalreporter.write_line(
            f"laws: LAWS_SEED={LAWS_SEED} LAWS_EXAMPLES={LAWS_EXAMPLES}: {len(tried)} conversations,"
            f" {len(set(tried))} of them different, {sum(times for _, times in counts)} times through passes"
        )


@pytest.fixture
def switch_often():
    """Threads that take turns as often as Python lets them."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
def spans():
    """The spans that end during a test."""
    from tests.support.spans import exported_spans  # noqa: PLC0415 - for few tests

    with exported_spans() as exporter:
        yield exporter
