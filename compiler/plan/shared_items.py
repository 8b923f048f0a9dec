"""What all branches of an OR begin with, end with or have in common: it is found once, for all of them.

    OR(SEQ(A a, B b, C c), SEQ(A x, B y, D d))     every pair of A and B is found once, and then goes both
    ways

NEEL's prefix, suffix and middle sharing are one thing here: events can be taken in any order, so those that
the branches share are taken first, wherever they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from neelc.ir.names import bare
from neelc.plan.blocks import Block, Choice, Item
from neelc.plan.known import Known
from neelc.runtime.program import Within

Shared = tuple[Item, ...]
"""The items, one of each branch, that ask for the same event."""


def shared_items(block: Block, choice: Choice, role: Callable[[Item], str], known: Known) -> list[Shared]:
    """The items that every branch of a choice has, in the order of the text; none where they are related in
    different ways."""
    by_choices: dict[frozenset[tuple[str, int]], list[Item]] = {}
    for item in block.items:
        if item.loop is None:
            by_choices.setdefault(frozenset(item.when), []).append(item)
    branches = [
        by_choices.get(frozenset({*choice.when, (choice.mark, number)}), []) for number in range(choice.count)
    ]
    roles = [[role(item) for item in items] for items in branches]
    common = roles[0]
    for other in roles[1:]:
        common = _common(common, other)
    if not common or choice.count < 2:
        return []
    aligned = [_aligned(items, names, common) for items, names in zip(branches, roles, strict=True)]
    found = list(zip(*aligned, strict=True))
    under_choices = frozenset(item.variable for item in block.items if item.when)
    first, *others = (_relations(items, under_choices, known) for items in aligned)
    return found if first is not None and all(other == first for other in others) else []


def _common(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The longest sequence that both have.

    >>> _common(["A", "B", "C"], ["D", "A", "C"])
    ['A', 'C']
    """
    length = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, name in enumerate(one, 1):
        for j, also in enumerate(other, 1):
            equal = name == also
            length[i][j] = length[i - 1][j - 1] + 1 if equal else max(length[i][j - 1], length[i - 1][j])
    found: list[str] = []
    i, j = len(one), len(other)
    while i and j:
        if one[i - 1] == other[j - 1]:
            found.append(one[i - 1])
            i, j = i - 1, j - 1
        elif length[i][j - 1] >= length[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return found[::-1]


def _aligned(items: Sequence[Item], roles: Sequence[str], common: Sequence[str]) -> list[Item]:
    found, place = [], 0
    for name in common:
        place = roles.index(name, place)
        found.append(items[place])
        place += 1
    return found


def _relations(items: Sequence[Item], under_choices: frozenset[str], known: Known) -> list[object] | None:
    """How the items of a branch are related to one another and to what stands around the choice, with
    numbers for their names; None if one depends on more than that."""
    names = {item.variable: f"#{number}" for number, item in enumerate(items)}
    if len(names) < len(items) or any(len(known.items[item.variable]) > 1 for item in items):
        return None
    found: list[object] = []
    for item in items:
        if item.between or any(bare(name).casefold() not in known.keyed for _, name in item.same):
            return None
        windows = {_seen(window, names, under_choices) for window in item.within}
        after, before = (_renamed(told, names, under_choices) for told in (item.after, item.before))
        found.append((frozenset(after), frozenset(before), frozenset(windows), item.type))
    return found


def _seen(window: Within, names: Mapping[str, str], under_choices: frozenset[str]) -> Within:
    return replace(window, events=tuple(sorted(_renamed(window.events, names, under_choices))))


def _renamed(
    variables: Sequence[str], names: Mapping[str, str], under_choices: frozenset[str]
) -> Iterator[str]:
    """Variables of the same branch that are not shared know of the item too, and are taken after it."""
    return (names.get(name, name) for name in variables if name in names or name not in under_choices)
