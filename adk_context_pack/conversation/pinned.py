"""Finds the results in a request that hold for the agent, and so stay whole: skills that are active."""

from __future__ import annotations

from collections.abc import Collection

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.skills import SkillResult, active_skills, skill_tools
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.pairing import Pairing, Place, part_at


def pinned_results(
    request: LlmRequest, call: ModelCall, pairing: Pairing, *, turn_start: int, keep_tools: Collection[str] = ()
) -> set[Place]:
    """Returns the places of the results that no pass may shorten or leave out.

    These are the instructions of each skill that ADK counts as active for the agent, what the running turn loaded of a
    skill's resources, and the results of the tools in `keep_tools`.

    Args:
        request: the request.
        call: whose request it is.
        pairing: the calls and results of the request's contents.
        turn_start: index of the first content of the running turn.
        keep_tools: names of tools whose results stay whatever they are.
    """
    active = active_skills(call.state, call.agent_name)
    kinds = skill_tools(request.tools_dict) if active else {}
    names = keep_tools | kinds.keys() if isinstance(keep_tools, frozenset) else {*keep_tools, *kinds}
    if not names:
        return set()
    contents = request.contents or []
    return {
        place
        for place, name in pairing.results.items()
        if name in names
        and (
            name in keep_tools
            or _holds(part_at(contents, place), kinds.get(name or ""), active, place.content >= turn_start)
        )
    }


def _holds(part: types.Part, kind: SkillResult | None, active: Collection[str], in_turn: bool) -> bool:  # noqa: FBT001
    response = part.function_response.response if part.function_response else None
    if not isinstance(response, dict) or response.get("skill_name") not in active:
        return False
    return in_turn if kind == "resource" else "instructions" in response
