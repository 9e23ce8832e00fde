"""Tools on demand: a model is shown two declarations, and finds the schemas of all other tools when it needs them."""

from __future__ import annotations

import copy
import difflib
import json
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import Any, Literal, NamedTuple

from google.genai import types
from pydantic_core import SchemaError, SchemaValidator, core_schema

from adk_context_pack._adk import BaseTool, CallbackContext, LlmRequest, LlmResponse, ReadonlyContext, ToolContext
from adk_context_pack._adk.known_tools import declaration_of, declared_in
from adk_context_pack._json import is_number, json_text
from adk_context_pack.conversation.contents import changed, mapped
from adk_context_pack.conversation.token_estimate import estimate_payload, estimate_tokens
from adk_context_pack.errors import answering, counted, logged, logger, must, names, nearest, one_of, positive
from adk_context_pack.search.ranked_index import RankedIndex
from adk_context_pack.tools.resolve_results import with_values
from adk_context_pack.tools.wrap import ManyTools, attach


class DeclaredTool(NamedTuple):
    """Describes a tool without calling it: its JSON schema, and whether any argument may be a reference."""

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
        schema: Any = getattr(declaration, "parameters_json_schema", None) or declaration.parameters
        if isinstance(schema, types.Schema):
            schema = schema.model_dump(exclude_none=True, mode="json", by_alias=True)
        parameters = _lowered({"type": "object", "properties": {}} if schema is None else schema)
        takes_references = bool(getattr(tool, "takes_references", False))
        return cls(tool.name, declaration.description or "", parameters, takes_references)

    def shown(self) -> dict[str, Any]:
        """Returns the tool as a model is shown it."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


class ToolIndex:
    """Ranks tools by their names, descriptions and parameters."""

    def __init__(self, tools: Sequence[DeclaredTool]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        # One passage for each tool, of which the neighbours say nothing.
        self._index = RankedIndex(passage_size=1_000_000, neighbour_share=0.0)
        for tool in self.tools.values():
            self._index.add(" ".join((tool.description, *_words(tool.parameters))), title=" ".join([tool.name] * 3))

    def find(self, query: str, limit: int) -> list[DeclaredTool]:
        """Returns at most `limit` tools that fit what is to be done, best first. Quotation marks make no difference."""
        hits, tools = self._index.search(query.replace('"', " "), limit=limit), list(self.tools.values())
        return [tools[self._index.spans[hit].text] for hit in hits]

    def listing(self, max_tokens: int, *, sentences: bool) -> str:
        """Returns the names of all tools, with their first sentences where these are wanted and fit the budget.

        If not even the names fit, it returns their number, or nothing without a budget.
        """
        said = ((tool.name, " ".join(tool.description.split()).partition(". ")[0]) for tool in self.tools.values())
        long = "\n".join(f"{name}: {first.removesuffix('.')}" for name, first in said)
        texts = [long, ", ".join(self.tools)][not sentences :]
        shortest = counted(len(self.tools), "tool") if max_tokens else ""
        return next((text for text in texts if estimate_tokens(text) <= max_tokens), shortest)


def _words(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, parameter in (schema.get("properties") or {}).items():
        yield name
        if isinstance(parameter, Mapping):
            yield str(parameter.get("description") or "")
            yield from map(str, parameter.get("enum") or ())
            yield from _words(parameter)
            if isinstance(items := parameter.get("items"), Mapping):
                yield from _words(items)


def _lowered(value: Any) -> Any:
    """Returns a schema with the words of JSON schema. google-genai writes types in capitals, and `$ref` as `ref`."""
    if isinstance(value, list):
        return [_lowered(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    for key, item in value.items():
        word = {"defs": "$defs", "ref": "$ref"}.get(str(key), str(key))
        if word in {"properties", "patternProperties", "$defs", "definitions"} and isinstance(item, Mapping):
            found[word] = {name: _lowered(one) for name, one in item.items()}
        elif word == "type" and isinstance(item, str):
            found[word] = item.lower()
        else:
            is_data = word in {"enum", "const", "default", "example", "examples"}
            found[word] = item if is_data else _lowered(item)
    return found


FIND_TOOLS, USE_TOOL = "find_tools", "use_tool"


def asked(given: Mapping[str, Any] | None, index: ToolIndex) -> tuple[str, dict[str, Any], dict[str, Any] | None]:
    """Returns the name and arguments in a `use_tool` call, and the answer if the tool's schema does not allow them."""
    given = given or {}
    name = str(given.get("name") or "")
    tool = index.tools.get(name)
    if tool is None:
        near = nearest(name, index.tools)
        known = index.tools[near].shown() if near else None
        note = f"There is no tool {name[:80]!r}." + (f" {near} is the nearest name." if near else " Use find_tools.")
        return name, {}, {"error": note} | ({"tool": known} if known else {})
    try:
        args = _args(given.get("args"))
        # The tool checks a value that is only referred to.
        checked = with_values(args, AnyValue, whole_only=True) if tool.takes_references else args
    except (ValueError, RecursionError) as error:
        return name, {}, {"error": str(error), "parameters": tool.parameters}
    problems, valid = check_args(tool.parameters, checked)
    if not problems:
        return name, args, None
    answer: dict[str, Any] = {"error": "; ".join(problems)[:1000], "parameters": tool.parameters}
    if not check_args(tool.parameters, valid)[0]:
        answer["nearest_valid_args"] = valid
    return name, args, answer


def _args(given: Any) -> dict[str, Any]:
    def refuse(text: str) -> None:
        raise ValueError(f"{text} is not JSON")

    if given is None or given == "":
        return {}
    if isinstance(given, str):
        try:
            given = json.loads(given, parse_constant=refuse)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"args is not a JSON object: {error}") from None
    if not isinstance(given, dict):
        raise ValueError("args must be a JSON object with the tool's arguments.")  # noqa: TRY004 - worded for a model
    return given


def as_real_call(index: ToolIndex, part: types.Part) -> types.Part:
    """Returns a valid `use_tool` call as a call of the tool itself, or the part itself."""
    call = part.function_call
    if call is None or call.name != USE_TOOL:
        return part
    name, args, error = asked(call.args, index)
    if error is not None:
        return part
    return changed(part, "function_call", call.model_copy(update={"name": name, "args": args}))


def as_model_wrote(deferred: Collection[str], part: types.Part) -> types.Part:
    """Returns a call of a deferred tool, or its result, under the name that the model knows, or the part itself."""
    if (call := part.function_call) is not None and call.name in deferred:
        args = {"name": call.name, "args": json_text(call.args or {})}
        return changed(part, "function_call", call.model_copy(update={"name": USE_TOOL, "args": args}))
    if (result := part.function_response) is not None and result.name in deferred:
        return changed(part, "function_response", changed(result, "name", USE_TOOL))
    return part


Listing = Literal["sentences", "names", "none"]


class DeferredTools(ManyTools):
    """The toolset that `defer_tools` returns. Its docstring explains the settings."""

    def __init__(
        self, tools: Sequence[Any], *, always: Collection[str], listing: Listing, batch: int | None, **most: int
    ) -> None:
        super().__init__("defer_tools", tools)
        self._always = names("defer_tools", "always", always)
        known = sorted(tool.name for tool in self._given if isinstance(tool, BaseTool))
        # A toolset may have any names.
        is_known = self._toolsets or self._always.issubset(known)
        must(is_known, "defer_tools", "always", always, f"made of names of its tools ({', '.join(known)})")
        self._listing = one_of("defer_tools", "listing", listing, ("sentences", "names", "none"))
        self._most = {name: positive("defer_tools", name, number) for name, number in most.items()}
        self._batch = None if batch is None else positive("defer_tools", "batch", batch)
        self.make = self._entry
        # What tools put into a request, which ADK fences if it comes from a server.
        self.descriptions: dict[str, str] = {}
        self._names_seen: set[str] = set()
        # The list of tools may be another for each user, and one toolset serves all of them.
        self._views: OrderedDict[tuple[str, str], FindTools] = OrderedDict()

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Returns `find_tools`, `use_tool`, and all tools, of which the deferred ones declare nothing."""
        entries = self.made_of(await self.inner_tools(readonly_context))
        find = self._view(readonly_context, [declared for declared, _ in entries if declared is not None])
        return [find, find.use, *(shown for _, shown in entries)]

    def _entry(self, tool: BaseTool) -> tuple[DeclaredTool | None, BaseTool]:
        declared = None if tool.name in self._always else DeclaredTool.of(tool)
        if declared is None:
            return None, tool
        # As in `wrap_tool`, a shallow copy keeps everything else as it is.
        hidden = copy.copy(tool)
        hidden.process_llm_request = partial(self._add, hidden, tool)  # type: ignore[method-assign]
        return declared, hidden

    async def _add(self, made: BaseTool, tool: BaseTool, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Lets a deferred tool join a request: it can be called, and declares nothing until it is found."""
        is_declared = self.is_declared(tool.name, tool_context)
        scratch = llm_request if is_declared else LlmRequest()
        await tool.process_llm_request(tool_context=tool_context, llm_request=scratch)
        llm_request.tools_dict[tool.name] = made
        if is_declared:
            return
        declared = (each for each in declared_in(scratch) if isinstance(each, types.FunctionDeclaration))
        self.descriptions |= {each.name or "": each.description or "" for each in declared}
        instruction = scratch.config.system_instruction
        # MCP tools say once how their descriptions are fenced.
        if isinstance(instruction, str) and instruction not in str(llm_request.config.system_instruction or ""):
            llm_request.append_instructions([instruction])

    def _view(self, context: ReadonlyContext | None, declared: list[DeclaredTool]) -> FindTools:
        key = (context.invocation_id, context.agent_name) if context is not None else ("", "")
        present = self._views.pop(key, None) or next(reversed(self._views.values()), None)
        if present is None or list(present.index.tools.values()) != declared:
            if present is not None:
                before = len(present.index.tools)
                logger.info("other deferred tools than before: %d then, %d now", before, len(declared))
            index = ToolIndex(declared)
            room = 0 if self._listing == "none" else self._most["max_listing_tokens"]
            listing = index.listing(room, sentences=self._listing == "sentences")
            present = FindTools(index, listing, self.descriptions, self._most)
            self._names_seen |= index.tools.keys()
        self._views[key] = present
        while len(self._views) > 1_000:  # noqa: PLR2004 - runs
            self._views.popitem(last=False)
        return present

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Does what the inner toolsets do, and sees to it that the agent's calls become calls of the real tools."""
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        # The agent's other callbacks see the real tools.
        attach(tool_context, before=self.before_model, after=self.after_model)

    def after_model(self, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """ADK's `after_model_callback`: `use_tool` becomes a call of the tool itself."""
        with logged("a use_tool call stays as it is"):
            view = self._views.get((callback_context.invocation_id, callback_context.agent_name))
            if view is not None and llm_response.content is not None:
                llm_response.content = mapped(llm_response.content, partial(as_real_call, view.index))

    def before_model(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:  # noqa: ARG002 - ADK's
        """ADK's `before_model_callback`: the model reads its own calls as it wrote them."""
        with logged("a request shows the calls of deferred tools by their own names"):
            if self._batch is None:
                written = partial(as_model_wrote, self._names_seen)
                llm_request.contents = [mapped(content, written) for content in llm_request.contents]

    def is_declared(self, name: str, context: ToolContext) -> bool:
        """Returns whether a found tool is declared by now: with `batch`, in full batches of those found."""
        if self._batch is None:
            return False
        results = [result for event in context.session.events for result in event.get_function_responses()]
        shown = [(each.response or {}).get("tools") or () for each in results if each.name == FIND_TOOLS]
        found = dict.fromkeys(one["name"] for tools in shown for one in tools)
        known = [one for one in found if one in self._names_seen]
        return name in known[: len(known) // self._batch * self._batch]


def defer_tools(  # noqa: PLR0913 - each is a setting
    *tools: Any,
    always: Collection[str] = (),
    listing: Listing = "names",
    max_listing_tokens: int = 1000,
    max_found: int = 5,
    max_found_tokens: int = 3000,
    batch: int | None = None,
) -> DeferredTools:
    """Returns a toolset that shows the model `find_tools` and `use_tool` in place of the tools' own declarations.

        LlmAgent(tools=[defer_tools(McpToolset(…), search_flights, always={"search_flights"})])

    `find_tools(query)` gives schemas as a result, so that a request only grows. `use_tool(name, args)` is checked
    against the tool's own schema. A mistake is answered with the schema and the nearest valid arguments. A valid call
    becomes a call of the tool itself before ADK sees it: the event, callbacks, confirmation, auth, long-running
    behaviour and tracing are those of the tool. In its own history the model reads what it wrote.

    At the agent's first request the toolset adds its two callbacks to the agent's. Plugins' `after_model_callback` runs
    before them and sees `use_tool`. One that returns a response stops them: no tool is called, and the log says so.

    Args:
        tools: functions, tools and toolsets. Tools that declare nothing stay as they are.
        always: names of tools that are declared as usual.
        listing: what the description of `find_tools` lists: "names", "sentences" (names with first sentences), or
            "none". Where the budget has no room for sentences, these are names, and in the end a number.
        max_listing_tokens: the budget of the listing.
        max_found: how many tools `find_tools` shows with their schemas. It names as many again.
        max_found_tokens: the budget of such a result. The best tool is shown in any case.
        batch: declares what was found as well, always this many tools at a time, for models that follow declared
            schemas better. None never declares them.

    Raises:
        SettingError: a setting that cannot work, or an entry of `tools` is not a tool.

    Cost to the prompt cache: none as long as the list of tools stays. Each `batch` moves the whole prefix.
    """
    most = {"max_listing_tokens": max_listing_tokens, "max_found": max_found, "max_found_tokens": max_found_tokens}
    return DeferredTools(tools, always=always, listing=listing, batch=batch, **most)


class FindTools(BaseTool):
    """`find_tools(query)`, with the descriptions that tools put into a request if these are others than declared."""

    def __init__(self, index: ToolIndex, listing: str, descriptions: dict[str, str], most: dict[str, int]) -> None:
        about = "Finds tools by what is to be done, and gives their parameters for use_tool."
        super().__init__(name=FIND_TOOLS, description=f"{about} There are: {listing}" if listing else about)
        self.index, self.use, self._descriptions, self._most = index, UseTool(index), descriptions, most

    def _get_declaration(self) -> types.FunctionDeclaration:
        return _declaration(self, query="What is to be done, in a few words.")

    @answering("The tools could not be searched.")
    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:  # noqa: ARG002 - ADK's signature
        """Returns the schemas of the tools that fit, best first, within the budget, and more names."""
        shown: list[dict[str, Any]] = []
        most, left, more = self._most["max_found"], self._most["max_found_tokens"], []
        for tool in self.index.find(str(args.get("query") or ""), 2 * most):
            entry = tool.shown() | {"description": self._descriptions.get(tool.name, tool.description)}
            price = estimate_payload(entry)
            if len(shown) < most and (price <= left or not shown):
                shown.append(entry)
                left -= price
            else:
                more.append(tool.name)
        if not shown:
            return {"tools": [], "note": "No tool fits these words. Try other words for what is to be done."}
        return {"tools": shown} | ({"more": more} if more else {})


class UseTool(BaseTool):
    """`use_tool(name, args)`: it runs only if the call could not become one of the tool itself."""

    def __init__(self, index: ToolIndex) -> None:
        super().__init__(name=USE_TOOL, description="Calls a tool that find_tools gave.")
        self._index = index

    def _get_declaration(self) -> types.FunctionDeclaration:
        # Gemini refuses an object without properties, so the arguments are a text.
        return _declaration(self, name="The tool's name.", args='Its arguments as one JSON object, such as {"id": 1}.')

    @answering("The tool could not be called.")
    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:  # noqa: ARG002 - ADK's signature
        """Returns what is wrong with the call, the schema, and the nearest valid arguments."""
        name, _, error = asked(args, self._index)
        if error is not None:
            return error
        logger.error("defer_tools cannot call %s: a plugin's after_model_callback answers first", name)
        return {"error": f"{name} cannot be called in this app. Do not try again."}


def _declaration(tool: BaseTool, **parameters: str) -> types.FunctionDeclaration:
    text = partial(types.Schema, type=types.Type.STRING)
    properties = {name: text(description=said) for name, said in parameters.items()}
    schema = types.Schema(type=types.Type.OBJECT, properties=properties, required=list(properties))
    return types.FunctionDeclaration(name=tool.name, description=tool.description, parameters=schema)


_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
_NAMES = {kind.__name__: name for kind, name in _TYPES.items()} | {"tuple": "array"}
"""Types as some declarations write them that were made of Python code."""
_PARTS = frozenset({"allOf", "if", "then", "else", "not", "contains", "propertyNames", "dependentSchemas"})
"""Keywords with schemas that do not name all fields of an object."""
_OPEN = _PARTS | {"$ref", "anyOf", "oneOf", "patternProperties"}
"""Keywords beside which an object may have fields that it does not name."""
_MAX_SAID = 200


class AnyValue(str):
    """A text in the place of a value that is not known yet. It fits every schema."""

    __slots__ = ()


def check_args(schema: Mapping[str, Any], args: Mapping[str, Any]) -> tuple[list[str], Any]:
    """Returns the mistakes in `args`, and the nearest arguments that the schema allows."""
    # An unnamed argument is a mistake, unless the schema allows others. One that cannot be evaluated forbids nothing.
    problems: list[str] = []
    try:
        nearest = copy.deepcopy(args)
        # A definition may be a part of another schema.
        standard = _standard(schema, has_parts=not _PARTS.isdisjoint(json_text(schema).split('"')))
        for _ in range(3):
            found = _library()(standard).iter_errors(nearest)
            # A mistake about a value that is not known yet is none.
            known = (error for error in found if not isinstance(error.instance, AnyValue))
            # These hold or not whatever is within a value.
            plain = {"required", "dependentRequired", "additionalProperties", "type"}
            errors = [each for each in known if each.validator in plain or not _is_unknown(each.instance)]
            problems = problems or [text for error in errors for text in _said(error)]
            nearest = _mended(nearest, errors) if errors else nearest
    except RecursionError:
        return ["the arguments are nested too deeply"], args
    except (ArithmeticError, AttributeError, ImportError, TypeError, ValueError):
        return [], args
    return list(dict.fromkeys(problems)), nearest


def _standard(schema: Any, *, has_parts: bool, is_whole: bool = True) -> Any:
    """Returns a schema in the standard's words, and closed to fields that it does not name if it is a whole one."""
    if isinstance(schema, list):
        return [_standard(each, has_parts=has_parts, is_whole=is_whole) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    known, found = schema.get("properties"), dict[str, Any]()
    for word, value in schema.items():
        if word in {"properties", "$defs", "definitions", "dependentSchemas"}:
            whole = word == "properties" or not has_parts
            found[word] = {name: _standard(each, has_parts=has_parts, is_whole=whole) for name, each in value.items()}
        elif word not in {"enum", "const", "default", "patternProperties"}:
            whole = word not in _PARTS and not (known and word in _OPEN)
            found[word] = _standard(value, has_parts=has_parts, is_whole=whole)
        elif word != "patternProperties":
            found[word] = value
    _translate(found)
    if known:
        found["properties"] = dict.fromkeys(_listed(schema.get("required")), True) | found["properties"]
        if is_whole and _OPEN.isdisjoint(schema):
            found.setdefault("additionalProperties", False)
    return found


def _translate(schema: dict[str, Any]) -> None:
    """Writes in the standard's words what Python code, Gemini, OpenAPI and older drafts write in their own."""
    kinds = [_NAMES.get(kind, kind) for kind in _listed(schema.pop("type", None))]
    nulls = [None] * bool(schema.get("nullable"))
    if kinds and {*kinds} <= {*_TYPES.values(), "null"}:
        schema["type"] = [*kinds, *("null" for _ in nulls)]
    if "enum" in schema:
        # Declarations for Gemini write numbers to choose from as texts.
        texts = schema["enum"] if "string" not in kinds else ()
        schema["enum"] = [*schema["enum"], *nulls, *(made for one in texts for made in _converted(one, kinds))]
    if isinstance(schema.get("items"), list):
        schema |= {"prefixItems": schema["items"], "items": schema.pop("additionalItems", True)}
    for word in ("minimum", "maximum"):
        # OpenAPI says here whether the bound itself belongs.
        exclusive = f"exclusive{word.capitalize()}"
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive):
            schema[exclusive] = schema.pop(word)
    if isinstance(schema.get("multipleOf"), float):
        # The library divides floats, so that 0.3 is not a multiple of 0.1.
        del schema["multipleOf"]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


@lru_cache(maxsize=256)
def _matcher(pattern: str) -> Callable[[str], bool] | None:
    # Of pydantic, since its patterns take linear time, and both the pattern and the text are somebody else's. To make
    # one of a pattern may take longer than to read many texts with it.
    with suppress(SchemaError):
        return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    return None


@cache
def _library() -> Callable[[Any], Any]:
    """Returns what makes a validator of `jsonschema`, which google-adk depends on."""
    library: Any = import_module("jsonschema")
    from referencing import Registry  # noqa: PLC0415 - few apps need it
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    def refer(validator: Any, reference: str, value: Any, schema: Any) -> Iterator[Any]:
        # Forms within forms are looked at once, not in each combination. One that leads to itself asks for nothing.
        seen, key = validator.format_checker.seen, (reference, id(value))
        if key not in seen:
            seen[key] = []
            with suppress(Unresolvable):
                seen[key] = list(library.Draft202012Validator.VALIDATORS["$ref"](validator, reference, value, schema))
        yield from map(library.ValidationError.create_from, seen[key])

    def match(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
        is_like = _matcher(pattern) if isinstance(value, str) else None
        if is_like is not None and not is_like(value):
            yield library.ValidationError(f"{value!r} does not match {pattern!r}")

    validator = library.validators.extend(library.Draft202012Validator, {"$ref": refer, "pattern": match})

    def make(schema: Any) -> Any:
        formats = library.FormatChecker()
        is_moment = formats.checks("date-time", raises=ValueError)
        is_moment(lambda one: not isinstance(one, str) or bool(datetime.fromisoformat(one)))
        formats.seen = {}
        # A registry of its own fetches nothing.
        return validator(schema, format_checker=formats, registry=Registry())

    return make


def _is_unknown(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, AnyValue) or any(map(_is_unknown, inner))


def _said(error: Any) -> Iterator[str]:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)[1:]
    within, place = f"{place}." if place else "", place or "args"
    word, bound, value = error.validator, error.validator_value, error.instance
    if word == "required":
        yield from (f"{within}{name} is missing" for name in bound if name not in value)
    elif word == "additionalProperties" and bound is False:
        for name, near in _others(error):
            yield f"there is no argument {within}{name}" + (f"; {near} is meant" if near else "")
    elif word == "type":
        yield f"{place} must be {' or '.join(bound)}, not {_TYPES.get(type(value), type(value).__name__)}"
    elif word in {"enum", "const"}:
        yield f"{place} must be one of {json_text(_listed(bound))}"
    elif word in {"anyOf", "oneOf"} and error.context:
        yield from _said(error.context[0])
    else:
        yield f"{place}: {error.message[:_MAX_SAID]}"


def _others(error: Any) -> Iterator[tuple[str, str | None]]:
    """Yields the names that a schema does not have, and the one that each is meant for, if there is one."""
    known = [name for name in error.schema.get("properties", ()) if name not in error.instance]
    others = [name for name in error.instance if name not in error.schema.get("properties", ())]
    for place, name in enumerate(others):
        yield name, nearest(name[:_MAX_SAID], known) if place < 10 else None  # noqa: PLR2004 - names


def _mended(args: Any, errors: Sequence[Any]) -> Any:
    """Returns arguments without the mistakes that can be meant in one way only. It changes them."""
    whole: Any = [args]
    for error in errors:
        last, holder = 0, whole
        for step in error.absolute_path:
            last, holder = step, holder[last]
        if error.validator == "additionalProperties":
            for name, near in _others(error):
                one = holder[last].pop(name)
                holder[last].update({near: one} if near else {})
        elif error.validator == "type":
            holder[last] = next(iter(_converted(error.instance, error.validator_value)), holder[last])
        elif error.validator == "enum":
            texts = {str(one).casefold(): one for one in error.validator_value}
            close = difflib.get_close_matches(str(error.instance)[:_MAX_SAID].casefold(), texts, n=1, cutoff=0.5)
            holder[last] = texts[close[0]] if close else holder[last]
    return whole[0]


def _converted(value: Any, kinds: Sequence[str]) -> Iterator[Any]:
    """Yields `value` as the types that it can only be meant for."""
    for kind in kinds:
        if kind == "string" and is_number(value):
            yield str(value)
        elif kind == "array" and not isinstance(value, dict | list) and value is not None:
            yield [value]
        elif isinstance(value, str) and kind != "string":
            with suppress(ValueError):
                made = json.loads(value.strip().lower() if kind == "boolean" else value)
                if kind in {_TYPES.get(type(made), "null"), "number" if is_number(made) else ""}:
                    yield made
