"""Which events are still needed of keys that may go on.

A match that is not certain yet is one of these:

- It is decided after all that is known: then it starts no more than a window before that.
- It would be there if nothing came: the matcher tells when the first of these starts.
- It would be there only if a run went on. It is decided no earlier than that run's last event, which is the
  last one of its stream: so it starts no more than a window before that.

Negated symbols are looked for one window before the instant at which a match is decided, which is no earlier
than its start. Of each stream the last instants before are kept as well, which are in no match: they show
whether a run had begun before, and what PREV means.
"""

from __future__ import annotations

import numpy as np

from neelc.runtime.columns import Bools, Ints
from neelc.runtime.kernels.temporal.matching import TemporalMatcher, before_by
from neelc.runtime.kernels.temporal.program import TemporalProgram, looks_back
from neelc.runtime.kernels.temporal.runs import all_met


def span_of(program: TemporalProgram) -> int:
    """How long before the instant at which a match is decided an event can be that it needs."""
    assert program.reach is not None
    return program.reach * 2 if _has_absent(program) else program.reach


def _has_absent(program: TemporalProgram) -> bool:
    return any(one.absent for one in program.alternatives)


def oldest_needed(program: TemporalProgram, matcher: TemporalMatcher) -> Ints:
    """For each key the time before which no event can be in a match that is not certain yet, once all that
    are certain were found. The program has a window."""
    assert program.reach is not None
    needed = before_by(matcher.now, span_of(program))
    around = program.reach if _has_absent(program) else 0
    needed = np.minimum(needed, before_by(matcher.pending, around))
    for number, symbol in enumerate(program.symbols):
        if symbol.is_interval:
            stream = matcher.events.stream(number)
            is_true = all_met(stream, matcher.events.meets_alone(number))
            last = stream.instants[is_true & stream.is_last]
            key = matcher.key[last]
            needed[key] = np.minimum(needed[key], before_by(matcher.time[last], span_of(program)))
    return needed


def needed_events(program: TemporalProgram, matcher: TemporalMatcher, oldest: Ints) -> tuple[Bools, Bools]:
    """Which events are needed, those before the `oldest` time of their key not; and which of the others are
    kept as what was before."""
    line = matcher.line
    is_new = line.time >= oldest[matcher.key]
    context = np.zeros(line.size, dtype=np.bool_)
    shown = 1 + looks_back(program)
    for bit in {symbol.stream for symbol in program.symbols}:
        number = next(n for n, symbol in enumerate(program.symbols) if symbol.stream == bit)
        stream = matcher.events.stream(number)
        is_old = ~is_new[stream.instants]
        olds = np.concatenate([[0], np.cumsum(is_old)])
        # How many old instants of the key there are from each one on.
        behind = olds[stream.last_of_key + 1] - olds[:-1]
        context[stream.instants[is_old & (behind <= shown)]] = True
    needed = is_new[line.of_row]
    is_of_context = context[line.of_row]
    if matcher.events.context is not None:
        is_of_context |= matcher.events.context & needed
        needed &= ~matcher.events.context
    return needed, is_of_context
