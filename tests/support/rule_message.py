"""One message of a request, as the checkers of providers' rules see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from google.genai import types

Contents = Sequence[types.Content]


@dataclass
class Message:
    """A role and parts."""

    role: str
    parts: list[types.Part] = field(default_factory=list)

    @property
    def calls(self) -> list[types.FunctionCall]:
        return [part.function_call for part in self.parts if part.function_call]

    @property
    def results(self) -> list[types.FunctionResponse]:
        return [part.function_response for part in self.parts if part.function_response]


def role_of(content: types.Content) -> str:
    return "model" if content.role == "model" else "user"


def parts_of(contents: Contents) -> Iterator[types.Part]:
    return (part for content in contents for part in content.parts or ())
