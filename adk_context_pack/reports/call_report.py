"""Holds the records of model calls and tool results and the texts of requests, and prints them."""

from __future__ import annotations

import logging
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import islice, takewhile
from typing import Any, NamedTuple

from adk_context_pack._adk import Event, LlmRequest, types
from adk_context_pack._adk.instruction import agent_of, is_labelled
from adk_context_pack._adk.known_tools import declared_in
from adk_context_pack._json import json_text
from adk_context_pack.conversation.contents import payload_hash, said_in
from adk_context_pack.conversation.model_call import ModelCall, totals_on
from adk_context_pack.conversation.outline import Voices, outline_of
from adk_context_pack.conversation.token_estimate import CHAIN, TokenMeter, is_plausible
from adk_context_pack.errors import counted, logged, logger, printable
from adk_context_pack.stores.byte_cache import ByteCache
from adk_context_pack.stores.handles import IN_TEXT, stored_results

_MAX_CHARACTERS = 200_000
"""The longest text of one part, since a browser could not show more of it."""


class ViewPart(NamedTuple):
    """One part of a request: what it is ("user · text", "tool result · run_query"), and its text or JSON."""

    label: str
    text: str


RequestView = tuple[ViewPart, ...]


def request_view(request: LlmRequest, known: RequestView = ()) -> RequestView:
    """Returns a request as text, part by part. Parts that are equal in `known` are shared with it."""
    same, found = {part: part for part in known}, []
    for label, text in _parts(request):
        left = len(text) - _MAX_CHARACTERS
        part = ViewPart(label, f"{text[:_MAX_CHARACTERS]}\n… {left:,} more characters" if left > 0 else text)
        found.append(same.get(part, part))
    return tuple(found)


def _parts(request: LlmRequest) -> Iterator[tuple[str, str]]:
    if request.config and request.config.system_instruction:
        yield "system instruction", instruction_text(request.config.system_instruction)
    for function in declared_in(request):
        dump = getattr(function, "model_dump", None)
        declared = json_text(dump(mode="json", exclude_none=True), layout="indented") if dump else str(function)
        yield "tool declaration", declared
    for content in request.contents or ():
        for part in content.parts or ():
            yield _part(content.role or "no role", part)


def instruction_text(instruction: Any) -> str:
    """Returns a system instruction of any form as text."""
    if instruction is None or isinstance(instruction, str):
        return instruction or ""
    if isinstance(instruction, types.Part):
        return _part("", instruction)[1]
    listed = instruction.parts or () if isinstance(instruction, types.Content) else instruction
    return "\n\n".join(map(instruction_text, listed)) if isinstance(listed, Iterable) else str(listed)


def _part(role: str, part: types.Part) -> tuple[str, str]:
    kind, name, _, value = said_in(part)
    if kind in ("call", "result"):
        return f"tool {kind} · {name}", json_text(value, layout="indented")
    if kind == "media":
        value = f"{name}, {len(value or b''):,} bytes"
    return f"{role} · {'thought' if kind == 'text' and part.thought else kind or 'other'}", str(value or "")


CALLS_AND_RESULTS = "tool_calls_and_results"
"""The category to which the tokens of the tools add up."""

CATEGORIES = (
    "system_instruction",  # the system instruction, and the dynamic one that ADK puts among the contents
    "tool_declarations",
    "user",  # what the user said
    "own_words",  # what this agent said and thought
    CALLS_AND_RESULTS,  # this agent's, with code that it ran
    "relayed",  # what other agents did, as ADK relays it or as a pass retells it
    "state_views",  # state values that a pass filled into the instructions
    "media",  # images, audio, files, whoever sent them
    "other",  # compaction summaries, and what nobody in the session said
)
"""The names of the categories, in the order in which they are shown."""


def spread(found: Mapping[str, int], total: int) -> dict[str, int]:
    """Returns `found` scaled so that its sum is exactly `total`. The largest entry takes what rounding leaves."""
    whole = sum(found.values())
    if whole in (0, total):
        return dict(found) if whole == total else {**found, "other": total}
    scaled = {name: tokens * total // whole for name, tokens in found.items()}
    largest = max(scaled, key=scaled.__getitem__)
    scaled[largest] += total - sum(scaled.values())
    return scaled


def present(found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the entries that are neither 0 nor empty."""
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, kw_only=True, slots=True)
class PassReport:
    """The record of one pass over one request.

    Attributes:
        name: the pass, in snake case (`strip_for_context`).
        tokens_before: tokens of the whole request as the pass received it.
        tokens_after: tokens of the whole request as the pass left it.
        note: what the pass did and what it left alone, in one line without payload.
        seconds: the time that the pass took.
        error: the exception of a pass that failed and was skipped, as `type: message`, or None.
    """

    name: str
    tokens_before: int
    tokens_after: int
    note: str = ""
    seconds: float = 0.0
    error: str | None = None

    @property
    def tokens_saved(self) -> int:
        """`tokens_before` less `tokens_after`. Negative if a state view was filled in."""
        return self.tokens_before - self.tokens_after

    @property
    def error_type(self) -> str | None:
        """The type of `error` alone, since a message may quote what the pass was reading."""
        return self.error.partition(":")[0] if self.error else None

    def to_dict(self) -> dict[str, Any]:
        """Returns the record as plain JSON values, without payload."""
        told = {"name": self.name, "tokens_before": self.tokens_before, "tokens_after": self.tokens_after}
        return {**told, "seconds": round(self.seconds, 6), **present({"note": self.note, "error": self.error_type})}


@dataclass(frozen=True, kw_only=True, slots=True)
class PrefixReport:
    """The most that a provider can read from its prompt cache.

    Attributes:
        tokens: the tokens at the beginning of this request that the previous request begins with as well.
        previous_tokens: the tokens of the previous request of the same agent in the same session, or 0.
    """

    tokens: int = 0
    previous_tokens: int = 0

    @property
    def share(self) -> float:
        """`tokens` as a share of the previous request, from 0 to 1. An agent's first request has 0."""
        return min(1.0, self.tokens / self.previous_tokens) if self.previous_tokens else 0.0

    def scaled(self, factor: float, fixed: int = 0) -> PrefixReport:
        """Returns it with all tokens multiplied, and `fixed` ones more that each request begins with."""
        tokens, previous = (tokens and round(factor * tokens) + fixed for tokens in (self.tokens, self.previous_tokens))
        return PrefixReport(tokens=tokens, previous_tokens=previous)


@dataclass(kw_only=True, slots=True)
class Saving:
    """The savings of one report, or of several together."""

    tokens_before: int = 0
    tokens_after: int = 0
    categories: Mapping[str, int] = field(default_factory=dict)
    categories_before: Mapping[str, int] = field(default_factory=dict)
    results: Mapping[str, int] = field(default_factory=dict)
    unknown_results: int = 0
    pack_tools: int = 0

    @property
    def tokens_saved(self) -> int:
        """`tokens_without_pack` less `tokens_after`. Negative if more was added than taken away."""
        return self.tokens_without_pack - self.tokens_after

    @property
    def tokens_without_pack(self) -> int:
        """Tokens that ADK alone would have sent, as `CallReport` describes it."""
        return self.tokens_before + sum(self.results.values()) - self.pack_tools

    def first_steps(self) -> Iterator[tuple[str, int]]:
        """Yields what happened before the first pass, and the tokens that it took away."""
        yield from ((f"results of {tool}", saved) for tool, saved in self.results.items())
        yield from [("read-back tools", -self.pack_tools)] if self.pack_tools else ()


@dataclass(kw_only=True, slots=True)
class CallReport(Saving):
    """The record of one model call's request on its way through a pipeline. `print(report)` shows it as a table.

    The tokens add up: `categories_before` to `tokens_before`, `categories` to `tokens_after`. Each pass starts with the
    tokens that the previous pass left. They are the pipeline's own count. Without a counter of the app's own that is an
    estimate, which is scaled to the provider's figure, or until there is one to that for the agent's last call.

    `tokens_without_pack` is what the same request would weigh had no result been made smaller, no tool been declared by
    the plugin and no pass run. ADK alone sends the full history with each call, so a request saves the tokens of each
    smaller result that it shows, also those of earlier calls and turns, and those that ADK wrote into it as text of
    another agent. `tokens_without_pack` counts the full result in its place. What an agent reads back with a tool of
    the pack stays in the sum, since nobody knows what the agent would have done without that tool.

    Attributes:
        agent: the agent's name.
        model: the model's name, if ADK had set one.
        invocation_id: ADK's id of the run.
        session_id: the session's id.
        user_id: the user's id, which is neither printed nor exported.
        passes: one record for each pass, in the order in which they ran.
        tokens_before: tokens of the whole request before the first pass, with smaller results and the plugin's tools.
        tokens_after: tokens of the whole request after the last pass.
        categories: `tokens_after` by category, in the order of `CATEGORIES`, empty ones included.
        categories_before: `tokens_before` by category.
        tools: the tokens of this agent's calls and results by tool. They add up to `tool_calls_and_results`.
        tools_before: the same for `categories_before`.
        results: the tokens that smaller results keep out of this request, by tool.
        unknown_results: smaller results in this request that an earlier process made. Their saving is not counted, so
            `tokens_without_pack` is then a lower bound.
        shortened: how many smaller results this request shows.
        pack_tools: tokens of the declarations that the plugin added to this request.
        shadow: whether the figures are what the pack would have done to a request that went out as ADK built it.
        prefix: the share of the agent's previous request in this session that this one still begins with.
        prompt_tokens: the provider's own count, cached tokens included. None until an answer has a count.
        cached_tokens: the tokens among them that the provider read from its cache.
        kept_by_provider: what the provider keeps of the conversation, in tokens, by its figure for the agent's last
            call. Then `prompt_tokens` covers it as well. None if the request goes out whole.
        scale: what the pipeline's own count was multiplied by.
        request_before: the request as ADK had built it, if the user asked for requests to be kept, otherwise None.
        request_after: the request as the model received it, under the same condition.
    """

    agent: str
    model: str
    invocation_id: str
    session_id: str
    passes: tuple[PassReport, ...]
    tools: Mapping[str, int] = field(default_factory=dict)
    tools_before: Mapping[str, int] = field(default_factory=dict)
    shortened: int = 0
    shadow: bool = False
    prefix: PrefixReport = field(default_factory=PrefixReport)
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    kept_by_provider: int | None = None
    scale: float = 1.0
    user_id: str = field(default="", repr=False, compare=False)
    # Payloads: kept out of repr, and so out of every log and file that a report is written to.
    request_before: RequestView | None = field(default=None, repr=False, compare=False)
    request_after: RequestView | None = field(default=None, repr=False, compare=False)

    def add_up(self) -> None:
        """Scales categories and tools, so that they add up to the tokens again."""
        for stage, total in (("_before", self.tokens_before), ("", self.tokens_after)):
            categories, tools = spread(getattr(self, f"categories{stage}"), total), getattr(self, f"tools{stage}")
            setattr(self, f"categories{stage}", categories)
            setattr(self, f"tools{stage}", tools and spread(tools, categories.get(CALLS_AND_RESULTS, 0)))

    @property
    def seconds(self) -> float:
        """The time of all passes, in seconds."""
        return sum(each.seconds for each in self.passes)

    def heard(self, usage: Any) -> None:
        """Takes over the provider's figures from the `usage_metadata` of a response, which may have none."""
        prompt = getattr(usage, "prompt_token_count", None)
        if prompt is not None:
            self.prompt_tokens = prompt
            self.cached_tokens = getattr(usage, "cached_content_token_count", None) or 0

    def to_totals(self) -> dict[str, Any]:
        """Returns the totals of the report as plain JSON values, as ADK stores them on the event of the answer."""
        totals = "tokens_without_pack", "tokens_before", "tokens_after", "prompt_tokens", "cached_tokens"
        told = {name: getattr(self, name) for name in totals} | {"prefix_share": round(self.prefix.share, 4)}
        scale = round(self.scale, 4) if self.scale != 1.0 else None
        failed = [each.name for each in self.passes if each.error]
        return told | present({"scale": scale, "pack_tools": self.pack_tools, "failed": failed})

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as plain JSON values without payload."""
        told = {each.name: getattr(self, each.name) for each in fields(self) if each.repr}
        told |= {name: dict(told[name]) for name in ("results", "tools", "tools_before")}
        told |= {name: present(told[name]) for name in ("categories", "categories_before")}
        told["prefix"] = {"tokens": self.prefix.tokens, "share": round(self.prefix.share, 4)}
        told |= {"passes": [each.to_dict() for each in self.passes], "scale": round(self.scale, 4)}
        return told | {"tokens_without_pack": self.tokens_without_pack}

    def __str__(self) -> str:
        names = (self.agent, self.model, f"run {self.invocation_id}", f"session {self.session_id}")
        head = " · ".join(filter(None, (*names, "shadow: ADK's own request was sent" if self.shadow else "")))
        rows: list[tuple[str, ...]] = [("pass", "before", "after", "saved", "ms", "what it did")]
        for each in self.steps():
            did = f"failed, skipped: {each.error}" if each.error else each.note
            ms = f"{each.seconds * 1e3:.1f}" if each.seconds else ""
            rows.append((each.name, *numbers(each.tokens_before, each.tokens_after), ms, did))
        whole = numbers(self.tokens_without_pack, self.tokens_after)
        rows.append(("whole request", *whole, f"{self.seconds * 1e3:.1f}", ""))
        tables = *table(rows), "", *table(category_rows(self)), ""
        return "\n".join(map(printable, (head, *tables, *self._last_lines())))

    def steps(self) -> Iterator[PassReport]:
        """Yields each step from the request of ADK alone to the one that was sent."""
        tokens = self.tokens_without_pack
        for name, saved in self.first_steps():
            did = "made smaller where they were made" if saved > 0 else "declared by the plugin"
            yield PassReport(name=name, tokens_before=tokens, tokens_after=tokens - saved, note=did)
            tokens -= saved
        yield from self.passes

    def _last_lines(self) -> Iterator[str]:
        if self.unknown_results:
            yield f"savings not known: {counted(self.unknown_results, 'smaller result')}, which an earlier process made"
        prefix = self.prefix
        if self.kept_by_provider is not None:
            yield f"the provider keeps the history: {self.kept_by_provider:,} tokens"
        elif prefix.previous_tokens:
            of_it = f"{prefix.tokens:,} of {prefix.previous_tokens:,} tokens ({share(prefix.share, 1)})"
            yield f"prefix kept: {of_it} of this agent's previous request"
        else:
            yield "prefix kept: none, this is the agent's first request"
        if self.prompt_tokens is not None:
            cached = self.cached_tokens or 0
            yield f"the provider counted: {self.prompt_tokens:,} prompt tokens, {cached:,} of them from its cache"


def numbers(before: int, after: int) -> tuple[str, str, str]:
    """Returns tokens before and after, and what was saved, as a table shows them."""
    return f"{before:,}", f"{after:,}", f"{before - after:,}"


def categories_without(sums: Saving) -> Counter[str]:
    """Returns the tokens by category of the requests that ADK alone would have sent."""
    found = Counter(sums.categories_before)
    # An agent without calls of its own is shown the results of others.
    found[CALLS_AND_RESULTS if found[CALLS_AND_RESULTS] else "relayed"] += sum(sums.results.values())
    found["tool_declarations"] -= sums.pack_tools
    return found


def category_rows(sums: Saving) -> list[tuple[str, ...]]:
    """Returns the head and the rows of a table of categories, from the request of ADK alone to the one sent."""
    before, after = categories_without(sums), Counter(sums.categories)
    names = [name for name in {**after, **before} if before[name] or after[name]]
    rows = ((each, *numbers(before[each], after[each]), share(after[each], sums.tokens_after)) for each in names)
    return [("category", "before", "after", "saved", "share"), *rows]


def share(part: float, whole: float) -> str:
    """Returns `part` of `whole` in percent. Nothing of nothing is 0."""
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def money(amount: float) -> str:
    """Returns an amount with as many decimals as tell something."""
    return f"{amount:,.2f}" if abs(amount) >= 1 else f"{amount:.6f}"


def table(rows: Sequence[Sequence[str]], words: Sequence[int] = (0, 5)) -> Iterable[str]:
    """Yields rows in columns: those of `words` to the left, and others, which hold numbers, to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(widths[n]) if n in words else cell.rjust(widths[n]) for n, cell in enumerate(row))
        yield "  ".join(cells).rstrip()


@dataclass(frozen=True, kw_only=True, slots=True)
class CapReport:
    """Reports the effect of a pass on one tool result.

    A result whose state the session service refused is reported twice: when it was made smaller, and with `error` when
    it was stored whole after all. The second report takes the saving back: its `tokens_after` are those of the full
    result. Where a pass keeps several parts of one result, only the first report has tokens.

    Attributes:
        tool: the tool's name.
        pass_name: the pass, in snake case.
        session_id: the session's id.
        invocation_id: ADK's id of the run.
        rows_shown: rows that the model sees, of all tables together.
        rows_total: rows that the tool returned, of all tables together.
        tokens_before: tokens of the result as the pass received it, with the counter of the plugin or of the pass. 0
            if the pass left the result whole.
        tokens_after: tokens of what the pass made of it, under the same condition.
        handle: under which the full result is kept, or was. None if nothing was stored.
        notes: what the pass said about the result, one short sentence each.
        error: why the result stayed whole or could not be read back, without payload, else None.
    """

    tool: str
    pass_name: str = ""
    session_id: str = ""
    invocation_id: str = ""
    rows_shown: int = 0
    rows_total: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    handle: str | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def tokens_saved(self) -> int:
        """`tokens_before` less `tokens_after`. Each later request that shows the result saves them again."""
        return self.tokens_before - self.tokens_after


def give_report(listeners: Iterable[Callable[[CapReport], None] | None], report: CapReport) -> None:
    """Calls listeners, as far as they are not None. Their failures are logged."""
    for on_report in filter(None, listeners):
        with logged("a report could not be given"):
            on_report(report)


def log_line(report: CallReport) -> None:
    """Logs a model call in a line at INFO, with numbers and names only, and each step that changed the request."""
    if not logger.isEnabledFor(logging.INFO):
        return
    steps = []
    for each in report.steps():
        if each.error or each.tokens_saved:
            did = f"failed: {each.error_type}" if each.error else f"{-each.tokens_saved:+,}"
            steps.append(f"{each.name} {did}")
    sizes = f"{report.tokens_without_pack:,} -> {report.tokens_after:,} tokens"
    prefix = f"prefix kept {share(report.prefix.share, 1)}" if report.prefix.previous_tokens else "first request"
    said = f"({', '.join(steps) or 'unchanged'}) run={report.invocation_id} session={report.session_id}"
    told = sizes, prefix, 1e3 * report.seconds, said
    logger.info("%s%s: %s, %s, %.1f ms %s", "shadow of " if report.shadow else "", report.agent, *told)


BLOCK = 1024
"""Characters of a text behind one hash, so that the unchanged beginning of a text counts if its end changed."""


def add_links(chain: array[int], label: object, said: object, tokens: int) -> None:
    """Adds the link of a part: its hash and its tokens. Each block of a long text has one, with its share of them."""
    length = len(said) if isinstance(said, str) else 0
    for start in range(0, max(length, 1), BLOCK):
        end = min(start + BLOCK, length)
        block = said[start:end] if isinstance(said, str) else said
        # Whole numbers add up to the tokens. A counter of the app's own may return a float.
        share = tokens * end // length - tokens * start // length if length else tokens
        chain.extend((hash((label, block)), int(share)))


_MAX_BYTES = 4 * 2**20
"""Room for 1,000 agents. A request has a hash of 8 bytes for each part, or for each 1,024 characters of a text."""


class PrefixMemory(ByteCache[tuple[Sequence[int], int]]):
    """Remembers the hashes of the last request of each agent in each session, and nothing of its text."""

    def __init__(self) -> None:
        super().__init__(max_bytes=_MAX_BYTES)

    def compare(self, key: tuple[str, ...], request: LlmRequest, meter: TokenMeter, total: int) -> PrefixReport:
        """Returns what `request` shares with the one before it under `key`, and remembers `request`."""
        # Tools are first, since OpenAI and Anthropic cache them so (platform.claude.com/docs, prompt caching: tools,
        # system, messages). Another model is another chain. Its links are plain numbers, since they are kept.
        config = request.config
        declared = tuple((getattr(each, "name", ""), getattr(each, "description", "")) for each in declared_in(request))
        system, count = meter.fixed(request)
        chain = array("q")
        add_links(chain, request.model, (count, declared), count)
        instruction = config.system_instruction if config else None
        add_links(chain, "system", instruction if isinstance(instruction, str) else repr(instruction), system)

        def take(of_contents: array[int], new: Sequence[types.Content]) -> None:
            for content, size in zip(new, meter.sizes(request.contents or ())[-len(new) :], strict=True):
                parts, left = content.parts or (), size
                for number, part in enumerate(parts, 1):
                    tokens = left if number == len(parts) else min(meter.part(part), left)
                    left -= tokens
                    kind, *said, value = said_in(part)
                    value = payload_hash(value) if kind in {"call", "result"} else value
                    # The tokens of a text change with its end.
                    label = content.role, part.thought, kind, kind == "text" or tokens, *said
                    add_links(of_contents, label, value, tokens)

        chain += meter.grow(request.contents or (), "chain", partial(array, "q"), take)
        hashes, sizes = chain[::2], chain[1::2]
        last = self.get(key)
        self.put(key, (hashes, total), 4096 + 8 * len(hashes))
        if last is None:
            return PrefixReport()
        links = zip(last[0], hashes, sizes, strict=False)
        kept = sum(tokens for _, _, tokens in takewhile(lambda link: link[0] == link[1], links))
        return PrefixReport(tokens=min(kept * total // max(sum(sizes), 1), total), previous_tokens=last[1])


class SmallerResult(NamedTuple):
    """Holds the tokens that passes saved of one result of a tool.

    They count for the response to its call, and if ADK writes the result into another agent's request, as text.
    """

    tool: str
    saved: int
    saved_in_text: int


class ResultSizes(ByteCache[SmallerResult]):
    """Remembers smaller results of all sessions of this process, so that no later call has to open the full ones.

    After a restart, reports count the results of earlier runs as `unknown_results`.
    """

    def add(self, session_id: str, shown: Mapping[str, Any], handles: Iterable[str], result: SmallerResult) -> None:
        """Remembers a result, and that the session has one."""
        for key in (payload_hash(shown), *handles, ""):
            self.put(("", "", session_id, key), result, 1)

    def knows(self, session_id: str) -> bool:
        """Tells whether any result of a session is remembered."""
        return ("", "", session_id, "") in self._items

    def find(self, session_id: str, tool: str, keys: Iterable[Any], stored: Mapping[str, str]) -> SmallerResult | None:
        """Returns the weights of a result of `tool` by the hash of what is shown of it or the handles in that.

        Returns None if no pass made it smaller, and `UNKNOWN` if an earlier process did, as `stored` tells.
        """
        for key in dict.fromkeys(keys):
            # Looking keeps nothing longer, so that a session is known as long as any of its results.
            found, _ = self._items.get(("", "", session_id, key), (None, 0))
            if found is not None and found.tool == tool:
                return found
            if stored.get(key) == tool:
                return UNKNOWN
        return None


UNKNOWN = SmallerResult(tool="(unknown)", saved=1, saved_in_text=1)
"""A result that an earlier process made smaller, so that nobody remembers what it weighed. It counts as one."""

# Their weights are two numbers each, so that each counts as one.
SIZES = ResultSizes(max_bytes=20_000)

ADDED_TOOLS = "tools declared by the plugin"
"""The entry of `ModelCall.memo` with the names of the tools that the plugin added to the request."""

CODE_EXECUTION = "code_execution"
RELAYED_RESULT = re.compile(r"`([^`]+)` tool returned result:")
"""How ADK begins the text of another agent's result, with the tool's name."""


def saved_by_results(call: ModelCall, contents: Sequence[types.Content], meter: TokenMeter) -> Counter[str]:
    """Returns the tokens that smaller results keep out of a request, by tool, and by "" how many it shows."""
    # Those of `UNKNOWN` are counted, since nobody knows their tokens.
    stored = {result.handle: result.tool_name for result in stored_results(call.state)} if call.state else {}
    is_known = SIZES.knows(call.session_id)
    if not (stored or is_known):
        return Counter()
    # A process that has just begun remembers nothing. Only stored results are worth a look then.
    tools = None if is_known else set(stored.values())

    def take(saved: Counter[str], new: Sequence[types.Content]) -> None:
        voices, has_printed = Voices.of(call), CODE_EXECUTION in stored.values()
        for content in new:
            is_relay = voices.is_relay(content)
            for part in content.parts or ():
                response, tool, text, keys = part.function_response, None, part.text or "", list[Any]()
                if response is not None and (tools is None or response.name in tools):
                    tool, keys = response.name or "", [payload_hash(response.response or {})]
                    # A callback or a session service may have changed its form, but not the handle in it.
                    text = json_text(response.response or {}) if stored else ""
                # So ADK shows a model what an executor printed.
                elif has_printed and text.startswith("```tool_output\n"):
                    tool = CODE_EXECUTION
                elif is_relay and (head := RELAYED_RESULT.search(text)):
                    tool = head[1]
                keys += IN_TEXT.findall(text) if tool is not None else ()
                if tool is not None and (found := SIZES.find(call.session_id, tool, keys, stored)):
                    saved.update({found.tool: found.saved_in_text if is_relay else found.saved, "": 1})

    return meter.grow(contents, "smaller results", Counter[str], take)


def calibrated(report: CallReport, call: ModelCall) -> CallReport:
    """Scales a report by what the provider's figure for the agent's last call was worth, in place, and returns it."""
    for event in islice(reversed(call.events), 200):
        if event.author == call.agent_name and totals_on(event):
            rescale(report, recorded_scale(event))
            break
    return report


def hear(report: CallReport, usage: Any, *, is_estimate: bool) -> None:
    """Takes over the provider's figures, the `usage_metadata` of a response, and scales an estimate to them."""
    report.heard(usage)
    # In shadow mode the provider counted the request that ADK alone built.
    counted = report.tokens_without_pack if report.shadow else report.tokens_after
    # A figure for all that the provider keeps says nothing of what was sent.
    if is_estimate and report.prompt_tokens and counted > 0 and report.kept_by_provider is None:
        rescale(report, report.prompt_tokens / counted)


def rescale(report: CallReport, factor: float) -> None:
    """Multiplies all tokens of a report, so that they still add up. A factor that nothing explains changes nothing."""
    if factor == 1.0 or not is_plausible(report.scale * factor):
        return
    report.scale *= factor
    report.passes = tuple(
        replace(each, tokens_before=round(factor * each.tokens_before), tokens_after=round(factor * each.tokens_after))
        for each in report.passes
    )
    for name in ("tokens_before", "tokens_after", "pack_tools"):
        setattr(report, name, round(factor * getattr(report, name)))
    report.results = {name: round(factor * tokens) for name, tokens in report.results.items()}
    report.add_up()
    report.prefix = report.prefix.scaled(factor)


def recorded_scale(event: Event) -> float:
    """Returns what a token of the pack's estimate was worth when a call was recorded, or 1.0."""
    scale = totals_on(event).get("scale", 1.0)
    return scale if isinstance(scale, float) and is_plausible(scale) else 1.0


_OWN = {**dict.fromkeys(("call", "result", "code"), CALLS_AND_RESULTS), "media": "media", "file": "media"}
"""The categories of the parts that tell theirs by themselves."""


class CallReporter:
    """Measures the requests of one model call."""

    def __init__(self, request: LlmRequest, call: ModelCall, meter: TokenMeter) -> None:
        session = call.context and call.context.session
        owner = (session.app_name, session.user_id) if session else ("", "")
        self.key = *owner, call.session_id, call.agent_name
        self._call = call
        self._meter = meter
        self._first = self._last = request
        self._passes: list[PassReport] = []
        self.tokens_before = self.tokens_after = self._count(request)

    def ran(self, name: str, request: LlmRequest, seconds: float = 0.0, error: str | None = None) -> LlmRequest:
        """Records that the pass `name` ran, and returns the request that it left."""
        told: dict[str, Any] = {"tokens_before": self.tokens_after, "seconds": seconds, "error": error}
        if request is not self._last:
            self._last, self.tokens_after = request, self._count(request)
        note = "; ".join(self._call.notes)
        self._passes.append(PassReport(name=name, tokens_after=self.tokens_after, note=note, **told))
        return request

    def report(
        self, request: LlmRequest, memory: PrefixMemory, *, keep_requests: bool = False, categories: bool = True
    ) -> CallReport:
        """Returns the report of the call that sends `request`. Without `categories` all tokens are under "other"."""
        call = self._call
        report = CallReport(
            agent=call.agent_name,
            model=request.model or "",
            invocation_id=call.invocation_id,
            session_id=call.session_id,
            user_id=call.context.session.user_id if call.context is not None else "",
            passes=tuple(self._passes),
            tokens_before=self.tokens_before,
            tokens_after=self.tokens_after,
            kept_by_provider=chain.kept if (chain := call.memo.get(CHAIN)) is not None and not chain.is_new else None,
        )
        try:
            saved = dict(saved_by_results(call, self._first.contents or (), self._meter))
            report.unknown_results, report.shortened = saved.pop(UNKNOWN.tool, 0), saved.pop("", 0)
            report.results = saved
            if names := call.memo.get(ADDED_TOOLS):
                own = (each for each in declared_in(self._first) if getattr(each, "name", None) in names)
                report.pack_tools = sum(self._meter.text(each.model_dump_json(exclude_none=True)) for each in own)
            report.categories_before, report.categories = {"other": self.tokens_before}, {"other": self.tokens_after}
            if categories:
                before, report.tools_before = self._sorted(self._first)
                report.categories_before = before
                same = request.contents is self._first.contents and request.config is self._first.config
                after, report.tools = (before, report.tools_before) if same else self._sorted(request)
                # What instructions grow by are state views that a pass has filled in.
                views = max(after["system_instruction"] - before["system_instruction"], 0)
                fixed = after["system_instruction"] - views
                report.categories = {**after, "system_instruction": fixed, "state_views": views}
                report.add_up()
            if report.kept_by_provider is None:
                report.prefix = memory.compare(self.key, request, self._meter, self.tokens_after)
            if keep_requests:
                report.request_before = request_view(self._first)
                report.request_after = request_view(request, report.request_before)
        except Exception:
            # A counter of the app's own failed, or a part has an odd shape. The run must go on without these figures.
            logger.exception("the report of a request of %s is incomplete", call.agent_name)
        return report

    def _count(self, request: LlmRequest) -> int:
        try:
            return int(self._meter.request(request))
        except Exception:
            logger.exception("the tokens of a request could not be counted")
            return 0

    def _sorted(self, request: LlmRequest) -> tuple[dict[str, int], dict[str, int]]:
        """Returns tokens by category, with an entry for each of `CATEGORIES`, and by tool."""
        # State views count as instructions, and code that the model ran as the tool `code`.
        found, contents = dict.fromkeys(CATEGORIES, 0), request.contents or ()
        found["system_instruction"], found["tool_declarations"] = self._meter.fixed(request)
        # It forgets the sums if the session says something else about the speakers.
        spoken = outline_of(self._call, contents).voices
        is_dynamic = bool(getattr(agent_of(self._call.context), "static_instruction", None))

        def take(sums: dict[str, int], new: Sequence[types.Content]) -> None:
            first = len(contents) - len(new)
            # The voice says who speaks in each, unless it holds a result.
            told = zip(new, self._meter.sizes(contents)[first:], spoken[first:], strict=True)
            for content, total, speaker in told:
                parts, left = content.parts or (), total
                kinds = [_OWN.get(said_in(part)[0], "") for part in parts]
                if (main := kinds[0] if len(set(kinds)) == 1 else "") == "":
                    voice = Voices.of(self._call).voice(content) if any(kinds) else speaker
                    # Releases before 2.9.0 put no marks around it. Only agents with a static instruction have one.
                    text = (parts[0].text if parts else None) or ""
                    is_alone = is_dynamic and content.role == "user" and not text.startswith("For context")
                    is_own = voice == "fixed" and (is_alone or is_labelled(text))
                    said = {"user": "user", "model": "own_words", "relay": "relayed"}.get(voice, "other")
                    main = "system_instruction" if is_own else said
                for kind, part in zip(kinds, parts, strict=True):
                    # The envelope of a part alone is its own. Beside others it is the speaker's.
                    tokens = total if len(parts) == 1 or not kind else self._meter.part(part)
                    if kind == CALLS_AND_RESULTS:
                        what, tool, *_ = said_in(part)
                        # No category begins so.
                        name = f"tool {'code' if what == 'code' else tool or 'no name'}"
                        sums[name] = sums.get(name, 0) + tokens
                    if kind and kind != main:
                        sums[kind] = sums.get(kind, 0) + min(tokens, left)
                        left -= min(tokens, left)
                sums[main] = sums.get(main, 0) + left

        tools = self._meter.grow(contents, f"categories, dynamic instruction {is_dynamic}", dict[str, int], take).copy()
        for name in found:
            found[name] += tools.pop(name, 0)
        return found, {name.removeprefix("tool "): tokens for name, tokens in tools.items()}
