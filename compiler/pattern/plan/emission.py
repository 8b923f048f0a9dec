"""When the matches of a query over streams are sure: whatever has yet to come cannot take them back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from neelc.ir.patterns import (
    And,
    AndNeg,
    Event,
    Exists,
    Not,
    Optional,
    Or,
    Pattern,
    Repeat,
    Seq,
    all_parts,
    may_be_empty,
    targets,
)
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.plan.blocks import UnboundedState
from neelc.pattern.plan.columns import width_of
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.runtime.program import Emission, PatternProgram, StreamedPattern


@dataclass(frozen=True)
class StreamPlan:
    """How a query is executed over streams: the plan of its matches, and when they are sure."""

    planned: KernelPlan
    streamed: StreamedPattern

    @property
    def program(self) -> PatternProgram:
        return self.planned.program


def streamed_pattern(query: Match, program: PatternProgram, unit: str) -> StreamedPattern:
    """The program of a query for streams; raises `UnboundedState` if its state would grow without bound."""
    if query.within is None:
        raise UnboundedState("a pattern without WITHIN over a stream without end: every event would be kept")
    width, counted = width_of(query.within, unit)
    window, events = (None, width) if counted else (width, None)
    return StreamedPattern(program, emission_of(query, program), window, events)


def emission_of(query: Match, program: PatternProgram) -> Emission:
    """When matches are sure.

    A negation between two positive parts is decided when the watermark reaches the second; one at the end,
    or in an AND, when the window has passed. Selection strategies and windows of EVENTS depend on all
    events up to the end of a match.

    >>> from pattern_examples import kernel_program, query
    >>> def emission(text):
    ...     match = query(text)
    ...     return emission_of(match, kernel_program(match))
    >>> emission("SEQ(A a, B+ b[], C c) WITHIN 9").is_immediate
    True
    >>> emission("SEQ(A a, !B b, SEQ(C c, D d)) WITHIN 9").before
    (('c', 'd'),)
    >>> emission("SEQ(A a, !B b) WITHIN 9").window
    True
    """
    if query.partial is not None:
        return Emission(window=True)
    scopes = set(_scopes(query.pattern, None))
    bound = {name for output in program.outputs for name, _ in output.bound}
    groups = sorted({scope.group for scope in scopes if scope.group and set(scope.group) <= bound})
    is_lost = any(scope.group and not set(scope.group) <= bound for scope in scopes)
    exists = any(isinstance(part, Exists) for part in all_parts(query.pattern))
    negative = any(isinstance(part, Not) for part in all_parts(query.pattern))
    counted = program.counted
    return Emission(
        window=any(scope.is_open for scope in scopes)
        or (exists and negative)
        or (query.collapsed and _has_open_list(query.pattern)),
        end=query.strategy != SelectionStrategy.ANY_MATCH
        or counted
        or is_lost
        or query.collapsed
        or any(scope.is_inside for scope in scopes),
        before=tuple(groups),
        compared=exists or program.unique,
    )


@dataclass(frozen=True)
class ScopeEnd:
    """Where the scope of a negation ends: when the first event of `group` starts; not before the window
    ends, if it `is_open`; or somewhere inside of the match."""

    group: tuple[str, ...] = ()
    is_open: bool = False
    is_inside: bool = False


OPEN, INSIDE = ScopeEnd(is_open=True), ScopeEnd(is_inside=True)


def _scopes(part: Pattern, after: ScopeEnd | None) -> Iterator[ScopeEnd]:
    """The ends of all negations' scopes in a part; `after` is where its own scope ends, None: with the
    window."""
    match part:
        case Not():
            yield after or OPEN
        case Seq(parts):
            for place, inner in enumerate(parts):
                yield from _scopes(inner, _following(parts[place + 1 :]) or after)
        case AndNeg(parts):
            for inner in parts:
                yield from _scopes(inner, INSIDE if isinstance(inner, Not) else after)
        case And(parts) | Or(parts):
            for inner in parts:
                yield from _scopes(inner, after)
        case Repeat(inner):
            # In an iteration, the next one may come first, or the names are not those of the match.
            for scope in _scopes(inner, after):
                yield replace(INSIDE, is_open=scope.is_open)
        case Exists(_, inner) | Optional(inner):
            yield from _scopes(inner, after)


def _following(parts: Sequence[Pattern]) -> ScopeEnd | None:
    """Where a scope ends that parts of a SEQ follow: at the first that is not absent."""
    for part in parts:
        if not isinstance(part, Not) and not may_be_empty(part):
            return ScopeEnd(targets(part))
    return None


def _has_open_list(pattern: Pattern) -> bool:
    """Whether RETURN COLLAPSED has lists that may grow until the window ends: a single event must come
    after each."""
    match pattern:
        case Seq(parts):
            last = max((n for n, part in enumerate(parts) if isinstance(part, Event)), default=-1)
            return any(
                isinstance(node, Repeat) for part in parts[last + 1 :] for node in all_parts(part)
            ) or any(_has_open_list(part) for part in parts if not isinstance(part, Event | Repeat | Not))
        case Event() | Not():
            return False
    return any(isinstance(node, Repeat) for node in all_parts(pattern))
