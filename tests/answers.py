"""What a query finds in a stream, to be compared; and as a case file, to be kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from unittest.mock import patch

from generate.rewritable import Sample
from generate.witnesses import Tables

from neelc.catalog import inputs as cells
from neelc.catalog.inputs import aligned
from neelc.ir.program import Match
from neelc.ir.script import CreateStream
from neelc.runtime.reference import LimitReached, Result, candidates, results, worlds
from neelc.runtime.reference import read as read_tables
from neelc.runtime.reference.model import Binding, binding_key
from neelc.runtime.values.order import comparable
from neelc.syntax.printer import format_script
from neelc.tools.cases.run import names_of, rows_of

MAX_CANDIDATES = 20_000
"""Queries that need more are left out: they tell no more than smaller ones."""


@dataclass(frozen=True)
class Answer:
    """What a query finds: its rows, each as often as it is there, and what the variables are bound to."""

    result: Result
    rows: Counter[object]
    bindings: frozenset[object]


def answer(match: Match, tables: Tables) -> Answer | None:
    """None when the reference would need too long."""
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        try:
            found = worlds.find_matches(match, read_tables(match, tables, {}))
        except LimitReached:
            return None
    result = results.result(match, results.rows_of(match, found))
    rows = Counter(comparable(row) for row in result.rows)
    return Answer(result, rows, frozenset(binding_key(bound(each.binding)) for each in found))


def bound(binding: Binding) -> Binding:
    """A binding without what is NULL in it: a variable that can never be bound need not be declared."""
    return {name: _bound(value) for name, value in binding.items() if value is not None}


def _bound(value: object) -> object:
    match value:
        case tuple():
            return tuple(map(_bound, value))
        case Mapping():
            return bound(value)
    return value


def case_text(sample: Sample, tables: Tables, rule: str = "") -> str:
    """The sample as a case file; what it expects is what the reference finds without rewriting."""
    lines = [f"# {rule or 'rewriting'} keeps what this query finds."]
    if sample.shared:
        lines.append(f"# No script can say what it was, with shared variables: {sample.match.pattern}")
    for stream in sample.script.statements:
        if isinstance(stream, CreateStream):
            rows = [
                [cells.render(row[column.name], column.type) for column in stream.columns]
                for row in tables[stream.name]
            ]
            lines += [f"events {stream.name}", *aligned([[c.name for c in stream.columns], *rows]), ""]
    lines += ["query", format_script(sample.script).rstrip(), ""]
    found = answer(sample.match, tables)
    if found and found.result.rows:
        lines += ["matches", *aligned([names_of(found.result), *rows_of(found.result)])]
    else:
        lines += ["matches none"]
    return "\n".join([*lines, ""])
