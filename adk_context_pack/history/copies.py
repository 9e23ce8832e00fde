"""Shallow copies of pydantic models with one field changed."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


def changed(model: Model, name: str, value: Any) -> Model:
    """A shallow copy of `model` in which one field has another value; nothing is validated.

    The same as `model.model_copy(update={name: value})` in a quarter of the time, which counts where thousands of old
    results are cleared before every model call.
    """
    copy: Model = type(model).__new__(type(model))
    object.__setattr__(copy, "__dict__", {**model.__dict__, name: value})
    object.__setattr__(copy, "__pydantic_fields_set__", {*model.__pydantic_fields_set__, name})
    object.__setattr__(copy, "__pydantic_extra__", model.__pydantic_extra__)
    object.__setattr__(copy, "__pydantic_private__", model.__pydantic_private__)
    return copy
