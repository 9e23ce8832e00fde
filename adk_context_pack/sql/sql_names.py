"""Reads SQL just far enough to quote the names that a model leaves unquoted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import count
from typing import Any


def said_in(file: str) -> dict[str, str]:
    """Returns the rows of a file of this folder: what each one says about what is in front of its colon."""
    return dict(row.split(": ", 1) for row in files(__package__).joinpath(file).read_text("utf-8").splitlines())


WORDS = {kind: frozenset(words.split()) for kind, words in said_in("words.txt").items()}
"""The words of SQL by what they do, with the operators by how tightly they bind."""

INSTEAD = said_in("instead.txt") | {
    re.sub(r"^(\w+\().*\)$", r"\1", key): said for key, said in said_in("instead.txt").items()
}
"""Advice on functions and syntax of other databases, which `in_sqlite` carries out for calls with their arguments."""
_CLAUSES = said_in("clauses.txt")

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
    |(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<number>(?:[0-9]|\.[0-9])[\w.]*)
    |(?P<name>[^\W\d][\w$]*)
    |(?P<space>\s+)
    |(?P<other>->>|->|[<>!=]=|<>|<<|>>|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token of SQL as written, and its kind, which is the name of a group of the pattern above."""

    kind: str
    text: str

    @property
    def name(self) -> str | None:
        """The identifier that the token is, unquoted."""
        if self.kind == "quoted":
            return self.text[1:-1].replace(self.text[-1] * 2, self.text[-1])
        return self.text if self.kind == "name" else None

    @property
    def word(self) -> str:
        """The token in capitals if it can be a keyword, else as written."""
        return self.text.upper() if self.kind == "name" else self.text


def quote(name: str) -> str:
    """Returns an identifier in the one form of quotes that SQLite never takes for a text."""
    return "`" + name.replace("`", "``") + "`"


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Returns a name, numbered if it is taken. To SQLite `ID` and `id` are one name."""
    lowered = {other.lower() for other in taken}
    numbered = (f"{name}_{number}" if number > 1 else name for number in count(1))
    return next(unique for unique in numbered if unique.lower() not in lowered)


def tokens_of(sql: str, handles: Collection[str] = ()) -> list[Token]:
    """Splits any text into tokens that together are the same text.

    Each of `handles`, in lower case, is one name and not a number, even if it begins with a digit.
    """
    tokens, place = list[Token](), 0
    while match := _TOKEN.match(sql, place):
        kind, text = match.lastgroup or "other", match.group()
        if kind == "number" and (handle := text.split(".", 1)[0]).lower() in handles:
            kind, text = "name", handle
        tokens.append(Token(kind, text))
        place += len(text)
    return tokens


def quote_dotted_names(
    sql: str, names: Iterable[str], handles: Collection[str] = (), renamed: Mapping[str, str] | None = None
) -> str:
    """Quotes the known dotted names in `sql`, so that `metrics.clicks` is one column and not a column of a table.

    A name in double quotes is quoted again as well: SQLite takes an unknown one for a text and answers with nonsense.
    In backticks SQLite reports an unknown column. The case of `names` does not matter. Other names for columns are
    `renamed` only if written just so.
    """
    # Of other letters than ASCII's, SQLite tells capitals and small ones apart.
    known = {name.lower(): name for name in names if "." in name or not name.isascii()}
    own = _inner_queries(sql)
    renamed = {old: new for old, new in (renamed or {}).items() if old.lower() not in own}
    tokens, place, parts = tokens_of(sql, handles), 0, list[str]()
    while place < len(tokens):
        end = place
        while end + 2 < len(tokens) and tokens[end + 1].text == "." and tokens[end + 2].name:
            end += 2
        names = [token.name or "" for token in tokens[place : end + 1 : 2]] if tokens[place].name else []
        # The longest known name wins: in `r.metrics.clicks` that is `metrics.clicks`, and r an alias.
        joined = ((2 * end - 1, ".".join(names[:end])) for end in range(len(names), 0, -1))
        named = ((width, renamed.get(name) or known.get(name.lower())) for width, name in joined)
        width, found = next((each for each in named if each[1]), (1, None))
        if found is None and names and tokens[place].text[0] in '"0123456789':
            found = names[0]
        parts.append(tokens[place].text if found is None else quote(found))
        place += width
    return "".join(parts)


def _inner_queries(sql: str) -> dict[str, str]:
    """Returns the names that WITH gives to inner queries, in small letters, each with what it calls their columns."""
    form = r"\b(\w++)[\"`\]]?\s*+(\([^()]*+\))?\s*+\bAS\s*+(?:NOT\s++)?(?:MATERIALIZED\s*+)?\("
    return {name.lower(): columns for name, columns in re.findall(form, sql, re.IGNORECASE)}


class _Dialect:
    """Writes a statement in the words of SQLite, with marks for texts and for the parentheses that it has read."""

    def __init__(self, sql: str) -> None:
        self._held, self._inner_queries = list[str](), _inner_queries(sql)

    def hold(self, text: str, kind: str = "i") -> str:
        """Returns a mark that takes the place of a text."""
        self._held.append(text)
        return f"\0{kind}{len(self._held) - 1}\0"

    def opened(self, said: str) -> str:
        """Returns what was said with the texts in it."""
        return re.sub(r"\0[a-z]([0-9]+)\0", lambda mark: self._held[int(mark[1])], said)

    def written(self, said: str) -> str:
        """Returns what stands outside of parentheses, in the words of SQLite."""

        def made(match: re.Match[str]) -> str:
            value, kind, count, unit = map(self.opened, match.groups(""))
            args = filter(None, (value, kind or re.sub("[^-+0-9]", "", count), unit.lower()))
            call = _call_of("::" if kind else "date_add", list(args))
            return self.hold(call) if call else match[0]

        # `\0d1\0` is a text that begins with a digit, and `\0i1\0` are parentheses.
        for form, instead in _CLAUSES.items():
            said = re.sub(form, instead, said, flags=re.IGNORECASE | re.DOTALL)
        value = r"(?<![\w$.\0])((?:[\w$]++\.)*+[\w$]*+(?:\0\w++\0)?+)"
        form = rf"{value}(?:::(\w++(?:\0i\w++\0)?+)|\s*([+-]\s*INTERVAL\s*[0-9]+)\s*([a-z]+?)s?\b)"
        # A cast may be cast again.
        return re.sub(form, made, re.sub(form, made, said, flags=re.IGNORECASE), flags=re.IGNORECASE)

    def called(self, match: re.Match[str]) -> str:
        """Returns a mark for innermost parentheses and the name in front of them, in the words of SQLite."""
        share, order, way, name, inner = match.groups("")
        if order:
            minus, said = " -" * (way.upper() == "DESC"), self.written(order)
            return self.hold(self.opened(f"{minus}percentile_cont({minus and '-'}({said}), {share})"))
        said, function = self.written(inner), re.sub("^(?:try|safe)_cast$", "cast", name.lower())
        parting = r",|\b(?:FROM|AS|FOR)\b|(?<=DISTINCT)\s" + r"|\bIN\b" * (function == "position")
        args = [self.opened(arg).strip() for arg in re.split(parting, said, flags=re.IGNORECASE)]
        made = "" if self._inner_queries.get(function) else _call_of(function, list(filter(None, args)))
        return self.hold(made) if made else name + self.hold(f"({self.opened(said)})")


def in_sqlite(sql: str) -> str:
    """Writes what other databases call otherwise in the words of SQLite, if these mean the same."""
    dialect, said = _Dialect(sql), ""
    for token in tokens_of(sql):
        is_held = token.kind in {"text", "quoted"} or token.text == "\0"
        text = dialect.hold(token.text, "d" if token.text[1:2].isdecimal() else "t") if is_held else token.text
        if text[1:2] == "d" and said.rstrip().upper().endswith("INTERVAL"):
            text = f" {token.text[1:-1]}"
        said += " " if token.kind == "comment" else text
    quantile = r"PERCENTILE_CONT\(([^()]*+)\)\s*WITHIN\s+GROUP\s*\(\s*ORDER\s+BY\s([^()]*?)(?:\s(ASC|DESC))?\s*\)"
    form = rf"(?<![\w$])(?:{quantile}|([\w$]*+)\(([^()]*+)\)(?!\s*WITHIN\b))"
    # SQLite takes no statement of more levels.
    for _ in range(min(said.count("("), 100)):
        said = re.sub(form, dialect.called, said, flags=re.IGNORECASE)
    return dialect.opened(dialect.written(said))


def _call_of(name: str, args: list[str]) -> str:
    """Returns a call as the advice on it has it, where `x`, `y`, `z` and `args` are any arguments, or an empty text."""
    # As in `decimal(10, 2)`.
    sized = re.fullmatch(r"([a-z]+)\s*\([0-9]+(?:,\s*([0-9]+))?\)", args[-1], re.IGNORECASE) if args else None
    args = [*args[:-1], sized[1], sized[2] or "0"] if sized and name in {"cast", "::"} else args
    for key, said in ((key, said) for key, said in INSTEAD.items() if key.startswith(f"{name}(")):
        named = list(filter(None, key[len(name) + 1 : -1].split(", ")))
        given = [", ".join(args)] if named == ["args"] else args
        of = dict(zip(named, given, strict=False))
        bare = {n: (a if "%" in a else a.lower()).strip("'") for n, a in of.items()}
        is_same = all(n in {"x", "y", "z", "args", a} for n, a in bare.items())
        if len(named) == len(given) and is_same:
            template = said.removeprefix("Write ").removesuffix(".")
            return "".join(of.get(token.text, token.text) for token in tokens_of(template))
    return ""


@dataclass(slots=True)
class TableNames:
    """The description that a database needs of an image beside its bytes.

    Attributes:
        tables: the names of the columns of each table.
        views: second names of the main table.
        notes: differences from the rows as they were, in short sentences.
        renamed: from a column's own name, if it differs from another by its case alone, to its name here.
        nested: columns that hold lists or objects as JSON text.
        columns: from the name of each table to its columns, as the fields of `TypedColumn`.
        longest_row: bytes of the longest row, which a query must still be able to read.
        exact: whether a column needs the collation and aggregates of `exact_sum`.
    """

    tables: dict[str, list[str]] = field(default_factory=dict)
    views: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    nested: list[str] = field(default_factory=list)
    columns: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    longest_row: int = 0
    exact: bool = False


@dataclass(frozen=True, slots=True)
class TableImage:
    """A whole SQLite database as bytes, with a number that no other image of the process has."""

    number: int
    data: bytes
    names: TableNames


def one_line(text: str, length: int = 60) -> str:
    """Returns a name as it can be set within a sentence: on one line, and not too long."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
