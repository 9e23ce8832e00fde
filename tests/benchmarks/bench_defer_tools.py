"""Measures tools on demand, found how well, how fast, at which price: `python -m tests.benchmarks.bench_defer_tools`.

Recall is the share of needed functions among the first found, with the user's words as the query, over all 1,233
functions. The session has 12 model calls, or 30, with the 117 tools of a real MCP server, declared all or deferred,
alone or beside the plugin: eight tools are used, and where they are deferred, three searches come before. A provider's
cache is assumed to keep the longest common prefix of a request and the one before, at a tenth of the price. Tokens are
o200k.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from adk_context_pack import ContextPackPlugin, defer_tools
from adk_context_pack.tools.defer_tools import DeclaredTool, ToolIndex
from tests.support.o200k import o200k
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel, call
from tests.support.shared_data import shared_file

CACHED_PRICE = 0.10
USED = (
    ("issues in a repository that are still open", "list_issues", {"owner": "acme", "repo": "shop"}),
    ("", "list_issues", {"owner": "acme", "repo": "cart"}),
    ("read what a file says", "get_file_contents", {"owner": "acme", "repo": "shop", "path": "app.py"}),
    ("", "get_file_contents", {"owner": "acme", "repo": "shop", "path": "cart.py"}),
    ("", "get_file_contents", {"owner": "acme", "repo": "shop", "path": "tests.py"}),
    ("commits of a branch", "list_commits", {"owner": "acme", "repo": "shop"}),
    ("", "list_commits", {"owner": "acme", "repo": "cart"}),
    ("", "list_commits", {"owner": "acme", "repo": "site"}),
)


class Listed(BaseTool):
    """A tool with a declaration of the MCP server, and a short result."""

    def __init__(self, entry: dict[str, Any]) -> None:
        super().__init__(name=entry["name"], description=entry.get("description") or "")
        self._schema = entry["inputSchema"]

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return {"done": self.name, "items": [{"id": n, "title": f"item {n}"} for n in range(10)]}


def recall() -> None:
    """Prints the share of needed functions among the first five and ten, and the time of a search."""
    functions = json.loads(shared_file("bfcl/functions.json").read_text(encoding="utf-8"))
    asked = json.loads(shared_file("bfcl/function_queries.dev.json").read_text(encoding="utf-8"))
    declared = [DeclaredTool(one["name"], one["description"], one["parameters"]) for one in functions]
    index = ToolIndex(declared)
    needed, within, all_within = 0, {5: 0, 10: 0}, {5: 0, 10: 0}
    for one in asked:
        found = [tool.name for tool in index.find(one["query"], 10)]
        needed += len(one["functions"])
        for number in within:
            hits = sum(name in found[:number] for name in one["functions"])
            within[number] += hits
            all_within[number] += hits == len(one["functions"])
    for number, hits in within.items():
        share = f"{hits / needed:.1%} of the functions needed, all of a request's {all_within[number] / len(asked):.1%}"
        print(f"among the first {number}: {share}")
    thousand, spent = ToolIndex(declared[:1000]), []
    for one in asked:
        start = time.perf_counter()
        thousand.find(one["query"], 10)
        spent.append((time.perf_counter() - start) * 1000)
    spent.sort()
    print(f"search among 1,000: {statistics.median(spent):.2f} ms in the median, ", end="")
    print(f"{spent[int(len(spent) * 0.95)]:.2f} ms at the 95th percentile, {spent[-1]:.1f} ms at most")


async def session(deferred: bool, calls: int, plugins: Sequence[Any] = ()) -> list[list[str]]:  # noqa: FBT001
    """The requests of a session, each as the texts of its parts in the order in which a provider reads them."""
    tools = [Listed(entry) for entry in json.loads(shared_file("github_mcp/tools.json").read_text(encoding="utf-8"))]
    steps: list[Any] = []
    for query, name, args in USED:
        if deferred and query:
            steps.append(call("find_tools", query=query))
        steps.append(call("use_tool", name=name, args=json.dumps(args)) if deferred else call(name, **args))
    left = list(steps)
    requests: list[list[str]] = []

    def answer(request: LlmRequest) -> Any:
        requests.append(_texts(request))
        return left.pop(0) if left else "Noted."

    agent = LlmAgent(
        name="a",
        instruction="Help with repositories.",
        model=ScriptedModel(answer=answer),
        tools=[defer_tools(*tools)] if deferred else tools,
    )
    turns = max(1, calls - len(steps))
    run = await run_agent(agent, "Look into the shop.", *["Thanks. Go on."] * (turns - 1), plugins=plugins)
    results = [result.response for event in run.session.events for result in event.get_function_responses()]
    if sum("done" in result for result in results) != len(USED):
        raise RuntimeError("a tool of the session did not run")
    return requests


def _texts(request: LlmRequest) -> list[str]:
    declared = json.dumps([tool.model_dump(exclude_none=True, mode="json") for tool in request.config.tools or ()])
    contents = [content.model_dump_json(exclude_none=True) for content in request.contents]
    return [declared, str(request.config.system_instruction), *contents]


def bill(requests: Sequence[Sequence[str]]) -> tuple[float, int, int]:
    """The price of all requests in tokens, the tokens sent, and how often a request did not begin with the last one."""
    sizes: dict[str, int] = {}

    def size(texts: Sequence[str]) -> int:
        return sum(sizes.setdefault(text, o200k(text)) for text in texts)

    sent, cached, busts = size(requests[0]), 0, 0
    for before, now in pairwise(requests):
        same = next((n for n, (one, two) in enumerate(zip(before, now, strict=False)) if one != two), len(before))
        busts += same < len(before)
        sent += size(now)
        cached += size(now[:same])
    return sent - (1 - CACHED_PRICE) * cached, sent, busts


async def main() -> None:
    """Prints recall, times and prices."""
    recall()
    for calls, beside in product((12, 30), (False, True)):
        prices: dict[bool, float] = {}
        for deferred in (False, True):
            requests = await session(deferred, calls, [ContextPackPlugin()] if beside else [])
            prices[deferred], sent, busts = bill(requests)
            print(
                f"{'deferred' if deferred else 'declared':9} {'beside the plugin' if beside else 'alone':18}"
                f"{len(requests)} calls: {sent:,} tokens sent, price of {prices[deferred]:,.0f}, {busts} prefix busts"
            )
        print(f"deferred costs {prices[True] / prices[False]:.1%} of declaring all")


if __name__ == "__main__":
    asyncio.run(main())
