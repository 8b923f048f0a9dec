"""Warnings about queries that are right, but most likely not what is meant."""

from __future__ import annotations

from neelc.errors import Diagnostic
from neelc.ir.algebra import Algebra
from neelc.ir.bound_rows import HostQuery
from neelc.ir.program import Match, Program
from neelc.source import Source
from neelc.tools.lints.closure_of_every_event import closure_of_every_event
from neelc.tools.lints.condition_against_order import condition_against_order
from neelc.tools.lints.condition_always_true import condition_always_true
from neelc.tools.lints.conditions_never_true import conditions_never_true
from neelc.tools.lints.every_row_repeated import every_row_repeated
from neelc.tools.lints.leading_variable_matches_everything import leading_variable_matches_everything
from neelc.tools.lints.lint import Lint, LintedClause, LintedQuery, RowLint
from neelc.tools.lints.negation_after_a_list import negation_after_a_list
from neelc.tools.lints.nothing_lasts import nothing_lasts
from neelc.tools.lints.relation_of_points import relation_of_points
from neelc.tools.lints.row_condition_always_true import row_condition_always_true
from neelc.tools.lints.row_conditions_never_true import row_conditions_never_true
from neelc.tools.lints.row_value_always_null import row_value_always_null
from neelc.tools.lints.window_missing import window_missing
from neelc.tools.lints.window_too_short import window_too_short

LINTS: tuple[Lint, ...] = (
    leading_variable_matches_everything,  # NEEL6001
    closure_of_every_event,  # NEEL6002
    window_missing,  # NEEL6003
    condition_always_true,  # NEEL6004
    conditions_never_true,  # NEEL6004
    condition_against_order,  # NEEL6005
    window_too_short,  # NEEL6005
    relation_of_points,  # NEEL6007
    negation_after_a_list,  # NEEL6130
)

"""Of PATTERN."""

ROW_LINTS: tuple[RowLint, ...] = (
    row_condition_always_true,  # NEEL6004
    row_conditions_never_true,  # NEEL6004, NEEL6005
    every_row_repeated,  # NEEL6010
    row_value_always_null,  # NEEL6011
)
"""Of MATCH_RECOGNIZE."""


def lints(program: Program, source: Source) -> list[Diagnostic]:
    """All warnings about the queries of a script, in the order of the text. What a query has of one that it
    rolls up is said once."""
    found = (warning for named in program.queries for warning in query_lints(named.query, source))
    return list(dict.fromkeys(found))


def query_lints(query: Match | Algebra | HostQuery, source: Source) -> tuple[Diagnostic, ...]:
    """All warnings about one query, in the order of the text."""
    if isinstance(query, Algebra):
        return tuple(nothing_lasts(query))  # NEEL6006
    if isinstance(query, HostQuery):
        clauses = [LintedClause(one.recognize, source) for one in query.clauses]
        small = [clause for clause in clauses if clause.is_small]
        found = dict.fromkeys(warning for clause in small for lint in ROW_LINTS for warning in lint(clause))
    else:
        linted = LintedQuery(query.whole, source)
        found = dict.fromkeys(warning for lint in LINTS for warning in lint(linted))
    return tuple(sorted(found, key=lambda warning: (warning.span, warning.code, warning.message)))
