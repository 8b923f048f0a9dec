"""Where the negations of a match looked for events: their scopes.

What `neelc.runtime.reference.satisfy` judges, told of a match that is known to be one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.ir import pattern as p
from neelc.report.picture import Shade
from neelc.runtime.reference.model import Binding
from neelc.runtime.reference.question import ELEMENT, Question, iteration
from neelc.runtime.reference.satisfy import View, is_absent
from neelc.runtime.reference.scopes import EVERYWHERE, Scope, between, extent, room
from neelc.runtime.reference.windows import reach


def shades(question: Question, binding: Binding) -> tuple[Shade, ...]:
    """The scopes of all negations, outside of EXISTS, that a match has passed.

    >>> from neelc.rewrite.examples import query
    >>> from neelc.runtime.reference.model import Event
    >>> from neelc.runtime.reference.question import question
    >>> a, c = (Event("S", t, kind, t * 10**6, t * 10**6, {}, (t, t)) for t, kind in ((2, "A"), (9, "C")))
    >>> asked = question(query("SEQ(A a, !B b, C c, !D d) WITHIN 10"), [a, c])
    >>> for shade in shades(asked, {"a": a, "c": c}):
    ...     print(shade.part, shade.low, shade.high)
    !B b 2000001 8999999
    !D d 9000001 12000000
    """
    return tuple(_shades(question, question.whole, View(binding)))


def _shades(question: Question, part: p.Pattern, view: View) -> Iterator[Shade]:
    if isinstance(part, p.Not):
        yield Shade(str(part), _instant(view.scope.low), _instant(view.scope.high))
        return
    if is_absent(question, part, view.binding):
        return
    events = question.events_in(part, view.binding)
    scope = view.scope & (reach(question, part.within, events) or EVERYWHERE)
    for inner, binding, narrower in _inside(question, part, view.binding, scope):
        if narrower.low <= narrower.high:
            yield from _shades(question, inner, replace(view, binding=binding, scope=narrower))


def _inside(
    question: Question, part: p.Pattern, binding: Binding, scope: Scope
) -> Iterator[tuple[p.Pattern, Binding, Scope]]:
    """The parts of a part, each with its scope."""
    match part:
        case p.Seq(parts):
            yield from _in_sequence(question, [(inner, binding) for inner in parts], scope)
        case p.Repeat():
            elements = binding.get(part.variable or ELEMENT)
            assert isinstance(elements, tuple)
            bodies = [(part.part, {**binding, **iteration(part, element)}) for element in elements]
            yield from _in_sequence(question, bodies, scope)
        case p.AndNeg(parts):
            for place, inner in enumerate(parts):
                around = _neighbours(question, part, binding, place) if isinstance(inner, p.Not) else scope
                yield inner, binding, scope & around
        case p.And(parts) | p.Or(parts):
            yield from ((inner, binding, scope) for inner in parts)
        case p.Optional(inner):
            yield inner, binding, scope


def _in_sequence(
    question: Question, parts: Sequence[tuple[p.Pattern, Binding]], scope: Scope
) -> Iterator[tuple[p.Pattern, Binding, Scope]]:
    extents = [extent(question.events_in(part, binding)) for part, binding in parts]
    for place, (part, binding) in enumerate(parts):
        yield part, binding, room(extents, place, scope)


def _neighbours(question: Question, part: p.AndNeg, binding: Binding, place: int) -> Scope:
    """Between the positive parts on both sides."""
    positive = [at for at, inner in enumerate(part.parts) if not isinstance(inner, p.Not)]
    before = max((at for at in positive if at < place), default=None)
    after = min((at for at in positive if at > place), default=None)
    ends = [
        None if at is None else extent(question.events_in(part.parts[at], binding)) for at in (before, after)
    ]
    return between(*ends)


def _instant(time: float) -> int | None:
    return None if math.isinf(time) else int(time)
