"""WITH STATS: whether the declared statistics are possible. The same holds for a file of statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

from neelc.errors import Hint
from neelc.findings import Findings, did_you_mean
from neelc.ir.expressions import Conjunction
from neelc.ir.names import bare, find, same
from neelc.ir.program import Stream
from neelc.ir.script import Statistic
from neelc.ir.types import LENGTHS
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.operators import is_number
from neelc.syntax.print_statements import show_number, show_subject

# Rounding is no contradiction.
TOLERANCE = Decimal("0.01")

_SHARES = ("SHARE", "NULLS", "MOST FREQUENT", "SELECTIVITY")
_AMOUNTS = ("EVENTS", "RATE", "SHARE")


@dataclass(frozen=True)
class StatisticProblem:
    """Why a statistic cannot be: code, sentence, hint, and the word of the statistic that is to blame."""

    statistic: Statistic
    code: str
    message: str
    hint: Hint | str | None = None
    word: str = ""


def with_statistics(stream: Stream, declared: Sequence[Statistic], findings: Findings) -> Stream:
    """The stream with what WITH STATS says about it; what cannot be is reported."""
    for found in misfits(stream, declared):
        place = findings.at(found.word, found.statistic)
        findings.report(found.code, found.message, place, found.hint)
    return replace(stream, statistics=resolved(stream, declared))


def resolved(stream: Stream, declared: Sequence[Statistic]) -> tuple[Statistic, ...]:
    """The statistics with the names of columns as the stream declares them, and conditions as text."""
    names = [column.name for column in stream.columns]
    return tuple(
        replace(
            statistic,
            column=None if statistic.column is None else find(statistic.column, names),
            condition=None if statistic.condition is None else str(statistic.condition),
        )
        for statistic in declared
    )


def misfits(stream: Stream, declared: Sequence[Statistic]) -> Iterator[StatisticProblem]:
    """All that cannot be, first by statistic, then between them.

    >>> from neelc.ir.program import Column
    >>> from neelc.ir.types import BIGINT
    >>> stream = Stream("S", (Column("ts", BIGINT),), "ts")
    >>> [found] = misfits(stream, [Statistic("NULLS", (Decimal(2),), column="ts")])
    >>> found.code, found.message
    ('NEEL2216', 'NULLS is a number from 0 to 1, not 2')
    """
    wrong = [found for statistic in declared for found in _single(stream, statistic)]
    yield from wrong
    fine = [s for s in declared if not any(found.statistic is s for found in wrong)]
    yield from _repeated(fine)
    if not wrong:
        yield from _too_many(fine)
        yield from _contradicting(fine)


def _single(stream: Stream, statistic: Statistic) -> Iterator[StatisticProblem]:
    misfit = partial(StatisticProblem, statistic)
    measure, kind, name = statistic.measure, statistic.type, statistic.column
    if kind is not None and stream.type_column is None:
        message = f"stream `{stream.name}` has no type column, and so no events of type `{bare(kind)}`"
        yield misfit("NEEL2218", message, f"leave out TYPE {kind}, or add TYPE BY column", kind)
    if kind is None and measure == "SHARE":
        yield misfit("NEEL2216", "SHARE is the share of a type", "for example TYPE A SHARE 0.2")
    if kind is not None and measure == "SPAN":
        yield misfit("NEEL2216", "SPAN is the time of the whole stream", f"leave out TYPE {kind}")
    if name is not None:
        yield from _column(stream, name, statistic)
    if statistic.unit is not None and statistic.unit not in LENGTHS:
        hint = f"units: {', '.join(f'{unit}S' for unit in reversed(LENGTHS))}"
        yield misfit("NEEL2216", f"{statistic.unit}S vary in length", hint)
    problem = _wrong_numbers(statistic)
    if problem is not None:
        yield misfit("NEEL2216", problem, "20 percent is 0.2" if measure in _SHARES else None)
    if isinstance(statistic.condition, Conjunction):
        message = "conditions joined by AND are evaluated one by one"
        yield misfit("NEEL2219", message, "give each of them its own selectivity")


def _column(stream: Stream, name: str, statistic: Statistic) -> Iterator[StatisticProblem]:
    found = find(name, [column.name for column in stream.columns])
    if found is None:
        hint = did_you_mean(name, [c.name for c in stream.columns], f"columns of {stream.name}")
        message = f"stream `{stream.name}` has no column `{bare(name)}` for {statistic.measure}"
        yield StatisticProblem(statistic, "NEEL2204", message, hint, name)
        return
    kind = next(column.type for column in stream.columns if column.name == found)
    if statistic.measure == "RANGE" and not is_number(kind):
        message = f"column `{found}` is of type {kind}; RANGE is for numbers"
        yield StatisticProblem(statistic, "NEEL2205", message, "leave it out", name)


def _wrong_numbers(statistic: Statistic) -> str | None:
    measure, first, last = statistic.measure, statistic.numbers[0], statistic.numbers[-1]
    found = show_number(first)
    if measure == "RANGE":
        return f"the range from {found} to {show_number(last)} is empty" if first > last else None
    if measure in _SHARES and not 0 <= first <= 1:
        return f"{measure} is a number from 0 to 1, not {found}"
    if measure == "SPAN" and first <= 0:
        return f"SPAN is a length of time, more than 0, not {found}"
    return f"{measure} is at least 0, not {found}" if first < 0 else None


def _repeated(declared: Sequence[Statistic]) -> Iterator[StatisticProblem]:
    for place, later in enumerate(declared):
        for earlier in declared[:place]:
            if not _same_names(earlier, later):
                continue
            if earlier.measure == later.measure and earlier.condition == later.condition:
                message = f"{show_subject(later)} is given twice"
                yield StatisticProblem(later, "NEEL2217", message, "keep one of them")
                break
            if later.type is not None and {earlier.measure, later.measure} <= set(_AMOUNTS):
                message = f"{earlier.measure} and {later.measure} of type `{bare(later.type)}` say the same"
                yield StatisticProblem(later, "NEEL2217", message, "keep one of them")
                break


def _same_names(left: Statistic, right: Statistic) -> bool:
    pairs = ((left.type, right.type), (left.column, right.column))
    return all(one == two or (one and two and same(one, two)) for one, two in pairs)


def _too_many(declared: Sequence[Statistic]) -> Iterator[StatisticProblem]:
    """More events of single types than there are events."""
    shares = [s for s in declared if s.measure == "SHARE"]
    total = sum((s.numbers[0] for s in shares), Decimal(0))
    if total > 1 + TOLERANCE:
        message = f"the shares of all types add up to {show_number(total)}, more than 1"
        yield StatisticProblem(shares[-1], "NEEL2216", message)
    whole = next((s for s in declared if s.measure == "EVENTS" and s.type is None), None)
    typed = [s for s in declared if s.measure == "EVENTS" and s.type is not None]
    events = sum((s.numbers[0] for s in typed), Decimal(0))
    if whole is not None and typed and events > whole.numbers[0] * (1 + TOLERANCE):
        stream = show_number(whole.numbers[0])
        message = f"the types have {show_number(events)} events together, the stream has {stream}"
        yield StatisticProblem(typed[-1], "NEEL2216", message)


def _contradicting(declared: Sequence[Statistic]) -> Iterator[StatisticProblem]:
    """EVENTS, RATE and SPAN: two of them give the third."""
    known = {s.measure: s for s in declared if s.type is None and s.measure in ("EVENTS", "RATE", "SPAN")}
    if len(known) < 3:
        return
    length = {measure: LENGTHS[known[measure].unit or "SECOND"] for measure in ("RATE", "SPAN")}
    rate, span = known["RATE"].numbers[0] / length["RATE"], known["SPAN"].numbers[0] * length["SPAN"]
    expected, events = rate * span, known["EVENTS"].numbers[0]
    if abs(expected - events) > TOLERANCE * max(expected, events):
        message = (
            f"RATE and SPAN make {show_number(Decimal(round(expected)))} events, not {show_number(events)}"
        )
        yield StatisticProblem(
            known["EVENTS"], "NEEL2216", message, "two of EVENTS, RATE and SPAN determine the third"
        )
