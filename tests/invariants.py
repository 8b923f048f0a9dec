"""The promises of a bound plan, tested: what comes after the binder relies on them."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir import algebra as a
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.algebra import Agent, Aggregator, Coalesced, Operator, PatternMatcher, inputs_of, is_pointwise
from neelc.ir.expressions import Aggregate, Attribute, Expr, names_in
from neelc.ir.node import Node, children, walk
from neelc.ir.patterns import inner_parts, targets
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.ir.types import BOOLEAN, LENGTHS, VOID
from neelc.scalar.type_of import type_of

_PARSER_FORMS = (
    e.Name,
    e.MemberAccess,
    e.Subscript,
    e.Slice,
    e.Parameter,
    e.Star,
    e.RunningFinal,
    e.FilteredCall,
    e.NestedQuery,
)


def check(match: Match) -> None:
    """Raise an `AssertionError` that names the broken promise, if one is broken.

    >>> from neelc.ir.program import Clock
    >>> from neelc.ir.types import BIGINT
    >>> check(Match(p.Seq((p.Event("A", "a"), p.Event("A", "a"))), (), (), (), Clock(BIGINT, "SECOND")))
    Traceback (most recent call last):
    AssertionError: all variables differ: a is declared twice
    """
    _check_names(match.pattern)
    _check_types(match)
    _check_shape(match.pattern)
    for node in walk(match):
        _check_node(node)
    _check_homes(match.pattern, frozenset(targets(match.pattern)))
    for output in match.outputs:
        _check_outputs(output, frozenset(targets(match.pattern)))
        kind = type_of(output.expression)
        assert kind == output.type, f"a column has the type of its expression: {output.name} {kind}"
    assert match.strategy in SelectionStrategy, f"a strategy is one of SelectionStrategy: {match.strategy}"


def _check_names(pattern: p.Pattern) -> dict[str, type[p.Pattern]]:
    """All names declared in a part and what they are names of; only branches of an OR may share names."""
    match pattern:
        case p.Repeat(p.Event(variable=inner), variable=variable):
            assert variable is not None, f"every Repeat has a variable: {pattern}"
            assert inner is None, f"a repeated event has no name: {pattern}"
            return {variable: p.Repeat}
        case p.Event(variable=variable):
            assert variable is not None, f"every Event that is not repeated has a variable: {pattern}"
            return {variable: p.Event}
    seen: dict[str, type[p.Pattern]] = {}
    if isinstance(pattern, p.Repeat):
        assert pattern.variable is not None, f"every Repeat has a variable: {pattern}"
        seen[pattern.variable] = p.Repeat
    for part in inner_parts(pattern):
        for name, kind in _check_names(part).items():
            assert name not in seen or isinstance(pattern, p.Or), (
                f"all variables differ: {name} is declared twice"
            )
            assert seen.setdefault(name, kind) is kind, f"a variable is an event or a list: {name} is both"
    return seen


def _check_types(match: Match) -> None:
    types = {known.name for known in match.types}
    streams = {stream.name for stream in match.streams}
    for node in walk(match.pattern):
        if isinstance(node, p.Event):
            assert node.type in types, f"every type of the pattern is resolved: {node.type}"
    for known in match.types:
        assert known.members, f"every type has members: {known.name}"
        for member in known.members:
            assert member.stream in streams, f"members of types are streams of the query: {member.stream}"


def _check_shape(pattern: p.Pattern) -> None:
    for node in walk(pattern):
        match node:
            case p.Joint(parts):
                assert any(not isinstance(part, p.Not) for part in parts), (
                    f"every list has a positive part: {node}"
                )
            case p.Not():
                assert node.where is None and node.within is None, (
                    f"`!` has no condition and no window: {node}"
                )
            case p.Or(parts):
                assert not any(isinstance(part, p.Not) for part in parts), (
                    f"no branch of OR is negative: {node}"
                )
            case p.Exists(variables, part):
                unknown = set(variables) - set(targets(part))
                assert not unknown, f"EXISTS drops variables of its part: {unknown}"
    assert not isinstance(pattern, p.Not), "a pattern is not negative"
    assert set(targets(pattern)), "a match binds at least one event"


def _check_node(node: Node) -> None:
    assert not isinstance(node, _PARSER_FORMS), f"references are Attribute and its kin: {node}"
    match node:
        case e.Call(type=kind):
            assert kind is not None, f"every call has a type: {node}"
        case (
            e.Attribute(type=kind) | e.Field(type=kind) | e.ElementAccess(type=kind) | e.EventTime(type=kind)
        ):
            assert kind != VOID, f"every reference has a type: {node}"
        case p.Window(count, unit):
            assert isinstance(count, e.Literal) and type(count.value) is int, (
                f"`within.count` is a literal: {node}"
            )
            assert unit == "EVENT" or unit in LENGTHS, f"`within.unit` is a unit of time or EVENT: {unit}"


def _check_homes(node: p.Pattern, above: frozenset[str]) -> None:
    """Each condition names only what is visible where it stands: in a negative part, its own too."""
    if node.where is not None:
        assert type_of(node.where) == BOOLEAN, f"conditions are BOOLEAN: {node.where}"
        _check_casts(node.where)
    for name in names_in(node.where):
        assert name in above, f"each conjunct stands where its variables are visible: {name} in {node}"
    for same in walk(node.where) if node.where is not None else ():
        alone = same is node.where or (isinstance(node.where, e.Conjunction) and same in node.where.operands)
        assert not isinstance(same, e.SameAttributes) or alone, f"`[id]` is a conjunct of its own: {node}"
    match node:
        case p.Not(part):
            _check_homes(part, above | set(targets(part)))
        case p.Repeat(part, variable=variable):
            _check_homes(part, (above | set(targets(part))) - {variable or ""})
        case p.Exists(_, part):
            _check_homes(part, above | set(targets(part)))
        case _:
            for child in children(node):
                if isinstance(child, p.Pattern):
                    _check_homes(child, above)


def _check_casts(node: Node, inside: bool = False) -> None:
    if isinstance(node, e.Binary) and node.op in e.COMPARISONS:
        left, right = type_of(node.left, inside), type_of(node.right, inside)
        assert left == right, f"implicit casts are explicit: {left} and {right} in {node}"
    for child in children(node):
        _check_casts(child, inside or isinstance(node, e.Aggregate))


def _check_outputs(node: Node, results: frozenset[str]) -> None:
    for name in names_in(node):
        assert name in results, f"results name variables that a match binds: {name}"
    for index in walk(node):
        assert not isinstance(index, e.Index) or index.anchor != "CURRENT", "`i` has no meaning in results"


# The promises of a bound network, tested: what comes after the binder relies on them.


def check_algebra(query: a.Algebra) -> None:
    """Raise an `AssertionError` that names the broken promise, if one is broken.

    >>> from neelc.ir.program import Clock, Column, Stream
    >>> from neelc.ir.types import BIGINT
    >>> clock = Clock(BIGINT, "SECOND")
    >>> source = a.StreamSource("s", Stream("S", (Column("ts", BIGINT),), "ts"), clock=clock)
    >>> check_algebra(a.Algebra(a.Correlator((source, source)), clock))
    Traceback (most recent call last):
    AssertionError: variables of the inputs of a correlator differ: s
    """
    for node in walk(query.root):
        if isinstance(node, a.Operator):
            _check_operator(node)
    assert has_own_events(query.root), "the rows of a result are its events"
    names = [column.name.casefold() for column in query.columns]
    assert len(set(names)) == len(names), f"columns of a result differ: {names}"


def _check_operator(node: a.Operator) -> None:
    below = a.inputs_of(node)
    known = {attribute for one in below for attribute in one.payload}
    for expression in _expressions(node):
        for inner in walk(expression):
            if isinstance(inner, Attribute):
                assert inner in known, f"references are attributes of the input: {inner}"
                assert inner.type != VOID, f"every reference has a type: {inner}"
    match node:
        case a.Filter(_, condition) | a.Correlator(_, Expr() as condition):
            assert type_of(condition) == BOOLEAN, f"conditions are BOOLEAN: {condition}"
        case a.Aggregator(aggregates=aggregates):
            for one in aggregates:
                assert isinstance(one.expression, Aggregate), f"aggregates are single ones: {one}"
                is_known = one.expression.function is not None or one.expression.name in a.AGGREGATES
                assert is_known, f"no aggregate of snapshots: {one}"
        case a.TimeWindow() | a.CountWindow() | a.PatternMatcher():
            assert has_own_events(node.input), f"what asks for events stands above them: {node}"
    if isinstance(node, a.Correlator):
        _check_variables(node)
    else:
        assert not any(isinstance(one, a.RelationSource) for one in below), (
            "a relation is an input of a correlator"
        )


def _check_variables(node: a.Correlator) -> None:
    seen: set[str] = set()
    for input in node.inputs:
        here = {str(attribute.event) for attribute in input.payload}
        assert not here & seen, f"variables of the inputs of a correlator differ: {', '.join(here & seen)}"
        seen |= here


def _expressions(node: a.Operator) -> Iterator[Expr]:
    match node:
        case a.Filter(_, condition) | a.Correlator(_, Expr() as condition):
            yield condition
        case a.CountWindow(partition=partition):
            yield from partition
        case a.Aggregator(_, _, groups, aggregates):
            yield from (one.expression for one in (*groups, *aggregates))
        case a.Projection(_, _, outputs):
            for one in outputs:
                assert type_of(one.expression) == one.type, f"a column has the type of its expression: {one}"
                yield one.expression


def has_own_events(operator: Operator) -> bool:
    """Whether it is clear which its events are, not only which payloads are valid at every instant.

    An aggregator only gives values: whether an average of 3 that lasts is one event or several, it does not.
    Its result, combined with an event of one instant, is one event again.
    """
    if isinstance(operator, Aggregator):
        return False
    if isinstance(operator, Coalesced | PatternMatcher | Agent) or is_pointwise(operator):
        return True
    return all(map(has_own_events, inputs_of(operator)))
