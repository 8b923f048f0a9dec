"""SASE++'s classes of the conditions on closures, and what follows for when they are judged."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir.conjuncts import conjuncts
from neelc.ir.expr import Same
from neelc.ir.logical import Match
from neelc.ir.parts import all_parts
from neelc.plan.consistency import Consistency, Kind, Shape, consistency, knowledge
from neelc.rewrite.facts import ANY_MATCH


def list_conditions(query: Match) -> Iterator[str]:
    """A sentence for each condition on a list.

    >>> from neelc.rewrite.examples import query
    >>> for line in list_conditions(query("SEQ(A a, B+ b[]) WHERE b[i].x > 1 AND count(b[]) > 2")):
    ...     print(line)
    b[i].x > 1 is true- and false-value consistent: judged on each event alone, and SAFE from then on.
    count(b[]) > 2 is false-value consistent: judged on complete lists, and before that on all events that \
could be elements: what fails there fails for each list.
    """
    known = knowledge(query.pattern)
    for part in all_parts(query.pattern):
        for condition in conjuncts(part.where):
            found = consistency(condition, known)
            if found.shapes and not isinstance(condition, Same):
                yield f"{condition} is {_kind(found)}: judged {_when(found, query)}."


def _kind(found: Consistency) -> str:
    names = ", ".join(sorted(map(str, found.provided)))
    proviso = f" where {names} is not NULL" if names else ""
    transitive = ", but transitive" if found.is_transitive else ""
    return f"{found.kind_without_nulls.value}{proviso}{transitive}"


def _when(found: Consistency, query: Match) -> str:
    shape = found.shape
    if not shape & ~Shape.ELEMENT:
        return "on each event alone, and SAFE from then on"
    if query.strategy != ANY_MATCH:
        return "as soon as all that it names is bound"
    if not shape & ~(Shape.ELEMENT | Shape.ADJACENT | Shape.RUNNING | Shape.FIRST):
        return "on the first element" if shape == Shape.FIRST else "when an element is added to a list"
    # Events whose order is open make no list of all of them.
    if found.kind in (Kind.FALSE, Kind.BOTH) and not any(stream.latest for stream in query.streams):
        early = "what fails there fails for each list"
        return f"on complete lists, and before that on all events that could be elements: {early}"
    return "on complete lists"
