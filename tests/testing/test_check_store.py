"""The rules of a store, tried on the pack's own stores and on broken ones."""

from __future__ import annotations

import pytest
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService

from adk_context_pack.stores.artifact_store import ArtifactStore
from adk_context_pack.testing import check_store
from tests.support.kept import Shelf


async def test_a_store_of_ones_own_keeps_the_rules_and_is_left_empty():
    """A plain store over a dict passes, and the check leaves nothing in it."""
    shelf = Shelf()
    await check_store(shelf)
    assert shelf.kept == {}


async def test_the_packs_own_store_keeps_the_rules():
    """The store over ADK's artifact services is one more implementation of the contract."""
    await check_store(ArtifactStore(), artifact_service=InMemoryArtifactService())


class Shared(Shelf):
    def place(self, scope, name):
        return name


class Truncating(Shelf):
    async def open(self, scope, name, kept):
        data = await super().open(scope, name, kept)
        return data and data[:999]


class Keeping(Shelf):
    async def delete(self, scope, name, kept):
        pass


@pytest.mark.parametrize(
    ("store", "rule"),
    [
        (Shared(), "another scope"),
        (Truncating(), "came back as others"),
        (Keeping(), "still there"),
        (object(), "has `name`"),
    ],
    ids=["shared", "truncating", "keeping", "object"],
)
async def test_a_broken_store_is_named(store, rule):
    """A store that shares scopes, loses bytes, keeps what is deleted or lacks a method fails with the rule."""
    with pytest.raises(AssertionError, match=rule):
        await check_store(store)
