"""Whatever tools return works in a real run, or is refused when the tool is wrapped."""

import functools
import json

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool

from adk_context_pack import ContextPackPlugin, SettingError, cap_rows, offload_payload
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call, results_in


def rows():
    """Yields rows."""
    yield {"n": 1}


async def stream():
    """Yields rows, as ADK's streaming tools do."""
    yield {"n": 1}


class Rows:
    """Yields rows."""

    def __call__(self):
        yield {"n": 1}


async def result_of(value, wrap=lambda tool: tool, **settings):
    def fetch():
        """Fetches."""
        return value

    def answer(request):
        return "done" if results_in(request) else call("fetch")

    agent = LlmAgent(name="a", model=ScriptedModel(answer=answer), tools=[wrap(fetch)])
    run = await run_agent(agent, "go", **settings)
    json.dumps([event.model_dump(mode="json") for event in run.session.events])
    (result,) = results_in(run.requests[-1])
    return result.response


@pytest.mark.parametrize("wrap", [cap_rows, offload_payload])
@pytest.mark.parametrize("tool", [rows, stream, Rows(), functools.partial(rows), FunctionTool(rows)])
def test_a_generator_is_refused_when_it_is_wrapped(wrap, tool):
    """A generator function has no result. The error says so before any run."""
    with pytest.raises(SettingError, match="tool must be a function that returns its result, since a generator"):
        wrap(tool)


@pytest.mark.parametrize("wrap", [cap_rows, offload_payload])
async def test_bytes_stay_bytes(wrap):
    """Bytes are left to ADK, which stores them."""
    assert await result_of({"blob": b"\x00\xff", "n": 1}, wrap) == {"blob": b"\x00\xff", "n": 1}


@pytest.mark.parametrize("wrap", [cap_rows, offload_payload])
async def test_numpys_scalars_are_pythons_numbers(wrap):
    """ADK has no JSON for a numpy scalar. A wrapped tool gives Python's own number."""
    numpy = pytest.importorskip("numpy")
    value = {"whole": numpy.int64(7), "part": numpy.float32(1.5), "yes": numpy.bool_(1)}
    assert await result_of(value, wrap) == {"whole": 7, "part": 1.5, "yes": True}
    assert await result_of(numpy.int64(7), wrap) == {"result": 7}


async def test_an_arrow_table_is_rows_behind_a_wrapper():
    """The same for pyarrow."""
    arrow = pytest.importorskip("pyarrow")
    assert await result_of({"t": arrow.table({"a": [1, 2]})}, offload_payload) == {"t": [{"a": 1}, {"a": 2}]}


async def test_the_plugin_makes_rows_of_what_adk_lets_through():
    """ADK lets a frame within a result through, and the plugin makes rows of it."""
    frame = pytest.importorskip("pandas").DataFrame({"a": [1, 2]})
    assert await result_of({"t": frame}, plugins=[ContextPackPlugin()]) == {"t": [{"a": 1}, {"a": 2}]}
