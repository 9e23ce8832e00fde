"""Conversations with one agent: parallel calls, a long loop of calls, a call that waits, one that needs a yes."""

from __future__ import annotations

import re

from google.adk.events.event import Event
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from tests.providers.scenario import PROSE, Scenario, fresh, list_ships, look_up, numbers
from tests.support.scripted_model import call, results_in, text_of

STEPS = 60
"""How many calls the tool loop makes."""


def parallel_calls() -> Scenario:
    def answer(request):
        if fresh(request):
            return ["I look all of them up.", *(call("look_up", city=c) for c in ("Oslo", "Bergen")),
                    call("list_ships", city="Oslo"), call("look_up", city="Narvik")]  # fmt: skip
        return f"{len(request.contents[-1].parts)} results."

    return Scenario(
        build=lambda make: make("guide", tools=[look_up, list_ships]),
        roles={"guide": answer},
        messages=["First tour?", "Second tour?", "Third tour?", "Fourth tour?"],
        ends_with="4 results.",
    )


def tool_loop() -> Scenario:
    def step(number: int) -> str:
        """Does one step."""
        return f"Step {number} is done. " + PROSE * 3

    def answer(request):
        done = 0 if fresh(request) else numbers(r"Step (\d+) is done", request)[-1]
        return call("step", number=done + 1) if done < STEPS else f"All {done} steps are done."

    return Scenario(
        build=lambda make: make("worker", tools=[step]),
        roles={"worker": answer},
        messages=["Hello, do all steps."],
        ends_with=f"All {STEPS} steps are done.",
    )


def long_running() -> Scenario:
    """A ticket that stays open while the user talks on, next to a call that returns at once; then it is resumed."""

    def order(item: str) -> dict:
        """Orders an item; the answer comes later."""
        return {"result": "The order is pending."}

    def answer(request):
        if "THANKS" in text_of(request.contents[-1:]):
            return "You are welcome."
        ordered = results_in(request, "order")
        if any("arrived" in str(response.response) for response in ordered):
            return "The lamp has arrived."
        if not ordered:
            return [call("look_up", city="Oslo"), call("order", item="lamp"), call("look_up", city="Bergen")]
        return "I wait for the lamp."

    def arrived(events: list[Event]) -> types.Part:
        (asked,) = {c.id for event in events for c in event.get_function_calls() if c.name == "order"}
        response = types.FunctionResponse(id=asked, name="order", response={"result": "The lamp arrived."})
        return types.Part(function_response=response)

    return Scenario(
        build=lambda make: make("buyer", tools=[look_up, LongRunningFunctionTool(order)]),
        roles={"buyer": answer},
        messages=["Order a lamp.", "How is it going?", arrived, "THANKS", "THANKS again"],
        ends_with="You are welcome.",
    )


def confirmation() -> Scenario:
    def pay(amount: int) -> dict:
        """Pays."""
        return {"result": f"Paid {amount}."}

    def answer(request):
        if not fresh(request):
            return "Paid." if "Paid 7" in text_of(request) else "It is not paid."
        # Where the turn was cut away, the note that says so names its tools.
        if re.search(r"Paid 7|\bpay\b", text_of(request)):
            return "It is paid."
        return [call("look_up", city="Oslo"), call("pay", amount=7)]

    def yes(events: list[Event]) -> types.Part:
        name = "adk_request_confirmation"
        (asked,) = [c.id for event in events for c in event.get_function_calls() if c.name == name]
        response = types.FunctionResponse(id=asked, name=name, response={"confirmed": True})
        return types.Part(function_response=response)

    return Scenario(
        build=lambda make: make("payer", tools=[look_up, FunctionTool(pay, require_confirmation=True)]),
        roles={"payer": answer},
        messages=["Pay 7.", yes, "Is it paid?", "Is it really?"],
        ends_with="It is paid.",
    )
