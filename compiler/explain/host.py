"""How a query around MATCH_RECOGNIZE is executed, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neelc.engines.spark.host import host_relations
from neelc.engines.spark.scans import variable_name
from neelc.explain.engine import SPARK, Engine
from neelc.explain.execution import memory_sentence, refusal_sentence
from neelc.explain.streaming import Notes, host_notes
from neelc.files import CallError
from neelc.ir.bound_rows import BoundClause, HostQuery, Recognize
from neelc.ir.expressions import ROW
from neelc.ir.names import bare
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.rows.bind.host_text import SparkQuery
from neelc.rows.plan.plan import ClausePlan, HostPlan
from neelc.runtime.kernels.rows.program import depends_on_start_only
from neelc.runtime.late_dataclass import dataclass
from neelc.syntax.printer import show

if TYPE_CHECKING:
    from neelc.explain.explanation import Report

LINEAR = "linear: no condition depends on which rows a match has taken, so each row is looked at a few times"
FIRST_ROW = (
    "linear: conditions of {} on the first row of a match are known where it begins, others depend on no path"
)
BACKTRACKING = "backtracking{}, within a budget of steps that fails the run when it is used up: "
QUADRATIC = ", at worst quadratic in the rows of a partition"
EXPONENTIAL = ", at worst exponential in the rows of a partition"


@dataclass(frozen=True)
class HostExplanation:
    """How a query around MATCH_RECOGNIZE is executed. `clauses` hold what each reads and how it runs, by
    label; `spark` is the text that Spark is given. `refusal`: why it cannot be executed; `streaming`: how it
    runs over streams without end; `engine`: what runs it."""

    name: str
    text: str
    clauses: tuple[tuple[str, dict[str, object]], ...] = ()
    spark: str = ""
    refusal: str | None = None
    streaming: Notes = ()
    engine: Engine = SPARK


def explained_host(
    name: str,
    text: str,
    query: HostQuery,
    plan: HostPlan | UnsupportedQuery,
    streaming: bool = False,
    engine: Engine = SPARK,
) -> HostExplanation:
    """The explanation of a query; `text` is the statement as it was written."""
    if isinstance(plan, UnsupportedQuery):
        return HostExplanation(name, text, refusal=refusal_sentence(plan, streaming), engine=engine)
    clauses = tuple((_reads(one.bound, query), _record(one)) for one in plan.clauses)
    names = {stream.name: variable_name(stream.name) for stream in query.streams}
    *_, last = host_relations(plan, names, set(names.values()), "result")
    assert isinstance(last.relation, SparkQuery)
    return HostExplanation(name, text, clauses, last.relation.text, streaming=host_notes(plan), engine=engine)


def _reads(bound: BoundClause, query: HostQuery) -> str:
    source = bound.clause.source
    assert source is not None
    return " ".join(query.text[source.start : source.end].split())


def check_view(report: Report, format: str, mode: str) -> None:
    """Raises `CallError` for what there is not, where only queries around MATCH_RECOGNIZE are explained."""
    if len(report.hosts) < len(report.explained):
        return
    if mode not in ("simple", "all"):
        raise CallError(f"explain --mode {mode}: for PATTERN queries; MATCH_RECOGNIZE has one way to run")
    if format in ("dot", "mermaid"):
        raise CallError(f"explain --format {format}: for PATTERN queries; here there are text, json and html")


def host_record(found: HostExplanation) -> dict[str, object]:
    """The explanation as it stands in JSON."""
    clauses = [{"reads": reads, **record} for reads, record in found.clauses]
    return {
        "name": found.name,
        "text": found.text,
        "match_recognize": clauses,
        "spark": found.spark,
        "refusal": found.refusal,
        "engine": found.engine.name,
        "streaming": [{"label": label, "text": text} for label, text in found.streaming],
    }


def _record(one: ClausePlan) -> dict[str, object]:
    """The facts about a clause, by label."""
    query, plan = one.plan.query, one.plan
    conditions = {found.variable: show(found.condition) for found in query.definitions}
    paths = {name: text for name, text in conditions.items() if name in plan.depends_on_path}
    by_row = {name: conditions.get(name, "every row") for name in plan.program.names if name not in paths}
    return {
        "pattern": str(query.pattern),
        "partition": ", ".join(query.partition) or "none: all rows are one partition",
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


def _how(one: ClausePlan) -> str:
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
