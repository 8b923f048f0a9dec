"""References: which event, or which events, they mean in a context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from neelc.ir.expr import At, Each, EventRef, Expr, Index, Inner, Variable
from neelc.ir.many import element, lists
from neelc.runtime.reference.model import Context, Event


def event_of(reference: EventRef, context: Context) -> Event | None:
    """The event, None if it is absent: a branch not taken, an index outside the list."""
    found = meaning(reference, context)
    return found if isinstance(found, Event) else None


def meaning(reference: EventRef, context: Context) -> object:
    """An event, a list of events or of iterations, or one iteration: the bindings of its variables."""
    match reference:
        case Variable(name):
            return context.binding.get(name)
        case At(base, index):
            members = list_of(base, context)
            place = position(index, len(members), context)
            return members[place] if place is not None and 0 <= place < len(members) else None
        case Inner(base, name):
            iteration = meaning(base, context)
            return iteration.get(name) if isinstance(iteration, Mapping) else None
    return None


def list_of(reference: EventRef, context: Context) -> tuple[object, ...]:
    """The list that a Kleene variable is bound to; empty if the variable is absent."""
    found = meaning(reference, context)
    return found if isinstance(found, tuple) else ()


def is_absent(reference: EventRef, context: Context) -> bool:
    """Whether there is no such list at all, which is not the same as an empty one."""
    return meaning(reference, context) is None


def position(index: Index, length: int, context: Context) -> int | None:
    """The place of an index, from 0; it may lie outside the list."""
    match index.anchor:
        case "FIRST":
            return index.offset
        case "LAST":
            return length - 1 + index.offset
        case "CURRENT" if context.current is not None:
            return context.current + index.offset
    return None


def places(each: Each, context: Context) -> range:
    """The places of the elements that `b[]` or `b[..i-1]` ranges over."""
    length = len(list_of(each.base, context))
    if each.upper is None:
        return range(length)
    upper = position(each.upper, length, context)
    return range(0 if upper is None else max(0, min(length, upper + 1)))


def one_by_one(expression: Expr, context: Context) -> Iterator[Expr]:
    """The expression for each element of the lists it ranges over, outer lists first."""
    each = next(lists(expression), None)
    if each is None:
        yield expression
        return
    for place in places(each, context):
        yield from one_by_one(element(expression, each, place), context)
