"""Finds the results in a request that hold for the agent, and so stay whole: active skills and catalogs of tools."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.known_tools import ToolKind, active_skills, kind_in
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
    kinds = _kinds(request, pairing) if active else {}
    if not active and not keep_tools:
        return set()
    contents = request.contents or []
    return {
        place
        for place, name in pairing.results.items()
        if name in keep_tools
        or (
            kinds.get(name) in ("instructions", "resource")
            and _holds(part_at(contents, place), kinds[name], active, place.content >= turn_start)
        )
    }


def lasting_tools(request: LlmRequest, pairing: Pairing, *, shortened: Collection[ToolKind]) -> frozenset[str]:
    """Returns the names of the tools in a request whose results are not worth clearing.

    These are catalogs, since to find something again costs more than a dozen calls in which it is read from the
    provider's cache, and what another pass makes small.

    Args:
        request: the request.
        pairing: the calls and results of the request's contents.
        shortened: the kinds of tools whose results another pass makes small.
    """
    lasting = {"catalog", *shortened}
    return frozenset(name for name, kind in _kinds(request, pairing).items() if name and kind in lasting)


def _kinds(request: LlmRequest, pairing: Pairing) -> Mapping[str | None, ToolKind | None]:
    return {name: kind_in(request.tools_dict, name) for name in set(pairing.results.values())}


def _holds(part: types.Part, kind: ToolKind | None, active: Collection[str], in_turn: bool) -> bool:  # noqa: FBT001
    response = part.function_response.response if part.function_response else None
    if not isinstance(response, dict) or response.get("skill_name") not in active:
        return False
    return in_turn if kind == "resource" else "instructions" in response
