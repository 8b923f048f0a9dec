"""Steps for events whose times are imprecise: which rows may be matches, and how likely each of them is.

A program for such events binds them as if each lasted from its latest possible time to its earliest one: so
"ends before the other starts" becomes "can be before the other" (docs/decisions/0038). What that lets through
is put right by these steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neelc.runtime.program import Step, When

CONFIDENCE = "#confidence"
"""The name under which a row has its confidence. No name of a pattern is like it."""


@dataclass(frozen=True)
class Likely:
    """Keep the rows whose `events`, variables and lists in the order of time, are all different and can come
    in this order within `width`; and that, as far as they go, with a probability of `least`. However a row
    goes on, it does not become more likely."""

    events: tuple[str, ...]
    width: int | None = None
    least: float = 0.0
    when: When = ()


@dataclass(frozen=True)
class Negation:
    """What must not be there: each event that `steps` bind `variable` to, between those of the first `place`
    names of a sequence and those of the others."""

    steps: tuple[Step, ...]
    variable: str
    place: int
    when: When = ()


@dataclass(frozen=True)
class Weigh:
    """The confidence of each row: the probability that its `events` come in this order within `width`, and
    that no event of the `negations` spoils it. Kept are those that reach `least`; `strictly`: exceed it."""

    events: tuple[str, ...]
    width: int | None = None
    negations: tuple[Negation, ...] = ()
    least: float = 0.0
    strictly: bool = False
    when: When = ()
