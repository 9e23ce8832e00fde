"""Finds the tools that a request in plain words needs, by their declarations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from google.adk.tools.base_tool import BaseTool
from google.genai import types

from adk_context_pack._adk.known_tools import declaration_of
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.errors import counted
from adk_context_pack.search.ranked_index import RankedIndex

_BY_NAME = ("properties", "patternProperties", "$defs", "definitions")
"""Keywords whose values are schemas by name."""
_DATA = ("enum", "const", "default", "example", "examples")
"""Keywords whose values are no schemas."""


class DeclaredTool(NamedTuple):
    """The description of a tool that is known without calling it.

    Attributes:
        name: its name.
        description: its description.
        parameters: the JSON schema of its arguments.
        takes_references: whether a reference may be in the place of any argument.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    takes_references: bool = False

    @classmethod
    def of(cls, tool: BaseTool) -> DeclaredTool | None:
        """Returns what `tool` declares, or None for a tool that declares nothing."""
        declaration = declaration_of(tool)
        if declaration is None:
            return None
        schema = getattr(declaration, "parameters_json_schema", None) or declaration.parameters
        takes_references = bool(getattr(tool, "takes_references", False))
        return cls(tool.name, declaration.description or "", _plain_schema(schema), takes_references)

    @property
    def first_sentence(self) -> str:
        """The first sentence of the description, on one line."""
        line = " ".join(self.description.split())
        return line.partition(". ")[0].removesuffix(".")

    def shown(self) -> dict[str, Any]:
        """Returns the tool as a model is shown it."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


class ToolIndex:
    """Ranks tools by their names, descriptions and parameters.

    Attributes:
        tools: the tools by name, in their order.
    """

    def __init__(self, tools: Sequence[DeclaredTool]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        # One passage for each tool, of which the neighbours say nothing.
        self._index = RankedIndex(passage_size=1_000_000, neighbour_share=0.0)
        self._names = list(self.tools)
        for tool in self.tools.values():
            words = " ".join((tool.description, *_words(tool.parameters)))
            self._index.add(words, title=" ".join([tool.name] * 3))

    def find(self, query: str, limit: int) -> list[DeclaredTool]:
        """Returns the tools that fit `query`, best first.

        Args:
            query: what is to be done, in any words. Quotation marks make no difference.
            limit: how many tools at most.
        """
        hits = self._index.search(query.replace('"', " "), limit=limit)
        return [self.tools[self._names[self._index.spans[hit].text]] for hit in hits]

    def listing(self, max_tokens: int, *, sentences: bool) -> str:
        """Returns the names of all tools, with their first sentences where these are wanted and fit the budget.

        Where not even the names fit, it returns their number, and without a budget nothing.
        """
        names = ", ".join(self._names)
        long = "\n".join(f"{tool.name}: {tool.first_sentence}" for tool in self.tools.values()) if sentences else names
        for text in (long, names):
            if estimate_tokens(text) <= max_tokens:
                return text
        return counted(len(self._names), "tool") if max_tokens else ""


def _words(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yields names, descriptions and allowed values of all parameters."""
    for name, parameter in (schema.get("properties") or {}).items():
        yield name
        if isinstance(parameter, Mapping):
            yield str(parameter.get("description") or "")
            yield from map(str, parameter.get("enum") or ())
            yield from _words(parameter)
            if isinstance(items := parameter.get("items"), Mapping):
                yield from _words(items)


def _plain_schema(schema: Any) -> dict[str, Any]:
    """Returns a schema as JSON schema, whichever form the tool declares it in."""
    if schema is None:
        return {"type": "object", "properties": {}}
    if isinstance(schema, types.Schema):
        schema = schema.model_dump(exclude_none=True, mode="json", by_alias=True)
    return dict(_lowered(schema))


def _lowered(value: Any) -> Any:
    # google-genai writes types in capitals, and keywords for references without their first letter.
    if isinstance(value, list):
        return [_lowered(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    for key, item in value.items():
        word = {"defs": "$defs", "ref": "$ref"}.get(str(key), str(key))
        if word in _BY_NAME and isinstance(item, Mapping):
            found[word] = {name: _lowered(one) for name, one in item.items()}
        elif word == "type" and isinstance(item, str):
            found[word] = item.lower()
        else:
            found[word] = item if word in _DATA else _lowered(item)
    return found
