"""A tool that returns a frame works in a real run: the model gets rows, and the session stores them."""

import json

import pytest
from google.adk.agents.llm_agent import LlmAgent

from adk_context_pack.tools.cap_rows import cap_rows
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
numpy = pytest.importorskip("numpy")


@pytest.mark.parametrize("library", [pandas, polars])
@pytest.mark.parametrize(("count", "shown"), [(3, 3), (250, 5)])
async def test_a_frame_reaches_the_model_as_rows(library, count, shown):
    """A frame is capped like other rows, and a small one is plain rows too, which ADK can store."""

    def sales():
        """Returns the sales."""
        return {"sales": library.DataFrame({"day": list(range(count)), "cost": [0.5] * count}), "best": numpy.int64(7)}

    def answer(request):
        return "done" if results_in(request) else [call("sales")]

    tool = cap_rows(sales, stub_rows=5)
    run = await run_agent(LlmAgent(name="analyst", model=ScriptedModel(answer=answer), tools=[tool]), "go")
    (result,) = results_in(run.requests[-1])
    assert result.response["sales"] == [{"day": day, "cost": 0.5} for day in range(shown)]
    assert result.response["best"] == 7
    assert ("_row_limits" in result.response) is (count > shown)
    assert json.dumps([event.model_dump(mode="json") for event in run.session.events])
