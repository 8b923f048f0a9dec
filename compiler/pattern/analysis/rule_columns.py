"""What a row of many rules says beside the rule's own columns: its key, and when the match started and
ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.expressions import (
    Attribute,
    Call,
    EventRef,
    Expr,
    Index,
    InnerVariable,
    ListElement,
    MatchProperty,
    SameAttributes,
    Variable,
    conjuncts,
)
from neelc.ir.names import bare, same, written
from neelc.ir.patterns import Pattern, all_parts, targets
from neelc.ir.program import Match, OutputColumn
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.operators import cast_to, common_of
from neelc.scalar.type_of import type_of

MATCH_TIMES = ("match_start", "match_end")

KEY, TIME = "key of ", "time of "
"""What the names of the columns begin with that a rule has beside its own."""


@dataclass(frozen=True)
class RuleQuery:
    """A query whose rows belong to a rule: its outputs are those of the rule, then the values of its `keys`,
    by their names, then the times of the match, if it `has_times`. A row that stands for many matches has
    neither."""

    match: Match
    keys: tuple[str, ...] = ()
    has_times: bool = False

    @property
    def own(self) -> tuple[OutputColumn, ...]:
        """The rule's own columns."""
        added = len(self.keys) + 2 * self.has_times
        return self.match.outputs[: len(self.match.outputs) - added]

    @property
    def key_outputs(self) -> tuple[OutputColumn, ...]:
        return self.match.outputs[len(self.own) :][: len(self.keys)]


def rule_query(match: Match) -> RuleQuery:
    """The query of a rule, with its key and its times.

    >>> from pattern_examples import query
    >>> rule = rule_query(query("SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN b.x"))
    >>> [(output.name, str(output.expression)) for output in rule.match.outputs]
    [('b_x', 'b.x'), ('key of id', 'a.id'), ('time of match_start', 'match_start'), \
('time of match_end', 'match_end')]
    >>> rule_query(query("SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN count(*)")).keys
    ()
    """
    if match.aggregated or match.distinct:
        return RuleQuery(match)
    keys = dict(_keys(match))
    kind = match.clock.type
    times = [OutputColumn(f"{TIME}{name}", MatchProperty(name, kind), kind) for name in MATCH_TIMES]
    added = [OutputColumn(f"{KEY}{name}", value, type_of(value)) for name, value in keys.items()]
    return RuleQuery(replace(match, outputs=(*match.outputs, *added, *times)), tuple(keys), True)


def rule_query_of(match: Match) -> RuleQuery:
    """What the outputs of a query are that `rule_query` has made: rewriting keeps their names."""
    names = [output.name for output in match.outputs]
    keys = tuple(name.removeprefix(KEY) for name in names if name.startswith(KEY))
    return RuleQuery(match, keys, any(name.startswith(TIME) for name in names))


def _keys(match: Match) -> Iterator[tuple[str, Expr]]:
    """The attributes that all events of a match agree in, as the query says: PARTITION BY and `[id]`."""
    required = (one for one in conjuncts(match.whole.pattern.where) if isinstance(one, SameAttributes))
    names = (*match.whole.partition, *(name for one in required for name in one.attributes))
    for name in dict.fromkeys(bare(name).casefold() for name in names):
        written_name = next(one for one in names if bare(one).casefold() == name)
        value = _value(match, written_name)
        if value is not None:
            yield bare(written_name), value


def _value(match: Match, name: str) -> Expr | None:
    """The value of an attribute: that of the first event, or of the first that there is."""
    found = [one for one in (_attribute(match, name, *event) for event in _events(match.pattern)) if one]
    if not found:
        return None
    if _is_always_first(match.pattern):
        return found[0]
    return _first_of(found)


def _first_of(values: Sequence[Expr]) -> Expr:
    if len(values) == 1:
        return values[0]
    kinds = tuple(dict.fromkeys(map(type_of, values)))
    kind = kinds[0] if len(kinds) == 1 else common_of(kinds, strings=False) or kinds[0]
    return Call("coalesce", tuple(cast_to(one, type_of(one), kind) for one in values), type=kind)


def _is_always_first(pattern: Pattern) -> bool:
    """Whether the first event that a pattern names is there in every match."""
    match pattern:
        case p.Seq(parts) | p.And(parts):
            return _is_always_first(next(part for part in parts if not isinstance(part, p.Not)))
        case p.Repeat(part=part, least=least):
            return least > 0 and _is_always_first(part)
    return isinstance(pattern, p.Event)


def _events(pattern: Pattern) -> Iterator[tuple[EventRef, str]]:
    """The events that a match has for sure, or may have, each with its type; of a list the first one."""
    kept = set(targets(pattern))
    for part in all_parts(pattern):
        match part:
            case p.Event(type, variable=str() as variable) if variable in kept:
                yield Variable(variable), type
            case p.Repeat(part=p.Event(type), variable=str() as variable) if variable in kept:
                yield ListElement(Variable(variable), Index("FIRST")), type
            case p.Repeat(part=inner, variable=str() as variable) if variable in kept:
                for event, type in _events(inner):
                    if isinstance(event, Variable):
                        yield InnerVariable(ListElement(Variable(variable), Index("FIRST")), event.name), type


def _attribute(match: Match, name: str, event: EventRef, type: str) -> Attribute | None:
    known = next(one for one in match.types if one.name == type)
    column = next((one for one in known.columns if same(name, written(one.name))), None)
    return None if column is None else Attribute(event, written(column.name), column.type)
