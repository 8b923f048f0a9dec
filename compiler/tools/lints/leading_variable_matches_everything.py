"""The lint `leading_variable_matches_everything`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.errors import Diagnostic
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import has_same, names_in
from neelc.ir.patterns import all_parts, inner_parts, may_be_empty
from neelc.ir.script import SelectionStrategy
from neelc.pattern.rules.close_equalities import close_equalities
from neelc.tools.lints.lint import LintedQuery


def leading_variable_matches_everything(linted: LintedQuery) -> Iterator[Diagnostic]:
    """The first event of a SEQ can be any event of all streams: a match may start everywhere.

    >>> from lint_examples import shown
    >>> lint = leading_variable_matches_everything
    >>> print(shown(lint, "SEQ(S a, B b) WITHIN 5"))
    S a: `a` can be any event, so a match may start at every event
    >>> print(shown(lint, "SEQ(S+ a[], B b) WHERE [id] AND a[1].user = b.user WITHIN 5"))
    S+ a[]: `a` can be any event, so a match may start at every event

    Not if the type or a condition says which events are meant, be it through others that are equal:

    >>> shown(lint, "SEQ(A a, S b) WITHIN 5"), shown(lint, "SEQ((S a : a.x > 1), B b) WITHIN 5")
    (None, None)
    >>> shown(lint, "SEQ(S a, B b) WHERE a.id = b.id AND b.id = 7 WITHIN 5")

    Nor if events are compared with the first one: then that one is any event on purpose. Nor if a negation
    stands next to it: then its neighbours matter.

    >>> shown(lint, "SEQ(S a, S b) WHERE b.x > a.x WITHIN 5"), shown(lint, "SEQ(!S s, S a, B b) WITHIN 5")
    (None, None)

    Nor if all events are alike and belong together: several events with one id are a pattern of their own.

    >>> shown(lint, "SEQ(S a, S b, S c) WHERE [id] WITHIN 5")
    >>> print(shown(lint, "SEQ(S a, S b) WITHIN 5"))
    S a: `a` can be any event, so a match may start at every event

    Contiguity decides at the next event, so that many starts cost little.

    >>> shown(lint, "SEQ(S a, B b) USING STRICT CONTIGUITY")
    """
    if linted.match.strategy not in (SelectionStrategy.ANY_MATCH, SelectionStrategy.NEXT_MATCH):
        return
    # What equalities imply is a condition as well, whatever the strategy.
    closed = close_equalities(replace(linted.match, strategy=SelectionStrategy.ANY_MATCH)) or linted.match
    closed_asked = replace(linted, match=closed)
    for part in _leading(closed.pattern):
        if _is_any_event(part, closed_asked) and not _is_repetition(part, closed_asked):
            name = part.variable
            typed = any(stream.type_column for stream in closed.streams)
            needed = "a type or a condition" if typed else "a condition"
            hint = f"give `{name}` {needed}, unless it should match every event"
            message = f"`{name}` can be any event, so a match may start at every event"
            yield linted.warning("NEEL6001", message, part, hint)


Component = p.Event | p.Repeat


def _leading(part: p.Pattern) -> Iterator[Component]:
    """The components that a SEQ in `part` can begin with, if something must follow."""
    match part:
        case p.Or(parts):
            for branch in parts:
                yield from _leading(branch)
        case p.Seq((first, following, *rest)):
            if isinstance(following, p.Not) or all(map(may_be_empty, (following, *rest))):
                return
            for begin in first.parts if isinstance(first, p.Or) else (first,):
                match begin:
                    case p.Event() | p.Repeat(p.Event()):
                        yield begin
                    case _:
                        yield from _leading(begin)


def _is_any_event(part: Component, linted: LintedQuery) -> bool:
    """Whether the type is that of all events, and no condition says more than that some are equal. A named
    query has chosen its events."""
    event = part if isinstance(part, p.Event) else part.part
    if not isinstance(event, p.Event):
        return False
    members = linted.facts.type(event.type).members
    whole = {member.stream for member in members if member.value is None}
    if not all(stream.name in whole and stream.producer is None for stream in linted.match.streams):
        return False
    about = [(conjunct, at) for conjunct, at in linted.conditions if part.variable in names_in(conjunct)]
    return all(_is_key(conjunct) or linted.is_always_true(conjunct, at) for conjunct, at in about)


def _is_key(conjunct: e.Expr) -> bool:
    """Whether a conjunct says that two events have something in common."""
    match conjunct:
        case e.Binary("=" | "<=>", left, right):
            one, other = names_in(left), names_in(right)
            return bool(one and other) and not one & other
    return False


def _is_repetition(leading: Component, linted: LintedQuery) -> bool:
    """Whether the pattern asks for several events of any kind that have something in common."""
    pattern = linted.match.pattern
    keys = [conjunct for conjunct, _ in linted.conditions if _is_key(conjunct)]
    together = any(leading.variable in names_in(key) for key in keys) or any(
        has_same(part.where) for part in all_parts(pattern)
    )
    return together and all(_is_any_event(part, linted) for part in _components(pattern))


def _components(part: p.Pattern) -> Iterator[Component]:
    """The positive components of a pattern."""
    match part:
        case p.Event() | p.Repeat(p.Event()):
            yield part
        case p.Not():
            return
        case _:
            for inner in inner_parts(part):
                yield from _components(inner)
