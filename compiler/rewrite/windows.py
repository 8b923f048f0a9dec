"""How far apart the events of each part of a pattern can be: windows, tightened inward."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from neelc.ir import pattern as p
from neelc.ir.expr import Literal
from neelc.ir.logical import Match
from neelc.ir.parts import declared, inner_parts, may_be_empty, targets
from neelc.rewrite.constrained import shorter


def effective_windows(query: Match) -> Mapping[p.Pattern, p.Window | None]:
    """For each part, a window that holds for all its events, whatever they are bound to; None if there is
    none.

    A part of a positive part is bounded by the window of the whole. What a negation looks for lies in its
    scope: between its neighbours that is inside the match, elsewhere it reaches as far as a window before the
    match's end and after its start, so that two events of it can be twice as far apart. The same holds for
    events that EXISTS drops.

    >>> from neelc.rewrite.examples import query
    >>> def show(text):
    ...     for part, window in effective_windows(query(text)).items():
    ...         print(part, "|", window)
    >>> show("SEQ(A a, !SEQ(B b, C c), D d, !(SEQ(E e, F f) WITHIN 30)) WITHIN 10")
    SEQ(A a, !SEQ(B b, C c), D d, !(SEQ(E e, F f) WITHIN 30 MILLISECONDS)) | 10 MILLISECONDS
    A a | 10 MILLISECONDS
    !SEQ(B b, C c) | 10 MILLISECONDS
    SEQ(B b, C c) | 10 MILLISECONDS
    B b | 10 MILLISECONDS
    C c | 10 MILLISECONDS
    D d | 10 MILLISECONDS
    !(SEQ(E e, F f) WITHIN 30 MILLISECONDS) | 20 MILLISECONDS
    SEQ(E e, F f) WITHIN 30 MILLISECONDS | 20 MILLISECONDS
    E e | 20 MILLISECONDS
    F f | 20 MILLISECONDS

    Of a window of time and one of events, which cannot be compared, it is the one of time.
    """
    found: dict[p.Pattern, p.Window | None] = {}
    around = Reach(query.within, query.within, doubled(query.within))
    for part, window in _windows(query.pattern, around):
        # Equal parts can stand in several branches of an OR: what is said must hold for all of them.
        found[part] = _wider(found[part], window) if part in found else window
    return found


@dataclass(frozen=True)
class Reach:
    """What bounds a part: `match` the events of the match around it; `whole` also those that an EXISTS
    around it drops, which are `hidden`; `scope` whatever lies in its scope."""

    match: p.Window | None
    whole: p.Window | None
    scope: p.Window | None
    hidden: frozenset[str] = frozenset()

    def of(self, part: p.Pattern) -> p.Window | None:
        around = self.whole if self.hidden.intersection(targets(part)) else tighter(self.whole, self.match)
        return tighter(around, part.within)


def _windows(part: p.Pattern, around: Reach) -> Iterator[tuple[p.Pattern, p.Window | None]]:
    own = around.scope if isinstance(part, p.Not) else around.of(part)
    yield part, own
    hides = around.hidden.intersection(targets(part))
    scope = tighter(around.scope, doubled(part.within))
    inside = replace(around, match=around.match if hides else own, whole=own, scope=scope)
    match part:
        case p.Not():
            inside = Reach(own, own, own)
        case p.Exists(variables):
            inside = replace(inside, whole=scope, hidden=around.hidden.union(variables))
        case p.Repeat(inner, variable=variable) if variable in around.hidden:
            inside = replace(inside, hidden=around.hidden | declared(inner))
    for place, inner in enumerate(inner_parts(part)):
        enclosed = isinstance(part, p.Seq) and _is_enclosed(part, place)
        yield from _windows(inner, replace(inside, scope=tighter(scope, own)) if enclosed else inside)


def _is_enclosed(part: p.Seq, place: int) -> bool:
    """Whether parts that bind events stand on both sides, so that the scope lies between them."""
    return not all(map(may_be_empty, part.parts[:place])) and not all(
        map(may_be_empty, part.parts[place + 1 :])
    )


def tighter(left: p.Window | None, right: p.Window | None) -> p.Window | None:
    """The window that allows less; of one of time and one of events, the one of time."""
    if left is None or right is None:
        return left or right
    return shorter(left, right) or (right if left.unit == "EVENT" else left)


def _wider(left: p.Window | None, right: p.Window | None) -> p.Window | None:
    if left is None or right is None or shorter(left, right) is None:
        return None
    return right if shorter(left, right) is left else left


def doubled(window: p.Window | None) -> p.Window | None:
    """A window that is twice as long."""
    if window is None:
        return None
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int), "a bound window"
    return replace(window, count=replace(window.count, value=2 * window.count.value))
