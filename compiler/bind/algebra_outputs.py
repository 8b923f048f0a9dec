"""The list of a SELECT: its columns, their names and what they are computed from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from neelc.bind.findings import Findings
from neelc.bind.output_names import output_name
from neelc.bind.relations import Names, Relation
from neelc.bind.suggest import did_you_mean
from neelc.bind.typing import typed
from neelc.ir import expr as e
from neelc.ir.algebra import END, START
from neelc.ir.logical import Column, OutputColumn
from neelc.ir.names import bare, find, same, written
from neelc.ir.node import Node, map_children
from neelc.ir.rows import Output
from neelc.ir.types import VOID


@dataclass(frozen=True)
class Listed:
    """A column of the list; `source` is the name of the source that a `*` took it from."""

    output: OutputColumn
    source: str | None = None


def listed(items: Sequence[Output], relations: Sequence[Relation], findings: Findings) -> list[Listed]:
    """What the list stands for, with all names and types resolved."""
    return [one for item in items for one in _listed(item, relations, findings)]


def _listed(item: Output, relations: Sequence[Relation], findings: Findings) -> Iterator[Listed]:
    if isinstance(item.expression, e.Star):
        yield from _star(item.expression, relations, findings)
        return
    value, kind = typed(Names(tuple(relations), findings).resolved(item.expression), findings.report)
    name = item.alias or written(plain_name(item.expression))
    span = findings.at(item, item.expression)
    if kind == VOID and not findings.knows(span) and not _is_open(relations):
        message, hint = "this column is always NULL and has no type", "give it one: CAST(NULL AS STRING)"
        findings.report("NEEL2013", message, span, hint)
    yield Listed(OutputColumn(bare(name), value, kind, span=span))


def with_aliases(expression: e.Expr, items: Sequence[Output], relations: Sequence[Relation]) -> e.Expr:
    """The expression with what stands behind the names that the list gives, as Spark reads GROUP BY and
    HAVING: where no source has a column of that name."""
    columns = [written(column.name) for relation in relations for column in relation.columns or ()]

    def change(node: Node) -> Node:
        if isinstance(node, e.Name) and len(node.parts) == 1 and find(node.parts[0], columns) is None:
            named = (item for item in items if item.alias is not None and same(node.parts[0], item.alias))
            return next((replace(item.expression, span=node.span) for item in named), node)
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, e.Expr)
    return changed


def _is_open(relations: Sequence[Relation]) -> bool:
    return any(relation.columns is None for relation in relations)


def plain_name(expression: e.Expr) -> str:
    """The name of a column that has no alias: that of the attribute, else the text as Spark names it."""
    return bare(expression.parts[-1]) if isinstance(expression, e.Name) else output_name(expression)


def _star(star: e.Star, relations: Sequence[Relation], findings: Findings) -> Iterator[Listed]:
    chosen = relations
    if star.qualifier is not None:
        chosen = [r for r in relations if same(star.qualifier, written(r.name))]
    if not chosen:
        hint = did_you_mean(star.qualifier or "", [r.name for r in relations], "sources")
        findings.report("NEEL2003", f"unknown name `{star.qualifier}`", findings.at(star), hint)
    for relation in chosen:
        for column in relation.columns or ():
            if column.name not in relation.times:
                yield Listed(_attribute(relation, column, star), relation.name)


def _attribute(relation: Relation, column: Column, place: Node) -> OutputColumn:
    event = e.Variable(written(relation.name))
    attribute = e.Attribute(event, written(column.name), column.type, span=place.span)
    return OutputColumn(column.name, attribute, column.type, span=place.span)


def with_own_names(columns: Sequence[Listed], place: Node, findings: Findings) -> tuple[OutputColumn, ...]:
    """The columns with names that differ: what `*` took from several sources is told apart by their names,
    as RETURN does, `servers_id` and `averages_id`. Any other clash is an error, also one with the time."""
    names = [one.output.name.casefold() for one in columns]
    found: list[OutputColumn] = []
    for one in columns:
        output = one.output
        if one.source is not None and names.count(output.name.casefold()) > 1:
            output = replace(output, name=f"{one.source}_{output.name}")
        if not findings.knows(findings.at(place)):  # a clash might be a consequence of what is wrong
            _check_name(output, [other.name for other in found], place, findings)
        found.append(output)
    return tuple(found)


def _check_name(output: OutputColumn, before: Sequence[str], place: Node, findings: Findings) -> None:
    span = findings.word(written(output.name), output, place, nth=-1)
    if output.name.casefold() in (START, END):
        message = f"column `{output.name}` is the valid time, which every result has at its end"
        hint = f"leave it out, or give it another name: AS {output.name}_1"
        findings.report("NEEL3304", message, span, hint)
    elif find(written(output.name), [name.casefold() for name in before] + list(before)) is not None:
        message = f"two columns of the result are called `{output.name}`"
        findings.report("NEEL2009", message, span, f"name one of them: AS {written(output.name + '_2')}")
