"""How a query around MATCH_RECOGNIZE is executed, in words."""

from __future__ import annotations

import json
from collections.abc import Sequence

from neelc.engines.host.compiling import CompiledHostQuery, RecognizedClause
from neelc.explain.execution import memory_sentence
from neelc.explain.text import folded
from neelc.files import CallError
from neelc.ir.bound_rows import Recognize
from neelc.ir.expressions import ROW
from neelc.ir.names import bare
from neelc.runtime.kernels.rows.program import depends_on_start_only
from neelc.syntax.printer import show

LINEAR = "linear: no condition depends on which rows a match has taken, so each row is looked at a few times"
FIRST_ROW = (
    "linear: conditions of {} on the first row of a match are known where it begins, others depend on no path"
)
BACKTRACKING = "backtracking{}, within a budget of steps that fails the run when it is used up: "
QUADRATIC = ", at worst quadratic in the rows of a partition"
EXPONENTIAL = ", at worst exponential in the rows of a partition"


def explained(queries: Sequence[CompiledHostQuery], format: str = "text", mode: str = "simple") -> str:
    """The explanation of queries as text or as JSON; `CallError` for what there is not."""
    if mode != "simple":
        raise CallError(f"explain --mode {mode}: for PATTERN queries; MATCH_RECOGNIZE has one way to run")
    if format == "json":
        records = [[_record(one) for one in query.recognized] for query in queries]
        return json.dumps({"queries": [{"match_recognize": one} for one in records]}, indent=2) + "\n"
    if format != "text":
        raise CallError(f"explain --format {format}: for PATTERN queries; here there are text and json")
    return "\n".join("\n".join(_query(query)) for query in queries) + "\n"


def _query(query: CompiledHostQuery) -> list[str]:
    lines: list[str] = []
    for one in query.recognized:
        reads = " ".join(one.reads.split())
        lines += [*folded(f"MATCH_RECOGNIZE over {reads}"), *_lines(_record(one)), ""]
    lines.append("The query around it is Spark's own; its clauses are relations in it:")
    last = query.compiled.relations.lets[-1].relation
    text = getattr(last, "text", "")
    return [*lines, *(f"  {line}" for line in text.splitlines())]


def _lines(record: dict[str, object]) -> list[str]:
    lines: list[str] = []
    for key, value in record.items():
        if isinstance(value, dict):
            texts = [f"{name}: {text}" for name, text in value.items()]
        else:
            texts = [str(value)]
        for place, text in enumerate(texts):
            lines += folded(text, f"  {key if place == 0 else '':<12}", " " * 14)
    return lines


def _record(one: RecognizedClause) -> dict[str, object]:
    """What is told about a clause, by its names."""
    query, plan = one.plan.query, one.plan
    conditions = {found.variable: show(found.condition) for found in query.definitions}
    paths = {name: text for name, text in conditions.items() if name in plan.depends_on_path}
    by_row = {name: conditions.get(name, "every row") for name in plan.program.names if name not in paths}
    return {
        "pattern": str(query.pattern),
        "partition": ", ".join(query.partition) or "none: all rows are one, in one task",
        "order": ", ".join(show(one).replace(f"{ROW}.", "") for one in query.order)
        or "none: rows come in any order",
        **({"queries": _queries(query)} if query.nested else {}),
        "rows": _rows(query),
        "runs": _how(one),
        "memory": memory_sentence(query),
        **({"columns": by_row} if by_row else {}),
        **({"on the path": paths} if paths else {}),
    }


def _queries(query: Recognize) -> dict[str, str]:
    return {one.name: " ".join(show(one.expression).replace(f"{ROW}.", "").split()) for one in query.nested}


def _rows(query: Recognize) -> str:
    rows = "ONE ROW PER MATCH" if query.all_rows is None else f"ALL ROWS PER MATCH {query.all_rows}"
    variables = f" {' or '.join(query.skip.variables)}" if query.skip.variables else ""
    within = "" if query.within is None else f", WITHIN {query.within}"
    return f"{rows}, AFTER MATCH SKIP {query.skip.kind}{variables}{within}"


def _how(one: RecognizedClause) -> str:
    program = one.plan.program
    if one.strategy == "linear":
        names = " and ".join(
            bare(program.names[v]) for v in sorted({one.variable for one in program.starting})
        )
        return FIRST_ROW.format(names) if program.starting else LINEAR
    start_only = depends_on_start_only(program)
    on = "the first row of the match" if start_only else "the path"
    reasons = [f"the condition of {bare(name)} depends on {on}" for name in one.plan.depends_on_path]
    worst = QUADRATIC if start_only else EXPONENTIAL
    if one.plan.query.within is not None:
        worst = worst.replace("partition", "window")
        reasons.append("WITHIN depends on where the match began")
    return BACKTRACKING.format(worst) + "; ".join(reasons)
