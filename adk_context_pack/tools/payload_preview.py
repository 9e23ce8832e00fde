"""Previews a long text by its outline: what it is, its parts or kinds of trouble with offsets, and its ends."""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections import Counter as Tally
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from itertools import accumulate, pairwise, zip_longest
from typing import Any, NamedTuple

from adk_context_pack._json import json_text, opened, read_json
from adk_context_pack.conversation.ledger import names_within, scalars
from adk_context_pack.conversation.token_estimate import Counter, estimate_tokens
from adk_context_pack.errors import counted
from adk_context_pack.tables.text_scan import line_end, without_markup
from adk_context_pack.tables.trouble import level_counts, level_of, troubles

_MAX_LOOKED_AT = 2_000
_MAX_LINE = 240
_HEAD, _OUTLINE_SHARE, _TAIL = 0.4, 0.35, 0.25
_MAX_NAMES = 12
_MAX_PARSED = 64 * 2**20
# The verb of a request and the first figure of its status say what kind of line it is in.
# A value of three words or more is a message, and a name in brackets is not what happened.
_ID = re.compile(
    r"(?<=\" )([1-5])\d\d\b|[\w.:/+-]*\d[\w.:/+-]*|\[[\w.-]+\]|(?<!\w)['`][^'`]*['`]"
    r"|(?<![\w.!?)%])(?!(?:(?<=[=:])|(?<=[=:] ))\"(?:[^\" ]+ ){2})\"([A-Z]+(?= ))?[^\"]*\""
)
_TIME = re.compile(
    r"(?:\d{4}[-/.]\d\d[-/.]\d\d[T ])\d\d:\d\d(?::\d\d)?|^\[ *\d+\.\d{6}\]"
    r"|(?:\d\d/\w{3}/\d{4}:|\w{3,4}\.? [ \d]\d |\d\d?[./-]\d\d?[./-]\d{2,4},? )?\d\d?:\d\d:\d\d"
)
_PROSE_SAMPLE = 4_000
# A line of which so much is shown says what it is about.
_LEAST = 84
_KINDS = [row.split(" :: ") for row in (files(__package__) / "text_kinds.txt").read_text("utf-8").splitlines()[2:]]
_BASE64 = re.compile(
    r"(?:data:[\w/;,+.-]*base64,)?(?=.{0,300}[A-Z])(?=.{0,300}[a-z])(?=.{0,300}\d)"
    r"(?:(iVBOR)|(/9j/)|(JVBER)|(UEsDB)|(R0lGOD)|(H4sI)|)(?:[A-Za-z0-9+/_-]{60,}\s*)+={0,2}\s*"
)


class TextOutline(NamedTuple):
    """Says what a text is, what its parts are called, and where each part and each odd line begins."""

    said: str
    unit: str
    parts: Sequence[tuple[str, str]] = ()
    odd: Sequence[tuple[str, str]] = ()


def text_outline(text: str) -> TextOutline:
    """Returns the outline of a text: the parts of a text of a known kind, or else the kinds of odd lines."""
    middle = max(20_000, len(text) // 2 - 10_000)
    sample = f"{text[:20_000]}\n{text[middle : middle + 20_000]}"
    if (encoded := _BASE64.match(sample)) and _BASE64.fullmatch(text):
        letters = len("".join(text.rpartition(",")[2].split()).rstrip("="))
        kinds = ("data", "a PNG image", "a JPEG image", "a PDF", "a ZIP or Office file", "a GIF image", "gzip")
        return TextOutline(f"base64 of {kinds[encoded.lastindex or 0]} of {letters * 3 // 4} bytes", "")
    for name, unit, least, part, *sign in () if (is_log := _is_log(sample)) else _KINDS:
        if len(re.findall(sign[0] if sign else part, sample, re.MULTILINE)) >= int(least):
            # What looks like a tag is a type in code.
            clean: Callable[[str], str] = str if unit == "definitions" else without_markup
            found = [(at, end, clean(name)) for at, end, name in _parts(text, part)]
            # What most lines look like is not a heading.
            if found and (name != "text" or 2 * len(found) < text.count("\n") - 1):
                if name in {"diff", "SQL dump"}:
                    return _counted(text, found, name, unit)
                if unit in {"headings", "families"} and len(found) <= _MAX_NAMES:
                    # A page with one heading is that of a server, which may say more in a comment.
                    is_one = len({name for *_, name in found}) == 1
                    found = [(at, end, f"{name}\n{_said_in(text[at:end], name, is_one)}") for at, end, name in found]
                parts = {str(at): name for at, _, name in found}
                # How a part goes on says what stands alone in it, and more.
                odd = () if "\n" in found[0][2] else _kinds_of_lines(text, is_log=False).parts
                lines = [(at, said) for at, line in odd if at not in parts and (said := clean(line))]
                return TextOutline(f"{name} of {len(found)} {unit}", unit, [*parts.items()], lines)
    return _kinds_of_lines(text, is_log=is_log)


def _is_log(sample: str) -> bool:
    # The lines of a stack are indented.
    begun = [line for line in sample.splitlines() if not line[:1].isspace()]
    return 2 * sum(bool(_TIME.search(line, 0, 40) or level_of(line)) for line in begun) > len(begun)


def _parts(text: str, part: str) -> list[tuple[int, int, str]]:
    """Returns the start, the end and the name of each part, whose beginning matches a pattern."""
    at, found = 0, list[tuple[int, str]]()
    # One call that goes through all of a long text stops the event loop.
    while at < len(text):
        stop = text.find("\n", at + 1_000_000) + 1 or len(text)
        for match in re.finditer(part, text[at : stop + _MAX_LINE], re.MULTILINE):
            if at + match.start() < stop:
                name = " ".join(each for each in match.groups() if each and each.strip("=~^*-"))
                found.append((at + match.start(), name))
        at = stop
    return [(at, end, name) for (at, name), (end, _) in pairwise([*found, (len(text), "")])]


def _said_in(body: str, name: str, has_comments: bool) -> str:  # noqa: FBT001
    """Returns what a part says below its name, or of a family of metrics the largest one."""
    if body.startswith("# TYPE"):
        rows = re.findall(r"^([^#\n].* (\d+(?:\.\d+)?(?:e[+-]?\d+)?))$", body, re.MULTILINE)
        return str(max(rows, key=lambda row: float(row[1]), default=("",))[0])
    return without_markup(body[:_PROSE_SAMPLE], has_comments=has_comments).removeprefix(name).lstrip("=~^*- ")


def _counted(text: str, found: Sequence[tuple[int, int, str]], kind: str, unit: str) -> TextOutline:
    """Returns the outline of a text whose parts have something to count, each part once."""
    first, sums = dict[str, int](), dict[str, Tally[str]]()
    for at, end, name in found:
        first.setdefault(name, at)
        # The two lines that name the files, and the line that ends a mail with a patch, change nothing.
        changed = re.findall(r"^(?:--- .*\n\+\+\+ |-- $|[+-])", text[at:end], re.MULTILINE) if kind == "diff" else ()
        sums.setdefault(name, Tally()).update(changed or _rows(text[at:end]))
    form = "+{0[+]} -{0[-]}" if kind == "diff" else "{0[rows]} rows"
    parts = [(str(at), f"{name} {form.format(sums[name])}") for name, at in first.items()]
    return TextOutline(f"{kind} of {len(parts)} {unit}, {form.format(sum(sums.values(), Tally()))}", unit, parts)


def _rows(part: str) -> dict[str, int]:
    if part[:4].upper() == "COPY":
        return {"rows": max(0, part.partition("\n\\.")[0].count("\n"))}
    rows = depth = 0
    are_values = False
    for sign in re.findall(r"'(?:[^'\\]|\\.|'')*'|\bVALUES\b|[();]", part, re.IGNORECASE | re.DOTALL):
        if sign in "()":
            rows += are_values and sign == "(" and depth == 0
            depth += 1 if sign == "(" else -1
        elif sign[0] != "'":
            are_values = sign != ";"
    return {"rows": rows}


def _kinds_of_lines(text: str, *, is_log: bool) -> TextOutline:
    """Returns the kinds of trouble of a text, and of a log its levels, its times and its odd lines."""
    lines = text.splitlines(keepends=True) if len(text) <= _MAX_PARSED // 16 else []
    starts, begins = accumulate(map(len, lines), initial=0), _time_of if _time_of(text) else level_of
    reports = _reports(text, [at for at, line in zip(starts, lines, strict=False) if is_log and begins(line)])
    troubled = {start for _, places in reports for at in places for start in (at, text.rfind("\n", 0, at) + 1)}
    count = sum(not line.isspace() for line in lines)
    if not is_log and 2 * max(map(len, lines), default=0) > len(text):
        # In one line, records begin with a sign.
        lines = re.split("(?=" + max("<~'\x1e", key=text.count) + r"\w)", text)
    kinds = _kinds(lines, troubled, _ID, r"\1\2#")
    # If lines are of a few kinds, those of a rare kind say something, and so do words of these alone.
    are_few, rare = 8 * len(kinds) < len(lines), max(1, len(lines) // 50)
    usual = [kind for kind, each in kinds.items() if len(each.places) > rare] if are_few else kinds if is_log else ()
    ordinary = {word for kind in usual for word in kind.split()}
    parts = _trouble(text, reports, ordinary if is_log else ())
    # Records have the names of their fields at the beginning of lines.
    fields = {} if is_log else _kinds(lines, troubled, r"[^\w/]*(/?\w[\w.-]{,30}).*", r"\1")
    have_fields = 8 * len(fields) < len(lines)
    few = kinds if are_few else fields if have_fields else {}
    odd = sorted((each for each in few.values() if len(each.places) <= rare), key=lambda each: len(each.places))
    said = [*["log"] * is_log, *[f"{count} lines"] * (count > 1)]
    # The day is said once.
    day = first[:-8] if (first := _time_of(text[:_MAX_LINE], _MAX_LINE)) and is_log else ""
    if is_log:
        last = _time_of(text[text.rfind("\n", 0, len(text.rstrip())) + 1 :], _MAX_LINE)
        said += [f"{first} to {last.removeprefix(day)}"] * bool(first and last)
        said += [f"{level} {number}" for level, number in level_counts(lines).items()]
    begun = Tally({name: len(each.places) for name, each in fields.items() if len(each.places) > rare})
    if have_fields and len(begun) > 1 and not parts:
        said += [f"beginning with {', '.join(f'{name} x{times}' for name, times in begun.most_common(_MAX_NAMES))}"]
    said += [f"kinds of trouble: {len(parts)}"] * bool(parts)
    # A line that is alone says when it was written, and its level.
    shown = [(each.where(), f"{'' if each.places[1:] else each.head}{each.text}".removeprefix(day)) for each in parts]
    lines = [
        _told(_line_at(text, at), ordinary)[1] if (more and is_log) or line[0] == "{" else line.removeprefix(day)
        for line, (at, *more), *_ in odd
    ]
    shown += zip([each.where() for each in odd], lines, strict=True)
    return TextOutline(", ".join(said), "kinds of odd lines", shown)


def _time_of(line: str, within: int = 40) -> str:
    return hit[0] if (hit := _TIME.search(line, 0, within)) else ""


def _kinds(lines: Sequence[str], troubled: Collection[int], pattern: Any, kept: str) -> dict[str, _Lines]:
    """Returns the kinds of lines without trouble: what is left of them if each match of a pattern is replaced."""
    kinds, at = dict[str, _Lines](), 0
    for line in lines:
        if at not in troubled and any(map(str.isalnum, line)):
            shown = line.strip()[:_MAX_LINE]
            kinds.setdefault(" ".join(re.sub(pattern, kept, shown).split()), _Lines(shown, [])).places.append(at)
        at += len(line)
    return kinds


class _Lines(NamedTuple):
    """Lines of one kind: the first one, and where each begins, or at least the first ones of them."""

    text: str
    places: list[int]
    are_all: bool = True
    head: str = ""

    def where(self, times: str = "times") -> str:
        """Says where the lines are."""
        first, *rest = self.places
        if not self.are_all:
            return f"{first}, at least {len(rest) + 1} times"
        return f"{first} to {rest[-1]}, {len(rest) + 1} {times}" if rest else str(first)


def _reports(text: str, records: Sequence[int] = ()) -> list[tuple[int, list[int]]]:
    """Returns the rank of each record of a text that reports trouble, the worst first, and the lines that do."""
    most = len(text) if len(text) <= _MAX_PARSED // 16 else _MAX_LOOKED_AT
    ranks, lines = dict[int, int](), dict[int, dict[int, int]]()
    for rank, places in enumerate(troubles(text, 0, len(text), most=most)):
        covered = 0
        for place in places:
            if place < covered:
                continue
            start, end = text.rfind("\n", 0, place) + 1, line_end(text, place)
            # Of a very long line the part around the word.
            first = max(start, min(place - _MAX_LINE // 2, end - 1 - _MAX_LINE))
            covered = max(min(end, first + _MAX_LINE), place + 1)
            record = records[at - 1] if (at := bisect_right(records, start)) else first
            ranks.setdefault(record, rank)
            lines.setdefault(record, {}).setdefault(start if records else first, first)
    return [(rank, sorted(lines[record].values())) for record, rank in ranks.items()]


def _trouble(text: str, reports: Sequence[tuple[int, list[int]]], ordinary: Collection[str] = ()) -> list[_Lines]:
    """Returns the kinds of lines that report trouble, the worst first, and of one severity the rarest first."""
    are_all, kinds, known = len(text) <= _MAX_PARSED // 16, dict[Any, _Lines](), dict[Any, _Lines]()
    for rank, (first, *more) in reports:
        lines = [_line_at(text, at) for at in (first, *more[-1:])]
        # The same message with other numbers says nothing new.
        if (alike := (rank, *(_ID.sub(r"\1\2#", line) for line in lines))) not in known:
            told = [_told(line, ordinary) for line in lines]
            new = _Lines(" … ".join(line for _, line, _ in told), [], are_all, told[0][0])
            known[alike] = kinds.setdefault((rank, *(key for *_, key in told)), new)
        known[alike].places.append(first)
    return [kinds[kind] for kind in sorted(kinds, key=lambda kind: (kind[0], len(kinds[kind].places)))]


def _line_at(text: str, at: int) -> str:
    """Returns a line, of a trace of Python its last one, and of an object its level and values, texts first."""
    if text.startswith("Traceback (", at):
        at += len(re.split(r"\n(?!\s)", text[at : at + _PROSE_SAMPLE], maxsplit=1)[0]) + 1
    start, end = text.rfind("\n", 0, at) + 1, line_end(text, at)
    if text.startswith("{", start) and end - start < _PROSE_SAMPLE:
        with suppress(ValueError, RecursionError):
            line = text[start:end]
            said = sorted(map(str, scalars(read_json(line))), key=lambda each: " " not in each)
            return " ".join(filter(None, (_time_of(line, _MAX_LINE), f"{level_of(line) or ''}:".strip(":"), *said)))
    return re.sub(r"\x1b\[[\d;]*m", "", text[at : min(end, at + 400)]).strip()


def _told(line: str, ordinary: Collection[str]) -> tuple[str, str, str]:
    """Returns the time and level of a line, what it says, and the words that all lines of its kind have.

    Names that ordinary lines of a log have, too, are of threads, loggers, hosts and fields, and say nothing.
    """
    line = line if len(line) <= _MAX_LINE else line[:_MAX_LINE].rpartition(" ")[0] or line[:_MAX_LINE]
    level, begun = level_of(line), line.find(time := _time_of(line)) + len(time)
    unsaid = rf"(?i)^((?:[.,]\d+)?(?:z\b|[+-]\d\d:?\d\d\b)?(?:[^a-z]*{level or '(?!)'}(?!\[)[\]:>| -]*)?).*"
    begun += len(re.sub(unsaid, r"\1", line[begun:]))
    masked = _ID.sub(lambda hit: (hit[1] or hit[2] or "").ljust(len(hit[0]), "#"), f"{'':{begun}}{line[begun:]}")
    plain = r"[\"'(\[]*[^\W\d_](?:[-'\u2019]?[^\W\dA-Z_])*[\"',.;!?)\]]*"
    named = r"(?!.*(?:[Ee]rror|[Ee]xception|[Ff]ail)).*\w(?:[./\\@]|::)\w"
    kept, start, begin, end, after = list[str](), -1, 0, 0, 0
    for hit in re.finditer(r"\S+", masked) if ordinary else ():
        word, bare = re.sub("#+", "#", hit[0]), hit[0].strip("\"'[](){}<>|,.;:=#*-")
        is_plain, is_new = bool(re.fullmatch(plain, word)), bool(bare) and word not in ordinary
        # A figure or an id belongs to the words beside it.
        if not bare and ("#" not in word or line[hit.start()] in "[."):
            continue
        begin, after = begin if hit.start() == after else hit.start(), hit.end() + (is_plain or word == "#")
        start = begin if start < 0 and is_new and (hit[0][0] != "[" or hit[0][-1] != "]") else start
        end = hit.end() if is_new or is_plain or (not bare and hit.start() == end + 1 and line[end - 1] != ",") else end
        kept += [bare] * (is_plain or (is_new and not re.match(named, bare)))
    if not kept[1:] or start < 0:
        return "", line, _ID.sub(r"\1\2#", line)
    said = line[start:end].lstrip("])}>|,;:= ").rstrip("[({<|,;:= ")
    return "".join(f"{x} " for x in (time, level) if x), said, " ".join(kept)


def text_preview(text: str, *, max_tokens: int, counter: Counter | None = None) -> str:
    """Returns a text of at most about `max_tokens` that stands for `text`.

    It says what the text is and lists its parts (files of a diff, tables of a dump, definitions, headings, messages),
    or its kinds of trouble and odd lines, each with the offset at which it begins. JSON gives its shape. Beginning and
    end are shown as they are.
    """
    count = counter or estimate_tokens
    sample = text[:2000] + text[-2000:]
    budget = int(max_tokens * max(0.5, len(sample) / max(1, count(sample))))
    # Broken JSON, or JSON nested deeper than Python reads, is a text like any other.
    if (parsed := opened(text) if len(text) <= _MAX_PARSED else text) is not text:
        shape = json_text(json_shape(parsed, max_tokens=int(max_tokens * (1 - _OUTLINE_SHARE)), counter=counter))
        lines = [(each.where(), each.text) for each in _trouble(text, _reports(text))]
        trouble = _fitting(TextOutline("", "kinds of trouble", lines), int(budget * _OUTLINE_SHARE))
        return _safe("\n".join([f"JSON of this shape: {shape}", *trouble]))
    if len(text) <= budget and count(text) <= max_tokens:
        return _safe(text)
    outline = text_outline(text) if len(text) <= _MAX_PARSED else TextOutline("", "")
    if outline.said.startswith("HTML"):
        # Scripts, styles and tags are most of a page, and say nothing of it.
        text = without_markup(text, between="\n")
    # Kinds of lines have fewer figures than the lines.
    budget = budget * 3 // 2 if outline.parts and outline.unit.startswith("kinds") else budget
    while (tokens := count(shown := _safe(_with_ends(text, outline, budget)))) > max_tokens and budget > _LEAST // 2:
        budget = min(budget * 19 // 20, budget * max_tokens // tokens)
    return shown


def is_prose(text: str) -> bool:
    """Returns whether a text is made of sentences, in any language, by what a sample of it says beside figures."""
    whole = text[(begin := max(0, len(text) // 2 - _PROSE_SAMPLE // 2)) : begin + _PROSE_SAMPLE]
    # Lines that differ in their figures alone repeat each other.
    lines = re.sub(r"(?<![!-~])[!-~]*\d(?:[!-~]*[A-Za-z\d])?", "", whole).splitlines()
    said = [line.rstrip() for line in lines if any(map(str.isalpha, line))]
    data = (sample := "\n".join(said)).encode(errors="replace")
    # Python takes the vowels of Thai and of Hindi for no letters, and a script without blanks has no words.
    plain = " \n.,;:!?'\"()-\u2013\u2014\u2019\u201c\u201d\u2026\u3001\u3002\uff0c\uff01\uff1f\uff1a"
    signs = sum(each.isalpha() or each in plain or "\u0300" <= each < "\u2000" for each in sample)
    words = re.findall(r"(?<!\S)[^\W\d_]+[,.;:!?]?(?= [^\W\d_])|(?=[\u0900-\uffff])[^\W\d_]", sample)
    # Sentences end, and verses have blank lines between them.
    ends = re.findall(r"[.!?](?= )|[.!?,;]$|[\u3001\u3002\uff01\uff0c\uff1f]", sample, re.MULTILINE)
    return (
        10 * signs >= max(9 * len(sample), 5 * len(whole))
        and len(data) >= 25 * len(said)
        and (len(data) > 110 * len(said) or 10 * (len(ends) + lines.count("")) > len(said))
        and 5 * sum(map(len, words)) > len(sample)
        and (3 if _is_log(whole) else 5) * len(zlib.compress(data)) > len(data)
    )


def is_read(text: str) -> bool:
    """Returns whether a text is read, not searched: prose, settings, or code, which defines things or ends lines so."""
    # Logs in JSON are searched, and so are whole pages, of which the preview shows the text without scripts.
    if (is_marked := re.match(r"\s*(?:\{|<(?:!|html|\?xml))", text, re.IGNORECASE)) or is_prose(text):
        return not is_marked
    # As `cat -n` numbers lines.
    text = re.sub(r"(?m)^ *\d+\t", "", text)
    lines, outline = text.split("\n"), text_outline(text)
    ended = sum(line.endswith((";", "{", "}")) for line in lines)
    # YAML, TOML, INI and the like.
    told = sum(bool(re.match(r"\s*(?:- )?[\w.\"'/-]+ ?(?::(?:\s|$)|=)|\s*(?:- |\[)", line)) for line in lines)
    is_plain = outline.unit.startswith("kinds") and not outline.said.startswith("log")
    return outline.unit == "definitions" or (is_plain and (5 * ended > 2 * len(lines) or 5 * told > 3 * len(lines)))


def json_shape(value: Any, *, max_tokens: int, counter: Counter | None = None) -> Any:
    """Returns the shape of a JSON value as a smaller one: keys, sizes and short values of its first entries."""
    count, least = counter or estimate_tokens, (0, 0, 0, 0)
    # Fewer keys of objects that are alike say more than a level less.
    sizes = (4, 20, 60, 100), (4, 20, 40, 12), (3, 12, 40, 60), (3, 12, 30, 5), (2, 8, 30, 4), (1, 6, 20, 4)
    shapes = (_shape(value, *each) for each in sizes)
    return next((shape for shape in shapes if count(json_text(shape)) <= max_tokens), _shape(value, *least))


def _safe(text: str) -> str:
    # A preview need not be exact, and not every session service and provider takes these.
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", "\ufffd", text)


def _have_a_key_in_common(items: Collection[Any]) -> bool:
    is_each_an_object = all(isinstance(item, Mapping) for item in items)
    return is_each_an_object and any(all(key in item for item in items) for key in next(iter(items)))


def _shape(value: Any, depth: int, width: int, length: int, alike: int) -> Any:
    """Returns a shape of so many levels, keys of an object, letters of a text, and keys of objects that are alike."""
    if isinstance(value, str):
        return value if len(value) <= length else f"text of {len(value)} characters"
    if isinstance(value, Mapping):
        if depth <= 0:
            return f"object of {counted(len(value), 'key')}"
        items = list(value.items())
        if items[4:] and _have_a_key_in_common(value.values()):
            # Their keys tell more than each of them does.
            keys = [*(str(key)[:_MAX_LINE] for key, _ in items[:alike]), *["…"] * (len(items) > alike)]
            first = _shape(items[0][1], depth - 1, width, length, alike)
            return {f"object of {len(items)}, first": first, "keys": ", ".join(keys)}
        shape = {str(key)[:_MAX_LINE]: _shape(item, depth - 1, width, length, alike) for key, item in items[:width]}
        return shape | ({"…": counted(len(items) - width, "more key")} if len(items) > width else {})
    if isinstance(value, list | tuple):
        if depth <= 0 or not value:
            return f"list of {len(value)}"
        return {f"list of {len(value)}, first": _shape(value[0], depth - 1, width, length, alike)}
    return value


def _with_ends(text: str, outline: TextOutline, budget: int) -> str:
    said = [f"[{outline.said}]"] if outline.said and 2 * len(outline.said) < budget else []
    budget = min(budget - sum(map(len, said)), _MAX_LINE // 2 if outline.said.startswith("base64") else budget)
    # Parts say more than the ends, of which whole lines are shown, and kinds of trouble more than both. On a page both
    # ends are menus.
    less, are_kinds = 3 if outline.parts else 1, "kinds" in outline.unit
    needed = sum(min(len(line), 3 * _LEAST // 2) + 1 for line in _lines_of(outline.parts, 2**20)) if are_kinds else 0
    last = len(text) - text.rstrip().rfind("\n") if are_kinds and not outline.said.startswith("log") else 0
    tail = min(budget * _TAIL / (1 if are_kinds else less), max(last, budget - needed))
    head = min(budget * _HEAD / less, max(0, budget - needed - tail))
    whole = bool(outline.parts) and "\n" in text
    start, end = ("", "") if outline.said.startswith("HTML") else _ends(text, head, tail, whole=whole)
    # An odd line that the ends show is not listed again.
    seen = {line.strip() for line in (start + end).splitlines()}
    parts, odd = ([each for each in listed if each[1] not in seen or not each[0].isdigit()] for listed in outline[2:])
    listed = outline._replace(odd=odd, parts=parts if "kinds" in outline.unit else outline.parts)
    lines = _fitting(listed, budget - len(start) - len(end))
    if not lines:
        # Nothing to report: all the names that occur there take its place, if they are few.
        between = text[len(start) : len(text) - len(end)]
        names = names_within(between, most=_MAX_NAMES) if len(between) <= 50 * _PROSE_SAMPLE else None
        line = f"[all codes and names there: {', '.join(names or ())}]"
        lines = [line, "[…]"] if names and len(line) <= int(budget * _OUTLINE_SHARE) else []
    if not lines:
        # The ends may have its share.
        start, end = _ends(text, budget * (_HEAD + _OUTLINE_SHARE / 2), budget * (_TAIL + _OUTLINE_SHARE / 2))
    left_out = len(text) - len(start) - len(end)
    if left_out <= 0:
        return text
    gap = "[…]" if outline.parts else f"[… {left_out} characters left out …]"
    return "\n".join([*said, *([start.rstrip("\n"), gap] if start else []), *lines, end.strip("\n")]).rstrip("\n")


def _ends(text: str, head: float, tail: float, *, whole: bool = False) -> tuple[str, str]:
    """Returns the first and the last characters, without a part of a line if that is short, or if lines are whole."""
    start, end = text[: int(head)], text[max(0, len(text) - int(tail)) :]
    first, last = start.rfind("\n") + 1, end.find("\n") + 1 or len(end)
    return start[:first] if whole or 2 * first > head else start, end[last:] if whole or 2 * last <= tail else end


def _fitting(outline: TextOutline, budget: int) -> list[str]:
    """Returns the lines of the parts that fit: the first ones if these are worth most, otherwise some from all over."""
    unit, parts, chosen = outline.unit, outline.parts, _lines_of(outline.parts, budget)
    if "kinds" not in unit and len(chosen) < len(parts):
        kinds = dict[str, _Lines]()
        for at, name in parts:
            # Names that differ in their figures alone say nothing new.
            kinds.setdefault(re.sub(r"\d+", "#", name.partition("\n")[0]), _Lines(name, [])).places.append(int(at))
        unit, parts = f"kinds of {unit}", [(each.where("alike"), each.text) for each in kinds.values()]
        count = len(_lines_of(parts, budget))
        chosen = _lines_of([parts[at * len(parts) // count] for at in range(count)], budget)
    # A line that stands alone says more than how each part begins.
    odd = _lines_of(outline.odd, budget - sum(map(len, chosen)))
    chosen, parts = [*chosen, *odd], [*parts, *outline.odd[: len(odd)]]
    room = (budget - sum(map(len, chosen))) // max(1, len(chosen)) - 3
    after = [text.partition("\n")[2][: max(0, room)] for _, text in parts] if len(chosen) == len(parts) else ()
    shown = [f"{line}: {more}" if more else line for line, more in zip_longest(chosen, after)]
    return [*shown, "[…]" if after else f"[… more {unit}: {len(parts) - len(chosen)} …]"] if shown else []


def _lines_of(parts: Sequence[tuple[str, str]], budget: int) -> list[str]:
    # Rulers, packages of classes, parts of seconds and the colors of a terminal say nothing.
    idle = r"\x1b\[[\d;]*m|\b(?:[a-z_]\w*\.){2,}(?=[A-Z])|(?<=:\d\d)[.,]\d{3,9}Z?(?=\W)|(\W)\1{3,}"
    named = ((where, text.partition("\n")[0]) for where, text in parts[:_MAX_LOOKED_AT])
    lines = [re.sub(idle, r"\1\1\1", f"[at {where}] {text}") for where, text in named]
    if sum(len(line) + 1 for line in lines) <= budget:
        return lines
    # If room is short, where the last one is says least, and then ids of the first of many, but not codes of errors.
    ids = r"(?<![Rr]ror: )\b(?![A-Z]{2,5}-?\d+\b)(?=(?:[A-Za-z./:+-]*\d){4})[\w./:+-]*\w"
    heads = [re.split(r"(?<=^\[at )(\d+) to \d+", line) for line in lines]
    lines = [f"{line}{more[0]}{re.sub(ids, '#', more[1])}" if more else line for line, *more in heads]
    lines = lines[: bisect_right([*accumulate(min(len(line), _LEAST) + 1 for line in lines)], budget)]
    # What the short lines leave is shared by the long ones.
    lengths = sorted(len(line) + 1 for line in lines)
    most = max(((budget - sum(lengths[:n])) // len(lengths[n:]) - 1 for n in range(len(lengths))), default=0)
    # A message ends with what happened, to what and why.
    cuts = ((line, (3 * most + 2 * line.find("]")) // 5) for line in lines)
    return [line if len(line) <= most else f"{line[:cut]}…{line[cut + 1 - most :]}" for line, cut in cuts]
