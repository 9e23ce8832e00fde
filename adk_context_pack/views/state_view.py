"""The view of a state value that an agent needs, declared as a function or as data.

A `select` is one of:

* `None`: the whole value.
* a function: gets the whole value (never one item), returns any value that JSON can hold.
* field names, `("id", "title")`: these fields, in this order. A dot goes into a nested value (`"result.row_count"`).
* new names, `{"id": "query_id", "rows": "result.row_count", "n": lambda item: len(item["rows"])}`: a field under
  another name, or a function of the item.
* a deciding field, with fields for each of its values. A tuple of values shares its fields. `None` covers all others:

      {"status": {
          "success": ("id", "title", "status", "row_count"),
          ("failed", "error"): ("id", "title", "status", "error_message", "query"),
          None: ("id", "title", "status", "depends_on"),
      }}

  An item whose value is not listed is left out where there is no `None`.

Fields are taken from a dict, a pydantic model or a dataclass. A list or tuple of these is handled item by item, and so
is a dict of them by id, which keeps its ids. A field that an item lacks is left out. An item without fields (a string
in the list) is kept unchanged. Text that holds a JSON object or list, as an agent's `output_key` stores it, is parsed.
A field that no item has is warned of where `FieldCheck` can tell that it is a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_context_pack._json import view_json
from adk_context_pack.errors import SettingError, logger
from adk_context_pack.views.mistakes import FieldCheck
from adk_context_pack.views.select import Select, view_of


def render_view(value: Any, select: Select | None = None) -> str:
    """Renders the view of `value` as compact JSON.

    Args:
        value: a state value. It is never changed.
        select: the part that the agent needs.

    Raises:
        SettingError: `select` is neither a function nor one of the forms above.
        Exception: whatever a function in `select` raises.
    """
    return view_json(view_of("render_view", select)(value))


class StateView:
    """The view of one state key, checked once and rendered at every call.

    Args:
        owner: whose settings these are, for the errors.
        key: the state key.
        select: the part of the value that is needed, in one of the module's forms.
        output_key: the state key that keeps the view, or None.

    Raises:
        SettingError: a key that no placeholder can name, or a `select` in none of the forms.
    """

    def __init__(self, *, owner: str, key: str, select: Select | None = None, output_key: str | None = None) -> None:
        self.key = _checked_key(owner, "key", key)
        if output_key is not None and _checked_key(owner, "output_key", output_key) == key:
            raise SettingError.of(owner, "output_key", output_key, "another name than key")
        self._view = view_of(owner, select)
        self._fields = FieldCheck(f"{owner} of {key!r}", select)

    def render(self, state: Mapping[str, Any], *, strict: bool = False) -> str:
        """Renders the view as JSON text. A missing value and None give `null`, without calling `select`.

        Args:
            state: a session's state. It is never changed.
            strict: raises an exception from a function in `select`. Otherwise the exception is logged, and the text is
                a JSON object that says so. A model then does not take a missing view for an empty value.
        """
        try:
            value = state.get(self.key)
            if value is not None and self._fields.is_open:
                try:
                    self._fields.look(value)
                except Exception:
                    # The view does not depend on the check.
                    logger.debug("the fields of state key %s could not be checked", self.key, exc_info=True)
            return "null" if value is None else view_json(self._view(value))
        except Exception as exception:
            if strict:
                raise
            logger.exception("the view of state key %s could not be made", self.key)
            return view_json({"error": f"no view of {self.key}: {type(exception).__name__}"})


def _checked_key(owner: str, name: str, key: object) -> str:
    if not isinstance(key, str) or not key or key != key.strip() or key.endswith("?") or set(key) & {"{", "}"}:
        raise SettingError.of(owner, name, key, 'a state key such as "gaql_queries"')
    return key
