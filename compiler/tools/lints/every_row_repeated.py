"""The lint `every_row_repeated`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir import row_patterns as r
from neelc.ir.node import walk
from neelc.rows.plan.conditions import is_of_row
from neelc.tools.lints.lint import LintedClause

Rest = tuple[r.RowPattern, ...]


def every_row_repeated(linted: LintedClause) -> Iterator[Diagnostic]:
    """A greedy repetition of a variable without a condition takes all the rows there are, and gives back no
    more than what follows it needs.

    >>> from lint_examples import shown_of_rows as shown
    >>> lint = every_row_repeated
    >>> print(shown(lint, "PATTERN (A B+) DEFINE A AS n = 1"))
    B+: `B` has no condition in DEFINE: `B+` takes all rows up to the end of the partition
    >>> print(shown(lint, "PATTERN (A X* B) DEFINE A AS n = 1, B AS n = 2"))
    X*: `X` has no condition in DEFINE: `X*` ends at the last place where the rest fits

    Not if that is what the query says: with `$`, with a condition that is TRUE, or without any condition.

    >>> shown(lint, "PATTERN (A B+ $) DEFINE A AS n = 1")
    >>> shown(lint, "PATTERN (A X* B) DEFINE A AS n = 1, B AS n = 2, X AS TRUE")
    >>> shown(lint, "PATTERN (A+)")

    Nor if something else ends it: a reluctant quantifier, a limit, WITHIN, or a condition that compares what
    follows with rows before.

    >>> shown(lint, "PATTERN (A X*? B) DEFINE A AS n = 1, B AS n = 2")
    >>> shown(lint, "PATTERN (A X{,5} B) DEFINE A AS n = 1, B AS n = 2")
    >>> shown(lint, "PATTERN (A X* B) WITHIN 5 SECONDS DEFINE A AS n = 1, B AS n = 2")
    >>> shown(lint, "PATTERN (A X* B) DEFINE A AS n = 1, B AS ts < A.ts + 10")
    """
    if linted.clause.within is not None or not linted.clause.definitions:
        return
    for repeat, name, rest in _repetitions(linted.clause.pattern, ()):
        if name in linted.conditions or _is_ended(rest, linted):
            continue
        text, on_purpose = linted.text(repeat), f"{linted.spelled(name)} AS TRUE"
        if all(map(_may_be_empty, rest)):
            what = f"`{text}` takes all rows up to the end of the partition"
            hint = f"define {linted.name(name)}; if all rows are intended, write {on_purpose}"
        else:
            what = f"`{text}` ends at the last place where the rest fits"
            hint = f"`{text}?` ends at the first; if the last is intended, write {on_purpose} in DEFINE"
        message = f"{linted.name(name)} has no condition in DEFINE: {what}"
        yield linted.warning("NEEL6010", message, repeat, hint)


def _repetitions(part: r.RowPattern, rest: Rest) -> Iterator[tuple[r.RowRepeat, str, Rest]]:
    """The greedy repetitions of one variable that have no limit, each with what follows it. The parts of
    PERMUTE, which may come in any order, are left out, and what is repeated twice or more, where the first
    iteration must leave rows for the others."""
    match part:
        case r.RowRepeat(
            r.RowVariable(name) | r.RowExclusion(r.RowVariable(name)), most=None, reluctant=False
        ):
            yield part, name, rest
        case r.RowRepeat(inner, least, most) if least <= 1:
            again = () if most == 1 else (r.RowRepeat(inner, 0, None),)
            yield from _repetitions(inner, (*again, *rest))
        case r.RowSequence(parts):
            for index, inner in enumerate(parts):
                yield from _repetitions(inner, (*parts[index + 1 :], *rest))
        case r.RowAlternation(parts):
            for inner in parts:
                yield from _repetitions(inner, rest)
        case r.RowExclusion(inner):
            yield from _repetitions(inner, rest)


def _is_ended(rest: Rest, linted: LintedClause) -> bool:
    """Whether the query says where the repetition ends."""
    parts = [node for part in rest for node in walk(part)]
    if any(isinstance(node, r.RowAnchor) for node in parts):
        return True
    names = {node.name for node in parts if isinstance(node, r.RowVariable)}
    return any(not is_of_row(one, name) for name in names for one in linted.conditions.get(name, ()))


def _may_be_empty(part: r.RowPattern) -> bool:
    match part:
        case r.RowVariable():
            return False
        case r.RowSequence(parts) | r.RowPermute(parts):
            return all(map(_may_be_empty, parts))
        case r.RowAlternation(parts):
            return any(map(_may_be_empty, parts))
        case r.RowRepeat(inner, least):
            return least == 0 or _may_be_empty(inner)
        case r.RowExclusion(inner):
            return _may_be_empty(inner)
    return True
