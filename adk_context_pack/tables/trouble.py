"""Finds words that report trouble in a text, a line or a level.

This is the one table of such words, for stubs, previews, counts of levels and failed results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import islice

from adk_context_pack.tables.long_text import find_any


class Severity(IntEnum):
    """How bad the trouble is that a line reports."""

    NONE = 0
    WARNING = 1
    ERROR = 2
    FATAL = 3


# What reports trouble wherever it is said.
_SPOKEN = {
    Severity.FATAL: "segmentation fault|segfault|core dumped|bus error|stack overflow|out of memory|outofmemory"
    "|oomkilled|panicked at|illegal instruction",
    Severity.ERROR: "error|errors|traceback|failed|failure|failures|failing|exception|exceptions|permission denied"
    "|access denied|access is denied|not authorized|unauthorized|connection refused|connection reset|timed out"
    "|command not found|no such file|no space left on|service unavailable|no such table|unable to|undefined reference"
    "|err!|rate exceeded|not resolve host|quota exceeded|crashloopbackoff|imagepullbackoff|errimagepull"
    "|deadline exceeded|not recognized as an|undefined method",
    Severity.WARNING: "warning|warnings",
}
# What does so only as a label: in capitals, in quotes or brackets, behind an equals sign, or before a colon.
_LABELS = {
    Severity.FATAL: "fatal|critical|alert|emerg|emergency|panic",
    Severity.ERROR: "severe|fail|deadlock",
    Severity.WARNING: "warn",
}
# What does so only in a line that begins as the report of a failure does: a part of each line of `_STATEMENTS`.
_STATED = (
    *("killed", "***", "cannot ", "could not ", "is a directory", "file exists", "rejected]", "forbidden"),
    *("bad gateway", "gateway timeout", "too many requests", "ora-", "sqlstate[", "_exceeded", "_exhausted", "_denied"),
    *("unavailable", "unauthenticated", "verweigert", "refusé", "negado", "negato", "отказано"),
    *("fehler", "erreur", "errore", "erro", "fout", "fallo", "błąd", "ошибка", "エラー", "错误", "錯誤", "오류"),
)
_EXITS = (
    "exit code",
    "exit_code",
    "exitcode",
    "exit status",
    "exited with",
    "returncode",
    "return_code",
    "exit:",
    "exit=",
)
_WORDS = {
    word: severity for table in (_SPOKEN, _LABELS) for severity, words in table.items() for word in words.split("|")
}
_WORDS |= dict.fromkeys((word for word in _STATED if word not in _WORDS), Severity.ERROR)
_AS_LABELS = frozenset("|".join(_LABELS.values()).split("|")) | {"exception", "exceptions"}
# One search finds `error` and `errors`.
_SIGNS = {
    severity: tuple(word for word in words if not any(other in word for other in words if other != word))
    for severity in _SPOKEN
    for words in [
        [word for word, bad in (*_WORDS.items(), *dict.fromkeys(_EXITS, Severity.ERROR).items()) if bad is severity]
    ]
}
_ALARMS = (*_SIGNS[Severity.FATAL], *_SIGNS[Severity.ERROR])
_LEVEL = re.compile(
    r"(?<![\w./-])(?:(?:trace|debug|info|notice)|(warn(?:ing)?|error|severe|critical|alert|emerg|fatal|panic))(?![\w-])",
    re.IGNORECASE,
)
_MAX_LEVEL_PLACE = 120

_FIGURE = r"\s*[-+]?\d[\d,]*(?:\.\d+)?\s*%?"
# `no errors`, `0 test failures`, `standard error`, `raise ValueError`: what stands before a word and takes its meaning.
_UNSAID = re.compile(
    r"(?:(?:(?<![\w.,])(?:no|none|not(?! (?:found|exist|allowed|permitted|supported|valid)\b)|zero|without|never|any"
    r"|non|if|on|free of|avoids?|prevents?|handles?|fix(?:ed|es)?|resolve[sd]?|ignor(?:e|es|ed|ing))"
    # `worker 0 failed` counts nothing.
    r"|(?:^|[,;:(\[|=>-]\s*|\b(?:with|found|and|had|has|have|are|were|of|after|got|in|reported)\s+)0)"
    r"[\s-]+(?:\w+[\s-]+){0,2}?"
    r"|\b(?:standard|rounding|squared|absolute|percentage|measurement|sampling|prediction|forecast|margin of|trial and"
    r"|raises?|except|throws?|throw new|class|import|catch|with the)\s+)(?:[\w$]+\.)*$",
    re.IGNORECASE,
)
# `error_rate`, `errors: 0`, `"error": null`, `error: 0.113`, `errors were fixed`: what follows one and takes it.
_TAKEN = re.compile(
    r"[\w-]|\.\w"
    r"|\s+(?:rates?|budgets?|bars?|margins?|terms?|handl\w+|correction|log(?:s|ging)?|modes?|analysis|tolerance|counts?"
    r"|estimates?|function|pages?|of|to the|reports?|free"
    r"|(?:(?:is|are|was|were|has been|have been)\s+)?(?:fixed|resolved|handled|solved|cleared|closed))\b"
    r"|[\"']?\s*[:=]\s*(?:[\"']?(?:0*\.?0+|none|null|nil|no|false|ok|n/a|-?\d*\.\d+\s*%?)?[\"']?\s*(?:[,;}\])]|$)|\[\s*\]"
    r"|\{\s*\}|0\b(?!\.\d)|(?:none|null|no|false)\b(?=\s+\w+\s*[:=]|\s*[.!]))",
    re.IGNORECASE,
)
_EXIT = re.compile(
    r"exit(?:[ _]?(?:code|status)|ed with(?: (?:code|status|value))?|\b(?=[\"']?\s*[:=]))"
    r"[\"']?\s*[:=]?\s*(?!0+\b)-?\d+\b"
    r"|return_?code[\"']?\s*[:=]\s*(?!0+\b)-?\d+\b",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?:[A-Za-z_$][\w$]*\.)*(?:[A-Z_$][\w$]*)?$")
_LABEL_BEFORE = re.compile(r"[\"'\[<|=:]\s?$|\b(?:unhandled|uncaught|unexpected)\s+$", re.IGNORECASE)
_LABEL_AFTER = re.compile(r"[\"'\]>|:!]|\s+(?:in|at|occurred|raised|thrown|was|while|during)\b")
_WORD_AT = re.compile("|".join(map(re.escape, sorted(_WORDS, key=len, reverse=True))), re.IGNORECASE)
_MAX_AROUND = 48
# What stands before a report: dashes and brackets, and names of programs.
_START = re.compile(r"(\W*)(?:[a-z][\w./@+-]{0,40}(?:\[\d+\])?: +\W*)*")
_MAX_START = 400
# With one of these a text begins that is an error and nothing else.
_STATEMENTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"traceback \(most recent call last\)",
        # As Python and the JVM write exceptions: `ValueError: …`, `KeyError('x')`, `java.io.IOException: …`. A figure
        # with decimals after the colon is a measure, such as `MeanSquaredError: 0.11`.
        (
            r"(?:(?:uncaught|unhandled) )?"
            r"(?-i:(?:[A-Za-z_$][\w$]*\.)*(?:[A-Z_$][\w$]*|(?<=\.))(?:Error|Exception)(?:\(|$|:(?!\s*[-+]?\d+\.\d+\s*%?\s*$)))"
        ),
        (
            r"(?:(?:fatal|internal|unexpected|runtime|server|http|api|tool|system|client|database|network|mcp|input|unknown"
            r"|validation|syntax|connection|permission|authentication|critical|uncaught|unhandled)[ _-]+)*"
            r"(?:error|exception|failure|fatal|panic|err|fehler|erreur|errore|erro|fout|fallo|błąd|ошибка|エラー|错误"
            r"|錯誤|오류)"
            r"(?:$|\]|[!.)](?:\s|$)|\s+[-\u2013\u2014]\s(?!\d)|\s*\((?:code|http|status|\d)|\s*\[E?\d|\s*#?\d{3,5}\b"
            rf"|\s?[:\uff1a]\s*[45]\d\d\b|\s?[:\uff1a](?!(?:{_FIGURE}|\s*(?:none|null|no))\s*(?:$|[,;.])))"
        ),
        (
            r"(?:error|exception|failure) (?:(?:execut|invok|call|runn|fetch|retriev|load|read|writ|pars|creat|updat"
            r"|delet|connect|process|open|gett|send|access|query|perform|validat|decod|resolv)ing\b"
            r"|(?:while|when|during|occurred|raised|thrown|code|from|response from)\b"
            r"|in (?:tool|function|thread|call)\b)"
        ),
        r"(?:an?|the|some)\s+(?:\w+\s+){0,3}(?:error|exception|failure)\s+(?:has\s+)?occurred",
        r"(?:(?!not?\b|never\b)[a-z][\w.-]* (?:\d+ )?){0,4}failed(?:[!.]?$| with\b| because\b| due to\b|:(?!\s*\d))",
        r"failed(?:[!.]\s| to [a-z])|(?:unhandled|uncaught) exception\b",
        (
            r"(?:http[ /\d.]*)?[45]\d\d (?:\w+ ){0,2}(?:error|not found|forbidden|unauthorized|bad request|bad gateway"
            r"|too many requests|service unavailable|gateway timeout)\b"
        ),
        r"(?-i:ORA-\d{5}:|SQLSTATE\[|npm ERR!|E: |[A-Z]+\d*: ERROR:|FAIL[:\t])",
        r"(?-i:Killed)(?:\s{2,}|$)|make(?:\[\d+\])?: \*\*\* |thread '.{1,40}' panicked at|rejected\]\s",
        r"(?:oomkilled|\w+backoff|errimagepull)$|(?:compilation|build) failed\b",
        r"(?-i:[a-z])[\w./@+-]*: (?:.{1,60}: )?(?:cannot|could not) [a-z]",
        r".{1,80}: (?:is a directory|file exists)$|.{1,60}' is not recognized as an",
        (
            r"(?:rpc error: code = |status(?:code)?\W{1,3}(?:statuscode\.)?)?(?-i:DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED"
            r"|PERMISSION_DENIED|UNAVAILABLE|UNAUTHENTICATED)(?:\s*:|$)"
        ),
        (
            r"(?:zugriff verweigert|(?:accès|permission) refusée?|(?:permiso|acceso) denegado|accesso negato"
            r"|acesso negado|отказано в доступе)"
        ),
    )
)
# In one short line these are all that it says: `cat: x: Permission denied`, `BUILD FAILED`, `step 7 FAILED exit 3`.
_OUTRIGHT = re.compile(
    "|".join(word for words in _SPOKEN.values() for word in words.split("|") if " " in word), re.IGNORECASE
)
_OUTRIGHT_LABEL = re.compile(r"\b(?:FAILED|FAILURE)\b(?!\s*(?:\w+\s*)?[:=]\s*\d)")
_VERDICT = re.compile(
    rf"\W*(?:(?:(?:process|command|script|program) )?(?:{_EXIT.pattern})\W*$|build failed\b)", re.IGNORECASE
)
_MAX_OUTRIGHT = 200


def severity_of(text: str) -> Severity:
    """Returns how bad the trouble is that a line, or a level, reports.

    Args:
        text: one line. Of a longer text each line is looked at.
    """
    return _severity(text, text.lower())


def _severity(text: str, lower: str) -> Severity:
    for severity, signs in _SIGNS.items():
        for sign in signs:
            place = lower.find(sign)
            while place >= 0:
                if _severity_at(text, place) is severity:
                    return severity
                place = lower.find(sign, place + len(sign))
    return Severity.NONE


def alarming_rows(rows: Sequence[object], *, most: int) -> list[int]:
    """Returns the indexes of the first strings among `rows` that report an error or worse.

    Args:
        rows: the lines of a log. Rows that are not strings are not searched.
        most: how many are wanted.
    """
    if not rows or not isinstance(rows[0], str):
        return []
    texts = ((index, row, row.lower()) for index, row in enumerate(rows) if isinstance(row, str))
    # Most lines have none of these words.
    signed = (entry for entry in texts if any(sign in entry[2] for sign in _ALARMS))
    return list(islice((index for index, *texts in signed if _severity(*texts) >= Severity.ERROR), most))


def level_of(line: str) -> str | None:
    """Returns the level that a line of a log begins with, in capitals, or None if it has none."""
    hits = _LEVEL.finditer(line, 0, _MAX_LEVEL_PLACE)
    return next((hit[0].upper() for hit in hits if not hit[1] or _is_meant(line, *hit.span())), None)


def troubles(text: str, start: int, end: int, *, most: int) -> Iterator[Iterator[int]]:
    """Yields the places that report trouble, the worst severity first, each severity in the order of the text.

    Args:
        text: any text, of 50 MB too, since it is searched for plain words.
        start: where to begin.
        end: where to end.
        most: how many places of each word are looked at.
    """
    for severity, signs in _SIGNS.items():
        yield (place for place in find_any(text, signs, start, end, most=most) if _severity_at(text, place) is severity)


def says_failure(text: str) -> bool:
    """Returns whether a text is, as a whole, the report of a failure, as that of an exception or of a shell is."""
    start = text[:_MAX_START]
    if _states(start):
        return True
    first = start.strip().partition("\n")[0]
    if first == text.strip():
        return len(first) <= _MAX_OUTRIGHT and any(
            _is_meant(first, *hit.span())
            for sign in (_EXIT, _OUTRIGHT, _OUTRIGHT_LABEL)
            for hit in sign.finditer(first)
        )
    last = text[-_MAX_OUTRIGHT:].strip().rpartition("\n")[2]
    hit = _OUTRIGHT.search(first)
    # A shell says in the first line what went wrong, and a build in the last.
    return bool(_VERDICT.match(first) or _VERDICT.match(last)) or (
        hit is not None and not first[hit.end() :].partition("(")[0].strip(" .!:")
    )


def _states(text: str) -> bool:
    """Returns whether a text begins as the report of a failure does."""
    begins = _START.match(text)
    places = {begins.end(1), begins.end()} if begins else ()
    return any(pattern.match(text, place) for place in places for pattern in _STATEMENTS)


def _severity_at(text: str, place: int) -> Severity:
    hit = _EXIT.match(text, place, place + _MAX_AROUND) or _WORD_AT.match(text, place)
    if hit is None or not _is_meant(text, *hit.span()):
        return Severity.NONE
    return _WORDS.get(hit[0].lower(), Severity.ERROR)


def _is_meant(text: str, start: int, end: int) -> bool:
    """Returns whether a word reports trouble in its place."""
    before = text[max(0, start - _MAX_AROUND) : start].rpartition("\n")[2]
    after = text[end : end + _MAX_AROUND].partition("\n")[0]
    word = text[start:end]
    if word.lower() in _STATED:
        line = text.rfind("\n", earliest := max(0, start - _MAX_START), start) + 1 or earliest
        return _states(text[line : start + _MAX_START].partition("\n")[0])
    if _TAKEN.match(after):
        return False
    if before and (before[-1].isalnum() or before[-1] in "_./-"):
        # The name of a class: `ValueError: …`, `java.io.IOException: …`.
        name = _CAMEL.search(before) if word in {"Error", "Exception"} and after[:1] in {"", ":", "(", " "} else None
        return name is not None and not _UNSAID.search(before[: name.start()])
    if _UNSAID.search(before):
        return False
    if word.lower() not in _AS_LABELS or (word.isupper() and not before.isupper()):
        return True
    return bool(_LABEL_BEFORE.search(before) or _LABEL_AFTER.match(after))
