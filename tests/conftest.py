"""What every test shares: markers, Hypothesis' profiles, and no network behind anybody's back."""

from __future__ import annotations

import os

# LiteLLM, which ADK imports where it is installed, otherwise asks the network for its price list, three times.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from hypothesis import HealthCheck, settings

from tests.support.laws_settings import LAWS_EXAMPLES, LAWS_SEED

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure(config):
    config.addinivalue_line("markers", "laws: the laws of a pass over generated conversations; see LAWS_EXAMPLES")


def pytest_terminal_summary(terminalreporter):
    done = [r for reports in terminalreporter.stats.values() for r in reports if getattr(r, "when", "") == "call"]
    counts = [value for report in done for name, value in report.user_properties if name == "laws"]
    if counts:
        tried = [fingerprint for fingerprints, _ in counts for fingerprint in fingerprints]
        terminalreporter.write_line(
            f"laws: LAWS_SEED={LAWS_SEED} LAWS_EXAMPLES={LAWS_EXAMPLES}: {len(tried)} conversations,"
            f" {len(set(tried))} of them different, {sum(times for _, times in counts)} times through passes"
        )
