"""One library of the field over one session; runs in that library's own environment, so it imports nothing of ours.

Reads {"messages": […], "calls": […]} from standard input and writes {strategy: {"requests": [[text, …], …],
"milliseconds": …}} to standard output. A library that keeps what it has changed is given its own messages back.

With --serve it reads {"strategy": name or null, "messages": […]} a line, and answers each in a line: with the messages
that the strategy leaves, in the form in which they came, or with the names of all strategies.
"""

# ruff: noqa: PLC0415 - each library is imported where it is installed, and nowhere else
import asyncio
import json
import statistics
import sys
import time
from copy import deepcopy

WHOLE = "everything"


def main(library):
    session = json.load(sys.stdin)
    found = {}
    strategies = LIBRARIES[library]()
    strategies[WHOLE] = next(iter(strategies.values()))[0], lambda stored: (stored, stored)
    for name, (build, run) in strategies.items():
        stored, requests, times, done = [], [], [], 0
        for count in session["calls"]:
            stored += [build(message) for message in session["messages"][done:count]]
            done = count
            start = time.process_time()
            stored, sent = run(stored)
            times.append(time.process_time() - start)
            requests.append([show(message) for message in sent])
        found[name] = {"requests": requests, "milliseconds": statistics.median(times[-12:]) * 1000}
    json.dump(found, sys.stdout)


def serve(library):
    strategies = LIBRARIES[library]()
    read = READERS[library]
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["strategy"] is None:
            answer = list(strategies)
        else:
            build, run = strategies[asked["strategy"]]
            _, sent = run([build(message) for message in asked["messages"]])
            answer = [plain for message in sent for plain in read(message)]
        print(json.dumps(answer), flush=True)


def plain_of(role, text="", call_id=None, name=None, calls=()):
    return {"role": role, "text": text, "id": call_id, "name": name, "calls": list(calls)}


def show(message):
    for method in ("model_dump_json", "to_json"):
        if hasattr(message, method):
            return str(getattr(message, method)())
    if hasattr(message, "parts"):
        # Timestamps and run ids are not sent.
        parts = [(type(part).__name__, getattr(part, "content", getattr(part, "args", ""))) for part in message.parts]
        message = [[kind, str(text)] for kind, text in parts]
    return json.dumps(message, default=str, sort_keys=True)


def langchain():
    from langchain.agents.middleware.context_editing import ClearToolUsesEdit
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langchain_core.messages.utils import count_tokens_approximately, trim_messages

    def build(m):
        if m["role"] == "user":
            return HumanMessage(m["text"])
        if m["role"] == "tool":
            return ToolMessage(m["text"], tool_call_id=m["id"], name=m["name"])
        return AIMessage(m["text"], tool_calls=[{**call, "type": "tool_call"} for call in m["calls"]])

    def runner(edit):
        def run(stored):
            # Its middleware copies before it edits.
            sent = deepcopy(stored)
            edit.apply(sent, count_tokens=count_tokens_approximately)
            return stored, sent

        return build, run

    def trimmed(budget):
        def run(stored):
            return stored, trim_messages(stored, max_tokens=budget, token_counter=count_tokens_approximately)

        return build, run

    return {
        "langchain trim_messages, 2000": trimmed(2000),
        "langchain ClearToolUsesEdit, defaults": runner(ClearToolUsesEdit()),
        "langchain ClearToolUsesEdit, trigger 1, keep 2": runner(ClearToolUsesEdit(trigger=1, keep=2)),
    }


def openai_agents():
    from agents.extensions import ToolOutputTrimmer
    from agents.run_config import CallModelData, ModelInputData

    def build(m):
        if m["role"] == "tool":
            return {"type": "function_call_output", "call_id": m["id"], "output": m["text"]}
        if m["role"] == "assistant" and m["calls"]:
            call = m["calls"][0]
            arguments = json.dumps(call["args"])
            return {"type": "function_call", "call_id": call["id"], "name": call["name"], "arguments": arguments}
        return {"role": m["role"], "content": m["text"]}

    def runner(trim):
        def run(stored):
            data = CallModelData(ModelInputData(input=list(stored), instructions=None), agent=None, context=None)
            return stored, trim(data).input

        return build, run

    return {
        "openai-agents ToolOutputTrimmer, defaults": runner(ToolOutputTrimmer()),
        "openai-agents ToolOutputTrimmer, 1 recent turn": runner(ToolOutputTrimmer(recent_turns=1)),
    }


def harness():
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai_harness.compaction import ClearToolResults

    def build(m):
        if m["role"] == "user":
            return ModelRequest(parts=[UserPromptPart(m["text"])])
        if m["role"] == "tool":
            return ModelRequest(parts=[ToolReturnPart(tool_name=m["name"], content=m["text"], tool_call_id=m["id"])])
        calls = [ToolCallPart(call["name"], call["args"], tool_call_id=call["id"]) for call in m["calls"]]
        return ModelResponse(parts=calls or [TextPart(m["text"])])

    def runner(trigger, **settings):
        clear = ClearToolResults(max_tokens=trigger, **settings)

        def run(stored):
            # The trigger as its documentation states it: about four characters a token over the whole history.
            if sum(len(str(part)) for message in stored for part in message.parts) / 4 > trigger:
                stored = asyncio.run(clear.compact(stored, None))
            return stored, stored

        return build, run

    return {
        "pydantic-ai-harness ClearToolResults, 100k": runner(100_000),
        "pydantic-ai-harness, 20k, min_clear 10k": runner(20_000, min_clear_tokens=10_000),
        "pydantic-ai-harness, 1, keep 2": runner(1, keep_pairs=2),
    }


def strands():
    from types import SimpleNamespace

    from strands.agent.conversation_manager import SlidingWindowConversationManager

    def build(m):
        if m["role"] == "tool":
            result = {"toolUseId": m["id"], "status": "success", "content": [{"text": m["text"]}]}
            return {"role": "user", "content": [{"toolResult": result}]}
        calls = [{"toolUse": {"toolUseId": c["id"], "name": c["name"], "input": c["args"]}} for c in m["calls"]]
        return {"role": m["role"], "content": calls or [{"text": m["text"]}]}

    def runner(size):
        manager = SlidingWindowConversationManager(window_size=size)

        def run(stored):
            agent = SimpleNamespace(messages=list(stored))
            manager.apply_management(agent)
            return agent.messages, agent.messages

        return build, run

    return {"strands SlidingWindow, 40": runner(40), "strands SlidingWindow, 20": runner(20)}


def read_langchain(message):
    role = {"human": "user", "tool": "tool"}.get(message.type, "assistant")
    calls = [{key: call[key] for key in ("id", "name", "args")} for call in getattr(message, "tool_calls", ())]
    yield plain_of(role, message.text, getattr(message, "tool_call_id", None), message.name, calls)


def read_openai_agents(item):
    if item.get("type") == "function_call_output":
        yield plain_of("tool", item["output"], item["call_id"])
    elif item.get("type") == "function_call":
        call = {"id": item["call_id"], "name": item["name"], "args": json.loads(item["arguments"])}
        yield plain_of("assistant", calls=[call])
    else:
        yield plain_of(item["role"], item["content"])


def read_harness(message):
    for part in message.parts:
        kind = type(part).__name__
        if kind == "ToolReturnPart":
            yield plain_of("tool", str(part.content), part.tool_call_id, part.tool_name)
        elif kind == "ToolCallPart":
            call = {"id": part.tool_call_id, "name": part.tool_name, "args": part.args_as_dict()}
            yield plain_of("assistant", calls=[call])
        else:
            yield plain_of("assistant" if kind == "TextPart" else "user", str(part.content))


def read_strands(message):
    for block in message["content"]:
        if "toolResult" in block:
            result = block["toolResult"]
            text = "".join(part.get("text", "") for part in result["content"])
            yield plain_of("tool", text, result["toolUseId"])
        elif "toolUse" in block:
            call = block["toolUse"]
            calls = [{"id": call["toolUseId"], "name": call["name"], "args": call["input"]}]
            yield plain_of("assistant", calls=calls)
        else:
            yield plain_of(message["role"], block["text"])


READERS = {
    "langchain": read_langchain,
    "openai_agents": read_openai_agents,
    "harness": read_harness,
    "strands": read_strands,
}
LIBRARIES = {"langchain": langchain, "openai_agents": openai_agents, "harness": harness, "strands": strands}

if __name__ == "__main__":
    (serve if "--serve" in sys.argv else main)(sys.argv[1])
