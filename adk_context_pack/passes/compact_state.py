"""State values in instructions as small, exact views, each filled into its slots and into nothing else.

The exact way: ADK's own code fills in the template once more, cut at the slots, and the result is found in the request
where ADK put it. Text that came from `{some_state}` is therefore never taken for a slot. If the result is not there
because state or instruction changed in between, or because an instruction is a function, only what can be read for
certain is filled in. For a template, the plain text around each slot must occur in the instruction exactly as often as
in the template. Otherwise the slots are left alone, with a line in the log. For a function, each placeholder is a slot
unless it came with a text from state or from the user's message. (A state value that is the bare placeholder and
nothing else cannot be told apart from one.)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from pydantic import PrivateAttr

from adk_context_pack._adk import BaseAgent, CallbackContext, Event, EventActions, InvocationContext, LlmRequest, types
from adk_context_pack._adk import instruction as adk
from adk_context_pack._json import json_text
from adk_context_pack.conversation.ledger import scalars
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.outline import Voices
from adk_context_pack.errors import Configured, did_you_mean, is_extended, misspelled, warn_once
from adk_context_pack.passes import state_view as slots
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.passes.state_view import PREFIX, Pieces, Select, Slot, StateView, View, slot_keys
from adk_context_pack.stores.append_guard import Addition, guard


@dataclass(frozen=True, kw_only=True)
class CompactState(ContextPass):
    """Fills `{compact:KEY}` in an instruction with a compact JSON view of the state value `KEY`.

        LlmAgent(
            instruction="Review these queries: {compact:gaql_queries}",
            before_model_callback=[CompactState(key="gaql_queries", select=("id", "title", "status"))],
        )

    The view is exact. It is rendered at every model call from the state at that call, so it is right at an agent's
    first call, after each tool, in a loop and in the next turn. ADK itself leaves `{compact:KEY}` alone.

    The pass fills in `instruction`, the root agent's `global_instruction` and that of ADK's `GlobalInstructionPlugin`,
    as text or as a function. It never fills in text that a user, a tool or another agent wrote, even if such a text
    reached the instruction through `{some_state}` or is part of a view. If the state has no such value,
    `{compact:KEY}` becomes `null`, and `{compact:KEY?}` empty. A `static_instruction` must never change, and stays.

    With `output_key`, the view is also kept in state under that name, as JSON text. A template that names
    `{output_key}` is exact at every call of an agent with this pass. Tools, and agents without the pass, read the view
    of the last model call of an agent that has it, of the last `refresh`, or of the last `CompactStateStep`. It is
    written only if it changed. ADK fills in templates before any callback, so `{output_key}` needs a value at the first
    call. Set `refresh` as the agent's `before_agent_callback`, or write `{output_key?}`.

    Cost to the cache: a view in the system instruction changes the prompt's very beginning whenever the value changes,
    and the provider reads nothing behind it from its cache. Give the agent a `static_instruction`. ADK then puts
    `instruction` behind the history, and only the end of the prompt changes.

    A key that the state lacks, and a field that no item has, are warned of once if they are clearly mistakes.

    Args:
        key: the state key, `app:`, `user:` or `temp:` included.
        select: the part of the value that an agent needs: a function of the whole value, field names, or fields for
            each value of a deciding field. `adk_context_pack.passes.state_view` describes all forms.
        output_key: the state key that keeps the view for others. None keeps it nowhere.

    Raises:
        SettingError: a key that no placeholder can name, or a `select` that is neither function nor data of that form.
    """

    key: str
    select: Select | None = None
    output_key: str | None = None
    _view: StateView = field(init=False, repr=False, compare=False)
    _key_check: KeyCheck = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        view = StateView(owner=type(self).__name__, key=self.key, select=self.select, output_key=self.output_key)
        object.__setattr__(self, "_view", view)
        object.__setattr__(self, "_key_check", KeyCheck(self.key))

    @property
    def slot_keys(self) -> frozenset[str]:
        """The key of the slots that the pass fills in."""
        return frozenset({self.key})

    def refresh(self, callback_context: CallbackContext) -> None:
        """ADK's `before_agent_callback`: stores the view under `output_key` before the agent's instruction is made."""
        self._store(callback_context, self._view.render(callback_context.session.state))

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns the request with the view in its instructions."""
        context, agent = call.context, adk.agent_of(call.context)
        if context is None or agent is None:
            return request
        stale = call.state.get(self.output_key) if self.output_key is not None else None
        view = View(
            key=self.key,
            text=self._view.render(call.state, strict=self.on_error == "raise"),
            missing=call.state.get(self.key) is None,
            output_key=self.output_key,
            stale="" if stale is None else str(stale),
        )
        if not call.is_shadow:
            self._store(context, view.text)
        if any(self.key in slot_keys(text) for text in adk.static_texts(agent)):
            static = f"{{{PREFIX}{view.key}}} is in static_instruction, which must stay the same in every request"
            warn_once(f"{agent.name}: {static}; it is left as it is. Put it into instruction")
        self._key_check.look(call, getattr(agent, "instruction", None))
        config = with_system(request, agent, view, call, context)
        contents = with_dynamic(request, agent, view, call, context)
        if config is request.config and contents is request.contents:
            return request
        call.note(f"view of {self.key}: {len(view.text)} characters")
        return request.model_copy(update={"config": config, "contents": contents})

    def _store(self, context: CallbackContext, text: str) -> None:
        # Compared with the raw session, since reading through the context copies the value.
        if self.output_key is not None and context.session.state.get(self.output_key) != text:
            context.state[self.output_key] = text
            guard(context, Addition(key=self.output_key))


class CompactStateStep(Configured, BaseAgent):
    """Writes the compact JSON view of the state value `key` to state, under `output_key`.

        SequentialAgent(sub_agents=[
            generator,
            CompactStateStep(name="compact_queries", key="gaql_queries", select=("id", "title", "status")),
            LlmAgent(name="reviewer", instruction="Review: {gaql_queries_compact}", ...),
        ])

    The view shows the state at the moment when the step runs, so put the step right before the agents that read it.
    Changes that their own tools make later in the same turn are not in it. If an agent needs those, give it a
    `CompactState` pass with the same settings, which is exact at every model call.

    The step writes the view with a state delta, so that every session service stores it. If the view has not changed,
    the step adds nothing to the session. As a node of a 2.x `Workflow`, its output is the view as text.

    Cost to the cache: as for every state value in an instruction, see `CompactState`.
    """

    key: str
    select: Any = None
    output_key: str
    _view: StateView = PrivateAttr()

    def __init__(
        self, *, name: str, key: str, select: Select | None = None, output_key: str | None = None, **settings: Any
    ) -> None:
        """Writes compact JSON of a state value to state.

        Args:
            name: the agent's name.
            key: the state key, as for `CompactState`.
            select: the part of its value, as for `CompactState`.
            output_key: the state key of the view. By default, this is the key with `_compact` appended.
            **settings: what each agent of ADK has, such as `description`.

        Raises:
            SettingError: as for `CompactState`.
        """
        # Checked before pydantic, which would wrap the error in one of its own.
        output_key = f"{key}_compact" if output_key is None else output_key
        view = StateView(owner=type(self).__name__, key=key, select=select, output_key=output_key)
        own: dict[str, Any] = {"key": key, "select": select, "output_key": output_key}
        super().__init__(name=name, **own, **settings)
        self._view = view

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        # The raw state, since reading through a context copies the value.
        state = ctx.session.state
        text = self._view.render(state)
        if state.get(self.output_key) != text:
            actions = EventActions(state_delta={self.output_key: text})
            yield self._event(text, invocation_id=ctx.invocation_id, branch=ctx.branch, actions=actions)

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Runs the step as a node of a `Workflow` (2.x), which hands the node's output to the next one."""
        silent = True
        async for event in super()._run_impl(ctx=ctx, node_input=node_input):
            silent = False
            yield event
        if silent:
            # Nothing changed, but without an output the next node would be sent the user's message instead.
            ctx.event_author = self.name
            yield self._event(self._view.render(ctx.session.state))

    def _event(self, text: str, **settings: Any) -> Event:
        output = {"output": text} if "output" in Event.model_fields else {}
        return Event(author=self.name, **output, **settings)


class KeyCheck:
    """Looks for a state key at each model call, until it was found or warned of.

    A key that the state does not have may still come, from a tool or from another agent. It is taken for a mistake only
    if the state holds other values, and one of these holds:

    * The state has a key that it is a misspelling of, or the same key with a scope such as `user:`. Of two keys such as
      `campaign` and `campaigns` an app may well have both, so they have to wait for the second turn.
    * The agent has had an earlier turn in the session, and the instruction does not say with `{compact:KEY?}` that the
      value may be missing. An instruction that is a function is not asked.

    The check ends after a number of calls.
    """

    def __init__(self, key: str) -> None:
        self._key, self._looks = key, 50

    def look(self, call: ModelCall, instruction: Any) -> None:
        """Looks for the key in the state of a model call. `instruction` is the one that the app declared."""
        if not self._looks or self._key in call.state:
            self._looks = 0
            return
        self._looks -= 1
        scoped = (f"{scope}:{self._key}" for scope in ("user", "app", "temp"))
        near = next((name for name in scoped if name in call.state), None) or misspelled(self._key, call.state)
        if call.state and self._is_mistake(near, call, instruction):
            self._looks = 0
            hint = f" (did you mean {near!r}?)" if near else did_you_mean(self._key, call.state)
            slot = f"{{{PREFIX}{self._key}}}"
            lacking = f"{call.agent_name}: the state has no {self._key!r}{hint}, so {slot} is null."
            warn_once(f"{lacking} If the value may be missing, write {slot[:-1]}?}}")

    def _is_mistake(self, near: str | None, call: ModelCall, instruction: Any) -> bool:
        if near is not None and (":" in near or not is_extended(self._key, near)):
            return True
        is_expected = isinstance(instruction, str) and f"{PREFIX}{self._key}}}" in instruction.replace(" ", "")
        earlier = (each for each in call.events if each.invocation_id != call.invocation_id)
        return is_expected and any(each.author == call.agent_name for each in earlier)


Span = tuple[int, int, Slot]
"""The beginning and the end of a slot in a text, and the slot."""


@dataclass(frozen=True)
class Declared:
    """One instruction as the app declared it: a template cut at its slots, or None for a function.

    ADK fills it in with the context, or leaves it as it is without one. `follower` is what ADK writes after it.
    """

    pieces: Pieces | None
    context: CallbackContext | None = None
    follower: str = ""

    @classmethod
    def of(cls, source: Any, view: View, context: CallbackContext, follower: str = "") -> Iterator[Declared]:
        """Yields an instruction, if there is one."""
        if source and isinstance(source, str):
            yield cls(slots.parse(source, view.output_key), context, follower)
        elif callable(source):
            yield cls(None)

    @property
    def sent(self) -> Pieces:
        """The pieces with the state that ADK filled in, or nothing if that is not known."""
        pieces, context = self.pieces or (), self.context
        if context is None:
            return pieces
        # Only on demand and once, since ADK may load artifacts.
        if (found := vars(self).get("found")) is None:
            filled = [piece if isinstance(piece, Slot) else adk.inject(piece, context) for piece in pieces]
            vars(self)["found"] = found = () if None in filled else tuple(p for p in filled if p is not None)
        return found

    def may_have(self, view: View) -> bool:
        """True unless the template is known to have no slot of the view."""
        return self.pieces is None or any(map(view.owns, self.pieces))


class Region(NamedTuple):
    """The beginning of a text that must hold an instruction, and the known blocks in it, by their instruction."""

    text: str
    end: int
    blocks: Mapping[int, list[int]]

    def places(self, part: str) -> list[int]:
        """Finds `part` within the region."""
        return [at for at in slots.occurrences(self.text, part) if self.is_open(at, at + len(part))]

    def is_open(self, start: int, end: int) -> bool:
        """Tells whether the region has no known block between `start` and `end`."""
        return end <= self.end and all(end <= block[0] or start >= block[-1] for block in self.blocks.values())


def with_system(
    request: LlmRequest, agent: Any, view: View, call: ModelCall, context: CallbackContext
) -> types.GenerateContentConfig:
    """Fills the view into the system instruction. Returns the same config if nothing changes."""
    sources = adk.global_instructions(context, agent)
    entries = [entry for source in sources for entry in Declared.of(source, view, context)]
    if getattr(agent, "static_instruction", None):
        entries += [Declared((text,)) for text in adk.static_texts(agent)]
    else:
        entries += Declared.of(getattr(agent, "instruction", None), view, context, adk.identity_of(agent))
    if not any(entry.may_have(view) for entry in entries):
        return request.config
    texts: list[str] = []
    _mapped(request.config.system_instruction, texts.append)
    # A callback may have split it into parts. No part has as many of these in a row, and a view has none.
    between = "\n\n" + "\0" * (1 + max((text.count("\0") for text in texts), default=0)) + "\n\n"
    text = between.join(texts)
    region = _region(text, entries, view, adk.identity_of(agent))
    spans: list[Span] = []
    for index, entry in enumerate(entries):
        if block := region.blocks.get(index):
            spans += _spans(entry.sent, block, view)
        else:
            spans += loose_spans(region, entry.pieces, view, call)
    filled = _filled(text, spans, view)
    if filled == text:
        return request.config
    rest = iter(filled.split(between))
    instruction = _mapped(request.config.system_instruction, lambda _: next(rest))
    return request.config.model_copy(update={"system_instruction": instruction})


def _mapped(instruction: Any, change: Callable[[str], Any]) -> Any:
    """Returns a system instruction of any form in the same form, with what `change` returns for each text."""
    if isinstance(instruction, str):
        return change(instruction)
    if isinstance(instruction, types.Part):
        return instruction.model_copy(update={"text": _mapped(instruction.text, change)})
    if isinstance(instruction, types.Content):
        return instruction.model_copy(update={"parts": _mapped(instruction.parts, change)})
    return [_mapped(item, change) for item in instruction] if isinstance(instruction, list) else instruction


def _region(text: str, entries: Sequence[Declared], view: View, identity: str) -> Region:
    blocks, cursor = dict[int, list[int]](), 0
    for index, entry in enumerate(entries):
        if any(entry.sent) and (block := slots.find_block(text, entry.sent, view, cursor, entry.follower)):
            blocks[index] = block
            cursor = min(block[-1] + 2, len(text))
    # Tools and planners add their own texts after the line that ADK puts after the last instruction.
    end = text.find(identity, max((block[-1] for block in blocks.values()), default=0))
    return Region(text, len(text) if end < 0 else end, blocks)


def _spans(pieces: Pieces, block: Sequence[int], view: View) -> list[Span]:
    places = zip(pieces, block, block[1:], strict=False)
    return [(start, end, piece) for piece, start, end in places if view.owns(piece)]


def loose_spans(region: Region, pieces: Pieces | None, view: View, call: ModelCall) -> list[Span]:
    """Returns the slots in a region to fill in, of a template's pieces or, for None, of a function's text."""
    if pieces is None:
        return _in_function_text(region, view, call)
    spans: list[Span] = []
    # The plain text around a slot goes up to the nearest brace expression.
    around = zip(pieces, pieces[1:], pieces[2:], strict=False)
    cut = adk.BRACES.split
    found = ((cut(str(led))[-1], slot, cut(str(after))[0]) for led, slot, after in around if view.owns(slot))
    for (led, slot, after), expected in Counter(found).items():
        held = view.unfilled(slot)
        places = region.places(led + held + after) if held else []
        if len(places) == expected:
            spans += ((at + len(led), at + len(led) + len(held), slot) for at in places)
        elif len(region.places(led + view.of(slot) + after)) < expected:
            alike = f"{slot.text} cannot be told from other text of the request"
            warn_once(f"{call.agent_name}: {alike}, so it is left as it is")
    return spans


def _in_function_text(region: Region, view: View, call: ModelCall) -> list[Span]:
    mark = PREFIX + view.key
    whole = region.text[: region.end]
    spans = [span for span in slots.slots_in(whole, mark) if region.is_open(*span[:2])]
    if not spans:
        return []
    # A text that equals the whole instruction counts as the instruction, even if a user typed it.
    foreign = {part for text in _foreign_texts(call) for part in _forms(text)} - {whole.strip()} | {view.text}
    hidden = [(at, at + len(part)) for part in foreign if mark in part for at in region.places(part)]
    return [span for span in spans if not any(start <= span[0] < end for start, end in hidden)]


def _forms(text: str) -> Iterator[str]:
    """Yields a text of the state as an instruction may show it: as it is, or within JSON."""
    bare = text.startswith("{") and text.endswith("}") and text.count("{") == 1
    if not bare:
        yield text
    yield json.dumps(text, ensure_ascii=False)[0 if bare else 1 : None if bare else -1]
    yield repr(text)


def _foreign_texts(call: ModelCall) -> Iterator[str]:
    """Yields the texts of the user's message and of the state that may hold a placeholder."""
    yield from (part.text or "" for part in (call.user_content.parts if call.user_content else None) or ())
    # Writing a value out takes a fraction of walking it, and most values hold no placeholder.
    written = (json_text(value) for value in call.state.values())
    leaves = (str(leaf) for text in written if PREFIX in text for leaf in scalars(json.loads(text)))
    yield from (leaf for leaf in leaves if PREFIX in leaf)


def _filled(text: str, spans: Iterable[Span], view: View) -> str:
    pieces, done = list[str](), 0
    for start, end, slot in sorted(set(spans)):
        if start >= done:
            pieces += (text[done:start], view.of(slot))
            done = end
    return "".join((*pieces, text[done:]))


def with_dynamic(
    request: LlmRequest, agent: Any, view: View, call: ModelCall, context: CallbackContext
) -> list[types.Content]:
    """Fills the view into the agent's dynamic instruction. Returns the same list if nothing changes."""
    found = Declared.of(agent.instruction, view, context) if getattr(agent, "static_instruction", None) else iter(())
    entry = next(found, None)
    if entry is None or not entry.may_have(view):
        return request.contents
    # State must not be able to close ADK's markers.
    view = view._replace(text=adk.elide_labels(view.text), stale=adk.elide_labels(view.stale))
    begin, end = adk.labels()
    sent = tuple(piece if isinstance(piece, Slot) else adk.elide_labels(piece) for piece in entry.sent)
    texts, voices = list(map(_lone_text, request.contents)), Voices.of(call)
    likely = _likely_places(request)
    moved = (index for index in reversed(range(len(texts))) if index not in likely)
    places = chain(likely, moved)
    labelled = (index for index in places if texts[index].startswith(begin) and texts[index].endswith(end))
    inner = {index: texts[index].removeprefix(begin).removesuffix(end) for index in labelled if texts[index]}

    def is_typed(index: int) -> bool:
        return voices.voice(request.contents[index]) == "user"

    # Where another callback has moved it to, a user may have typed the same.
    exact = (
        (index, _spans(sent, block, view))
        for index, text in inner.items()
        if (block := slots.match_at(text, 0, sent, view, end=len(text))) and (index in likely or not is_typed(index))
    )
    # If the user wrote the same text, the first copy is still ADK's. A single copy may be the user's.
    loose = (
        (index, loose_spans(Region(text, len(text), {}), entry.pieces, view, call))
        for index, text in inner.items()
        if index in likely and (texts.count(texts[index]) > 1 or not is_typed(index))
    )
    for index, spans in chain(exact, loose):
        text = begin + _filled(inner[index], spans, view) + end
        if text == texts[index]:
            break
        content = request.contents[index]
        parts = [part.model_copy(update={"text": text}) for part in content.parts or ()]
        filled = content.model_copy(update={"parts": parts})
        return [*request.contents[:index], filled, *request.contents[index + 1 :]]
    return request.contents


def _likely_places(request: LlmRequest) -> list[int]:
    """Returns the places where ADK can have put the instruction, the likeliest first."""
    contents = request.contents
    front = min(adk.static_prefix_end(request), len(contents))
    results = (each.role != "user" or any(part.function_response for part in each.parts or ()) for each in contents)
    start = max((index + 1 for index, is_result in enumerate(results) if is_result), default=0)
    return [*range(front), *range(max(start, front), len(contents))]


def _lone_text(content: types.Content) -> str:
    """Returns the text of a content that is one text and not a model's, or else nothing."""
    parts = content.parts or []
    return (parts[0].text or "") if len(parts) == 1 and content.role != "model" else ""
