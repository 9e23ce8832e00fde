"""Passes that each break a law, to see the laws go red."""

import copy

from google.genai import types

from adk_context_pack.passes.context_pass import ContextPass


def does_nothing(request, call):
    """The pass that keeps every law."""
    return request


def with_contents(request, contents):
    return request.model_copy(update={"contents": contents})


def writes_into_an_event(request, call):
    """Marks results as seen in the session's own dict."""
    for event in call.events:
        for response in event.get_function_responses():
            response.response["seen"] = True
    return request


def swaps_the_requests_list(request, call):
    """Assigns to the request instead of building a new one."""
    request.contents = list(request.contents)
    return request


def swaps_an_equal_copy_into_an_event(request, call):
    """Leaves values alike, but objects of the session are others than before."""
    for event in call.events:
        if event.content and event.content.parts:
            event.content.parts = copy.deepcopy(event.content.parts)
    return request


def copies_for_nothing(request, call):
    """Gives back an equal list."""
    return with_contents(request, list(request.contents))


def drops_one_each_time(request, call):
    """Drops the first content that is not the user's current message, again and again."""
    for index, content in enumerate(request.contents):
        if content.role == "user" and content != call.user_content and len(request.contents) > 1:
            return with_contents(request, [*request.contents[:index], *request.contents[index + 1 :]])
    return request


def adds_a_note(request, call):
    """Says that it was there."""
    if not request.contents or any((p.text or "") == "was here" for c in request.contents for p in c.parts or ()):
        return request
    note = types.Content(role="user", parts=[types.Part(text="was here")])
    return with_contents(request, [note, *request.contents])


def drops_results(request, call):
    """Drops contents with results, and leaves their calls."""
    kept = [content for content in request.contents if not any(p.function_response for p in content.parts or ())]
    return request if len(kept) == len(request.contents) else with_contents(request, kept)


def cuts_a_window(request, call):
    """A sliding window of the last three contents, as `contents[-3:]`."""
    return request if len(request.contents) <= 3 else with_contents(request, request.contents[-3:])


def forgets_the_user(request, call):
    """Drops the user's current message."""
    kept = [content for content in request.contents if content != call.user_content]
    return request if len(kept) == len(request.contents) else with_contents(request, kept)


def trims_the_users_words(request, call):
    """Takes the user's spaces away."""
    if not any((p.text or "") != (p.text or "").strip() for c in request.contents for p in c.parts or ()):
        return request
    contents = copy.deepcopy(request.contents)
    for content in contents:
        for part in content.parts or ():
            part.text = part.text and part.text.strip()
    return with_contents(request, contents)


def drops_all_blocks(request, call):
    """The circulating recipe: everything whose first part reads like a relay, whoever wrote it."""
    kept = [c for c in request.contents if not (c.parts and (c.parts[0].text or "").startswith("For context"))]
    return request if len(kept) == len(request.contents) else with_contents(request, kept)


def counts_what_it_dropped(request, call):
    """Replaces the first content by a number that changes with every event."""
    if not request.contents or not call.events or len((request.contents[0].parts or [types.Part()])[0].text or "") < 3:
        return request
    number = types.Content(role=request.contents[0].role, parts=[types.Part(text=str(len(call.events) % 100))])
    return with_contents(request, [number, *request.contents[1:]])


def loses_signatures(request, call):
    """Builds call parts anew, without their thought signatures."""
    if not any(part.thought_signature for content in request.contents for part in content.parts or ()):
        return request
    contents = [
        content.model_copy(
            update={"parts": [part.model_copy(update={"thought_signature": None}) for part in content.parts or ()]}
        )
        for content in request.contents
    ]
    return with_contents(request, contents)


def raises(request, call):
    """Meets something that it did not expect."""
    if any(not content.parts for content in request.contents) or len(request.contents) > 4:
        raise TypeError
    return request


class Bad(ContextPass):
    """A function as a pass, so that it can be one of a pair."""

    def __init__(self, apply):
        object.__setattr__(self, "_apply", apply)

    def apply(self, request, call):
        return self._apply(request, call)


def with_texts(request, change):
    """The request with each text put through `change`; the same object where none changes."""
    texts = [part.text for content in request.contents for part in content.parts or () if part.text]
    if not any(change(text) != text for text in texts):
        return request
    contents = [content.model_copy(deep=True) for content in request.contents]
    for part in (part for content in contents for part in content.parts or () if part.text):
        part.text = change(part.text)
    return with_contents(request, contents)


def makes_lengths_even(request, call):
    """Takes a character from each text of an odd length; a second time there is nothing to take."""
    return with_texts(request, lambda text: text[: len(text) // 2 * 2])


def makes_lengths_odd(request, call):
    """The other way round."""
    return with_texts(request, lambda text: text[: (len(text) + 1) // 2 * 2 - 1])


def empties_results(request, call):
    """Keeps each call and its result, and loses what the result said."""

    def emptied(part):
        result = part.function_response
        if result is None or result.response == {}:
            return part
        return part.model_copy(update={"function_response": result.model_copy(update={"response": {}})})

    contents = [
        content.model_copy(update={"parts": [emptied(part) for part in content.parts or ()]})
        for content in request.contents
    ]
    changed = contents != list(request.contents)
    return with_contents(request, contents) if changed else request
