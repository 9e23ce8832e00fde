"""What a tool is, whatever it is called."""

from google.adk.tools.load_artifacts_tool import LoadArtifactsTool

from adk_context_pack import defer_tools, query_rows, resolve_results
from adk_context_pack._adk.known_tools import kind_of


async def test_the_tools_of_defer_tools_are_known():
    """`find_tools` gives a catalog, `use_tool` an answer to read whole, and a deferred tool stays what it is."""
    find, use, artifacts, rows = await defer_tools(LoadArtifactsTool(), resolve_results(query_rows)).get_tools()
    kinds = [kind_of(tool, "") for tool in (find, use, artifacts, rows)]
    assert kinds == ["catalog", "control", "control", "read_back"]
