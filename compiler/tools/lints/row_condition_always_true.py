"""The lint `row_condition_always_true`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir import expressions as e
from neelc.ir.node import walk
from neelc.pattern.analysis.truth import contradict, untrue
from neelc.tools.lints.condition_always_true import is_on_purpose, is_true_unless_null
from neelc.tools.lints.lint import LintedClause, itself_hint, of_current_row


def row_condition_always_true(linted: LintedClause) -> Iterator[Diagnostic]:
    """A condition in DEFINE that excludes no row, or none but those with NULL.

    >>> from lint_examples import shown_of_rows as shown
    >>> lint = row_condition_always_true
    >>> print(shown(lint, "PATTERN (A B+) DEFINE B AS x >= B.x"))
    x >= B.x: `x >= B.x` is TRUE for all values except NULL
    >>> print(shown(lint, "PATTERN (A B+) DEFINE B AS n > 1 OR n <= 1 OR n IS NULL"))
    n > 1 OR n <= 1 OR n IS NULL: `n > 1 OR n <= 1 OR n IS NULL` is always TRUE

    Not if it compares different rows, or one that may not be there.

    >>> shown(lint, "PATTERN (A B+) DEFINE B AS x >= A.x AND x >= PREV(B.x) AND ts >= PREV(ts)")

    TRUE and `1 = 1` are written on purpose, and a parameter may have another value the next time.

    >>> shown(lint, "PATTERN (A B+) DEFINE A AS TRUE, B AS 1 = 1")
    """
    for variable, conditions in linted.conditions.items():
        for conjunct in conditions:
            if linted.has_parameter(conjunct) or is_on_purpose(conjunct):
                continue
            condition = of_current_row(conjunct, variable)
            values = {node: None for node in walk(condition) if isinstance(node, e.RowValue)}
            text, hint = linted.text(conjunct), itself_hint([conjunct], variable, linted)
            if contradict([untrue(condition)]):
                yield linted.warning(
                    "NEEL6004", f"`{text}` is always TRUE", conjunct, hint or "leave it out, or write TRUE"
                )
            elif is_true_unless_null(condition, values):
                message = f"`{text}` is TRUE for all values except NULL"
                yield linted.warning("NEEL6004", message, conjunct, hint or "is another row or value meant?")
