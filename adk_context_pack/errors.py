"""Defines every error and warning of this package, and the checks that settings share.

* `ContextPackError`: catches everything that this package raises on purpose
    * `SettingError` (also a `ValueError` and a `TypeError`): a setting that cannot work or does not exist
    * `StoreError`: a result could not be kept, or a store could not be read
        * `HandleError`: a handle opens no result (unknown in this session, expired, replaced, damaged)
    * `QueryError`: a query over stored rows that cannot be answered
    * `RecordingError`: a recorded session cannot be read
* `ContextPackWarning` (a `UserWarning`): the library is used in a way that cannot do what was meant
    * `UnknownRelayFormatWarning`: ADK relays agents in a format that this release does not know

A mistake that shows only at run time, such as a misspelled field, is warned of once in a process by `warn_once`: as a
`ContextPackWarning`, and in the log. Trouble at run time, such as a pass that raises or a store that cannot be reached,
does not raise in the caller. It is logged under `adk_context_pack`, it is in the report, and the agent's run goes on.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache, partial, wraps
from inspect import CO_VARKEYWORDS, iscoroutinefunction, signature
from typing import Any, ClassVar, ParamSpec, Self, get_type_hints

logger = logging.getLogger("adk_context_pack")
P = ParamSpec("P")


# Controls, ends of lines, signs that turn the direction of writing, and halves of characters.
_STEERING = dict.fromkeys(
    (*range(0x20), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000)), "\ufffd"
)


def printable(text: str) -> str:
    """Returns `text`, which may hold names that a stranger chose, as one line that cannot steer a terminal."""
    return text if text.isprintable() else text.translate(_STEERING)


def counted(count: int, what: str) -> str:
    """Returns a number with what it counts, in the plural unless it is one."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def _in_one_line(record: logging.LogRecord) -> bool:
    if (said := record.getMessage()) != (shown := printable(said)):
        record.msg, record.args = shown, ()
    return True


logger.addFilter(_in_one_line)


class ContextPackError(Exception):
    """Base of every error that this package raises on purpose."""


class SettingError(ContextPackError, ValueError, TypeError):
    """A setting that cannot work or does not exist, found when the object is built. The message holds the value."""

    @classmethod
    def of(cls, owner: object, name: str, value: object, expected: str) -> SettingError:
        """Makes the error for one setting of `owner`, an object or its name, with the nearest value that is quoted.

        `expected` describes accepted values as the end of a sentence, such as "a positive integer" or "'end' or 'on'".
        """
        label = owner if isinstance(owner, str) else type(owner).__name__
        known = [each for each in re.findall(r"""['"](\w+)['"]""", expected) if each != value]
        near = did_you_mean(value, known) if isinstance(value, str) else ""
        return cls(f"{label}: {name} must be {expected}, not {value!r:.120}{near}")


class StoreError(ContextPackError):
    """A result could not be kept, or the store could not be read. The message holds no payload.

    Whatever goes wrong while a result is kept (`call.keep`, `PayloadStore.put`) is this error, within the time that the
    store has. Its text is a clause that a pass can show to a model, after "not kept" and before how to ask for less.
    """

    @classmethod
    def of(cls, reason: str, *details: object) -> StoreError:
        """Makes an error of a word and details. Deprecated: write the clause, `StoreError(text)`."""
        deprecated("StoreError.of", "StoreError(text)")
        return cls(", ".join(map(str, (reason, *details))))

    @staticmethod
    def reason(error: BaseException) -> str:
        """Returns what an error says if it is of this kind, or its type, since another one may quote a payload."""
        return str(error) if isinstance(error, StoreError) else type(error).__name__


class HandleError(StoreError):
    """A handle that opens no result: unknown here, expired, replaced or damaged. The message is for a model."""


class QueryError(ContextPackError):
    """A query over stored rows that cannot be answered. The message is written for a model."""


class RecordingError(ContextPackError):
    """A recorded session that cannot be read. The message says where and why in one line, without payload."""


class ContextPackWarning(UserWarning):
    """Base of every warning of this package, so that one filter can name them all."""


class UnknownRelayFormatWarning(ContextPackWarning):
    """ADK relays other agents in a format that this release does not know, so recognising them takes longer."""


def integer(name: str, value: object) -> int:
    """Returns an argument that a model wrote as an integer, or raises a QueryError in words for it."""
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        raise QueryError(f"{name} must be a whole number.") from None


def answering(failed: str) -> Callable[[Callable[P, Awaitable[Any]]], Callable[P, Coroutine[Any, Any, Any]]]:
    """Decorates what a model calls: an error becomes its answer, since a tool of the pack never ends a run.

    `failed` is the answer if the error is not meant for a model. The log has it then.
    """

    def decorate(function: Callable[P, Awaitable[Any]]) -> Callable[P, Coroutine[Any, Any, Any]]:
        @wraps(function)
        async def answer(*args: P.args, **kwargs: P.kwargs) -> Any:
            try:
                return await function(*args, **kwargs)
            except ContextPackError as error:
                return {"error": str(error)}
            except Exception:
                logger.exception("%s failed", function.__qualname__)
                return {"error": failed}

        # Older releases of ADK look up the names of types among the globals of this module.
        answer.__annotations__ = get_type_hints(function)
        return answer

    return decorate


@contextmanager
def logged(said: str, *details: object, type_only: bool = False) -> Iterator[None]:
    """Logs an exception and goes on after the block. Without its message, which may quote a payload, if `type_only`."""
    try:
        yield
    except Exception as error:
        if type_only:
            logger.warning("%s (%s)", said % details, type(error).__name__)
        else:
            logger.exception(said, *details)


def must(is_right: object, owner: object, name: str, value: object, expected: str) -> None:
    """Raises the `SettingError` of a value that is not right, worded as `SettingError.of` does."""
    if not is_right:
        raise SettingError.of(owner, name, value, expected)


@contextmanager
def told_of(owner: object, **names: str) -> Iterator[None]:
    """Lets errors name `owner`, an object or its name, and its setting, for each of `names` of what it builds."""
    try:
        yield
    except SettingError as error:
        name, _, said = str(error).partition(": ")[2].partition(" ")
        label = owner if isinstance(owner, str) else type(owner).__name__
        raise SettingError(f"{label}: {names.get(name, name)} {said}") from None


def at_least(owner: object, name: str, value: Any, minimum: int, *, optional: bool = False) -> int:
    """Returns `value` if it is an integer of at least `minimum`, or None where allowed. Else raises `SettingError`."""
    # bool is an int to Python, but max_rows=True is a mistake.
    is_right = isinstance(value, int) and not isinstance(value, bool) and value >= minimum
    must(is_right or (optional and value is None), owner, name, value, f"an integer of at least {minimum}")
    return value  # type: ignore[no-any-return]


positive = partial(at_least, minimum=1)
"""Returns `value` if it is an integer of at least 1, and raises a `SettingError` otherwise."""


def a_number(owner: object, name: str, value: Any, is_right: Callable[[float], bool], expected: str) -> None:
    """Raises a `SettingError` if `value` is not a number that is right."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    must(is_number and is_right(value), owner, name, value, expected)


def valid_function(owner: object, name: str, value: Any, expected: str) -> None:
    """Refuses a value that cannot be called with one argument, or would have to be awaited."""
    is_right = not iscoroutinefunction(value)
    try:
        signature(value).bind(None)
    except TypeError:
        is_right = False
    except ValueError:
        # Some classes and functions of Python's own tell no signature.
        pass
    must(is_right, owner, name, value, expected)


def valid_counter(owner: object, name: str, counter: object, does: str = "from text to its number of tokens") -> None:
    """Refuses a setting that is neither None nor a function, such as a `counter`."""
    if counter is not None:
        valid_function(owner, name, counter, f"a function {does}")


def names(owner: object, name: str, value: object, allowed: Collection[str] = ()) -> frozenset[str]:
    """Returns `value` as a set of names, of which each is one of `allowed` if there are any."""
    # A single string is refused, since Python would read it letter by letter.
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        example = value if isinstance(value, str) and value else "researcher"
        raise SettingError.of(owner, name, value, f"a collection of names such as ({example!r},)")
    found = tuple(value)
    for item in sorted(found, key=str):
        must(isinstance(item, str) and item, owner, name, item, "made of non-empty names")
        must(not allowed or item in allowed, owner, name, item, f"made of {', '.join(map(repr, allowed))}")
    return frozenset(found)


def at_most(owner: Any, name: str, value: Any, limit: str) -> None:
    """Refuses a setting that is neither None nor an integer from 1 to another setting of its owner."""
    positive(owner, name, value, optional=True)
    most = getattr(owner, limit)
    must(value is None or most is None or value <= most, owner, name, value, f"at most {limit}")


def one_of(owner: object, name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Returns `value` if it is one of `allowed`, and raises a `SettingError` otherwise."""
    must(value in allowed, owner, name, value, f"one of {', '.join(map(repr, allowed))}")
    return value  # type: ignore[no-any-return]


def instances(owner: object, name: str, value: object, kind: type, example: str) -> tuple[Any, ...]:
    """Returns `value` as a tuple of instances of `kind`, of which `example` is one as code.

    Raises a `SettingError` otherwise, also for a single instance, a set, which has no order, and a class in it.
    """
    what = "passes" if issubclass(kind, Callback) else "entries"
    if isinstance(value, kind | type | set | frozenset | Mapping) or not isinstance(value, Iterable):
        raise SettingError.of(owner, name, value, f"a sequence of {what} such as [{example}]")
    found = (value,) if isinstance(value, str) else tuple(value)
    for entry in found:
        is_class = isinstance(entry, type) and issubclass(entry, kind)
        expected = f"instances such as {entry.__name__}(…)" if is_class else f"{what} such as {example}"
        must(isinstance(entry, kind), owner, name, entry, f"made of {expected}")
    return found


class Configured:
    """The base of what is built from settings by name. A name that there is not is refused with the nearest one.

    So is a value without a name, and anything but True and False for a setting that is one of these.
    """

    __slots__ = ()

    def __new__(cls, *given: Any, **settings: Any) -> Self:  # noqa: D102 - editors would show it in the place of the class's
        code, more = getattr(cls.__init__, "__code__", None), getattr(cls, "model_fields", ())
        if code is not None and (more or not code.co_flags & CO_VARKEYWORDS):
            first = code.co_varnames[1 : code.co_argcount]
            known = (*first, *code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount], *more)
            for name in settings.keys() - set(known):
                raise SettingError(f"{cls.__name__} has no setting {name!r}{did_you_mean(name, known)}")
            if len(given) > len(first):
                raise SettingError(f"{cls.__name__} takes its settings by name: {', '.join(known)}")
            kinds = cls.__init__.__annotations__
            for name, value in {**dict(zip(first, given, strict=False)), **settings}.items():
                is_text = isinstance(value, str) or name not in first or kinds.get(name) != "str"
                must(is_text, cls.__name__, name, value, "a text, and all other settings by name")
                kind = str(kinds.get(name))
                is_switch = isinstance(value, bool) or (value is None and "None" in kind)
                is_right = is_switch or not kind.startswith("bool") or ("int" in kind and isinstance(value, int))
                must(is_right, cls.__name__, name, value, "True or False")
        return super().__new__(cls)


class Callback(Configured):
    """The base of what goes into an agent's lists of callbacks as an instance."""

    name: ClassVar[str]
    """The class's name in snake case, as logs and reports show it."""

    _checks: ClassVar[Mapping[str, Callable[..., object]]] = {
        "on_error": lambda own, name, value: one_of(own, name, value, ("skip", "raise"))
    }
    """The checks of the class's settings, given an instance, the name and the value. What one returns is kept."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = cls.__dict__.get("name") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        if (call := cls.__dict__.get("__call__")) is not None:
            cls.__call__ = in_its_list(call)  # type: ignore[method-assign]

    def __new__(cls, *given: Any, **settings: Any) -> Self:  # noqa: D102 - as above
        # ADK calls the class itself if a list has it in the place of an instance.
        if not {"callback_context", "tool_context"}.isdisjoint(settings):
            raise SettingError(f"{cls.__name__}: a callback must be an instance, {cls.__name__}(…), not the class")
        return super().__new__(cls, *given, **settings)

    def __post_init__(self) -> None:
        """Checks the settings. A subclass that overrides this method calls `super().__post_init__()`."""
        for kind in reversed(type(self).__mro__):
            for name, check in vars(kind).get("_checks", {}).items():
                if (kept := check(self, name, getattr(self, name))) is not None:
                    object.__setattr__(self, name, kept)


def in_its_list(call: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a callback that says where it belongs if ADK calls it from another list, with other arguments."""
    expected = signature(call)
    place = "before_model_callback" if "llm_request" in expected.parameters else "after_tool_callback"

    @wraps(call)
    def called(self: Callback, *given: Any, **named: Any) -> Any:
        try:
            expected.bind(self, *given, **named)
        except TypeError:
            said = f"{type(self).__name__} is an entry for {place}, not for another list of callbacks"
            raise SettingError(said) from None
        return call(self, *given, **named)

    # ADK gives arguments by place to a callback whose signature lacks their names.
    del called.__wrapped__
    return called


@lru_cache(maxsize=1024)
def warn_once(text: str, category: type[ContextPackWarning] = ContextPackWarning, *, about: str = "") -> None:  # noqa: ARG001
    """Warns of a mistake in how the app is built, once in a process for each text and what it is about.

    The warning is what a developer sees, and the log is what production reads. A process that turns warnings into
    errors does not lose a run to one. A text has the offending name and a remedy, and never a payload.
    """
    logger.warning(text)
    try:
        warnings.warn(text, category, stacklevel=3)
    except ContextPackWarning:
        logger.debug("the warning was raised as an error")


def deprecated(old: str, new: str) -> None:
    """Warns the caller's caller that a name or a setting is gone with the next minor version, and what to write."""
    warnings.warn(f"{old} is gone with the next minor version: write {new}", DeprecationWarning, stacklevel=3)


def nearest(name: str, known: Iterable[object], similarity: float = 0.6) -> str | None:
    """Returns the known name that is most like `name`, or None if none is, by a similarity from 0 to 1."""
    folded = {item.casefold(): item for item in known if isinstance(item, str)}
    found = get_close_matches(name.casefold(), folded, n=1, cutoff=similarity)
    return folded[found[0]] if found else None


def misspelled(name: str, known: Iterable[object]) -> str | None:
    """Returns the known name that `name` is a misspelling of, or None."""
    # Of two names that begin alike, only `result` and `results` are near. An app may have `query` and `query_id`.
    found = nearest(name, known, 0.75)
    return nearest(name, [found], 0.9) if found is not None and is_extended(name, found) else found


def warn_of_name(setting: str, name: str, known: Collection[Any], lacking: str, *, is_sure: bool) -> None:
    """Warns once that a setting names what there is not, if that is sure to be a mistake or a misspelling."""
    if is_sure or misspelled(name, known):
        warn_once(f"{setting} names {name!r}, {lacking}{did_you_mean(name, sorted(known))}")


def is_extended(name: str, other: str) -> bool:
    """Tells whether one name begins the other."""
    return name.startswith(other) or other.startswith(name)


def did_you_mean(name: str, known: Iterable[object]) -> str:
    """Returns " (did you mean 'NAME'?)" for the known name that is most like `name`, or an empty text."""
    found = nearest(name, known)
    return "" if found is None else f" (did you mean {found!r}?)"
