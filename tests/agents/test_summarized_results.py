"""The writer's tool as ADK declares it."""

from google.adk.tools.function_tool import FunctionTool

from adk_context_pack import get_summarized_results, summarized_results_tool


def test_declared_alike():
    """The tool has no parameters for the model, and the one for another key looks the same."""
    one = FunctionTool(get_summarized_results)
    other = FunctionTool(summarized_results_tool(output_key="numbers"))
    assert (one.name, one.description) == (other.name, other.description)
    assert one.name == "get_summarized_results"
    for tool in (one, other):
        declaration = tool._get_declaration()
        assert not getattr(declaration.parameters, "properties", None)
        assert not (declaration.parameters_json_schema or {}).get("properties")
