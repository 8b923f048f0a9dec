"""Why a form was chosen: one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

from neelc.cost.estimate import Estimate
from neelc.cost.items import Item

ALIKE = 1.005
"""Works that differ by less are told as equal."""

Named = tuple[str, Estimate]


def reason(alternatives: Sequence[Named], chosen: str) -> str:
    """The chosen form is compared with the first one, which is the query as it stands; or, if it is the first
    itself, with the best of the others.

    >>> def form(name, scan, check):
    ...     return name, Estimate(0, 0, 0, 0, 0, (Item("scan", scan), Item("check", check)))
    >>> print(reason([form("simplified", 10, 300), form("normal form", 10, 90)], "normal form"))
    The normal form needs 3.1x less work than the simplified query, because of "check": 90 instead of 300.
    >>> print(reason([form("simplified", 10, 90), form("normal form", 10, 90)], "simplified"))
    The simplified query needs as much work as the normal form, and it was there first.
    >>> print(reason([form("simplified", 10, 90), form("normal form", 10, 40)], "simplified"))
    The simplified query is kept: the normal form would save too little work to matter.
    >>> print(reason([form("simplified", 10, 90)], "simplified"))
    No rule offers another form than the simplified query.
    """
    known = dict(alternatives)
    others = [(name, estimate) for name, estimate in alternatives if name != chosen]
    if not others:
        return f"No rule offers another form than {_called(chosen)}."
    is_first = alternatives[0][0] == chosen
    name, other = min(others, key=lambda one: one[1].work) if is_first else alternatives[0]
    best = known[chosen]
    ratio = other.work / best.work if best.work > 0 else 1.0
    what = _called(chosen)
    if is_first and ratio < 1 / ALIKE:
        return f"{what[0].upper()}{what[1:]} is kept: {_called(name)} would save too little work to matter."
    if ratio < ALIKE:
        equal = "as much work as" if is_first else "slightly less work than"
        end = ", and it was there first" if is_first else ""
        return f"{what[0].upper()}{what[1:]} needs {equal} {_called(name)}{end}."
    item, more = _largest(best, other)
    return (
        f"{what[0].upper()}{what[1:]} needs {_times(ratio)} less work than {_called(name)}, "
        f'because of "{item.what}": {_amount(item.work)} instead of {_amount(more)}.'
    )


def _largest(best: Estimate, other: Estimate) -> tuple[Item, float]:
    """The line in which two estimates differ most, and its work in the other one."""
    works = {item.what: item.work for item in other.items}
    items = {item.what: item for item in best.items}
    lines = [items.get(what, Item(what, 0.0)) for what in dict.fromkeys((*items, *works))]
    found = max(lines, key=lambda item: works.get(item.what, 0.0) - item.work)
    return found, works.get(found.what, 0.0)


def _called(name: str) -> str:
    """
    >>> _called("simplified"), _called("normal form"), _called("every order of AND")
    ('the simplified query', 'the normal form', 'the form "every order of AND"')
    """
    known = {"simplified": "the simplified query", "normal form": "the normal form"}
    return known.get(name, f'the form "{name}"')


def _times(ratio: float) -> str:
    """
    >>> _times(3.14159), _times(12345.6), _times(1e30)
    ('3.1x', '12,346x', '1e+30x')
    """
    if ratio >= 1e9:
        return f"{ratio:.0e}x"
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.2f}x" if ratio < 2 else f"{ratio:.1f}x"


def _amount(work: float) -> str:
    """
    >>> _amount(0.5), _amount(12345.6), _amount(1e30)
    ('0.5', '12,346', '1e+30')
    """
    if work >= 1e12:
        return f"{work:.2g}"
    return f"{work:,.0f}" if work >= 10 else f"{work:.2g}"
