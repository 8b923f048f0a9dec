"""How much a query can hold and do at worst: what bounds its state, and its complexity class.

`n` is the number of events, `w` how many of them lie in one window (of one key, if there is one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from neelc.ir import pattern as p
from neelc.ir.logical import Match
from neelc.ir.parts import all_parts, inner_parts
from neelc.rewrite.keys import Key

ANY_MATCH, NEXT_MATCH = "SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH"


@dataclass(frozen=True)
class Bounds:
    """`work` is a formula in n and w; `growth` is linear, polynomial or exponential."""

    state: str
    work: str
    growth: str
    reason: str


@dataclass(frozen=True)
class Choices:
    """In how many ways a part can choose events of one window: about w to the power of `degree`, for lists
    without a limit about 2 to the power of w."""

    degree: int
    lists: tuple[str, ...] = ()


def bounds(query: Match, keys: Sequence[Key]) -> Bounds:
    """
    >>> from neelc.rewrite.examples import query
    >>> from neelc.rewrite.keys import partition_keys
    >>> match = query("SEQ(A a, !C c, B b) WHERE [id] WITHIN 10 SECONDS")
    >>> found = bounds(match, partition_keys(match))
    >>> found.work, found.growth
    ('n * w', 'polynomial')
    >>> print(found.state)
    Events are kept for 10 SECONDS and for each id apart: older ones can be in no further match.
    >>> print(found.reason)
    A match is a choice of 2 events, and every choice that fits counts.
    """
    return Bounds(_state(query, [key.name for key in keys]), *_work(query))


def _state(query: Match, names: Sequence[str]) -> str:
    each = f" and for each {' and '.join(names)} apart" if names else ""
    if query.within is None:
        return "Nothing bounds it: without WITHIN every event may be part of a match until the input ends" + (
            f", for each {' and '.join(names)} apart." if names else "."
        )
    if query.within.unit == "EVENT":
        return f"At most {query.within} are kept{each}: more do not fit in a match."
    longer = ", and as long as they may be late" if any(stream.latest for stream in query.streams) else ""
    return f"Events are kept for {query.within}{longer}{each}: older ones can be in no further match."


def _work(query: Match) -> tuple[str, str, str]:
    """A formula, its class, and a sentence about it."""
    if query.strategy != ANY_MATCH:
        return _work_of_runs(query)
    found = _choices(query.pattern)
    if found.lists and not query.collapsed:
        names = " and ".join(f"{name}[]" for name in found.lists)
        reason = f"Every sub-list of {names} that fits is in a match of its own{_advice(query)}."
        return f"n * 2^{_w(query)}", "exponential", reason
    events = "1 event" if found.degree == 1 else f"{found.degree} events"
    reason = f"A match is a choice of {events}, and every choice that fits counts."
    if found.lists:
        reason = f"COLLAPSED: a row is a choice of {events}, with all that fits in its lists."
    return _power(found.degree, query), "linear" if found.degree <= 1 else "polynomial", reason


def counted(found: Bounds, query: Match, degree: int) -> Bounds:
    """The same where matches are counted instead of enumerated."""
    growth = "linear" if degree <= 1 else "polynomial"
    return replace(found, work=_power(degree, query), growth=growth, reason="However many matches there are.")


def _advice(query: Match) -> str:
    """COLLAPSED is defined for lists of single events, and not executed for imprecise times."""
    lists = [part for part in all_parts(query.pattern) if isinstance(part, p.Repeat)]
    precise = not any(stream.latest for stream in query.streams)
    collapses = precise and all(isinstance(part.part, p.Event) for part in lists)
    return "; RETURN COLLAPSED would give one row for all of them" if collapses else ""


def _work_of_runs(query: Match) -> tuple[str, str, str]:
    lists = sum(isinstance(part, p.Repeat) and part.most is None for part in all_parts(query.pattern))
    started = "Every event starts one run at most"
    split = ", and a run may split where a list can go on or end" if lists else ""
    if query.strategy == NEXT_MATCH:
        reason = f"{started}, which looks once at each event of its window{split}."
        return _power(lists + 2, query), "polynomial", reason
    if not lists:
        return "n", "linear", f"{started}, and the next event continues or ends it."
    return _power(lists + 1, query), "polynomial", f"{started}, which lasts a window at most{split}."


def _w(query: Match) -> str:
    """The events of one window: all of them, where there is none."""
    return "w" if query.within else "n"


def _power(degree: int, query: Match) -> str:
    """
    >>> from neelc.rewrite.examples import query
    >>> [_power(degree, query("A a WITHIN 5")) for degree in (1, 2, 4)]
    ['n', 'n * w', 'n * w^3']
    >>> _power(3, query("A a"))
    'n^3'
    """
    if degree <= 1:
        return "n"
    if query.within is None:
        return f"n^{degree}"
    return "n * w" if degree == 2 else f"n * w^{degree - 1}"


def _choices(part: p.Pattern, dropped: frozenset[str] = frozenset()) -> Choices:
    match part:
        case p.Event(variable=variable):
            return Choices(int(variable not in dropped))
        case p.Not():
            return Choices(0)
        case p.Exists(variables, inner):
            return _choices(inner, dropped | set(variables))
        case p.Repeat(inner, _, most, variable):
            found = _choices(inner, dropped)
            if variable in dropped:
                return Choices(0)
            if most is None:
                return Choices(0, (variable or "", *found.lists))
            return Choices(found.degree * most, found.lists)
        case p.Or(parts):
            branches = [_choices(branch, dropped) for branch in parts]
            return max(branches, key=lambda one: (bool(one.lists), one.degree))
    below = [_choices(inner, dropped) for inner in inner_parts(part)]
    lists = tuple(name for one in below for name in one.lists)
    return Choices(sum(one.degree for one in below), lists)
