"""A program's `EachElement`: what must hold for each element of a list that is complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neelc.runtime.program import Fold, Step, When

Marks = tuple[tuple[str, int, tuple[str, ...]], ...]
"""A mark, a choice, and the names of iterations of which one has an event if that choice was made."""


@dataclass(frozen=True)
class EachElement:
    """Keep the rows in which `steps` keep each element of a list but the first ones that are `skipped`; so
    all rows without a list.

    The steps see the element under the `names` of an iteration, `b[i]` or `k[i].a`, and those before it as
    `b[i-1]`, `k[i-2].a`; `k[i-1]` and `k[i+1]` are the event that ends last in the iteration before, and the
    one that starts first in the one after. What they bind is dropped. `marks` tell which choices an iteration
    made: 0 where none of them does. `running` folds are over the elements before each. Of a list that is
    `unfinished`, the last element is not asked.
    """

    variable: str
    names: tuple[str, ...]
    steps: tuple[Step, ...]
    skipped: int = 0
    when: When = ()
    marks: Marks = ()
    running: tuple[Fold, ...] = ()
    unfinished: bool = False
