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
    branches = [_branch(block, choice, number) for number in range(choice.count)]
    roles = [[role(item) for item in items] for items in branches]
    common = roles[0]
    for other in roles[1:]:
        common = _common(common, other)
    if not common or choice.count < 2:
        return []
    aligned = [_aligned(items, names, common) for items, names in zip(branches, roles, strict=True)]
    found = list(zip(*aligned, strict=True))
    first, *others = (_relations(items, block, known) for items in aligned)
    return found if first is not None and all(other == first for other in others) else []


def _branch(block: Block, choice: Choice, number: int) -> list[Item]:
    when = {*choice.when, (choice.mark, number)}
    return [item for item in block.items if set(item.when) == when and item.loop is None]


def _common(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The longest sequence that both have.

    >>> _common(["A", "B", "C"], ["D", "A", "C"])
    ['A', 'C']
    """
    best: dict[tuple[int, int], list[str]] = {}
    for i in range(len(one) + 1):
        for j in range(len(other) + 1):
            if i == 0 or j == 0:
                best[i, j] = []
            elif one[i - 1] == other[j - 1]:
                best[i, j] = [*best[i - 1, j - 1], one[i - 1]]
            else:
                best[i, j] = max(best[i, j - 1], best[i - 1, j], key=len)
    return best[len(one), len(other)]


def _aligned(items: Sequence[Item], roles: Sequence[str], common: Sequence[str]) -> list[Item]:
    found, place = [], 0
    for name in common:
        place = roles.index(name, place)
        found.append(items[place])
        place += 1
    return found


def _relations(items: Sequence[Item], block: Block, known: Known) -> list[object] | None:
    """How the items of a branch are related to one another and to what stands around the choice, with
    numbers for their names; None if one depends on more than that."""
    names = {item.variable: f"#{number}" for number, item in enumerate(items)}
    if len(names) < len(items) or any(len(known.items[item.variable]) > 1 for item in items):
        return None
    inside = {item.variable for item in block.items if item.when} - set(names)
    found: list[object] = []
    for item in items:
        if item.between or any(bare(name).casefold() not in known.keyed for _, name in item.same):
            return None
        windows = {_seen(window, names, inside) for window in item.within}
        after, before = _renamed(item.after, names, inside), _renamed(item.before, names, inside)
        found.append((frozenset(after), frozenset(before), frozenset(windows), item.type))
    return found


def _seen(window: Within, names: Mapping[str, str], inside: set[str]) -> Within:
    return replace(window, events=tuple(sorted(_renamed(window.events, names, inside))))


def _renamed(variables: Sequence[str], names: Mapping[str, str], inside: set[str]) -> Iterator[str]:
    """Variables of the same branch that are not shared know of the item too, and are taken after it."""
    return (names.get(name, name) for name in variables if name not in inside)
