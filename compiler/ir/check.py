"""The promises of a bound plan, tested: what comes after the binder relies on them."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.logical import Match
from neelc.ir.node import Node, children, walk
from neelc.ir.script import STRATEGIES
from neelc.ir.typeof import type_of
from neelc.ir.types import BOOLEAN, VOID
from neelc.ir.units import LENGTHS

_PARSER_FORMS = (e.Name, e.Member, e.Subscript, e.Slice, e.Parameter, e.Star, e.RunningFinal)


def check(match: Match) -> None:
    """Raise an `AssertionError` that names the broken promise, if one is broken.

    >>> from neelc.ir.logical import Clock
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
    _check_homes(match.pattern, frozenset(_targets(match.pattern)))
    for output in match.outputs:
        _check_outputs(output, frozenset(_targets(match.pattern)))
        kind = type_of(output.expression)
        assert kind == output.type, f"a column has the type of its expression: {output.name} {kind}"
    assert match.strategy in STRATEGIES, f"a strategy is one of STRATEGIES: {match.strategy}"


def _check_names(pattern: p.Pattern) -> None:
    seen: set[str] = set()
    for node in walk(pattern):
        match node:
            case p.Repeat(part, variable=variable):
                assert variable is not None, f"every Repeat has a variable: {node}"
                assert not isinstance(part, p.Event) or part.variable is None, (
                    f"a repeated event has no name: {node}"
                )
            case p.Event(variable=variable) if not _is_repeated(node, pattern):
                assert variable is not None, f"every Event that is not repeated has a variable: {node}"
            case _:
                continue
        assert variable not in seen, f"all variables differ: {variable} is declared twice"
        seen.add(variable)


def _is_repeated(event: p.Event, pattern: p.Pattern) -> bool:
    return any(isinstance(node, p.Repeat) and node.part is event for node in walk(pattern))


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
            case p.Seq(parts) | p.And(parts) | p.AndNeg(parts):
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
                unknown = set(variables) - set(_targets(part))
                assert not unknown, f"EXISTS drops variables of its part: {unknown}"
    assert not isinstance(pattern, p.Not), "a pattern is not negative"
    assert set(_targets(pattern)), "a match binds at least one event"


def _check_node(node: Node) -> None:
    assert not isinstance(node, _PARSER_FORMS), f"references are Attribute and its kin: {node}"
    match node:
        case e.Call(type=kind):
            assert kind is not None, f"every call has a type: {node}"
        case e.Attribute(type=kind) | e.Field(type=kind) | e.Item(type=kind) | e.EventTime(type=kind):
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
    for name in _names(node.where):
        assert name in above, f"each conjunct stands where its variables are visible: {name} in {node}"
    for same in walk(node.where) if node.where is not None else ():
        alone = same is node.where or (isinstance(node.where, e.Conjunction) and same in node.where.operands)
        assert not isinstance(same, e.Same) or alone, f"`[id]` is a conjunct of its own: {node}"
    match node:
        case p.Not(part):
            _check_homes(part, above | set(_targets(part)))
        case p.Repeat(part, variable=variable):
            _check_homes(part, (above | set(_targets(part))) - {variable or ""})
        case p.Exists(_, part):
            _check_homes(part, above | set(_targets(part)))
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
    for name in _names(node):
        assert name in results, f"results name variables that a match binds: {name}"
    for index in walk(node):
        assert not isinstance(index, e.Index) or index.anchor != "CURRENT", "`i` has no meaning in results"


def _names(node: Node | None) -> Iterator[str]:
    if node is not None:
        yield from (found.name for found in walk(node) if isinstance(found, e.Variable))


def _targets(node: p.Pattern) -> Iterator[str]:
    """The variables a part binds: those of closures are in the closure."""
    match node:
        case p.Event(variable=variable) | p.Repeat(variable=variable):
            yield variable or ""
        case p.Not():
            return
        case p.Exists(variables, part):
            yield from (name for name in _targets(part) if name not in variables)
        case _:
            for child in children(node):
                if isinstance(child, p.Pattern):
                    yield from _targets(child)
