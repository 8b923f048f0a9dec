"""The choices that iterations made, read off from what they have bound: lists do not keep them."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.plan.blocks import Block, Choice, Item
from neelc.plan.unsupported import Unsupported
from neelc.runtime.elements import Marks
from neelc.runtime.program import When


def marks_of(closure: Item, whens: Iterator[When]) -> Marks:
    """For each choice of a closure's body that some steps depend on, the events that tell it was made.

    Raises `Unsupported` where none does: both branches of an OR may bind the same variables, or none.
    """
    assert closure.loop is not None
    body = closure.loop.body
    used = {mark for when in whens for mark, _ in when}
    return tuple(
        (choice.mark, number, names)
        for choice in body.choices
        if choice.mark in used
        for number in range(choice.count)
        if (names := _telling(body, choice, number))
    )


def own_choices(closure: Item, when: When) -> When:
    """Those of some choices that an iteration makes."""
    assert closure.loop is not None
    marks = {choice.mark for choice in closure.loop.body.choices}
    return tuple(choice for choice in when if choice[0] in marks)


def _telling(body: Block, choice: Choice, number: int) -> tuple[str, ...]:
    """The variables that are bound if and only if this choice was made."""
    made = {*choice.when, (choice.mark, number)}
    inside = [item for item in body.items if (choice.mark, number) in item.when]
    if not inside and number == 0:
        return ()  # an optional part that is absent
    others = {item.variable for item in body.items if item not in inside}
    if not any(set(item.when) == made and item.variable not in others for item in inside):
        raise Unsupported("a closure whose branches cannot be told apart by what they bind")
    return tuple(item.variable for item in inside if item.variable not in others)
