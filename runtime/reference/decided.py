"""What a condition can know while a binding is not complete: which references can no longer change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from neelc.ir.expr import At, Attribute, Each, EventRef, EventTime, Expr, Index, Inner, Variable, Whole
from neelc.ir.many import element, lists
from neelc.ir.node import walk
from neelc.runtime.reference.model import Context
from neelc.runtime.reference.references import list_of, meaning, places, position

Path = Attribute | Whole | EventTime


class Begun(dict[str, object]):
    """An iteration of a closure that is not over: those of its variables that are bound so far."""


@dataclass(frozen=True)
class Knowledge:
    """What is bound so far, and the lists in it that may become longer."""

    context: Context
    growing: Collection[str]

    def is_decided(self, expression: Expr) -> bool:
        """Whether nothing the expression speaks of can change: `b[1]` is decided as soon as it is bound,
        `b[last]` and `b[]` when the list is complete."""
        return all(self.is_known(node) for node in walk(expression) if isinstance(node, Path))

    def is_known(self, path: Expr) -> bool:
        """Whether the event of a path is known, or every event that it ranges over."""
        each = next(lists(path), None)
        if each is None:
            assert isinstance(path, Path), "a path ends at an event"
            return self.is_fixed(path.event) and self.is_whole(path.event)
        return self.has_its_elements(each) and all(
            self.is_known(element(path, each, place)) for place in places(each, self.context)
        )

    def has_its_elements(self, each: Each) -> bool:
        """Whether the elements that `b[]` or `b[..i-1]` ranges over are all there."""
        if each.upper is None:
            return self.is_fixed(each.base) and self.is_complete(each.base)
        return self.is_fixed(At(each.base, each.upper))

    def is_fixed(self, reference: EventRef) -> bool:
        """Whether it is clear which event, list or iteration a reference means."""
        match reference:
            case Inner(base):
                return self.is_fixed(base)
            case At(base, index):
                return self.is_fixed(base) and (self.is_there(base, index) or self.is_complete(base))
        return True

    def is_there(self, base: EventRef, index: Index) -> bool:
        """Whether a list has the element already; which one is the last is not known while the list grows."""
        count = len(list_of(base, self.context))
        place = position(index, count, self.context)
        return index.anchor != "LAST" and place is not None and place < count

    def is_complete(self, reference: EventRef) -> bool:
        """Whether a variable has its value: a list, all its elements."""
        match reference:
            case Variable(name):
                return name not in self.growing
            case Inner(base, name):
                iteration = meaning(base, self.context)
                return not isinstance(iteration, Begun) or (name in iteration and name not in self.growing)
        return True

    def is_whole(self, reference: EventRef) -> bool:
        """Whether nothing is still to come inside what a reference means."""
        return self.is_complete(reference) and not isinstance(meaning(reference, self.context), Begun)
