"""Why, for MATCH_RECOGNIZE: from rows to the explanations of those that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neelc.data.values import Misfit, from_text
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError
from neelc.ir.recognize import Recognize
from neelc.ir.row_values import ROW
from neelc.ir.typeof import type_of
from neelc.reasons.keys import is_wanted, no_such_key, text_of, wanted_of
from neelc.reasons.model import Explanation, Why
from neelc.reasons.row_starts import explained_rows
from neelc.reasons.texts import shown
from neelc.reasons.whole import FEWER, MAX_EVENTS
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Context, Event
from neelc.runtime.reference.recognize import in_partitions
from neelc.runtime.reference.row_values import Row
from neelc.runtime.reference.values import order
from neelc.source import Source, Span


def why_rows(
    query: Recognize,
    rows: Sequence[Row],
    key: Sequence[str],
    between: Sequence[str] | None,
    source: Source,
    span: Span,
) -> Why:
    """The explanations of the rows of the partitions, and of the times, that are asked for."""
    names = query.partition
    asked = wanted_of(names, key)
    partitions = [(_key(query, partition), partition) for partition in in_partitions(query, rows)]
    chosen = [(texts, some) for texts, some in partitions if is_wanted(texts, asked)]
    if asked and not chosen:
        raise no_such_key(asked, [texts for texts, _ in partitions])
    if (count := sum(len(some) for _, some in chosen)) > MAX_EVENTS:
        message = f"{count:,} rows to explain: the limit MAX_EVENTS is {MAX_EVENTS:,}"
        raise NeelError([Diagnostic("NEEL5007", message, span, FEWER)], source)
    bounds = None if between is None else _bounds(query, between)
    found = [
        one
        for _, some in sorted(chosen, key=lambda one: list(one[0].values()))
        for one in _told(query, some, bounds)
    ]
    return Why(str(query.pattern), tuple(found))


def _key(query: Recognize, partition: Sequence[Row]) -> dict[str, str]:
    return {name: text_of(partition[0][name]) for name in query.partition}


def _told(query: Recognize, rows: Sequence[Row], bounds: Sequence[object] | None) -> Iterator[Explanation]:
    key = {name: shown(rows[0][name]) for name in query.partition}
    for row, one in zip(rows, explained_rows(query, rows, key), strict=True):
        if bounds is None or _is_between(query, row, bounds):
            yield one


def _is_between(query: Recognize, row: Row, bounds: Sequence[object]) -> bool:
    value = evaluate(query.order[0].expression, Context({ROW: Event("", 0, None, 0, 0, row, (None, None))}))
    low, high = bounds
    return value is not None and order(low, value) <= 0 <= order(high, value)


def _bounds(query: Recognize, between: Sequence[str]) -> list[object]:
    """The values of `--between`, as the first of ORDER BY has them."""
    if not query.order:
        raise CallError("between: the clause has no ORDER BY")
    type = type_of(query.order[0].expression)
    try:
        return [from_text(text, type) for text in between]
    except Misfit:
        raise CallError(f"between {' '.join(between)}: not values of type {type}") from None
