"""The moves of runs: each way with its bounds of time, its `[id]`s and the conditions judged on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from neelc.bind.coercion import cast_to, common_of
from neelc.ir.expr import Binary, Expr
from neelc.ir.names import bare
from neelc.ir.typeof import type_of
from neelc.plan.event_roles import EventRoles, attribute
from neelc.plan.follow_components import Part
from neelc.plan.follow_decided import Question
from neelc.plan.follow_judged import judged_on
from neelc.plan.follow_ways import Way, Ways
from neelc.plan.known import Known
from neelc.plan.steps import Bounds, EachElement, Filter, Judged, Move, Take, Within
from neelc.runtime.moves import FIRST, LAST, NEXT, SAME


@dataclass(frozen=True, eq=False)
class Moves:
    """The moves of one branch."""

    ways: Ways
    questions: Sequence[Question]
    known: Known
    roles: EventRoles

    def all(self) -> tuple[Move, ...]:
        """Those that differ only in the number of iterations are one."""
        found: list[Move] = []
        for way in self.ways.all():
            move = self._move(way)
            if found and _is_continued(found[-1], move):
                found[-1] = replace(found[-1], most=move.most)
            else:
                found.append(move)
        return tuple(found)

    def _move(self, way: Way) -> Move:
        branch = self.ways.branch
        part = branch.components[way.target.component].parts[way.target.part]
        conditions = list(judged_on(way, self.questions, branch))
        where = (*self._agreements(way, part), *(one for one in conditions if isinstance(one, Expr)))
        after = () if way.source is None else (LAST,)
        bounds = Bounds(after=after, within=tuple(self._windows(way, part)))
        return Move(
            -1 if way.source is None else self.ways.number(way.source),
            self.ways.number(way.target),
            Take(part.item.variable, self.roles.of[part.item], bounds, (), where),
            way.least,
            way.most,
            way.iteration,
            tuple(self.ways.renames(way)),
            tuple(one for one in conditions if isinstance(one, Judged)),
            tuple(one for one in conditions if isinstance(one, Filter | EachElement)),
        )

    def _windows(self, way: Way, part: Part) -> Iterator[Within]:
        """Windows around the event: only the first event in each matters, the others lie between."""
        for window in part.item.within:
            events = tuple(self._firsts(window.events, way))
            measured = window.counted or self.known.lasting
            if events or measured:
                yield Within(events, window.width, window.counted, member=measured)

    def _firsts(self, names: Sequence[str], way: Way) -> Iterator[str]:
        """Of the names in a window those that may be the first that is bound."""
        components, at = self.ways.branch.components, way.target
        for component in components[: at.component]:
            if component.item.variable in names:
                yield component.first_event
                if not component.can_be_skipped:
                    return
        component = components[at.component]
        if component.is_list and way.iteration != FIRST and component.first_event in names:
            yield component.first_event
            return
        for part in component.parts[: at.part] if way.iteration == SAME else ():
            if part.item.variable in names:
                yield part.item.variable
                if not part.is_optional:
                    return

    def _agreements(self, way: Way, part: Part) -> Iterator[Expr]:
        """`[id]` with the event before: all that come before it agree with that one already."""
        if way.source is None:
            return
        component = self.ways.branch.components[way.source.component]
        before = component.parts[way.source.part].item
        around = component.item.same if way.iteration == NEXT else before.same
        variable = dict(self.ways.renames(way)).get(before.variable, before.variable)
        facts = self.known.facts
        for number, name in part.item.same:
            if (number, name) in around and bare(name).casefold() not in self.known.keyed:
                one = attribute(part.item.variable, name, facts.type(part.item.type))
                two = attribute(variable, name, facts.type(before.type))
                kind = common_of((type_of(one), type_of(two)), strings=False) or type_of(one)
                yield Binary("=", cast_to(two, type_of(two), kind), cast_to(one, type_of(one), kind))


def _is_continued(one: Move, other: Move) -> bool:
    """Whether two moves differ only in the numbers of iterations, and these follow one another."""
    follows = one.most is not None and one.most + 1 == other.least
    return follows and replace(one, least=0, most=None) == replace(other, least=0, most=None)
