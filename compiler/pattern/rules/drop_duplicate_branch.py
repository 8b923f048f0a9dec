"""The rule `drop_duplicate_branch`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.ir.node import walk
from neelc.ir.patterns import Exists, Not, Or, Pattern, renamed, targets
from neelc.pattern.analysis.regions import QueryFacts


def drop_duplicate_branch(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """A branch of an OR that says what an earlier branch says adds no match: the result is a set.

    In a query no two branches are equal, because all variables differ; pushing negations down and
    distributing OR make branches that share variables. Names that only the branch itself sees, those of
    negative parts and of EXISTS, do not matter.

    >>> from pattern_examples import query
    >>> text = "OR(SEQ(A a, !B b, C c), SEQ(A a_2, !(B b_2 : b_2.x > a_2.x), C c_2))"
    >>> branches = renamed(query(text).pattern, {"a_2": "a", "c_2": "c"})
    >>> print(drop_duplicate_branch(branches, QueryFacts(lambda: query(text))))
    None
    >>> text = "OR(SEQ(A a, !B b, C c), SEQ(A a_2, !B b_2, C c_2), EXISTS d : SEQ(A a_3, C c_3, D d))"
    >>> branches = renamed(query(text).pattern, {"a_2": "a", "c_2": "c", "a_3": "a", "c_3": "c"})
    >>> print(drop_duplicate_branch(branches, QueryFacts(lambda: query(text))))
    OR(SEQ(A a, !B b, C c), EXISTS d : SEQ(A a, C c, D d))

    Not when the branches bind different variables: these are NULL in turn.

    >>> drop_duplicate_branch(query("OR(A a, A b)").pattern, QueryFacts(lambda: query("OR(A a, A b)")))
    """
    if not isinstance(part, Or):
        return None
    kept = tuple({_nameless(branch): branch for branch in reversed(part.parts)}.values())[::-1]
    return replace(part, parts=kept) if len(kept) < len(part.parts) else None


def _nameless(branch: Pattern) -> Pattern:
    """The branch with numbers for the names that nothing outside can see."""
    hidden = dict.fromkeys(_hidden(branch))
    return renamed(branch, {name: str(number) for number, name in enumerate(hidden)})


def _hidden(branch: Pattern) -> Iterator[str]:
    for node in walk(branch):
        match node:
            case Exists(variables):
                yield from variables
            case Not(inner):
                yield from targets(inner)
