"""What WITH PARTIAL MATCHES returns: the items of RETURN, said of the branch that was reached, how far that
is, and why it is not further."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.logical import Match, OutputColumn
from neelc.ir.names import bare
from neelc.ir.node import Node, transform
from neelc.ir.show_pattern import as_written
from neelc.ir.types import INT, STRING, DataType

REACHED, STEP, STOPPED, REACHED_AT = "reached", "step", "stopped", "reached_at"
COLUMNS = (REACHED, STEP, STOPPED, REACHED_AT)
COMPLETE, NO_EVENT = "complete", "no event"


@dataclass(frozen=True)
class Branch:
    """A prefix as a branch: its last step, None if that is the one before; the names of its variables; and
    the reasons why it may have no match, each with the first variable of the branch that tells it."""

    step: p.Pattern | None
    names: Mapping[str, str]
    reasons: tuple[tuple[str, str], ...]


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """A part of a pattern, or an expression, with other variables."""
    return transform(node, lambda one: _renamed(one, names))


def _renamed(node: Node, names: Mapping[str, str]) -> Node | None:
    match node:
        case e.Variable(name) if name in names:
            return replace(node, name=names[name])
        case p.Event(variable=str() as name) | p.Repeat(variable=str() as name) if name in names:
            return replace(node, variable=names[name])
        case p.Exists(variables):
            return replace(node, variables=tuple(names.get(name, name) for name in variables))
    return None


def partial_outputs(
    match: Match, branches: Sequence[Branch], start: str, time: DataType
) -> tuple[OutputColumn, ...]:
    """The columns of a query whose matches begin with `start`, an event whose time has this type."""
    firsts = [_is_there(branch.names[start], time) for branch in branches]
    outputs = [
        replace(
            output,
            expression=_of_branch(firsts, [_in(output.expression, branch, branches) for branch in branches]),
        )
        for output in match.outputs
    ]
    return (*outputs, *_own_columns(match, branches, firsts, time))


def _is_there(variable: str, time: DataType) -> e.Expr:
    """Every event has a time."""
    return e.IsNull(e.EventTime(e.Variable(variable), "ts", time), negated=True)


def _of_branch(firsts: Sequence[e.Expr], values: Sequence[e.Expr]) -> e.Expr:
    """The value for the branch that is there."""
    if all(value == values[0] for value in values):
        return values[0]
    whens = tuple(map(e.When, firsts, values))
    return e.Case(None, whens[:-1], values[-1])


def _in(expression: e.Expr, branch: Branch, branches: Sequence[Branch]) -> e.Expr:
    """What RETURN says, of the variables of a branch. One that it has not reached has the name that it has in
    the first branch that reaches it: it is NULL where this branch is there."""
    names: dict[str, str] = {}
    for other in (branch, *branches):
        names = {**other.names, **names}
    found = renamed(expression, names)
    assert isinstance(found, e.Expr)
    return found


def _own_columns(
    match: Match, branches: Sequence[Branch], firsts: Sequence[e.Expr], time: DataType
) -> Iterator[OutputColumn]:
    steps = [branch.step for branch in branches if branch.step is not None]
    number = [e.Literal(min(place, len(steps)), INT) for place in range(1, len(branches) + 1)]
    yield OutputColumn(REACHED, _of_branch(firsts, number), INT)
    names = [name_of(steps[min(place, len(steps) - 1)]) for place in range(len(branches))]
    yield OutputColumn(STEP, _of_branch(firsts, [e.Literal(name, STRING) for name in names]), STRING)
    yield OutputColumn(STOPPED, _stopped(branches, firsts, time), STRING)
    clock = match.clock.type
    yield OutputColumn(REACHED_AT, e.MatchProperty("match_end", clock), clock)


def _stopped(branches: Sequence[Branch], firsts: Sequence[e.Expr], time: DataType) -> e.Expr:
    """Of the reasons, only those for the branch after the one that was reached are kept with it."""
    reasons = (reason for branch in branches for reason in branch.reasons)
    whens = [e.When(_is_there(variable, time), e.Literal(why, STRING)) for why, variable in reasons]
    complete = e.When(firsts[-1], e.Literal(COMPLETE, STRING))
    return e.Case(None, (complete, *whens), e.Literal(NO_EVENT, STRING))


def name_of(step: p.Pattern) -> str:
    """How a step is called: by its variable, or by its text if it is a pattern of its own.

    >>> from neelc.parse import pattern
    >>> [name_of(part) for part in pattern("SEQ(A a, B+ b[], AND(C c, D d))").parts]
    ['a', 'b', 'AND(C c, D d)']
    """
    match step:
        case p.Event(variable=str() as name) | p.Repeat(variable=str() as name):
            return bare(name)
    return str(as_written(step))
