"""RETURN: from matches, one struct for each variable, to the columns of the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from neelc.emit.list_expressions import elements_of, over_match
from neelc.emit.list_references import Field, InnerField, Layout
from neelc.emit.literals import identifier
from neelc.emit.registered_aggregates import Columns, called
from neelc.emit.relations import Aggregate, Items, Let, Select, Where
from neelc.emit.scans import free
from neelc.emit.times import as_time
from neelc.ir.expr import Aggregate as AggregateOfList
from neelc.ir.expr import Expr, MatchProperty
from neelc.ir.logical import Match
from neelc.ir.names import bare
from neelc.plan.kernel_outputs import closures_of
from neelc.runtime.reference.results import is_over_matches


def no_inner(closure: str, name: str) -> str:
    """For matches without closures of composites."""
    raise AssertionError(f"no field for {name} of {closure}")


@dataclass(frozen=True)
class Matches:
    """A relation of matches: a struct for each variable, an array of structs for each list, and `match_start`
    and `match_end` as numbers of `unit`.

    `struct`, `field`, `inner` and `absent` are those of a `Layout`. With `weighed` matches the column
    `confidence` is there, too.
    """

    name: str
    query: Match
    unit: str
    struct: Callable[[str], str]
    field: Field
    absent: frozenset[str]
    inner: InnerField = no_inner
    weighed: bool = False
    called: Columns = dataclasses.field(default_factory=dict)

    def sql(self, expression: Expr) -> str:
        """The text of what RETURN has, or of a condition on complete matches."""
        return over_match(expression, self._layout, self._property)

    def elements(self, aggregate: AggregateOfList, called: Columns) -> str:
        """The text of the array that a user's function is given, if others have been called."""
        return elements_of(aggregate, self._layout, replace(self, called=called)._property)

    @property
    def _layout(self) -> Layout:
        closures = closures_of(self.query.pattern)
        return Layout(self.unit, self.struct, self.field, self.inner, self.absent, closures)

    def _property(self, node: Expr) -> str | None:
        match node:
            case MatchProperty(name) if bare(name).lower() == "confidence":
                return "confidence" if self.weighed else "1.0D"
            case MatchProperty(name):
                return as_time(bare(name).lower(), self.unit, self.query.clock)
            case AggregateOfList() if node in self.called:
                return identifier(self.called[node])
        return None


def results(
    matches: Matches, residual: tuple[Expr, ...], taken: set[str], name: str, as_stream: bool
) -> Iterator[Let]:
    """The relations that make the result out of matches. One that is read as a stream has its times as
    numbers."""
    source = matches.name
    if residual:
        lets, matches = _with_calls(matches, residual, taken)
        yield from lets
        source = free("complete", taken)
        condition = " AND ".join(f"({matches.sql(conjunct)})" for conjunct in residual)
        yield Let(source, Where(matches.name, condition), "What is judged on complete matches.")
    outputs = tuple(output.expression for output in matches.query.outputs)
    lets, matches = _with_calls(replace(matches, name=source), outputs, taken)
    yield from lets
    source = matches.name
    items: Items = tuple((matches.sql(output.expression), output.name) for output in matches.query.outputs)
    own: Items = (
        (("match_start", "match_start_number"), ("match_end", "match_end_number")) if as_stream else ()
    )
    query = matches.query
    if query.aggregated:
        yield from _aggregated(query, source, items, taken, name)
    elif query.distinct and as_stream:
        selected = free("rows", taken)
        yield Let(selected, Select(source, items + own), "RETURN")
        groups = tuple((identifier(column), column) for _, column in items)
        times = (("min(match_start_number)", own[0][1]), ("max(match_end_number)", own[1][1]))
        yield Let(
            name, Aggregate(selected, groups, times), "DISTINCT: a row stands for all matches equal to it."
        )
    else:
        comment = "RETURN DISTINCT" if query.distinct else "RETURN"
        yield Let(name, Select(source, items + own, distinct=query.distinct), comment)


def _with_calls(
    matches: Matches, expressions: tuple[Expr, ...], taken: set[str]
) -> tuple[list[Let], Matches]:
    """The matches with what users' functions give that the expressions call."""
    lets, columns = called(matches.name, expressions, matches.elements, taken, matches.called)
    return lets, replace(matches, name=lets[-1].name if lets else matches.name, called=columns)


def _aggregated(query: Match, source: str, items: Items, taken: set[str], name: str) -> Iterator[Let]:
    over = [is_over_matches(output.expression) for output in query.outputs]
    groups = tuple(item for item, many in zip(items, over, strict=True) if not many)
    aggregates = tuple(item for item, many in zip(items, over, strict=True) if many)
    comment = "RETURN: aggregates over all matches."
    if groups + aggregates == items:
        yield Let(name, Aggregate(source, groups, aggregates), comment)
    else:  # Spark puts what it groups by first
        grouped = free("grouped", taken)
        yield Let(grouped, Aggregate(source, groups, aggregates), comment)
        columns = tuple((identifier(column), column) for _, column in items)
        yield Let(name, Select(grouped, columns), "The columns in the order of RETURN.")
