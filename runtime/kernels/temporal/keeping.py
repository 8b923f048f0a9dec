"""Which events are still needed of keys that may go on.

A match that is not certain yet is one of these:

- It is decided after all that is known: then it starts no more than a window before that.
- It would be there if nothing came: the matcher tells when the first of these starts.
- It would be there only if a run went on. It is decided no earlier than that run's last event, which is the
  last one of its stream: so it starts no more than a window before that.

Negated symbols are looked for from one window before the instant at which a match is decided, which is no
earlier than its start: events that old may spoil matches, and be in none. Of each stream the last instants
before these are kept as well: they show whether a run had begun before, and what PREV means.

Where only the ends of runs are read, no events are kept at which nothing begins or ends: of a run that goes
on for long, those at its ends.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neelc.runtime.columns import Bools, Ints
from neelc.runtime.kernels.temporal.certainty import CertainMatcher
from neelc.runtime.kernels.temporal.matching import before_by
from neelc.runtime.kernels.temporal.program import RunPart, TemporalProgram, looks_back
from neelc.runtime.kernels.temporal.runs import SHOWN, Roles

DROPPED = -1
"""The role of events that are not needed."""


def span_of(program: TemporalProgram) -> int:
    """How long before an instant an event can be that a match needs which is decided then."""
    assert program.reach is not None
    return program.reach * 2 if has_absent(program) else program.reach


def has_absent(program: TemporalProgram) -> bool:
    return any(one.absent for one in program.alternatives)


def first_starts(program: TemporalProgram, matcher: CertainMatcher) -> Ints:
    """For each key the time before which no match starts that is not certain yet, once all that are certain
    were found. The program has a window."""
    assert program.reach is not None
    found: Ints = np.minimum(before_by(matcher.now, program.reach), matcher.pending)
    for number, symbol in enumerate(program.symbols):
        if symbol.is_interval:
            stream = matcher.events.stream(number)
            last = stream.instants[matcher.events.all_meet(number) & stream.is_last]
            key = matcher.key[last]
            found[key] = np.minimum(found[key], before_by(matcher.time[last], program.reach))
    return found


def roles_left(program: TemporalProgram, matcher: CertainMatcher, first: Ints) -> Roles:
    """The roles of events for matches that start no earlier than `first`, for each key."""
    line = matcher.line
    assert program.reach is not None
    time, first = line.time, first[matcher.key]
    spoiling = before_by(first, program.reach) if has_absent(program) else first
    roles: Roles = ((time >= first).astype(np.int8) + (time >= spoiling)).astype(np.int8)
    if matcher.events.roles is not None:  # what was forgotten once is not known any more
        roles = np.minimum(roles, matcher.events.roles[line.begin])
    is_kept = np.zeros(line.rows, dtype=np.bool_)
    shown = 1 + looks_back(program)
    for numbers in _of_each_stream(program):
        stream = matcher.events.stream(numbers[0])
        is_outer = ~_is_inner(matcher, numbers)
        is_old = (roles[stream.instants] == SHOWN) & is_outer
        olds = np.concatenate([[0], np.cumsum(is_old)])
        # How many old instants of the key there are from each one on.
        behind = olds[stream.last_of_key + 1] - olds[:-1]
        is_kept[stream.rows] |= (is_outer & (~is_old | (behind <= shown)))[stream.place]
    return np.where(is_kept, roles[line.of_row], np.int8(DROPPED))


def _of_each_stream(program: TemporalProgram) -> list[list[int]]:
    """The symbols that are about the same stream."""
    found: dict[int | None, list[int]] = {}
    for number, symbol in enumerate(program.symbols):
        found.setdefault(symbol.stream, []).append(number)
    return list(found.values())


def _are_all_read(program: TemporalProgram) -> bool:
    """Whether conditions or outputs may read any event, not only those at the ends of runs."""
    return any(one.conditions for one in program.symbols) or any(
        one.part is RunPart.ALL for one in program.outputs
    )


def _is_inner(matcher: CertainMatcher, symbols: Sequence[int]) -> Bools:
    """For each instant of a stream whether nothing begins or ends there that its symbols say: without these,
    all runs have the same ends."""
    stream = matcher.events.stream(symbols[0])
    if _are_all_read(matcher.program):
        return np.zeros(len(stream.instants), dtype=np.bool_)
    is_inner = ~stream.is_first & ~stream.is_last
    for number in symbols:
        if matcher.program.symbols[number].is_interval:
            is_true = matcher.events.all_meet(number)
            changes = is_true[1:] != is_true[:-1]
            is_inner[1:] &= ~changes
            is_inner[:-1] &= ~changes
        else:
            is_inner[stream.place[matcher.events.meets_alone(number)[stream.rows]]] = False
    return is_inner
