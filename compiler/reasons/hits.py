"""Which events hit a negation: found by leaving events out until the reference says that nothing is hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neelc.ir import pattern as p
from neelc.ir.parts import all_parts
from neelc.reasons.asking import Asker, is_imprecise
from neelc.reasons.judging import part_at
from neelc.reasons.relaxing import Change, changed
from neelc.reasons.requirements import Requirement
from neelc.reasons.smallest import Relaxation
from neelc.runtime.reference.model import Binding, Event, bound_events
from neelc.runtime.reference.question import Question
from neelc.runtime.reference.satisfy import is_match


@dataclass(frozen=True, eq=False)
class _Rejection:
    """A binding that a negation rejects. `among` are the events that the negation may look at."""

    asked: Question
    binding: Binding
    among: Sequence[Event]

    def holds_with(self, kept: Sequence[Event]) -> bool:
        """Whether the binding is still rejected when, of `among`, only the events `kept` are there."""
        gone = set(self.among).difference(kept)
        members = {
            type: tuple(event for event in events if event not in gone)
            for type, events in self.asked.members.items()
        }
        # Windows of events go on counting all of them: only what negations can find is less.
        fewer = Question(self.asked.whole, self.asked.match, self.asked.events, members, self.asked.known)
        return not is_match(fewer, self.binding)


def hits(asker: Asker, found: Relaxation, negation: Requirement) -> tuple[Event, ...] | None:
    """The events that hit a negation which a relaxation drops: of those that do, a small choice.

    None if the negation does not reject the match that the relaxation has found. Empty if it does so without
    any event, as `!!A` where there is no A, or if times are imprecise: then other worlds have other events.
    """
    assert negation.path is not None, "a negation is a part"
    if is_imprecise(found.match):
        return ()
    kept = found.change.dropped - {negation}
    asked = asker.question(changed(found.match, Change(kept, found.change.windows, found.change.strategy)))
    part = part_at(found.match.pattern, negation.path)
    types = {one.type for one in all_parts(part) if isinstance(one, p.Event)}
    bound = set(bound_events(found.binding))
    among = [e for e in asked.events if e not in bound and any(asked.is_of_type(e, type) for type in types)]
    if is_match(asked, found.binding):
        return None
    return tuple(smallest(_Rejection(asked, found.binding, among)))


def smallest(rejection: _Rejection) -> list[Event]:
    """Events of which none can be left out, early ones if possible: the later half is left out first, then
    quarters, and at last single events."""
    kept = list(rejection.among)
    chunk = max(1, len(kept) // 2)
    while True:
        place = len(kept)
        while place > 0:
            fewer = kept[: max(0, place - chunk)] + kept[place:]
            if rejection.holds_with(fewer):
                kept = fewer
            place -= chunk
        if chunk == 1:
            return kept
        chunk = max(1, chunk // 2)
