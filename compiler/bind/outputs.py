"""RETURN: the columns of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neelc.bind.expressions import bind_expression
from neelc.bind.output_names import output_name
from neelc.bind.scopes import CLOSURE, EVENT, Declared
from neelc.bind.structs import iteration_struct, struct_of
from neelc.bind.visibility import Place, lookup
from neelc.ir import expr as e
from neelc.ir.logical import OutputColumn
from neelc.ir.many import is_many
from neelc.ir.names import bare, written
from neelc.ir.node import Node, children
from neelc.ir.rows import Output
from neelc.ir.script import Return
from neelc.ir.types import DOUBLE, VOID, Array
from neelc.source import Span


@dataclass(frozen=True)
class Outputs:
    """The columns, and whether they hold aggregates over all matches."""

    columns: tuple[OutputColumn, ...]
    aggregated: bool = False


def bind_outputs(returns: Return | None, place: Place, is_imprecise: bool) -> Outputs:
    """What RETURN lists, or one column for each variable and the time of the match."""
    if returns is None or not returns.items:
        columns = list(_default_columns(place, is_imprecise))
    else:
        columns = [c for item in returns.items for c in _columns_of(item, place, is_imprecise)]
    _report_duplicates(columns, place)
    return Outputs(tuple(columns), any(over_matches(column.expression) for column in columns))


def _default_columns(place: Place, is_imprecise: bool) -> Iterator[OutputColumn]:
    for v in place.scopes.results():
        whole = _whole(v, place)
        if whole is not None:
            kind = whole.type if v.kind == EVENT else Array(whole.type)
            yield OutputColumn(bare(v.name), whole, kind)
    if place.clock is not None:
        for name in ("match_start", "match_end"):
            yield OutputColumn(name, e.MatchProperty(name, place.clock.type), place.clock.type)
    if is_imprecise:
        yield OutputColumn("confidence", e.MatchProperty("confidence", DOUBLE), DOUBLE)


def _whole(v: Declared, place: Place) -> e.Whole | None:
    """A variable as a value: a struct, or for a list every one of its elements."""
    kind = iteration_struct(v, place) if v.kind == CLOSURE else struct_of(v, place)
    event: e.EventRef = e.Variable(v.name)
    return None if kind is None else e.Whole(event if v.kind == EVENT else e.Each(event), kind)


def _columns_of(item: Output, place: Place, is_imprecise: bool) -> Iterator[OutputColumn]:
    match item.expression:
        case e.Star(None):
            yield from _default_columns(place, is_imprecise)
        case e.Star(str() as qualifier) as star:
            yield from _attributes(qualifier, star, place)
        case expression:
            column = _column(expression, item, place)
            if column is not None:
                yield column


def _attributes(name: str, star: e.Star, place: Place) -> Iterator[OutputColumn]:
    """`a.*`: a column for each attribute of one event."""
    variable = lookup(name, place.findings.word(name, star), place)
    if variable is None:
        return
    if variable.kind != EVENT:
        message = f"`{variable.name}` is a list, and `{star}` does not say of which element"
        place.findings.report(
            "NEEL3011", message, place.findings.at(star), f"write {variable.name}[] for all of them"
        )
        return
    known = place.types.get(variable.type or "")
    for column in known.type.columns if known is not None else ():
        attribute = e.Attribute(e.Variable(variable.name), written(column.name), column.type, span=star.span)
        yield OutputColumn(f"{bare(variable.name)}_{column.name}", attribute, column.type, span=star.span)


def _column(expression: e.Expr, item: Output, place: Place) -> OutputColumn | None:
    bound, kind, references = bind_expression(expression, place)
    span = place.findings.at(item, expression)
    if references.broken:
        return None
    if kind == VOID:
        if not place.findings.knows(span):
            message = "this column is always NULL and has no type"
            place.findings.report("NEEL2013", message, span, "give it one: CAST(NULL AS STRING)")
        return None
    if over_matches(bound) and _per_match(bound):
        message = "this mixes an aggregate over all matches with values of single ones"
        hint = "return them as columns of their own: those without an aggregate make the groups"
        place.findings.report("NEEL3020", message, span, hint)
        return None
    name = output_name(expression) if item.alias is None else bare(item.alias)
    return OutputColumn(name, bound, kind, span=item.span)


def over_matches(node: Node) -> bool:
    """Whether the expression holds an aggregate over all matches."""
    if isinstance(node, e.Aggregate):
        return node.argument is None or not is_many(node.argument)
    return any(over_matches(child) for child in children(node))


def _per_match(node: Node) -> bool:
    """Whether the expression speaks of single matches outside its aggregates over all of them."""
    match node:
        case e.Aggregate():
            return not over_matches(node)
        case e.Attribute() | e.Whole() | e.EventTime() | e.MatchProperty():
            return True
    return any(_per_match(child) for child in children(node))


def _report_duplicates(columns: list[OutputColumn], place: Place) -> None:
    seen: dict[str, str] = {}
    for column in columns:
        key = column.name.casefold()
        if key in seen:
            span = _alias_span(column, place)
            message = f"two columns of the result are called `{column.name}`"
            place.findings.report(
                "NEEL2009", message, span, f"name one of them: AS {written(column.name + '_2')}"
            )
        seen[key] = column.name


def _alias_span(column: OutputColumn, place: Place) -> Span:
    """The alias if there is one: the last word of the item."""
    whole = place.findings.at(column)
    return place.findings.word(written(column.name), whole, nth=-1)
