"""The lint `row_value_always_null`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir import expressions as e
from neelc.ir.node import walk
from neelc.pattern.analysis.truth import Null, contradict
from neelc.tools.lints.lint import LintedClause, most_rows, most_rows_before, of_current_row


def row_value_always_null(linted: LintedClause) -> Iterator[Diagnostic]:
    """A value of a row that no match has, or does not have yet: DEFINE sees the match up to the current row.

    >>> from lint_examples import shown_of_rows as shown
    >>> lint = row_value_always_null
    >>> print(shown(lint, "PATTERN (A B) DEFINE A AS x < B.x"))
    B.x: `B.x` is always NULL here: no row is mapped to `B` before `A`, so the clause finds nothing
    >>> print(shown(lint, "PATTERN (A B? C) DEFINE B AS x > avg(C.x)"))
    avg(C.x): `avg(C.x)` is over no rows here: no row is mapped to `C` before `B`
    >>> print(shown(lint, "PATTERN (A B) DEFINE A AS x > LAST(x, 1) OR n = 1"))
    LAST(x, 1): `LAST(x, 1)` is always NULL here: a match has at most 1 row so far
    >>> print(shown(lint, "MEASURES FIRST(A.x, 1) AS second PATTERN (A B) DEFINE B AS x > A.x"))
    FIRST(A.x, 1): `FIRST(A.x, 1)` is always NULL: at most 1 row is mapped to `A`

    Not if it may be there: in an iteration before, by another way through the pattern, or in a longer match.

    >>> shown(lint, "PATTERN ((A B)+) DEFINE A AS x < B.x OR B.x IS NULL")
    >>> shown(lint, "PATTERN (PERMUTE(A, B)) DEFINE A AS x < B.x OR B.x IS NULL")
    >>> shown(lint, "MEASURES LAST(B.x, 3) AS fourth PATTERN (A B{,2} B{2}) DEFINE B AS x > LAST(B.x, 1)")
    >>> shown(lint, "PATTERN (A B) DEFINE A AS x < NEXT(x)")
    """
    pattern = linted.clause.pattern
    for variable, conditions in linted.conditions.items():
        for value in (node for one in conditions for node in walk(one)):
            if not isinstance(value, e.AtRow | e.OverRows):
                continue
            names = value.variables or linted.variables
            before = most_rows_before(pattern, names, variable)
            if before is not None and not _is_there(value, before + (variable in names)):
                yield _in_condition(value, before + (variable in names), variable, linted)
    for measure in linted.clause.measures:
        for value in walk(measure.expression):
            if isinstance(value, e.AtRow) and linted.variables:
                rows = most_rows(pattern, value.variables or linted.variables)
                if not _is_there(value, rows):
                    message = f"`{linted.text(value)}` is always NULL: {_most(value, rows, linted)}"
                    yield linted.warning("NEEL6011", message, value)


def _is_there(value: e.AtRow | e.OverRows, rows: float) -> bool:
    return rows > (value.place if isinstance(value, e.AtRow) else 0)


def _most(value: e.AtRow | e.OverRows, rows: float, linted: LintedClause) -> str:
    """How many rows there are, in words."""
    number = f"{rows:.0f} row" + ("" if rows == 1 else "s")
    if not value.variables:
        return f"a match has at most {number}"
    if not rows:
        return f"no row is mapped to {_named(value, linted)}"
    return f"at most {number} {'is' if rows == 1 else 'are'} mapped to {_named(value, linted)}"


def _named(value: e.AtRow | e.OverRows, linted: LintedClause) -> str:
    return " or ".join(map(linted.name, value.variables))


def _in_condition(
    value: e.AtRow | e.OverRows, rows: float, variable: str, linted: LintedClause
) -> Diagnostic:
    what = "always NULL" if isinstance(value, e.AtRow) else "over no rows"
    message = f"`{linted.text(value)}` is {what} here: {_most(value, rows, linted)} "
    message += (
        "so far" if variable in value.variables or not value.variables else f"before {linted.name(variable)}"
    )
    if _makes_untrue(value, variable, linted):
        message += f", so {linted.no_row_matches(variable)}"
    return linted.warning("NEEL6011", message, value, _hint(value, rows, variable, linted))


def _makes_untrue(value: e.AtRow | e.OverRows, variable: str, linted: LintedClause) -> bool:
    """Whether the condition of the variable is never TRUE where the value is NULL."""
    conditions = [of_current_row(one, variable) for one in linted.conditions[variable]]
    return isinstance(value, e.AtRow) and contradict(conditions, [Null(of_current_row(value, variable))])


def _hint(value: e.AtRow | e.OverRows, rows: float, variable: str, linted: LintedClause) -> str | None:
    """Where the condition may stand: at a later variable, which can name this one."""
    ways = []
    later = [name for name in value.variables if most_rows_before(linted.clause.pattern, (variable,), name)]
    if not rows and len(later) == 1:
        ways.append(f"compare with {linted.name(variable)} in the condition of {linted.name(later[0])}")
    match value:
        case e.AtRow(argument=e.Attribute(name=name), place=0, shift=0) if not rows:
            ways.append(f"NEXT({name}) is the value of the next row")
    return "; ".join(ways) or None
