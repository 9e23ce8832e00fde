"""Tries the rules of a `ResultStore` on a store of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.sessions.session import Session

from adk_context_pack.stores.result_store import ResultStore, StoreScope

_NAME = "rows-check-00000000000.json"
_DATA = (b"0", bytes(range(256)), b'{"rows":[{"city":"K\xc3\xb6ln"}]}', b"x" * 1_000_000)


class _Context:
    """Stands for ADK's context of one session, for a store that looks at it."""

    def __init__(self, session: Session, artifact_service: Any) -> None:
        self.session, self.artifact_service = session, artifact_service


async def check_store(store: ResultStore, *, artifact_service: Any = None) -> None:
    """Puts, opens and deletes results in four made-up scopes, and leaves nothing behind.

    Any bytes come back as they were, of one scope or several at once. A name that is unknown, deleted or of another
    app, user or session opens nothing. Deleting twice is not an error.

    Args:
        store: a store with its services at hand.
        artifact_service: an ADK artifact service, for a store that reaches it through the context.

    Raises:
        AssertionError: the store breaks a rule. The message says which.
        Exception: whatever the store raises.
    """
    _demand(isinstance(store, ResultStore), "a store has `name`, `put`, `open` and `delete`")
    _demand(isinstance(store.name, str), "the name of a store is a text")
    for data in _DATA:
        await _check_bytes(store, data, _scope(artifact_service))
    other = ({"app_name": "other"}, {"user_id": "other"}, {"session_id": "other"})
    await _check_scopes(store, [_scope(artifact_service), *(_scope(artifact_service, **names) for names in other)])


async def _check_bytes(store: ResultStore, data: bytes, scope: StoreScope) -> None:
    kept = await store.put(scope, _NAME, data)
    _demand(kept is None or isinstance(kept, str), "`put` returns a text or None")
    _demand(await store.open(scope, _NAME, kept) == data, f"{len(data)} bytes came back as others")
    await store.delete(scope, _NAME, kept)
    await store.delete(scope, _NAME, kept)
    _demand(await store.open(scope, _NAME, None) is None, "what was deleted is still there")


async def _check_scopes(store: ResultStore, scopes: Sequence[StoreScope]) -> None:
    _demand(
        await store.open(scopes[0], "rows-unknown-00000000000.json", None) is None, "an unknown name opens something"
    )
    first = await store.put(scopes[0], _NAME, b"mine")
    for scope in scopes[1:]:
        _demand(await store.open(scope, _NAME, None) is None, "a name opens what another scope has put")
    kept = [first, *[await store.put(scope, _NAME, scope.app_name.encode()) for scope in scopes[1:]]]
    _demand(await store.open(scopes[0], _NAME, first) == b"mine", "one scope overwrites what another has put")
    for scope, text in zip(scopes, kept, strict=True):
        await store.delete(scope, _NAME, text)


def _scope(artifact_service: Any, **names: str) -> StoreScope:
    all_names = {"app_name": "check_app", "user_id": "check_user", "session_id": "check_session", **names}
    session = Session(id=all_names["session_id"], app_name=all_names["app_name"], user_id=all_names["user_id"])
    return StoreScope(context=_Context(session, artifact_service), **all_names)


def _demand(kept: bool, rule: str) -> None:  # noqa: FBT001 - a condition
    if not kept:
        raise AssertionError(rule)
