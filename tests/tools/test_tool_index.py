"""The index of tools: found by what is to be done."""

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from adk_context_pack.tools.tool_index import DeclaredTool, ToolIndex


def tool(name, description, **properties):
    return DeclaredTool(name, description, {"type": "object", "properties": properties})


INDEX = ToolIndex(
    [
        tool("create_issue", "Creates an issue in a repository. Long story.", title={"type": "string"}),
        tool("list_flights", "Lists flights.", cabin={"enum": ["economy", "business"]}),
        tool("get_weather", "Tells the forecast.", place={"description": "A town such as Oslo"}),
    ]
)


def found(query):
    return [one.name for one in INDEX.find(query, 2)]


def test_lists_as_much_as_fits():
    """Sentences where they fit, else names, else their number, else nothing."""
    assert "create_issue: Creates an issue in a repository\n" in INDEX.listing(500, sentences=True)
    assert INDEX.listing(500, sentences=False) == "create_issue, list_flights, get_weather"
    assert INDEX.listing(20, sentences=True) == "create_issue, list_flights, get_weather"
    assert INDEX.listing(2, sentences=True) == "3 tools"
    assert INDEX.listing(0, sentences=True) == ""


def test_reads_a_real_declaration():
    """The schema of a function comes as JSON schema, in whichever form this ADK declares it."""

    def book(city: str, nights: int = 1) -> str:
        """Books a room."""
        return city

    declared = DeclaredTool.of(FunctionTool(book))
    assert declared.parameters["type"] == "object"
    assert declared.parameters["properties"]["nights"]["type"] == "integer"
    assert declared.parameters["required"] == ["city"]


class Declared(BaseTool):
    """A tool whose declaration is in google-genai's words."""

    def _get_declaration(self):
        kept = types.Schema(type="STRING", min_length=2, enum=["UP"], default={"type": "KEEP"})
        parameters = types.Schema(type="OBJECT", properties={"type": kept, "any_of": types.Schema(any_of=[kept])})
        return types.FunctionDeclaration(name=self.name, description="", parameters=parameters)


def test_a_declaration_is_given_in_the_words_of_json_schema():
    """Types and keywords are as the standard spells them, and names and values are as they were."""
    kept = {"type": "string", "minLength": 2, "enum": ["UP"], "default": {"type": "KEEP"}}
    shown = DeclaredTool.of(Declared(name="t", description="")).parameters
    assert shown == {"type": "object", "properties": {"type": kept, "any_of": {"anyOf": [kept]}}}
