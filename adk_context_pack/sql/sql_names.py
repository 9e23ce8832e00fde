"""Reads SQL just far enough to quote the names that a model leaves unquoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
    |(?P<comment>--[^\n]*|/\*.*?\*/)
    |(?P<number>(?:[0-9]|\.[0-9])[\w.]*)
    |(?P<name>[^\W\d][\w$]*)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str

    @property
    def name(self) -> str | None:
        """The identifier that the token is, unquoted."""
        if self.kind == "name":
            return self.text
        if self.kind != "quoted":
            return None
        mark = self.text[-1]
        return self.text[1:-1].replace(mark * 2, mark) if mark != "]" else self.text[1:-1]


def quote(name: str) -> str:
    """An identifier in the one form of quotes that SQLite never takes for a text."""
    return "`" + name.replace("`", "``") + "`"


def quote_dotted_names(sql: str, names: Iterable[str]) -> str:
    """`sql` with known dotted names quoted, so that `metrics.clicks` is one column and not a column of a table.

    A name in double quotes is quoted anew as well: SQLite takes an unknown one for a text and answers with nonsense,
    where in backticks it says that there is no such column.

    Args:
        sql: one statement.
        names: the names of tables and columns; case does not matter.
    """
    known = {name.lower(): name for name in names if "." in name}
    return "".join(_rewritten(_tokens(sql), known))


def _tokens(sql: str) -> list[_Token]:
    return [_Token(match.lastgroup or "other", match.group()) for match in _TOKEN.finditer(sql)]


def _rewritten(tokens: list[_Token], known: dict[str, str]) -> Iterator[str]:
    place = 0
    while place < len(tokens):
        chain = _chain(tokens, place)
        if not chain:
            yield tokens[place].text
            place += 1
            continue
        yield _quoted_chain(chain, known)
        place += 2 * len(chain) - 1


def _chain(tokens: list[_Token], place: int) -> list[_Token]:
    """The names from `place` on that dots join."""
    chain: list[_Token] = []
    while place < len(tokens) and tokens[place].name is not None:
        chain.append(tokens[place])
        if place + 1 == len(tokens) or tokens[place + 1].text != ".":
            break
        place += 2
    else:
        # "rows." before a star: the last dot belongs to no name.
        return chain[:1]
    return chain


def _quoted_chain(chain: list[_Token], known: dict[str, str]) -> str:
    names = [token.name or "" for token in chain]
    parts: list[str] = []
    place = 0
    while place < len(names):
        # The longest known name wins: in `r.metrics.clicks` that is `metrics.clicks`, and r an alias.
        end = next((end for end in range(len(names), place + 1, -1) if ".".join(names[place:end]).lower() in known), 0)
        if end:
            parts.append(quote(known[".".join(names[place:end]).lower()]))
            place = end
            continue
        token = chain[place]
        parts.append(quote(names[place]) if token.text[0] == '"' else token.text)
        place += 1
    return ".".join(parts)
