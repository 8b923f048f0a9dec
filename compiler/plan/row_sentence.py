"""How a row pattern is searched, in words."""

from __future__ import annotations

from neelc.ir import rows as r
from neelc.ir.expr import Literal
from neelc.ir.node import walk
from neelc.ir.recognize import Recognize
from neelc.runtime.rows.program import RowProgram

PATH = "the path of a match"


def rows_sentence(program: RowProgram) -> str:
    """Which way the search goes, how long it may take, and why.

    >>> from neelc.runtime.rows.program import ACCEPT, Condition, Machine
    >>> machine = Machine((0, 1), (False, False), (0,), (0,), ((1,), (1, ACCEPT)), (False, True))
    >>> rows_sentence(RowProgram(machine, ("A", "B"), ("id",), ())).partition(": ")[0]
    'the rows of a partition together, in order; two passes over them, back and forth, in time linear in rows'
    >>> program = RowProgram(machine, ("A", "B"), (), (), conditions=(Condition(1, None, (), ()),))
    >>> rows_sentence(program).partition(": ")[2]
    'the condition of B depends on the path of a match.'
    """
    together = "the rows of a partition together" if program.keys else "all rows together"
    return f"{together}, in order; {_search(program)}."


def _search(program: RowProgram) -> str:
    if program.conditions:
        names = " and ".join(program.names[one.variable] for one in program.conditions)
        several = "conditions of" if len(program.conditions) > 1 else "condition of"
        depend = "depend" if len(program.conditions) > 1 else "depends"
        return f"choices are tried one by one, within a budget: the {several} {names} {depend} on {PATH}"
    has_window = program.reach is not None or program.rows is not None
    linear = "in time linear in rows"
    if program.skip != "PAST":
        linear += " and in those of all matches"
    passes = "two passes over them, back and forth"
    if program.starting:
        passes += ", for each way in which conditions on the first row of a match can hold"
    if has_window:
        passes, linear = (
            "how early a match can end, then the matches",
            "in time linear in the rows of all windows",
        )
    return f"{passes}, {linear}: no condition depends on {PATH}"


def memory_sentence(query: Recognize) -> str:
    """What bounds the rows of a partition that a worker keeps: those from which a match may still come."""
    if query.within is not None:
        return f"bounded by WITHIN {query.within}: no row outside of a window is kept"
    most = longest_match(query.pattern)
    if most is not None:
        return f"bounded by the longest match: {most} {'row' if most == 1 else 'rows'}"
    free = _free_variables(query)
    for node in walk(query.pattern):
        if isinstance(node, r.RowRepeat) and node.most is None and _takes_anything(node.part, free):
            return f"grows with the partition: {node} takes any row, so a match may stay open to the end"
    return "bounded by the longest match: rows are kept while a match that began at them may go on"


def longest_match(pattern: r.RowPattern) -> int | None:
    """How many rows a match can have; None if there is no limit.

    >>> a = r.RowVariable("A")
    >>> longest_match(r.RowSequence((a, r.RowRepeat(r.RowAlternation((a, r.RowEmpty())), 0, 3))))
    4
    >>> longest_match(r.RowRepeat(a, 1, None)) is None
    True
    """
    match pattern:
        case r.RowVariable():
            return 1
        case r.RowSequence(parts) | r.RowPermute(parts) | r.RowAlternation(parts):
            lengths = [longest_match(part) for part in parts]
            known = [one for one in lengths if one is not None]
            if len(known) < len(lengths):
                return None
            return max(known) if isinstance(pattern, r.RowAlternation) else sum(known)
        case r.RowExclusion(part):
            return longest_match(part)
        case r.RowRepeat(part, _, most):
            one = longest_match(part)
            if one == 0 or (one is not None and most is not None):
                return one * (most or 0)
            return None
    return 0


def _free_variables(query: Recognize) -> frozenset[str]:
    """The variables that every row can be mapped to."""
    names = {node.name for node in walk(query.pattern) if isinstance(node, r.RowVariable)}
    conditions = {one.variable: one.condition for one in query.definitions}
    true = (name for name in names if name not in conditions or _is_true(conditions[name]))
    return frozenset(true)


def _is_true(condition: object) -> bool:
    return isinstance(condition, Literal) and condition.value is True


def _takes_anything(part: r.RowPattern, free: frozenset[str]) -> bool:
    """Whether rows can be taken by free variables alone, one or more."""
    match part:
        case r.RowVariable(name):
            return name in free
        case r.RowSequence(parts) | r.RowPermute(parts):
            taken = [one for one in parts if _takes_anything(one, free)]
            return bool(taken) and all(_may_be_empty(one) for one in parts if one not in taken)
        case r.RowAlternation(parts):
            return any(_takes_anything(one, free) for one in parts)
        case r.RowExclusion(inner) | r.RowRepeat(inner):
            return _takes_anything(inner, free)
    return False


def _may_be_empty(part: r.RowPattern) -> bool:
    match part:
        case r.RowSequence(parts) | r.RowPermute(parts):
            return all(map(_may_be_empty, parts))
        case r.RowAlternation(parts):
            return any(map(_may_be_empty, parts))
        case r.RowRepeat(inner, least):
            return least == 0 or _may_be_empty(inner)
        case r.RowExclusion(inner):
            return _may_be_empty(inner)
    return isinstance(part, r.RowEmpty)
