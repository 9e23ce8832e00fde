"""Tells from numbers alone that they are not amounts: points in time, counting on, codes, shares, products."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, islice, pairwise
from operator import mul, sub
from typing import Literal

from adk_context_pack.tables.numbers import PROOF, Number, decimals_of, is_finite

Sign = Literal["identifier", "time", "rate", ""]
Trend = Literal["even", "rising", "close", "drifting", ""]

# The years 2000 to 2050 in seconds since 1970, and in milliseconds, microseconds and nanoseconds.
_EPOCHS = tuple((946_684_800 * scale, 2_524_608_000 * scale) for scale in (1, 10**3, 10**6, 10**9))
_YEARS, _MONTHS, _DAYS = (1500, 1900, 2050), (190_001, 210_012), (19_000_101, 21_001_231)
# Moments of one table are of the same years, amounts are spread wider.
_SPREAD, _CLOSE = 1.5, 1.05
_TAIL, _FEW, _SOME, _COMPARED, _LARGE, _LONG = 3, 5, 8, 24, 50, 10**15
# What arithmetic with floats loses, and prices of parts.
_NOISE, _ROUNDING = 1e-6, 0.005


def sign_of(numbers: Sequence[Number], rows: int, *, is_dated: bool, is_amount: bool) -> Sign:
    """Returns what some numbers are if they are surely or probably not amounts, or an empty text.

    Looks at all cells, or the first and some others, of a column of so many `rows`. With a word of time in its name
    (`is_dated`) a weak sign is enough. A name for an amount (`is_amount`) is outweighed by a strong sign only.
    """
    distinct = set(numbers)
    if len(distinct) < 2 - is_dated:  # one value alone says nothing
        return ""
    low, high = min(numbers), max(numbers)
    if not _are_known(low, high):
        return ""
    if low > 0 and (clock := clock_of((low, high))) > 0:
        spread = float(high) / float(low)
        # Amounts often have ten digits, and seldom thirteen or more.
        is_clock = len(distinct) >= _FEW and (clock > 1 or spread <= _CLOSE)
        if is_dated or (spread <= _SPREAD and (is_clock or not is_amount)):
            return "time"
    if not all(isinstance(number, int) or number % 1 == 0 for number in distinct):
        return "rate" if len(numbers) >= _SOME and low >= 0 and high <= 1 and not is_amount else ""
    whole = [int(number) for number in numbers]
    if low > 0 and _are_dates(set(whole), is_dated=is_dated, is_amount=is_amount, rows=len(whole)):
        return "time"
    # Amounts may fall by ones where they are sorted, and begin at one where somebody made them up.
    may_go_on = low >= 0 and (not is_amount or whole[0] < whole[-1] < _SPREAD * whole[0])
    # Only the first half of a sample is without gaps of its own.
    first = whole if len(whole) == rows else whole[: max(_SOME, len(whole) // 2)]
    steps = {after - before for before, after in pairwise(first)}
    # Few numbers go on in equal steps by chance if these are not ones.
    goes_on = steps in ({1}, {-1}) or (len(steps) == 1 and 0 not in steps and len(first) >= _SOME)
    # The things that several rows are about are numbered, and rows that were picked keep their numbers.
    is_long = not is_amount and low >= 0 and len(first) >= _LARGE // 2
    are_picked = is_long and (steps == {0, 1} or (min(steps) > 0 and max(steps) * _SOME <= first[-1] - first[0]))
    return "identifier" if may_go_on and (goes_on or are_picked) and len(first) >= _FEW else ""


def clock_of(numbers: Iterable[Number | None]) -> int:
    """Returns how many of these make a second since 1970, -1 for days such as 20260131, or 0 for neither."""
    known = [number for number in numbers if number is not None] or [0]
    low, high = min(known), max(known)
    within = (10 ** (3 * place) for place, (start, end) in enumerate(_EPOCHS) if start <= low and high <= end)
    return next(within, -(_DAYS[0] <= low and high <= _DAYS[1]))


def are_amounts(numbers: Sequence[Number], tags: frozenset[str], *, are_told: bool) -> bool:
    """Returns whether numbers add up: those of which a name or a unit tells it, or that look like it, but no levels."""
    ordered = sorted(numbers)
    if not ordered or not _are_known(ordered[0], ordered[-1]):
        return are_told or "nameless" in tags
    if not are_told and not _look_like_amounts(ordered, tags):
        return False
    is_extent = tags & {"dimension", "total"} == {"dimension"} and not _look_like_amounts(ordered)
    # Few amounts are negative in most rows, and logarithms of small numbers are.
    is_scale = "money" not in tags and ordered[len(ordered) // 2] < 0 and decimals_of(ordered[:_SOME]) > _TAIL
    return not (is_extent or is_scale or _are_levels(ordered, tags))


def _look_like_amounts(ordered: Sequence[Number], tags: Collection[str] = ()) -> bool:
    """Returns whether numbers look like amounts: none at all in many rows, far more than usual in others, or losses."""
    # Numbers of things, marks and levels begin at one and are spread evenly, or stay close to one another. A few values
    # that come again and again are codes.
    count, kinds, are_whole = len(ordered), len(set(ordered)), not any(number % 1 for number in ordered)
    low, middle, high = ordered[0], ordered[count // 2], ordered[-1]
    # Tables of games count under letters, questions have marks, and a reader sees all of a table as short as this.
    is_game = are_whole and high >= 4 * low and not 1 <= low < high <= 10  # noqa: PLR2004
    if "nameless" in tags and (is_game if "capital" in tags else count < _FEW + _SOME):
        return True
    # Of codes, as under `CNES`, all have many digits, and as many.
    are_codes = low >= 10**5 and len(f"{low:.0f}") == len(f"{high:.0f}")
    are_counted = "plural" in tags and are_whole and not are_codes
    if kinds < min(_FEW, count) or kinds * _SOME <= count - ordered.count(0):
        # Fees are few, are round or have cents, and not all rows have one.
        return low <= 0 and (are_counted or decimals_of(ordered) == 2 or (high > 5 and not any(n % 5 for n in ordered)))  # noqa: PLR2004
    # What is calculated or measured has many decimals.
    if are_counted or (decimals_of(ordered[:_SOME]) > _TAIL and high < 10**4):
        return are_counted
    if low < 0:
        return max(-low, high) >= 4 * _LARGE
    # Marks of ten are as often high as low.
    has_zeros = ordered[_TAIL * count // _LARGE] == 0 and (high > 10 or high >= _TAIL * middle)  # noqa: PLR2004
    return has_zeros or (high > _TAIL * middle and (high >= _LARGE or are_whole))


def trend_of(numbers: Sequence[Number]) -> Trend:
    """Returns how numbers go on in their order: by even steps, only up or down, or by small steps up and down."""
    # Counters only rise. Levels over time change little from one row to the next (the ratio of von Neumann, 1941), and
    # drift close to one another or far.
    try:
        cells = list(map(float, numbers[:128]))
    except OverflowError:
        return ""
    if len(cells) < _SOME or not math.isfinite(sum(cells)) or min(cells) == max(cells):
        return ""
    steps, are_few = [after - before for before, after in pairwise(cells)], len(cells) < _FEW + _SOME
    # Lists in which the largest comes first are often so short.
    if min(steps) >= 0 or (max(steps) <= 0 and not are_few):
        return "rising" if len({f"{step:.3g}" for step in steps}) > 1 else "even"
    middle = sum(cells) / len(cells)
    apart = [cell - middle for cell in cells]
    # Numbers without order are so calm in one of five hundred columns.
    calm = min(1, 2 - 6 / math.sqrt(len(cells)))
    if are_few or sum(map(mul, steps, steps)) > calm * sum(map(mul, apart, apart)):
        return ""
    return "close" if 0 < max(cells) <= _SPREAD * min(cells) else "drifting"


def head_of(numbers: Iterable[Number | None]) -> list[float]:
    """Returns the first numbers of a column, by which it is compared with others, with 0 for what is missing."""
    return [float(n) if n and -_LONG < n < _LONG else 0 for n in islice(numbers, _COMPARED)]


def made_of(columns: Sequence[Sequence[float]], *, by_factors: bool = False) -> Iterator[tuple[int, ...]]:
    """Yields the places of a column that is the sum of others in each row, and those of the others.

    Sums are those of two columns, or of several side by side. Where each is the same, the first place is -1. With
    `by_factors` the column is another one times a constant, or the product of two, which may be rounded.
    """
    lines: list[Sequence[float]] = list(filter(any, zip(*columns[:_COMPARED], strict=True)))
    fullest = partial(max, key=lambda each: sum(map(bool, filter(math.isfinite, each))), default=())
    line, noise = fullest(lines), _ROUNDING if by_factors else _NOISE
    if by_factors:
        # The logarithm of a product is a sum, and the difference of two rows has no constant.
        logs = [[math.log(abs(n)) if n else math.nan for n in each] for each in (line, *lines)]
        lines = [[*map(sub, each, logs[0])] for each in logs[1:]]
        line = fullest(lines)
    kinds = ({round(n / noise / 10) for n in column if math.isfinite(n)} for column in zip(*lines, strict=True))
    places = [at for at, cells in enumerate(kinds) if len(cells) >= _TAIL]
    lengths = range(1, 2) if by_factors else range(_TAIL, _COMPARED)
    runs = (places[at : at + length] for length in lengths for at in range(len(places) - length + 1))
    wholes = places if by_factors else [-1, *range(len(line))]
    for others in (*runs, *combinations(places, 2)):
        made = math.fsum(line[at] for at in others)
        near = [*line, math.fsum(lines[-1][other] for other in others)]
        for at in [at for at in wholes if abs(near[at] - made) <= noise and at not in others]:
            rows = ((each[at] if at >= 0 else made, math.fsum(each[other] for other in others)) for each in lines)
            rests = [abs(whole - total) for whole, total in rows if whole or total]
            if sum(rest <= noise for rest in rests) >= _FEW and not any(rest > noise for rest in rests):
                yield at, *others


def running_in(columns: Sequence[Sequence[float]]) -> Iterator[tuple[int, set[int]]]:
    """Yields the place of a column that goes on by another, or by one less another, up or down, and their places."""
    lines = list(filter(any, zip(*columns[: _COMPARED // 2], strict=True)))
    are_close = partial(math.isclose, rel_tol=_NOISE, abs_tol=_NOISE)
    for heads in (list(zip(*rows, strict=True)) for rows in (lines, lines[::-1])):
        flows = [*(head[1:] for head in heads), [0.0] * _COMPARED]
        for level, head in enumerate(heads):
            if len(head) <= _TAIL:
                continue
            steps = [after - before for before, after in pairwise(head)]
            kinds = Counter(f"{step:.6g}" for step in steps)
            # Steps of one digit may be equal by chance. If most are, another thing may begin at the others.
            is_proven = -len(steps) * math.log(sum(n * n for n in kinds.values()) / len(steps) ** 2) > 2 * PROOF
            if len("".join(kinds)) < 12 and not is_proven:  # noqa: PLR2004 - digits
                continue
            likely = defaultdict(set)
            for less, flow in enumerate(flows):
                likely[round(flow[0], _TAIL)].add(less)
            for more, flow in enumerate(flows):
                for less in likely.get(round(flow[0] - steps[0], _TAIL), ()):
                    is_other = len({level, more, less}) == _TAIL
                    equal = sum(map(are_close, steps, map(sub, flow, flows[less]))) if is_other else 0
                    if equal == len(steps) or (is_proven and 4 * equal >= 3 * len(steps)):
                        yield level, {more, less} - {len(heads)}


def _are_known(low: Number, high: Number) -> bool:
    """Returns whether numbers have an end, and no more digits than Decimal computes with."""
    return is_finite(low) and is_finite(high) and max(-low, high) <= 10**27


def _are_levels(ordered: Sequence[Number], tags: frozenset[str]) -> bool:
    """Returns whether numbers under the name of an amount are states: shares, rates of tax, weights of people."""
    low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
    few = {number for number in ordered if (0 if low >= 0 else -100) <= number <= 100}  # noqa: PLR2004 - percent
    is_tariff = tags & {"tariff", "total"} == {"tariff"} and len(ordered) >= _SOME >= len(few)
    is_tariff = is_tariff and (len(few) - (0 in few)) * 2 <= len(ordered) - ordered.count(0)
    is_share = is_tariff or ("share" in tags and any(number % 1 for number in few))
    is_close = not tags.isdisjoint({"narrow", "body"}) and 0 < 2 * high <= 5 * low
    # Small fractions close to one another are of a liter or a person. Of fees there are few. Numbers of things go on.
    is_fine = len(ordered) >= _SOME and any(number % 1 for number in ordered) and 2 * len(set(ordered)) > len(ordered)
    is_small = is_fine and 1 < low < high <= min(2 * low, 20) and "duration" not in tags
    is_serial = 100 * ordered[-1] <= 101 * ordered[0] and len(set(ordered)) == len(ordered) >= _SOME and low > 10**5
    return is_close or is_small or is_serial or (is_share and few.issuperset(ordered))


def _are_dates(whole: Collection[int], *, is_dated: bool, is_amount: bool, rows: int) -> bool:
    low, high = min(whole), max(whole)
    if _DAYS[0] <= low and high <= _DAYS[1]:
        return all(1 <= number // 100 % 100 <= 12 and 1 <= number % 100 <= 31 for number in whole)  # noqa: PLR2004
    # Amounts that are so close to one another seldom come again and again.
    if is_amount and not is_dated and not _TAIL <= len(whole) <= rows / 2:
        return False
    if _MONTHS[0] <= low and high <= _MONTHS[1]:
        return all(1 <= number % 100 <= 12 for number in whole)  # noqa: PLR2004 - months
    return _YEARS[not is_dated or is_amount] <= low and high <= _YEARS[2] and (is_dated or rows >= 3)  # noqa: PLR2004 - two may be chance
