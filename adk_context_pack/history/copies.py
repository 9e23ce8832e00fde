"""Shallow copies of pydantic models with one field changed."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)
_new, _set = object.__new__, object.__setattr__


def changed(model: Model, name: str, value: Any) -> Model:
    """A shallow copy of `model` in which one field has another value; nothing is validated.

    The same as `model.model_copy(update={name: value})` in less than half the time, which counts where thousands of old
    results are cleared before every model call.
    """
    copy: Model = _new(type(model))
    values, fields = model.__dict__.copy(), model.__pydantic_fields_set__.copy()
    values[name] = value
    fields.add(name)
    _set(copy, "__dict__", values)
    _set(copy, "__pydantic_fields_set__", fields)
    _set(copy, "__pydantic_extra__", model.__pydantic_extra__)
    _set(copy, "__pydantic_private__", model.__pydantic_private__)
    return copy
