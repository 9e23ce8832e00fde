"""The log line of a call, and the report on the stored event."""

import json
import logging

from google.adk.models.llm_response import LlmResponse

from adk_context_pack.reports.outlets import annotate
from tests.reports.test_report_log import report
from tests.support.reported import SECRET, reported_run
from tests.support.run import session_service


async def test_one_line_for_each_call(caplog):
    """Each model call leaves exactly one INFO line with agent, tokens before and after, prefix and passes."""
    with caplog.at_level(logging.INFO, "adk_context_pack"):
        _, pipeline = await reported_run()
    lines = [record.getMessage() for record in caplog.records if record.name == "adk_context_pack"]
    assert len(lines) == len(pipeline.reports) == 3
    last = pipeline.reports[-1]
    assert lines[-1].startswith(f"writer: {last.tokens_before:,} -> {last.tokens_after:,} tokens, prefix kept 0 %")
    assert f"strip_for_context -{last.passes[0].tokens_saved:,}" in lines[-1]


async def test_the_report_is_stored_on_the_event(tmp_path):
    """The event that a session service stores holds the totals of its call in 200 bytes, read back by another one."""
    async with session_service("sqlite", tmp_path) as first:
        _, pipeline = await reported_run(session_service=first)
    async with session_service("sqlite", tmp_path) as second:
        session = await second.get_session(app_name="app", user_id="user", session_id="session")
    stored = [event.custom_metadata["adk_context_pack"] for event in session.events if event.custom_metadata]
    assert stored == [each.to_totals() for each in pipeline.reports]
    assert all(len(json.dumps({"adk_context_pack": each})) <= 200 for each in stored)
    assert {each["prompt_tokens"] for each in stored} == {700}
    assert SECRET not in repr(stored)


def test_other_metadata_stays():
    """What others wrote into the metadata is kept."""
    response = LlmResponse(custom_metadata={"mine": 1})
    annotate(response, report())
    assert response.custom_metadata["mine"] == 1
    assert response.custom_metadata["adk_context_pack"]["tokens_after"] == 2
