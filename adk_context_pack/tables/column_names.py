"""Reads the name of a column: its words, and what they say that it holds. The words are data, in `name_words.txt`."""

from __future__ import annotations

import pkgutil
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

QUANTITIES = frozenset(("money", "count", "amount", "bytes", "duration"))
"""The meanings of words whose numbers are added up."""

# `pH` and `kWh` are one word.
_CAMEL = re.compile(
    r"(?<=[a-zа-я0-9])(?=[A-ZА-Я])(?!(?<=(?<![A-Za-z0-9])[a-z])[A-Z][a-z]?(?![A-Za-z]))|(?<=[A-Z])(?=[A-Z][a-z])"  # noqa: RUF001
)
_NO_WORD = re.compile(r"[^\w#%‰Σ]+|_+|(?<=[#%‰])|(?=[#%‰])|(?<=[\u3040-\u9fff])(?=[a-z])")
_LETTERS = str.maketrans("łø\u0131đ", "loid", "º°") | str.maketrans({"æ": "ae", "œ": "oe", "ß": "ss"})
_NOTHING: frozenset[str] = frozenset()
# What counts in the last word of a name only.
_OF_LAST = frozenset(("share", "tariff", "done", "version"))
_MIN_STEM = 5


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """Returns the words of the last segment of a dotted name, in lower case and without accents.

    `metrics.costMicros` has the words `("cost", "micros")`.
    """
    above, _, last = name.rstrip(".)").removesuffix("__c").rpartition(".") if ". " not in name else ("", "", name)
    if above and (last[:1] == "$" or last in {"doubleValue", "int64Value"}):
        # Behind the name of a column MongoDB and Google have its type.
        return words(above)
    if last == "number" and above.startswith("properties."):
        # As Notion has what a property is, behind its name.
        last = above.partition(".")[2]
    elif "vague" in meanings_of(last.lower()):
        # What `temperature.value` is, its parent says.
        last = f"{above.rpartition('.')[2]}_{last}"
    # And that `p95:trace.duration` and `p75(trace.duration)` are none to add up, their beginning.
    last = "_".join([*(part for part in re.split("[:(]", above)[:1] if "average" in meanings_of(part.lower())), last])
    paid, for_one = (_plain(part.strip("0123456789 ()[]²").lower()) for part in last.rpartition("/")[::2])
    what, one = meanings_of(paid.rpartition(" ")[2].strip("([")), meanings_of(for_one)
    # So is money for a count or a thing, as in `Cost / conv.` and `Conv. value / cost`, unlike `Debit / Credit`.
    is_for_one = "money" in what - one and one & {"count", "noun", "nothing", "amount"}
    if "each" in one or is_for_one or ("vague" in what and "money" in one):
        last = last.replace("/", " per ")
    lower = re.sub("n[°º]|\u2116", "no ", _CAMEL.sub("_", last).lower())
    # A letter in brackets is a unit, `us_season` is of the United States, and `sales_30_days` counts sales.
    lower = f"{lower[:-1]}tonnes" if lower.endswith("(t") else re.sub("[_ (]us$", " seconds", lower)
    lower = re.sub(r"(?<=\d)[_ ](days?|tagen?|jours|d[ií]as|giorni|dagen|dni)$", "", lower)
    # In the languages of Scandinavia `løn` means wages, not a longitude.
    lower = re.sub("l[øö]nn?", "lohn", lower)
    parts = list(filter(None, _NO_WORD.split(_plain(lower.translate(_LETTERS)))))
    for at in range(len(parts) - 1, 0, -1):
        if (phrase := "_".join(parts[at - 1 : at + 1])) in _table()[0]:
            parts[at - 1 : at + 1] = [phrase]
    return tuple(parts)


def _plain(text: str) -> str:
    """Returns a text without accents."""
    bare = (c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c)[0] != "M")
    return unicodedata.normalize("NFC", "".join(bare))


@lru_cache(maxsize=4096)
def snake_case(name: str) -> str:
    """Returns one spelling for a column, so that all ways in which the Google Ads API is read give the same names.

    `metrics.costMicros`, `metrics.cost_micros` and `costMicros` are all `cost_micros`. `adGroup.id` is `ad_group.id`.
    Spelling other than camel case stays as it is.
    """
    name = _CAMEL.sub("_", name).lower() if re.fullmatch(r"[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9_]*)*", name) else name
    return name.removeprefix("metrics.")


@lru_cache(maxsize=4096)
def named(name: str) -> frozenset[str]:
    """Returns what a name says of its column: the meanings of its words, and one role if it names one.

    The roles are `identifier`, `time`, `rate` and `quantity`. `named("cost_per_click")` has `money` and
    `rate`. With a word of time in it a name has `dated` as well.
    """
    parts = words(name)
    meanings = [meanings_of(word) for word in parts]
    said = _NOTHING.union(*meanings)
    # The year in `deaths_2020` says nothing, nor the unit in `cost_usd` and `temp_c`. `USD/EUR` is an exchange rate.
    count, are_many = len(parts), len(parts) > 1
    while count and are_many and ("iso4217" in meanings[count - 1] or not parts[count - 1].strip("vcf0123456789")):
        count -= 1
    role = _role(parts[:count], meanings[:count]) if count else "rate" if "iso4217" in said else ""
    role = role or ("quantity" if parts and "money" in meanings[-1] else "")
    shape = set() if parts[1:] else {"single"}
    # Of shorter words `yds` is a plural, and `gas` and `WBS` are none.
    ends = [word[-2:] for word in parts if word[3:] or (word[2:] and word in name and not set(word) & set("aeiou"))]
    if not any(word[2:] or not word.isascii() for word in parts):
        shape |= {"nameless", *["capital"] * name.isupper()}
    elif said <= {"of"} and any(end == "ed" or (end[1] == "s" and end[0] not in "siu") for end in ends):
        shape.add("plural")
    kept = said - {"identifier", "time", "rate"} - _OF_LAST.difference(*meanings[max(count - 1, 0) :][:1])
    return kept | shape | ({"dated"} if "time" in said else _NOTHING) | ({role} if role else _NOTHING)


@lru_cache(maxsize=4096)
def meanings_of(word: str) -> frozenset[str]:
    """Returns the meanings of one word, in lower case and without accents."""
    whole, ends, starts, stems = _table()
    # A cell may be asked about, and no word of a name is so long.
    if len(word) > 40:  # noqa: PLR2004
        return _NOTHING
    # Behind `sales14d` is how many days later they count.
    bare = (word[:-1] if word[-1:] == "d" and word[-2:-1].isdigit() else word).rstrip("0123456789")
    found = whole.get(word) or next((starts[each] for each in starts if word.startswith(each)), None) or whole.get(bare)
    found = found or next((ends[bare[at:]] for at in range(len(bare)) if bare[at:] in ends), _NOTHING)
    beginnings = (bare[:at] for at in range(len(bare) - 1, max(_MIN_STEM, len(bare) - 2) - 1, -1))
    return found or next((stems[each] for each in beginnings if each in stems), _NOTHING)


def total_label(text: str) -> Literal["total", "extreme", ""]:
    """Returns what a label says of a row that sums up others: `Grand total`, or `Max`, which may be a name as well."""
    # Thousands of labels may differ in a number. An average is a letter of its own in Germany.
    parts = words(re.sub("^[Øø⌀∅](?= |$)", "avg", re.sub("[0-9]+", "0", text[:100].replace(".", " "))))
    said = meanings_of(parts[0]) | meanings_of(parts[-1]) if 0 < len(parts) <= 3 else _NOTHING  # noqa: PLR2004 - words
    return "total" if "total" in said else "extreme" if "extreme" in said else ""


def _role(parts: Sequence[str], meanings: Sequence[frozenset[str]]) -> str:
    first, others, last = meanings[0], meanings[1:], meanings[-1]
    has = _NOTHING.union(*meanings)
    amounts = has & QUANTITIES
    # In `taux moyen de conversion` the words before `de` say what it is.
    of = next((at for at in range(1, len(parts)) if first and "of" in meanings[at]), 0)
    if _is_rate(parts, meanings, first if of else last):
        return "rate"
    if ("number" in first or parts[0] == "n") and others:
        return _numbered(parts, meanings)
    if of and (head := _role(parts[:of], meanings[:of])):
        return head
    is_number = "number" in last and not (others and "tally" in last)
    if is_number or "identifier" in last or ("noun" in last and not amounts and not first & {"time", "rate"}):
        return "identifier"
    if "rate" in last:
        return "rate"
    if amounts:
        return "quantity"
    if "time" in first | last:
        return "time"
    return "identifier" if "number" in has else "rate" if "rate" in first else ""


def _is_rate(parts: Sequence[str], meanings: Sequence[frozenset[str]], last: frozenset[str]) -> bool:
    """Returns whether a name says of its last word, or of that before `of`, that it is a rate or a level."""
    first, others, has = meanings[0], meanings[1:], _NOTHING.union(*meanings)
    before, beside = meanings[-2] if others else _NOTHING, [said for said in meanings if "days" not in said]
    rules = (
        # A price is that of one thing, but not a total price.
        "average" in has or ("price" in first | last and "total" not in has),
        "head" in first,
        "per" in _NOTHING.union(*others) or parts[0] == "per" or (parts[0] == "min" and others),
        any("for" in said and one & {"each", "noun", "count"} for said, one in zip(meanings, others, strict=False)),
        ("vague" in last and has & {"rate", "each"}) or (has & {"price", "wage"} and "each" in first | last),
        last & {"measured", "duration", "body"} and "rate" in _NOTHING.union(*meanings[:-1]),
        "measured" in last and ("measured" in before or "bytes" in before - last),
        {"until", "duration"} <= has,
        # Days on the market pass for all at once, and days of absence add up.
        "days" in has and parts[1:] and not any(said & {"duration", "count"} for said in beside),
    )
    return any(rules)


def _numbered(parts: Sequence[str], meanings: Sequence[frozenset[str]]) -> str:
    """Returns what `number of orders` and `numéro de commande` name: a count, or an identifier."""
    rest = [place for place in range(1, len(parts)) if "of" not in meanings[place]]
    counted = rest and meanings[rest[0]] & {*QUANTITIES, "plural"} and meanings[0] & {"counting", "tally"}
    # Only English counts what follows at once, as in `num_retries`.
    names = {"identifier", "time"} if "of" in meanings[1] and parts[-1][-1:] == "s" else {"identifier", "time", "noun"}
    counts = "counting" in meanings[0] and rest and not meanings[rest[-1]] & names
    return "quantity" if counted or (counts and (parts[0] != "no" or parts[1] == "of")) else "identifier"


@lru_cache(maxsize=1)
def _table() -> tuple[Mapping[str, frozenset[str]], ...]:
    """Returns the meanings of words, and those of the ends and the beginnings of words."""
    found: dict[str, frozenset[str]] = {}
    data = pkgutil.get_data(__package__, "name_words.txt") or b""
    for line in _plain(data.decode().translate(_LETTERS)).splitlines():
        meaning, _, listed = line.partition(":")
        for word in () if line.startswith("#") else listed.split():
            found[word] = found.get(word, _NOTHING) | set(meaning.split())
    # What a long word says of numbers, it says at the end of a compound and with another ending too.
    said = QUANTITIES | {"rate", "average"}
    long = {word: found[word] for word in found if len(word) >= _MIN_STEM and not said.isdisjoint(found[word])}
    cut = ((word.rstrip("aeiouyаеиоуыяюαηοιες"), word) for word in long)  # noqa: RUF001 - vowels
    stems = {stem: found.get(stem, long[word]) for stem, word in cut if len(stem) >= _MIN_STEM}
    starts = {word[:-1]: found[word] for word in found if word[-1] == "*"}
    return found, long | {word[1:]: found[word] for word in found if word[0] == "*"}, starts, stems | long
