"""What a run notices about its data that a person might want to know."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from neelc.ir.logical import Member, Program
from neelc.ir.names import bare, is_quoted

Tables = Mapping[str, Sequence[Mapping[str, object]]]


def missing_types(program: Program, tables: Tables) -> Iterator[str]:
    """The types of patterns that no event has: a misspelt value of a type column is not an error, but it
    finds nothing."""
    columns = {stream.name: stream.type_column for stream in program.streams}
    values = {
        name: {str(row[column]) for row in rows if row[column] is not None}
        for name, rows in tables.items()
        if (column := columns.get(name)) is not None
    }
    seen = set()
    for type in (type for query in program.pattern_queries for type in query.match.types):
        valued = [member for member in type.members if member.value is not None]
        if len(valued) == len(type.members) and type.name not in seen:
            seen.add(type.name)
            if not any(_occurs(member, values.get(member.stream, set())) for member in valued):
                known = sorted(set().union(*(values.get(m.stream, set()) for m in valued)))
                close = difflib.get_close_matches(bare(type.name), known, 1)
                yield f"no event is of type `{type.name}`" + (f"; did you mean {close[0]}?" if close else "")


def _occurs(member: Member, values: set[str]) -> bool:
    wanted = member.value or ""
    if is_quoted(wanted):
        return bare(wanted) in values
    return wanted.lower() in {value.lower() for value in values}
