"""The seven laws of a pass, and that no provider finds more to refuse; each a check that raises AssertionError.

A check gets a function from request and call to request, and a conversation. It builds everything anew, so checks can
be run in any order on the same conversation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.model_call import ModelCall
from adk_context_pack.tokens import TokenMeter, payload_text
from tests.support.conversations import Conversation
from tests.support.provider_rules import new_problems
from tests.support.relay import END
from tests.support.snapshot import Picture, picture

Apply = Callable[[LlmRequest, ModelCall], LlmRequest]
Contents = Sequence[types.Content]
ESTIMATE_ERROR = 0.05
"""By how much tokens may seem to grow where characters do not: the estimate counts fence markers dearer than they are.

By o200k none of 283 casts of generated sessions had more tokens than ADK's blocks; by the estimate one had 4 % more."""
PENDING = " -> no result yet"
"""What stands at the end of a line whose call waits for its result, and gives way to the result."""


def pure(apply: Apply, conversation: Conversation) -> None:
    """Neither the request nor the session is written into, and every object of theirs is still the same object."""
    request, call = conversation.built()
    watched = [request.contents, request.config, call.events, call.state, call.user_content]
    before = [picture(value, identity=True) for value in watched]
    contents, config = request.contents, request.config
    apply(request, call)
    assert request.contents is contents, "the request was given other contents"
    assert request.config is config, "the request was given another config"
    after = [picture(value, identity=True) for value in watched]
    assert after == before, "something that came in was changed"


def idle_is_identity(apply: Apply, conversation: Conversation) -> None:
    """Where the result says the same as what came in, it is the very same contents and config."""
    request, call = conversation.built()
    result = apply(request, call)
    if picture(result.contents) == picture(request.contents):
        assert result.contents is request.contents, "equal contents, but another list"
    if picture(result.config) == picture(request.config):
        assert result.config is request.config, "an equal config, but another object"


def settled(apply: Apply, conversation: Conversation) -> None:
    """A second time changes nothing, within the same call or in a fresh one."""
    request, call = conversation.built()
    once = apply(request, call)
    for again in (call, conversation.call()):
        twice = apply(once, again)
        assert picture(twice.contents) == picture(once.contents), "the second time changed contents"
        assert picture(twice.config) == picture(once.config), "the second time changed the config"


def never_grows(apply: Apply, conversation: Conversation) -> None:
    """Neither characters nor tokens get more; a message of the user that would be missing may be put in."""
    request, call = conversation.built()
    result = apply(request, call)
    if result.contents is request.contents:
        return
    added = [call.user_content] if _was_put_in(call.user_content, request, result) else []
    assert characters(result.contents) <= characters([*request.contents, *added]), "more characters"
    meter = TokenMeter()
    allowed = meter.request(request) + meter.contents(added)
    assert meter.request(result) <= allowed * (1 + ESTIMATE_ERROR), "more tokens"


def paired(apply: Apply, conversation: Conversation) -> None:
    """No call lost its result and no result its call."""
    request, call = conversation.built()
    result = apply(request, call)
    alone = Counter(unpaired(result.contents)) - Counter(unpaired(request.contents))
    assert not alone, f"left alone: {list(alone)}"


def heard(apply: Apply, conversation: Conversation) -> None:
    """The user's current message stays as it was, and the request is neither empty nor newly ends in a model turn."""
    request, call = conversation.built()
    result = apply(request, call)
    if not request.contents:
        return
    assert result.contents, "the request is empty"
    message = picture(call.user_content)
    if any(picture(content) == message for content in request.contents):
        assert any(picture(content) == message for content in result.contents), "the user's message is gone"
    if request.contents[-1].role != "model":
        assert result.contents[-1].role != "model", "the request now ends in a model turn"


def keeps_what_users_typed(apply: Apply, conversation: Conversation) -> None:
    """Every message of a user stands in the result as often as it stood in the request; for passes that cut nothing."""
    request, call = conversation.built()
    result = apply(request, call)
    typed = Counter(picture(e.content) for e in call.events if e.author == "user" and not e.get_function_responses())
    before, after = (Counter(map(picture, contents)) for contents in (request.contents, result.contents))
    lost = [content for content, count in typed.items() if after[content] < min(count, before[content])]
    assert not lost, f"{len(lost)} messages of a user are gone"


def steady(apply: Apply, conversation: Conversation) -> None:
    """As the session grows by one event, what was already sent stays a prefix wherever ADK's own contents do.

    The last content may go on if it is an account within a fence: further lines, and results of calls that waited; see
    `assert_goes_on`.
    """
    earlier: tuple[list[Picture], LlmRequest] | None = None
    for now in conversation.moments():
        request, call = now.built()
        pictures = [picture(content) for content in request.contents]
        result = apply(request, call)
        if earlier and earlier[0] and pictures[: len(earlier[0])] == earlier[0]:
            assert_goes_on(earlier[1].contents, result.contents)
        earlier = (pictures, result)


def no_new_problem(apply: Apply, conversation: Conversation) -> None:
    """No provider has more to refuse than before."""
    request, call = conversation.built()
    result = apply(request, call)
    problems = new_problems(request.contents, result.contents)
    assert not problems, problems


LAWS: tuple[Callable[[Apply, Conversation], None], ...] = (
    pure,
    idle_is_identity,
    settled,
    never_grows,
    paired,
    heard,
    keeps_what_users_typed,
    steady,
    no_new_problem,
)
"""All of them; `keeps_what_users_typed` is for passes that cut nothing."""


def check(apply: Apply, conversation: Conversation, *, except_for: Collection[str] = ()) -> None:
    """All laws, save those named in `except_for`; the law that is broken is named in the error."""
    for law in LAWS:
        if law.__name__ not in except_for:
            try:
                law(apply, conversation)
            except Exception as error:
                error.add_note(f"law: {law.__name__}")
                raise


def assert_goes_on(old: Contents, new: Contents) -> None:
    """`old` is a prefix of `new`, save that its last content may be an account that goes on in `new`.

    And save that blocks which wait for a result, and were too small to be retold alone, may become an account.
    """
    for index, content in enumerate(old):
        assert index < len(new), f"content {index} of {len(old)} is gone"
        if picture(content) != picture(new[index]):
            if _waits(old[index:]) and account_lines(new[index]) is not None:
                return
            assert index == len(old) - 1, f"content {index} of {len(old)} changed"
            assert account_goes_on(content, new[index]), "the last content changed other than by going on"


def _waits(contents: Contents) -> bool:
    """Whether `contents` are relayed blocks, the first with a call whose result none of them has."""
    texts = ["\n".join(part.text or "" for part in content.parts or ()) for content in contents]
    called = re.findall(r"\] called tool `(.*?)` with parameters:", texts[0], re.DOTALL)
    returned = re.findall(r"\] `(.*?)` tool returned result:", "\n".join(texts), re.DOTALL)
    are_blocks = all(
        content.role == "user" and text.startswith("For context:")
        for content, text in zip(contents, texts, strict=True)
    )
    return are_blocks and bool(Counter(called) - Counter(returned))


def account_goes_on(old: types.Content, new: types.Content) -> bool:
    """Whether `new` is the account `old` with lines added at its end, or with results where calls waited for them."""
    said, says = account_lines(old), account_lines(new)
    if said is None or says is None or len(says) < len(said):
        return False
    return all(
        now == then or (then.endswith(PENDING) and now.startswith(then.removesuffix(PENDING)))
        for then, now in zip(said, says, strict=False)
    )


def account_lines(content: types.Content) -> list[str] | None:
    """The actions of a fenced account, one string each with its further lines; None for any other content."""
    parts = content.parts or []
    if not parts or not (parts[-1].text or "").endswith(END):
        return None
    text = "\n".join(part.text if part.text is not None else f"[part] {picture(part)}" for part in parts)
    return re.split(r"\n(?=\[)", text.removesuffix(END).rstrip("\n"))


def characters(contents: Contents) -> int:
    """Characters of all texts and payloads."""
    return sum(_part_characters(part) for content in contents for part in content.parts or ())


def unpaired(contents: Contents) -> Iterator[str]:
    """Calls without a result and results without a call: by id where there is one, else by name within their group.

    A group is a content with calls and the contents with results right after it.
    """
    waiting: Counter[str] = Counter()
    nameless: Counter[str] = Counter()
    for content in contents:
        calls = [part.function_call for part in content.parts or () if part.function_call]
        results = [part.function_response for part in content.parts or () if part.function_response]
        if not results:
            yield from (f"call of {name}" for name in nameless.elements())
            nameless = Counter()
        for result in results:
            key, pool = (f"{result.id}", waiting) if result.id else (f"{result.name}", nameless)
            if pool[key]:
                pool[key] -= 1
            else:
                yield f"result of {result.name} {result.id}"
        for call in calls:
            (waiting if call.id else nameless)[f"{call.id or call.name}"] += 1
    yield from (f"call {key}" for key in waiting.elements())
    yield from (f"call of {name}" for name in nameless.elements())


def _part_characters(part: types.Part) -> int:
    if part.text is not None:
        return len(part.text)
    if part.function_call:
        return len(part.function_call.name or "") + len(payload_text(part.function_call.args))
    if part.function_response:
        return len(part.function_response.name or "") + len(payload_text(part.function_response.response))
    return len(repr(part.model_dump(exclude_none=True)))


def _was_put_in(message: types.Content | None, request: LlmRequest, result: LlmRequest) -> bool:
    texts = [part.text for part in (message.parts if message else None) or ()]

    def stands(contents: Contents) -> bool:
        return any([part.text for part in content.parts or ()] == texts for content in contents)

    return message is not None and stands(result.contents) and not stands(request.contents)
