"""Finds the input of a node of a `Workflow` (2.x), which ADK shows to the node's agent and never stores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from google.adk.events.event import Event
from google.genai import types


def node_path_of(event: Event) -> str | None:
    """Returns the path of the node (2.x) that made an event, or None."""
    return getattr(getattr(event, "node_info", None), "path", None) or None


def is_workflow_node(event: Event, before: Sequence[Event]) -> bool:
    """Tells whether the agent behind `event` ran as a node of a workflow. ADK shows such an agent its input alone.

    Args:
        event: the answer of the agent's model.
        before: the events before it.
    """
    above = (node_path_of(event) or "").rpartition("/")[0]
    if not above or getattr(event, "isolation_scope", None):
        return False
    # An agent that calls another one makes events by itself. A workflow only passes on those of its nodes.
    return all(node_path_of(each) != above for each in before)


def node_run(event: Event, before: Sequence[Event]) -> int:
    """Returns the place of the first event of the node's run that `event` belongs to."""
    path = node_path_of(event)
    same = (
        place
        for place, each in enumerate(before)
        if each.invocation_id == event.invocation_id and node_path_of(each) == path and each.branch == event.branch
    )
    return next(same, len(before))


def workflow_input(event: Event, before: Sequence[Event]) -> types.Content | None:
    """Returns the output of the node before, or None for the first node, whose input is the user's message.

    Args:
        event: the answer of the model of a workflow's node.
        before: the events before it.
    """
    workflow = (node_path_of(event) or "").rpartition("/")[0]
    for each in reversed(before[: node_run(event, before)]):
        outputs = getattr(getattr(each, "node_info", None), "output_for", None) or ()
        is_sibling = any(path.rpartition("/")[0] == workflow for path in outputs)
        if each.invocation_id == event.invocation_id and is_sibling and _leads_to(each.branch, event.branch):
            return _as_user(each)
    return None


def _leads_to(branch: str | None, later: str | None) -> bool:
    # Nodes beside each other have branches of their own, and see nothing of one another.
    return not branch or f"{later or ''}.".startswith(f"{branch}.")


def _as_user(event: Event) -> types.Content | None:
    output: Any = getattr(event, "output", None)
    if output is None:
        parts = event.content.parts if event.content else None
        return types.Content(role="user", parts=[part for part in parts if not part.thought]) if parts else None
    # As ADK's `to_user_content` writes it.
    text = json.dumps(output, ensure_ascii=False) if isinstance(output, dict | list) else str(output)
    return types.Content(role="user", parts=[types.Part(text=text)])
