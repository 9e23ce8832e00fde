"""All laws on one pass, with an error that says which one is broken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from google.adk.models.llm_request import LlmRequest

from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.errors import SettingError, names
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.testing.conversation import Conversation, OneRequest
from adk_context_pack.testing.generated import generate
from adk_context_pack.testing.laws import LAWS

Requests = Iterable[tuple[LlmRequest, ModelCall]]


def check_pass(  # noqa: PLR0913 - what to try it on, each with a default
    pass_: ContextPass | Callable[[LlmRequest, ModelCall], LlmRequest],
    *,
    conversations: Iterable[Conversation] | None = None,
    requests: Requests | None = None,
    examples: int = 100,
    seed: int = 0,
    state: dict[str, Any] | None = None,
    except_for: Collection[str] = (),
) -> None:
    """Tries the laws of `LAWS` on a pass, and returns if all of them hold.

    Args:
        pass_: a pass, or a function from request and call to request.
        conversations: your own sessions, tried beside the generated ones.
        requests: your own requests with their calls, where you have no session to build them from. The law "steady"
            needs a session that grows, so it is not tried on these.
        examples: the number of generated conversations. 0 tries your own only.
        seed: the seed of the generated conversations. The same seed gives the same conversations.
        state: the state of the generated sessions, for a pass that reads it.
        except_for: laws that the pass may break: "steady" for a pass that cuts history at stated points, "never_grows"
            for one that fills something in.

    Raises:
        AssertionError: a law is broken, or the pass raises. The message names the law, says what it found, and shows
            the conversation.
        SettingError: `except_for` names no law, or `pass_` cannot be called.
    """
    apply = pass_.apply if isinstance(pass_, ContextPass) else pass_
    if not callable(apply):
        raise SettingError.of("check_pass", "pass_", pass_, "a pass such as StripForContext()")
    spared = names("check_pass", "except_for", except_for)
    if unknown := sorted(spared - LAWS.keys()):
        raise SettingError.of("check_pass", "except_for", unknown[0], f"made of {', '.join(LAWS)}")
    label = pass_.name if isinstance(pass_, ContextPass) else getattr(pass_, "__name__", type(pass_).__name__)
    for conversation in (*(conversations or ()), *generate(examples, seed=seed, state=state)):
        _check(label, apply, conversation, spared)
    for request, call in requests or ():
        _check(label, apply, OneRequest(request, call), spared | {"steady"})


def _check(label: str, apply: Any, tried: Any, spared: Collection[str]) -> None:
    for name, law in LAWS.items():
        if name in spared:
            continue
        try:
            law(apply, tried)
        except AssertionError as error:
            said = (law.__doc__ or "").splitlines()[0]
            raise AssertionError(f'{label} breaks the law "{name}" ({said}): {error}\n{tried!r}') from error
        except Exception as error:
            raise AssertionError(
                f'{label} raises {type(error).__name__}, seen under the law "{name}": {error}\n{tried!r}'
            ) from error
