"""Makes the report of a model call while the passes run, and corrects it by the provider's own figures.

An estimate is on the high side, by a third and more for plain English. Once the provider has answered, its figure for
the request is known. The report's other figures are scaled with it. The factor joins the totals on the stored event, so
that the agent's next report begins with it, also in another process.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from threading import Lock
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.instruction import agent_of, is_labelled
from adk_context_pack._adk.known_tools import declared_in
from adk_context_pack.conversation.calibration import CHAIN, is_plausible
from adk_context_pack.conversation.known_contents import payload_hash, said_in
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.outline import outline_of
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.conversation.voices import Voice, Voices
from adk_context_pack.errors import logger
from adk_context_pack.reports.call_report import (
    CALLS_AND_RESULTS,
    CATEGORIES,
    CallReport,
    PassReport,
    PrefixReport,
    request_view,
    totals_on,
)
from adk_context_pack.reports.result_sizes import UNKNOWN, declared_tokens, saved_by_results

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


def prefix_chain(request: LlmRequest, meter: TokenMeter) -> array[int]:
    """Returns the chain of a request: tool declarations, system instruction, then each part of each content.

    Tools are first, since OpenAI and Anthropic cache them so (platform.claude.com/docs, prompt caching: tools, system,
    messages). Another model is another chain. Its links are plain numbers, since they are kept from call to call.
    """
    config = request.config
    declared = tuple((getattr(each, "name", ""), getattr(each, "description", "")) for each in declared_in(request))
    system, count = meter.fixed(request)
    chain = array("q")
    add_links(chain, request.model, (count, declared), count)
    instruction = config.system_instruction if config else None
    add_links(chain, "system", instruction if isinstance(instruction, str) else repr(instruction), system)

    def take(of_contents: array[int], new: Sequence[types.Content]) -> None:
        for content, size in zip(new, meter.sizes(request.contents or ())[-len(new) :], strict=True):
            role, parts, left = content.role, content.parts or (), size
            for number, part in enumerate(parts, 1):
                tokens = left if number == len(parts) else min(meter.part(part), left)
                left -= tokens
                if part.text is not None:
                    add_links(of_contents, (role, part.thought), part.text, tokens)
                    continue
                *said, value = said_in(part)
                is_payload = said[0] in {"call", "result"}
                value = payload_hash(value) if is_payload else value
                add_links(of_contents, (role, tokens, *said), value, tokens)

    grown: array[int] = meter.grow(request.contents or (), "chain", lambda: array("q"), take)
    return chain + grown


_MAX_AGENTS = 1024
_MAX_LINKS = 1 << 18
"""2 MB of hashes in all. A request has one for each part, and for each further 1,024 characters of a text."""


class PrefixMemory:
    """Remembers the hashes of the last request of each agent in each session, and nothing of its text.

    Its memory is bounded: the sessions that called longest ago are forgotten first. A session that calls again after
    that counts as one that calls for the first time. Threads may share it.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, ...], tuple[array[int], int]] = OrderedDict()
        self._links = 0
        self._lock = Lock()

    def compare(self, key: tuple[str, ...], request: LlmRequest, meter: TokenMeter, total: int) -> PrefixReport:
        """Returns what `request` shares with the one before it under `key`, and remembers `request`."""
        chain = prefix_chain(request, meter)
        hashes, sizes = chain[::2], chain[1::2]
        with self._lock:
            last = self._last.pop(key, None)
            self._last[key] = hashes, total
            self._links += len(hashes) - (len(last[0]) if last else 0)
            while len(self._last) > _MAX_AGENTS or (self._links > _MAX_LINKS and len(self._last) > 1):
                _, (oldest, _) = self._last.popitem(last=False)
                self._links -= len(oldest)
        if last is None:
            return PrefixReport()
        links = zip(last[0], hashes, sizes, strict=False)
        kept = sum(tokens for _, _, tokens in takewhile(lambda link: link[0] == link[1], links))
        return PrefixReport(tokens=min(kept * total // max(sum(sizes), 1), total), previous_tokens=last[1])


def calibrated(report: CallReport, call: ModelCall) -> CallReport:
    """Scales a report by what the provider's figure for the agent's last call was worth, in place, and returns it."""
    for event in islice(reversed(call.events), 200):
        if event.author == call.agent_name and totals_on(event):
            rescale(report, recorded_scale(event))
            break
    return report


def hear(report: CallReport, usage: Any, *, is_estimate: bool) -> None:
    """Takes over the provider's figures for the request that a report is about.

    Args:
        report: the report, changed in place.
        usage: the `usage_metadata` of a response.
        is_estimate: whether the report's tokens are an estimate, which is then scaled to the provider's figure.
    """
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

_TOOL = "tool "
"""Begins the keys of sums for one tool. No category begins so."""


class CallReporter:
    """Measures the requests of one model call.

    Attributes:
        key: under which a `PrefixMemory` remembers the requests of this agent in this session.
    """

    def __init__(self, request: LlmRequest, call: ModelCall, meter: TokenMeter) -> None:
        self.key = call.session_id, call.agent_name
        self._call = call
        self._meter = meter
        self._first = request
        self._passes: list[PassReport] = []
        self._last = request
        self.tokens_before = self.tokens_after = self._count(request)

    def ran(self, name: str, request: LlmRequest, seconds: float = 0.0, error: str | None = None) -> LlmRequest:
        """Records that the pass `name` ran, and returns the request that it left."""
        before = self.tokens_after
        if request is not self._last:
            self._last, self.tokens_after = request, self._count(request)
        note = "; ".join(self._call.notes)
        tokens = {"tokens_before": before, "tokens_after": self.tokens_after}
        self._passes.append(PassReport(name=name, **tokens, note=note, seconds=seconds, error=error))
        return request

    def report(
        self, request: LlmRequest, memory: PrefixMemory | None, *, keep_requests: bool = False, categories: bool = True
    ) -> CallReport:
        """Returns the report of the whole call, of which `request` is what will be sent.

        Args:
            request: the request after the last pass.
            memory: remembers the agent's previous request. Without it the report says nothing of the prefix.
            keep_requests: whether the report holds the requests themselves.
            categories: whether tokens are sorted by category. Otherwise they are all under "other".
        """
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
            saved = dict(saved_by_results(self._call, self._first.contents or (), self._meter))
            report.unknown_results, report.shortened = saved.pop(UNKNOWN.tool, 0), saved.pop("", 0)
            report.results = saved
            report.pack_tools = declared_tokens(self._call, self._first, self._meter)
            self._sort(report, request, categories=categories)
            if memory is not None and report.kept_by_provider is None:
                report.prefix = memory.compare(self.key, request, self._meter, self.tokens_after)
            if keep_requests:
                report.request_before = request_view(self._first)
                report.request_after = request_view(request, report.request_before)
        except Exception:
            # A counter of the app's own failed, or a part has an odd shape. The run must go on without these figures.
            logger.exception("the report of a request of %s is incomplete", call.agent_name)
        return report

    def _sort(self, report: CallReport, request: LlmRequest, *, categories: bool) -> None:
        report.categories_before, report.categories = {"other": self.tokens_before}, {"other": self.tokens_after}
        if not categories:
            return
        before, report.tools_before = self._sorted(self._first)
        report.categories_before = before
        same = request.contents is self._first.contents and request.config is self._first.config
        after, report.tools = (before, report.tools_before) if same else self._sorted(request)
        # What instructions grow by are state views that a pass has filled in.
        views = max(after["system_instruction"] - before["system_instruction"], 0)
        instructions = after["system_instruction"] - views
        report.categories = {**after, "system_instruction": instructions, "state_views": views}
        report.add_up()

    def _count(self, request: LlmRequest) -> int:
        try:
            return int(self._meter.request(request))
        except Exception:
            logger.exception("the tokens of a request could not be counted")
            return 0

    def _sorted(self, request: LlmRequest) -> tuple[dict[str, int], dict[str, int]]:
        """Returns tokens by category, with an entry for each of `CATEGORIES`, and by tool.

        State views count as instructions, and code that the model ran as the tool `code`.
        """
        found, contents = dict.fromkeys(CATEGORIES, 0), request.contents or ()
        found["system_instruction"], found["tool_declarations"] = self._meter.fixed(request)
        # It forgets the sums if the session says something else about the speakers.
        spoken = outline_of(self._call, contents).voices
        is_dynamic = bool(getattr(agent_of(self._call.context), "static_instruction", None))

        def take(sums: dict[str, int], new: Sequence[types.Content]) -> None:
            first = len(contents) - len(new)
            told = zip(new, self._meter.sizes(contents)[first:], spoken[first:], strict=True)
            self._add(sums, told, is_dynamic=is_dynamic)

        tools = self._meter.grow(contents, f"categories, dynamic instruction {is_dynamic}", dict[str, int], take).copy()
        for name in found:
            found[name] += tools.pop(name, 0)
        return found, {name.removeprefix(_TOOL): tokens for name, tokens in tools.items()}

    def _add(self, sums: dict[str, int], told: Iterable[tuple[types.Content, int, Voice]], *, is_dynamic: bool) -> None:
        """Adds contents with their tokens to `sums`. The voice says who speaks in each, unless it holds a result."""
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
                    name = _TOOL + ("code" if what == "code" else tool or "no name")
                    sums[name] = sums.get(name, 0) + tokens
                if kind and kind != main:
                    sums[kind] = sums.get(kind, 0) + min(tokens, left)
                    left -= min(tokens, left)
            sums[main] = sums.get(main, 0) + left
