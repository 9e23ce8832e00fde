"""One run of the pipeline, and what the models of its agents were sent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from google.adk.agents import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.genai import types

from adk_context_pack.conversation.token_estimate import Counter, TokenMeter, estimate_tokens

from .account import Account
from .agent import build_pipeline
from .offline.model import OFFLINE_MODEL
from .prompts import QUESTION
from .techniques import leave_out, llm_agents

APP_NAME = "wolfy"
_HANDLE = re.compile(r"""(['"]_handle['"]: ?['"])\w+""")
_SECTION = re.compile(r"^#+ *(\w+):", re.MULTILINE)
_FIGURE = re.compile(r"^[-*] *\**(\w+)\**: *\$?(-?[\d,]+(?:\.\d+)?)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One model call.

    Attributes:
        agent: the agent's name.
        number: which of the agent's calls it is, from 1.
        tokens: input tokens: system instruction, tool declarations and contents.
        cacheable: how many of them begin as an earlier request of the run did, so that a provider can reuse them.
    """

    agent: str
    number: int
    tokens: int
    cacheable: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of the pipeline: its report, and its model calls in order."""

    report: str
    calls: tuple[Call, ...]

    @property
    def tokens(self) -> int:
        """Input tokens of the whole run."""
        return sum(call.tokens for call in self.calls)

    @property
    def cacheable(self) -> int:
        """Those of them that begin as an earlier request did."""
        return sum(call.cacheable for call in self.calls)

    @property
    def figures(self) -> dict[str, float]:
        """The figures as they stand in the report's text; those of the first query by name, others as `q2.clicks`."""
        return figures_of(self.report)


def count_tokens(text: str) -> int:
    """The pack's estimate, with each handle counted as the same one, as they are random and a count should repeat."""
    return estimate_tokens(_HANDLE.sub(r"\g<1>0handle0000", text))


class RequestLog:
    """Counts every request in the form in which the model receives it.

    Args:
        counter: from text to tokens; a tokenizer of one's own gives the real figures of a model.
    """

    def __init__(self, counter: Counter = count_tokens) -> None:
        self.calls: list[Call] = []
        self._counter = counter
        self._sent: list[str] = []

    def watch(self, root: BaseAgent) -> None:
        """Counts the requests of every agent under `root`, after all its other callbacks."""
        for agent in llm_agents(root):
            callbacks: list[Any] = agent.before_model_callback or []  # type: ignore[assignment]
            agent.before_model_callback = [*callbacks, self]

    def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """ADK's `before_model_callback`; changes nothing."""
        name = callback_context.agent_name
        tokens = TokenMeter(counter=self._counter).request(llm_request)
        text = _as_sent(llm_request)
        prefix = max((_common_prefix(text, other) for other in self._sent), default=0)
        number = 1 + sum(call.agent == name for call in self.calls)
        self.calls.append(Call(agent=name, number=number, tokens=tokens, cacheable=round(tokens * prefix / len(text))))
        self._sent.append(text)


async def run_pipeline(  # noqa: PLR0913 - each has a default
    account: Account,
    *,
    without: Iterable[str] = (),
    model: str | BaseLlm = OFFLINE_MODEL,
    question: str = QUESTION,
    session_service: BaseSessionService | None = None,
    counter: Counter = count_tokens,
) -> Run:
    """Runs the pipeline once in a new session.

    Args:
        account: what the queries run on.
        without: the techniques to leave out.
        model: the name of a model, or the model.
        question: what the user asks.
        session_service: where the session lives; by default in memory.
        counter: from text to tokens.
    """
    root = build_pipeline(account, model)
    leave_out(root, without, account)
    log = RequestLog(counter)
    log.watch(root)
    sessions = session_service or InMemorySessionService()
    runner = Runner(app_name=APP_NAME, agent=root, session_service=sessions)
    session = await sessions.create_session(app_name=APP_NAME, user_id="user")
    message = types.Content(role="user", parts=[types.Part(text=question)])
    report = ""
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        report = str(event.actions.state_delta.get("report", report))
    return Run(report=report, calls=tuple(log.calls))


def figures_of(report: str) -> dict[str, float]:
    """The figures in a report's text: those of the first query by their names, those of others as `q2.clicks`."""
    heads = list(_SECTION.finditer(report))
    ends = [head.start() for head in heads[1:]] + [len(report)]
    found: dict[str, float] = {}
    for place, (head, end) in enumerate(zip(heads, ends, strict=True)):
        prefix = f"{head[1]}." if place else ""
        for name, figure in _FIGURE.findall(report[head.end() : end]):
            plain = figure.replace(",", "")
            found[prefix + name] = float(plain) if "." in plain else int(plain)
    return found


def _as_sent(request: LlmRequest) -> str:
    tools = [
        tool.model_dump_json(exclude_none=True) for tool in request.config.tools or () if isinstance(tool, types.Tool)
    ]
    contents = [content.model_dump_json(exclude_none=True) for content in request.contents]
    return "\n".join([str(request.config.system_instruction), *tools, *contents])


def _common_prefix(text: str, other: str) -> int:
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if text[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
