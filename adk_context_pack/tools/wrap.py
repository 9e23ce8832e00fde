"""Wraps whatever `LlmAgent(tools=[…])` takes, so that a result can be made smaller where it is made."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from adk_context_pack._adk import BaseTool, BaseToolset, LlmRequest, ReadonlyContext, ToolContext
from adk_context_pack._adk.instruction import agent_of
from adk_context_pack._adk.known_tools import function_tool, is_node, node_tool
from adk_context_pack.errors import Callback, SettingError, must


class ManyTools(BaseToolset):
    """Delegates what ADK asks of a toolset to the tools that it was given. It never changes them, and it closes them.

    `make` returns what is handed out for a tool. Errors name `owner`, the public function that makes the toolset.
    """

    make: Callable[[BaseTool], Any]
    _known: Mapping[int, tuple[BaseTool, Any]] = {}

    def __init__(self, owner: str, tools: Sequence[Any]) -> None:
        super().__init__()
        must(tools, owner, "tools", tools, "one tool or toolset at least")
        self._given = [tool_of(tool, owner=owner, name="tools") for tool in tools]
        self._toolsets = [given for given in self._given if isinstance(given, BaseToolset)]
        # Stubs say to the model where it may write references.
        self.takes_references = max((getattr(each, "takes_references", "") for each in self._given), key=len)

    def made_of(self, tools: Iterable[BaseTool]) -> list[Any]:
        """Returns what is handed out for each tool. It is the same for the same tool, as long as that is listed."""
        # A tool may keep something on itself between two steps of an agent.
        pairs = [self._known.get(id(tool)) or (tool, self.make(tool)) for tool in tools]
        # Tools that are no longer listed are forgotten, since their ids may be given to others.
        self._known = {id(pair[0]): pair for pair in pairs}
        return [made for _, made in pairs]

    async def inner_tools(self, context: ReadonlyContext | None) -> list[BaseTool]:
        """Returns all tools under their prefixed names, in order."""
        found: list[BaseTool] = []
        for given in self._given:
            found += await given.get_tools_with_prefix(context) if isinstance(given, BaseToolset) else [given]
        return found

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Lets the inner toolsets add to a request."""
        for toolset in self._toolsets:
            await toolset.process_llm_request(tool_context=tool_context, llm_request=llm_request)

    def get_auth_config(self) -> Any:
        """Returns the auth config of the first toolset that has one, or None."""
        configs = (getattr(toolset, "get_auth_config", lambda: None)() for toolset in self._toolsets)
        return next((config for config in configs if config is not None), None)

    async def close(self) -> None:
        """Closes the inner toolsets."""
        for toolset in self._toolsets:
            await toolset.close()


class WrappedToolset(ManyTools):
    """Delegates all that ADK asks of a toolset to another one, which is never changed, and wraps each tool of it."""

    def __init__(self, toolset: BaseToolset, wrap: Callable[[BaseTool], BaseTool]) -> None:
        # No super().__init__(), since filter, prefix and caches are the inner toolset's. See __getattr__.
        self._toolset, self._toolsets = toolset, [toolset]
        self.make = wrap

    def __getattr__(self, name: str) -> Any:
        """Takes everything else (`tool_filter`, `tool_name_prefix`, own methods) from the inner toolset."""
        if name.startswith("__") or name == "_toolset":
            raise AttributeError(name)
        return getattr(self._toolset, name)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Returns the inner toolset's tools, wrapped."""
        return self.made_of(await self._toolset.get_tools(readonly_context))

    # It is final in ADK, but the inner toolset has to put its own prefix.
    async def get_tools_with_prefix(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:  # type: ignore[misc]
        """Returns the inner toolset's tools under their prefixed names, wrapped."""
        return self.made_of(await self._toolset.get_tools_with_prefix(readonly_context))


Reduce = Callable[[BaseTool, dict[str, Any], ToolContext, Any], Awaitable[Any]]
"""From the tool, its arguments, its context and its result to the result that the model gets."""


def wrap_tool(tool: Any, reduce: Reduce) -> BaseTool | BaseToolset:
    """Returns a copy of a tool, a toolset or what ADK makes one of, that hands each result to `reduce`."""
    # It is of the same class, with the same declaration, confirmation, auth and long-running settings. A generator
    # function is refused: ADK's streaming tools are such functions, which hand their values to a live session.
    maker = getattr(reduce, "__self__", None)
    owner = getattr(maker, "name", "wrap_tool")
    is_first = maker is None or type(pass_of(tool)) is not type(maker)
    must(is_first, owner, "tool", tool, f"one that {owner} has not wrapped already")
    found = tool_of(tool, owner=owner, name="tool")
    if isinstance(found, BaseToolset):
        return WrappedToolset(found, lambda inner: _wrapped(inner, reduce))
    function = getattr(tool, "func", tool)
    # Of a callable object, the class's method decides.
    called = (function, getattr(type(function), "__call__", None))  # noqa: B004 - it is asked for, not whether there is one
    if any(inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each) for each in called):
        raise SettingError.of(owner, "tool", tool, "a function that returns its result, since a generator has none")
    return _wrapped(found, reduce)


def tool_of(tool: Any, *, owner: str, name: str) -> BaseTool | BaseToolset:
    """Returns what `LlmAgent(tools=[…])` takes as a tool or toolset, made as ADK makes it, or raises `SettingError`."""
    if isinstance(tool, BaseToolset | BaseTool):
        return tool
    if is_node(tool):
        # Agents are nodes too, but not tools.
        with suppress(ValueError):
            return node_tool(tool)
    elif callable(tool) and not isinstance(tool, Callback):
        return function_tool(tool)
    raise SettingError.of(owner, name, tool, "a function, a tool or a toolset")


def wrap_runs(request: LlmRequest, reduce: Reduce) -> None:
    """Puts copies of a request's tools in their place, which run the tools and hand each result to `reduce`."""
    for name, tool in request.tools_dict.items():
        request.tools_dict[name] = wrapped = copy.copy(tool)
        wrapped.run_async = partial(_reduced_run, tool, tool.run_async, reduce)  # type: ignore[method-assign]


def _wrapped(tool: BaseTool, reduce: Reduce) -> BaseTool:
    # A shallow copy keeps class, declaration, confirmation, auth and long-running behaviour of every kind of tool. Its
    # run is its own, since what a tool notes on itself while it processes a request is noted on the copy.
    wrapped = copy_of(tool)
    # `copy.deepcopy` of an agent follows a partial, but not a closure.
    wrapped.run_async = partial(_reduced_run, wrapped, wrapped.run_async, reduce)  # type: ignore[method-assign]
    return wrapped


def copy_of(tool: BaseTool) -> BaseTool:
    """Returns a shallow copy of a tool. A deferred tool puts the copy into a request in place of itself."""
    made, offered = copy.copy(tool), vars(tool).get("process_llm_request")
    if isinstance(offered, partial) and offered.args[:1] == (tool,):
        made.process_llm_request = partial(offered.func, made, *offered.args[1:])  # type: ignore[method-assign]
    return made


async def _reduced_run(tool: BaseTool, run: Any, reduce: Reduce, *, args: dict[str, Any], tool_context: Any) -> Any:
    return await reduce(tool, args, tool_context, await run(args=args, tool_context=tool_context))


def pass_of(tool: Any) -> Any:
    """Returns the pass that a wrapped tool hands its results to, or None for another tool."""
    run: Any = getattr(tool, "run_async", None)
    return getattr(run.args[-1], "__self__", None) if getattr(run, "func", None) is _reduced_run else None


def attach(context: ToolContext, *, before: Callable[..., Any], after: Callable[..., Any]) -> None:
    """Adds callbacks to the agent whose request is being made, once: `before` as its last, `after` as its first."""
    # ADK has no hook for a toolset between the whole request and the model, or between the answer and its calls.
    agent = agent_of(context)
    if agent is not None:
        others = [other for other in agent.canonical_after_model_callbacks if other != after]
        agent.after_model_callback = [after, *others]
        others = [other for other in agent.canonical_before_model_callbacks if other != before]
        agent.before_model_callback = [*others, before]
