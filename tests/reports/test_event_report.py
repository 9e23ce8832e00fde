"""A report on an event: a dict in every way, and copied in no time."""

from __future__ import annotations

import json

from google.adk.events.event import Event

from adk_context_pack.reports.outlets import EventReport

REPORT = {"tokens_after": 7, "passes": [{"name": "A"}], "categories": {"other": 7}}


def test_it_is_stored_and_read_like_a_dict():
    """Written as JSON by pydantic and by Python, read back, and compared."""
    event = Event(author="a", custom_metadata={"ours": EventReport(REPORT), "theirs": 1})
    assert Event.model_validate_json(event.model_dump_json()).custom_metadata == {"ours": REPORT, "theirs": 1}
    assert json.loads(json.dumps(event.custom_metadata["ours"])) == REPORT
    assert event.model_dump()["custom_metadata"]["ours"] == REPORT
