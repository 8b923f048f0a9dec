"""Where WITH PARTIAL MATCHES is defined."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.bind.findings import Findings
from neelc.bind.outputs import Outputs
from neelc.bind.partial_outputs import COLUMNS
from neelc.ir import pattern as p
from neelc.ir.names import written
from neelc.ir.node import Node
from neelc.ir.script import PatternQuery
from neelc.source import Span

HINT = "it takes a SEQ that begins with one event: SEQ(A a, B b, C c)"


def check_partial(query: PatternQuery, outputs: Outputs, is_imprecise: bool, findings: Findings) -> None:
    """Report what partial matches are not defined for."""
    words = findings.word("PARTIAL", query, after="WITH")
    for what, place, hint in _refused(query, outputs, is_imprecise):
        message = f"partial matches are not defined for {what}"
        findings.report("NEEL3032", message, findings.at(place, words), hint)
    for column in outputs.columns:
        if column.name.casefold() in COLUMNS:
            message = f"`{column.name}` is a column of partial matches"
            other = written(column.name + "_2")
            hint = f"give it another name: AS {other}" if column.span else "call the variable otherwise"
            place = words if column.span is None else findings.word(written(column.name), column, nth=-1)
            findings.report("NEEL2009", message, place, hint)


def _refused(
    query: PatternQuery, outputs: Outputs, is_imprecise: bool
) -> Iterator[tuple[str, Node | Span | None, str]]:
    pattern, returns = query.pattern, query.returns
    if not isinstance(pattern, p.Seq):
        yield "a pattern that is no SEQ", pattern, HINT
    else:
        first = next((part for part in pattern.parts if not isinstance(part, p.Not)), None)
        if first is not None and not isinstance(first, p.Event):
            yield "a SEQ that does not begin with one event", first, HINT
        if pattern.within is not None and query.within is not None:
            yield "a SEQ with two windows", pattern.within, "keep the shorter one"
    if is_imprecise or query.confidence is not None:
        yield "imprecise times", query.confidence, "leave out WITH PARTIAL MATCHES"
    if returns is not None and returns.collapsed:
        yield "RETURN COLLAPSED", returns, "leave out COLLAPSED: one match is kept for each start anyway"
    if outputs.aggregated:
        hint = "return what is to be counted, and give the result to neelc.funnel"
        yield "aggregates over all matches", returns, hint
