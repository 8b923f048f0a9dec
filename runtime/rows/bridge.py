"""From Spark to row patterns and back: the function that `DataFrame.mapInArrow` runs on each partition.

Once all rows of some keys have come, or enough of a long one (`neelc.runtime.rows.arriving`), their matches
are found and become rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import numpy as np
import pyarrow as pa

from neelc.runtime.failures import INTERNAL, MEMORY, Facts, KernelFailure
from neelc.runtime.rows import navigation
from neelc.runtime.rows.arriving import Arrived, Batches, Progress, Waiting
from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.failing import RowFailure, key_text
from neelc.runtime.rows.matches import listed
from neelc.runtime.rows.navigation import Found, Views
from neelc.runtime.rows.program import Member, Number, Output, Property, RowProgram, Value, Values
from neelc.runtime.rows.recognizing import Piece, recognize, recognize_piece

ROWS_AT_ONCE = 250_000
ROWS_IN_BATCH = 50_000


def recognizer(
    program: RowProgram, rows_at_once: int = ROWS_AT_ONCE, time_zone: str | None = None
) -> Callable[[Batches], Batches]:
    """The function that finds the matches of one of Spark's partitions.

    `time_zone` is that of the session, for conditions that depend on it and are judged here.
    """
    return partial(_run, program, rows_at_once, time_zone)


def _run(program: RowProgram, rows_at_once: int, time_zone: str | None, batches: Batches) -> Batches:
    waiting = Waiting(program, rows_at_once)
    search = partial(_searched, program, time_zone)
    for batch in batches:
        if waiting.add(batch):
            for arrived in waiting.complete(is_last=False):
                yield from search(arrived)
            yield from waiting.search_open(search)
    for arrived in waiting.complete(is_last=True):
        yield from search(arrived)


def _searched(
    program: RowProgram, time_zone: str | None, arrived: Arrived
) -> Generator[pa.RecordBatch, None, Progress]:
    """The rows of the result, and how far a key has been searched."""
    rows, heads, before = arrived.rows, arrived.heads, arrived.progress or Progress()
    count = rows.num_rows
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    number, matched = before.number, before.matched
    is_done = np.zeros(count, dtype=np.bool_)
    is_done[: max(before.begin, matched)] = True
    with _explained(program, columns), _clock(time_zone):
        if arrived.progress is None:
            matches, decided = recognize(program, columns, heads, count), count
        else:
            piece = Piece(count, before.before, before.begin, number, arrived.is_open)
            matches, decided = recognize_piece(program, columns, piece)
        for one in matches:
            found = Found(program, one, heads, count)
            views = navigation.all_rows_per_match if program.all_rows else navigation.one_row_per_match
            yield from _batches(found, views(found), columns)
            number += len(one.start)
            matched = max(matched, int((one.start + one.length).max(initial=0)))
            if program.all_rows == "UNMATCHED":
                is_done[found.taken] = True
                is_done[one.start] = True
        if program.all_rows == "UNMATCHED":
            nothing = Found(program, listed((), (), (), heads), heads, count)
            yield from _batches(
                nothing, navigation.unmatched_rows(np.flatnonzero(~is_done[:decided])), columns
            )
    return Progress(before.before, decided, number, matched)


def _batches(found: Found, views: Views, columns: dict[str, pa.Array]) -> Batches:
    for first in range(0, len(views.match), ROWS_IN_BATCH):
        piece = slice(first, first + ROWS_IN_BATCH)
        part = Views(views.match[piece], views.seen[piece], views.row[piece])
        yield _batch(found, part, columns)


def _batch(found: Found, views: Views, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    program = found.program
    arrays = {
        name: columns[name].take(pa.array(views.row)) for name in dict.fromkeys((*program.keys, *program.own))
    }
    for output in program.outputs:
        arrays[output.name] = _output(output, found, views, columns)
    if not arrays:
        # Arrow would forget how many rows there are.
        raise ValueError("the program has no outputs")
    return pa.RecordBatch.from_pydict(arrays)


def _output(output: Output, found: Found, views: Views, columns: dict[str, pa.Array]) -> pa.Array:
    unmatched = views.match < 0
    match output:
        case Value(_, at, column):
            rows = found.rows(views, at)
            if column is None:
                return _names(found, found.variables_at(views, rows))
            return columns[column].take(pa.array(rows, mask=rows < 0))
        case Number(_, variables, final):
            before, upto = found.numbers(views, variables, final)
            return pa.array(upto - before, mask=unmatched)
        case Values(_, variables, column):
            return _values(found, views, variables, None if column is None else columns[column])
        case Member(_, variables):
            mapped = found.is_mapped(variables)
            is_mapped = mapped[views.seen] if len(mapped) else np.zeros(len(views.seen), dtype=np.bool_)
            return pa.array(is_mapped & (views.seen >= 0), mask=unmatched)
        case Property(_, "MATCH_NUMBER"):
            numbers = found.matches.number
            known = numbers[np.maximum(views.match, 0)] if len(numbers) else np.zeros_like(views.match)
            return pa.array(known, mask=unmatched)
        case Property(_, "ROW"):
            return pa.array(views.row)
        case Property():
            excluded = np.array(found.program.machine.excluded, dtype=np.bool_)
            places = found.matches.places
            is_excluded = excluded[places[views.seen]] if len(places) else np.zeros(len(views.seen), np.bool_)
            return pa.array(is_excluded & (views.seen >= 0))
    raise AssertionError(f"{output} is no output")


def _names(found: Found, variables: Ints) -> pa.Array:
    names = pa.array(found.program.names, type=pa.string())
    return names.take(pa.array(variables, mask=variables < 0))


def _values(found: Found, views: Views, variables: int, column: pa.Array | None) -> pa.Array:
    """For each match the values of the rows that are mapped to the variables."""
    before, upto = found.numbers(views, variables, True)
    mapped = np.flatnonzero(found.is_mapped(variables))
    lengths = upto - before
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    places = np.arange(offsets[-1]) + np.repeat(before - offsets[:-1], lengths)
    chosen = mapped[places]
    if column is None:
        values = _names(found, found.variable[chosen])
    else:
        values = column.take(pa.array(found.taken[chosen]))
    return pa.ListArray.from_arrays(pa.array(offsets), values)


@contextmanager
def _clock(time_zone: str | None) -> Iterator[None]:
    if time_zone is None:
        yield
        return
    from neelc.runtime.reference.evaluate import by_clock_of

    with by_clock_of(time_zone):
        yield


@contextmanager
def _explained(program: RowProgram, columns: Mapping[str, pa.Array]) -> Iterator[None]:
    try:
        yield
    except RowFailure as failure:
        key = key_text(program.keys, columns, failure.row)
        raise failure.about(part=program.label, key=key) from failure
    except KernelFailure as failure:
        raise failure.about(part=program.label) from failure
    except MemoryError as error:
        facts = Facts(MEMORY, "a worker has not enough memory for the rows of a partition", program.label)
        raise KernelFailure(facts) from error
    except Exception as error:
        raise KernelFailure(Facts(INTERNAL, f"{type(error).__name__}: {error}", program.label)) from error
