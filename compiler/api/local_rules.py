"""Many rules on the local engine: `neelc.local().rules(...)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from neelc.api.local import LocalHandle, LocalQuery, engine_in_words, tables_of
from neelc.api.local_frame import LocalFrame
from neelc.api.query import BoundScript, DisplayText, Query
from neelc.api.rules import Rules
from neelc.arguments import Options
from neelc.engines.local.plan import local_query
from neelc.engines.local.program import LocalProgram
from neelc.engines.local.tables import LocalTable
from neelc.engines.spark.compiled import CompiledScript
from neelc.engines.spark.relations import Kernel
from neelc.engines.spark.rules import own_rows
from neelc.explain.engine import Engine
from neelc.ir.program import Match
from neelc.rules_pipeline import compile_local_rules
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.duckdb.evaluated import operations_of
from neelc.scalar.duckdb.pieces import EvaluatedCall


def rules_over(
    handle: LocalHandle, bound: BoundScript, places: Sequence[int], options: Options, share: bool
) -> LocalRules:
    """Rules of a local session, compiled; raises `NoRuleLeft`."""
    calls: dict[str, EvaluatedCall] = {}
    tables = tables_of(bound, places, calls)
    types = {name: table.types for name, table in tables.items()}
    made = compile_local_rules(
        bound.program, places, options, bound.statistics, share, types=types, calls=calls
    )
    return LocalRules(handle, bound, made, (), tables=tables)


@dataclass(frozen=True, repr=False)
class LocalRules(Rules):
    """Rules, compiled for the local engine. `key` and `columns` are JSON texts; `rows` of their table has
    dictionaries for them."""

    tables: Mapping[str, LocalTable] = field(kw_only=True, compare=False)

    if TYPE_CHECKING:

        def __getitem__(self, name: str) -> LocalFrame: ...  # type: ignore[override]

    @property
    def program(self) -> LocalProgram:
        """What runs."""
        assert self.compiled.local is not None
        return self.compiled.local

    @property
    def source(self) -> DisplayText:
        """The queries of DuckDB and the kernels that run."""
        from neelc.engines.local.source import program_text

        return DisplayText(program_text(self.program))

    @property
    def df(self) -> LocalFrame:  # type: ignore[override]  # the rows are those of this engine
        """The rows of all rules. Matches are found once, and kept until `unpersist`."""
        found: LocalFrame = self.persist()._kept[0]
        return found

    def _engine(self) -> Engine:
        found = engine_in_words(self.spark.engine, self.tables)
        return replace(found, evaluated=operations_of(self.program.evaluated))

    def _table(self) -> LocalFrame:
        handle: LocalHandle = self.spark
        return LocalFrame.of(handle.engine.run(self.program, self.tables, self.compiled.script.aggregates))

    def _keeping(self, table: LocalFrame) -> LocalFrame:
        return table  # its run has what kernels have found

    def _let_go(self, table: LocalFrame) -> None:
        return None

    def _has_own_columns(self, query: Match) -> bool:
        return True

    def _own_columns(self, name: str, query: Match) -> LocalFrame:
        """Texts of JSON have lost types: the rows are read from the matches that the kernel has found."""
        lets = self.compiled.script.relations.lets
        kernels = [(let.name, let.relation.program) for let in lets if isinstance(let.relation, Kernel)]
        sets = [
            (plan, next(found for found, program in kernels if program == plan.program))
            for plan in self.compiled.sets
            if name in plan.names
        ]
        own = list(own_rows(sets, name, {let.name for let in lets}))
        calls: dict[str, EvaluatedCall] = {}
        text, types = local_query(own, self.program.types, calls)
        run = self.df.run
        run.add_functions(calls.values())
        return LocalFrame(run, text, types)

    def _query(self, bound: BoundScript, compiled: CompiledScript) -> Query:
        return LocalQuery(self.spark, bound, compiled)
