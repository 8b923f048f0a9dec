"""Steps without choices: one list for each way through the branches of ORs and optional parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from neelc.plan.steps import Absent, AnyBound, Choose, Present, Step, Take, When
from neelc.plan.unsupported import Unsupported

MOST = 64
"""More ways than these would make a plan that nobody can read and Spark cannot optimise in time."""


def alternatives(steps: Sequence[Step]) -> tuple[tuple[Step, ...], ...]:
    """The lists of steps, none with a `when`; inside a check, choices made around it are settled, its own
    are not.

    >>> steps = (Choose("m", 2), Take("a", "A", when=(("m", 0),)), Take("b", "B", when=(("m", 1),)))
    >>> [[step.variable for step in way] for way in alternatives(steps)]
    [['a'], ['b']]
    """
    found = []
    for made in _ways(steps):
        # Choices made around a check were settled when its steps were: all marks here are its own.
        chosen = tuple(
            _settled(step, made) for step in steps if not isinstance(step, Choose) and _meets(step, made)
        )
        bound = {step.variable for step in chosen if isinstance(step, Take)}
        if all(bound & set(step.variables) for step in chosen if isinstance(step, AnyBound)):
            found.append(tuple(step for step in chosen if not isinstance(step, AnyBound)))
    return tuple(dict.fromkeys(found))


def _ways(steps: Sequence[Step]) -> Iterator[dict[str, int]]:
    """What can be chosen; a choice that is not asked for is made in one way only."""
    choices = [step for step in steps if isinstance(step, Choose)]
    ways: dict[tuple[tuple[str, int], ...], None] = {}
    total = 1
    for choice in choices:
        total *= choice.count
    if total > MOST * MOST:
        raise Unsupported(f"a pattern with more than {MOST} combinations of branches")
    for numbers in product(*(range(choice.count) for choice in choices)):
        made = dict(zip((choice.mark for choice in choices), numbers, strict=True))
        asked = {c.mark: made[c.mark] for c in choices if all(made.get(m, n) == n for m, n in c.when)}
        ways[tuple(asked.items())] = None
    if len(ways) > MOST:
        raise Unsupported(f"a pattern with more than {MOST} combinations of branches")
    return (dict(way) for way in ways)


def _meets(step: Step, made: dict[str, int]) -> bool:
    """Whether the step is for these choices; one that was not asked for has not been made."""
    return all(made.get(mark) == number for mark, number in step.when)


def _settled(step: Step, made: dict[str, int]) -> Step:
    """The step without choices that are made; in a check, without steps of other branches."""
    left: When = tuple(choice for choice in step.when if choice[0] not in made)
    if isinstance(step, Absent | Present):
        own = {inner.mark for inner in step.steps if isinstance(inner, Choose)}
        inner = tuple(
            _settled(one, made)
            for one in step.steps
            if all(made.get(mark, number) == number for mark, number in one.when if mark not in own)
        )
        return replace(step, steps=inner, when=left)
    return replace(step, when=left)
