"""Holds the settings with which the plugin serves an agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from google.adk.models.llm_request import LlmRequest

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.tokens import Counter, window_of
from adk_context_pack.errors import Configured, SettingError, instances, must, positive
from adk_context_pack.passes.context_pass import ContextPass, handed_over
from adk_context_pack.passes.pipeline import default_passes
from adk_context_pack.stores.payload_store import PayloadStore, Place
from adk_context_pack.tools.app_names import AppNames
from adk_context_pack.tools.cap_rows import CapRows
from adk_context_pack.tools.offload_payload import DEFAULT_PAYLOADS, DEFAULT_ROWS, OffloadPayload
from adk_context_pack.tools.read_back import offer_read_back
from adk_context_pack.tools.result_pass import ResultPass, ToolSetting

_SHARE_OF_WINDOW = 0.8
"""The share of the model's window that a request may fill. The rest is for the answer and for errors of estimates."""

ReadBack = Literal["early", "always"] | bool
"""When an agent is given the tools to read back: where it needs them, where it may need them, always, or never."""


@dataclass(frozen=True, kw_only=True)
class PackSettings(Configured):
    """Configures `ContextPackPlugin` for all agents, or for one of them.

    Args:
        passes: the passes over each request, in order. None means `default_passes()` within `max_tokens`, and an empty
            sequence leaves requests as they are.
        max_tokens: the budget of a request in the default passes. None means four fifths of the model's window, as far
            as its name tells it, and of the smallest one where the model has backups.
        rows: how tables in tool results are capped. None caps none.
        payloads: how other large tool results are kept out of the prompt. None keeps none out.
        result_passes: the passes over each tool result, in order, in place of `rows` and `payloads`. None means these
            two, and an empty sequence leaves results as they are.
        tools: settings for single tools by name: "whole" for results that are always read to their end, "titles" for
            tables that are read row by row, such as those of a search, or a pass such as `CapRows(max_rows=20)` in the
            place of the one of its kind. They go before the `tools` of a pass.
        read_back: whether an agent is given `read_back`, the tool that opens what it is not shown: with the first
            result of its tools that is shortened, where its request shows a handle of another agent, and where a pass
            leaves history out. "early" gives it from the first request on where a result of the agent's tools may be
            shortened, so that its declarations do not change then. "always" gives it with every request, as an
            explicitly created cache needs it. A request that cannot take function tools (built-in tools or a response
            schema, and no function tool) is given none. Use False for an agent whose model cannot call functions.
    """

    passes: Sequence[ContextPass] | None = None
    max_tokens: int | None = None
    rows: CapRows | None = DEFAULT_ROWS
    payloads: OffloadPayload | None = DEFAULT_PAYLOADS
    result_passes: Sequence[ResultPass] | None = None
    tools: Mapping[str, ToolSetting] = field(default_factory=dict, hash=False)
    read_back: ReadBack = True
    _built: dict[tuple[int, int, float], tuple[ContextPass, ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        """Checks the settings."""
        allowed = 'True, False, "early" or "always"'
        must(self.read_back in {True, False, "early", "always"}, self, "read_back", self.read_back, allowed)
        positive(self, "max_tokens", self.max_tokens, optional=True)
        if self.passes is not None:
            object.__setattr__(self, "passes", instances(self, "passes", self.passes, ContextPass, "StripForContext()"))
        must(isinstance(self.rows, CapRows | None), self, "rows", self.rows, "CapRows(…) or None")
        of_its_kind = isinstance(self.payloads, OffloadPayload | None)
        must(of_its_kind, self, "payloads", self.payloads, "OffloadPayload(…) or None")
        if self.result_passes is not None:
            is_alone = self.rows is DEFAULT_ROWS and self.payloads is DEFAULT_PAYLOADS
            must(is_alone, self, "result_passes", self.result_passes, "given without rows and payloads")
            found = instances(self, "result_passes", self.result_passes, ResultPass, "CapRows()")
            object.__setattr__(self, "result_passes", found)
        for name, setting in self.tools.items() if isinstance(self.tools, Mapping) else [("", self.tools)]:
            if not name or not (setting in (None, "whole", "titles") or isinstance(setting, ResultPass)):
                raise SettingError.of(self, "tools", setting, 'such as {"read_doc": "whole", "search": "titles"}')

    @property
    def reducing_passes(self) -> tuple[ResultPass, ...]:
        """The passes over each tool result, in the order in which they run."""
        if self.result_passes is not None:
            return tuple(self.result_passes)
        return tuple(filter(None, (self.rows, self.payloads)))

    def offer_read_back(self, request: LlmRequest, call: ModelCall, *, history: bool) -> frozenset[str]:
        """Adds to a request the tool that opens what its agent is not shown, and returns the names of added ones.

        Args:
            request: the request as ADK built it.
            call: the model call.
            history: whether a pass leaves history out.
        """
        # Where nothing is in state and nothing leaves, there is nothing to read back.
        if not self.read_back or (self.read_back is True and not history and not call.state):
            return frozenset()
        return offer_read_back(
            request,
            call.state,
            history=history,
            passes=self.reducing_passes,
            early=self.read_back == "early",
            always=self.read_back == "always",
            tools=self.tools,
            handed=handed_over(call),
        )

    def stored_in(self, store: Place | PayloadStore) -> PackSettings:
        """Returns the same settings with result passes that keep full results in `store`."""
        tools = {name: each and _stored_in(store, each) for name, each in self.tools.items()}
        if self.result_passes is not None:
            return replace(self, tools=tools, result_passes=[_stored_in(store, entry) for entry in self.result_passes])
        rows = self.rows and replace(self.rows, store=store)
        return replace(self, tools=tools, rows=rows, payloads=self.payloads and replace(self.payloads, store=store))

    def budget_for(self, model: str | None, *backups: str | None) -> int:
        """The tokens that a request to `model` may have, and to each model that may be asked in its place."""
        return self.max_tokens or int(min(map(window_of, (model, *backups))) * _SHARE_OF_WINDOW)

    def passes_within(
        self, budget: int, counter: Counter | None = None, cached_price: float = 0.1
    ) -> tuple[ContextPass, ...]:
        """Returns the passes for a request of at most `budget` tokens. See `default_passes`."""
        if self.passes is not None:
            return tuple(self.passes)
        # There is one budget for each model. The passes hold the counter, so that no other one is given its id.
        key = budget, id(counter), cached_price
        if key not in self._built:
            self._built[key] = default_passes(max_tokens=budget, counter=counter, cached_price=cached_price)
        return self._built[key]


def _stored_in(store: Place | PayloadStore, entry: Any) -> Any:
    # A pass of the user's own may have no such setting.
    has_one = isinstance(entry, ResultPass) and "store" in {item.name for item in fields(entry)}
    setting: dict[str, Any] = {"store": store} if has_one else {}
    return replace(entry, **setting) if setting else entry


def checked_agents(agents: Mapping[str, PackSettings | None] | None) -> dict[str, PackSettings | None]:
    """Returns the plugin's settings for single agents. Refuses all but a mapping of names to `PackSettings` or None."""
    given = {} if agents is None else agents
    for settings in given.values() if isinstance(given, Mapping) else (given,):
        if not isinstance(given, Mapping) or not isinstance(settings, PackSettings | None):
            raise SettingError.of("ContextPackPlugin", "agents", settings, 'such as {"writer": PackSettings()}')
    return dict(given)


def names_in(agents: Mapping[str, PackSettings | None], *, default: PackSettings) -> AppNames:
    """Returns the names of agents and tools that a plugin's settings have, to look them up in the app."""
    settings = [each for each in (default, *agents.values()) if each is not None]
    reducing: list[Any] = [entry for each in settings for entry in (each, *each.reducing_passes)]
    found: dict[str, Collection[str]] = {"agents": agents, "tools": {name for each in reducing for name in each.tools}}
    # Two of the default passes are given the same names, and a mistake is said once.
    for words in (("keep_agents",), ("keep_tools", "exclude_tools")):
        own = [getattr(entry, word, ()) for each in settings for entry in each.passes or () for word in words]
        found[f"{' or '.join(words)} of a pass"] = frozenset().union(*own)
    return AppNames(owner="ContextPackPlugin", settings=found)
