"""SKIP TILL NEXT MATCH and the contiguities: a plan whose runs take one event after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.ir.expressions import Aggregate, Binary, Expr
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.pattern.plan.blocks import (
    Block,
    BlockCondition,
    BlockVariables,
    PlacedVariable,
    UnsupportedQuery,
    lag,
    marks_of,
    own_choices,
    renamed,
)
from neelc.pattern.plan.blocks_to_steps import blocks_to_steps
from neelc.pattern.plan.columns import EventRoles, attribute
from neelc.pattern.plan.plan import PlanStep
from neelc.pattern.plan.runs.ways import (
    RUNNING,
    WHOLE,
    ComponentEvent,
    PatternBranch,
    Reference,
    RunCondition,
    RunGraph,
    RunPosition,
    RunTransition,
    branches,
    is_decided,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    FIRST,
    NEXT,
    SAME,
    Bounds,
    Choose,
    Closure,
    EachElement,
    ElementName,
    EventName,
    FilterStep,
    Follow,
    IterationName,
    Move,
    MoveCondition,
    Take,
    When,
    Within,
    base_of,
)
from neelc.runtime.program import LAST as LAST_ELEMENT
from neelc.scalar.operators import cast_to, common_of
from neelc.scalar.type_of import type_of

# The conditions of each transition: those that can be checked with it, and could not be before.
#
# Most need only the event that is taken and what a run remembers. The others, `b[2]`, `k[i].p` for all
# iterations of a complete list, or a part that an iteration has left out, are checked on the run as a whole.

TransitionCheck = Expr | MoveCondition[Expr] | FilterStep[Expr] | EachElement[Expr]
"""A condition on the event and what was bound before; one that needs more; one on the run as a whole."""


def checks_on(
    way: RunTransition, questions: Sequence[RunCondition], branch: PatternBranch
) -> Iterator[TransitionCheck]:
    """The conditions that are checked when a run goes this way."""
    for question in questions:
        place = _list_of(question, branch)
        if place is not None and place == way.target.component:
            yield from _in_own_list(question, way, branch)
        elif _is_new(question, way, branch):
            yield _check_at(question, way.target, branch)


def _list_of(question: RunCondition, branch: PatternBranch) -> int | None:
    """The component whose iterations a condition is checked on."""
    return question.body if question.ranged is None else branch.places.get(question.ranged)


def _is_new(question: RunCondition, way: RunTransition, branch: PatternBranch) -> bool:
    if not is_decided(question, way.target, branch) or _is_left_out(question, way, branch):
        return False
    return way.source is None or not is_decided(question, way.source, branch)


def _is_left_out(question: RunCondition, way: RunTransition, branch: PatternBranch) -> bool:
    """Whether a condition stands at an optional part that is not there: in a list that is complete, it may be
    there in other iterations."""
    own = _list_of(question, branch) == way.target.component
    return any(
        mark in way.left_out and (own or branch.marks[mark][1] is None) for mark, _ in question.condition.when
    )


def _in_own_list(
    question: RunCondition, way: RunTransition, branch: PatternBranch
) -> Iterator[TransitionCheck]:
    """A condition on an iteration, checked while the list grows: on the one that the event belongs to, and
    on the one before, if that has ended without parts that were waited for."""
    source = way.source if way.source and way.source.component == way.target.component else None
    if branch.components[way.target.component].is_nested:
        yield from _in_nested_list(question, way, branch)
        return
    is_next = way.iteration == NEXT and question.ranged is not None
    now = is_decided(question, way.target, branch)
    was = source is not None and is_decided(question, source, branch)
    earlier = way.target.low > 1 and is_decided(question, way.target, branch, of_earlier=True)
    if not _is_available(question, way.target, branch):
        was_earlier = source is not None and is_decided(question, source, branch, of_earlier=True)
        is_same = way.iteration == SAME
        if now and not (is_same and was):
            yield of_whole(question, branch)
        elif earlier and not (is_same and was_earlier):
            yield of_whole(question, branch, unfinished=True)
        return
    if earlier and way.iteration == NEXT and not was:
        yield of_whole(question, branch, unfinished=True)
    by_definition = way.target.high is not None and way.target.high <= question.lag
    if now and (is_next or not was) and not by_definition and not _is_left_out(question, way, branch):
        yield _check_at(question, way.target, branch)


def _in_nested_list(
    question: RunCondition, way: RunTransition, branch: PatternBranch
) -> Iterator[TransitionCheck]:
    """The same for a closure with lists inside: as a condition on the run as a whole."""
    source = way.source if way.source and way.source.component == way.target.component else None
    is_same = way.iteration == SAME and source is not None
    if is_decided(question, way.target, branch):
        was = is_same and source is not None and is_decided(question, source, branch)
        if not was or question.ranged_inside:
            yield of_whole(question, branch)
    elif way.target.low > 1 and is_decided(question, way.target, branch, of_earlier=True):
        was = is_same and source is not None and is_decided(question, source, branch, of_earlier=True)
        if not was:
            yield of_whole(question, branch, unfinished=True)


def _is_available(question: RunCondition, at: RunPosition, branch: PatternBranch) -> bool:
    """Whether the event, and what a run remembers, have all values that a condition needs."""
    place = _list_of(question, branch)
    if place is not None and place < at.component:
        marks = (mark for mark, _ in question.condition.when if mark in branch.marks)
        is_inside = any(branch.marks[mark][1] is not None for mark in marks)
        is_running = any(reference.element is RUNNING for reference in question.references)
        is_composite = question.ranged is not None and branch.components[place].is_composite
        if is_inside or is_running or is_composite or question.lag > 1:
            return False
    return all(_is_remembered(reference, question, at, branch) for reference in question.references)


def _is_remembered(
    reference: Reference, question: RunCondition, at: RunPosition, branch: PatternBranch
) -> bool:
    place = branch.places.get(reference.variable)
    if place is None or reference.element is None:
        return True
    component = branch.components[place]
    if component.is_nested:
        return False
    if place == at.component and question.ranged == reference.variable:
        is_later = (reference.place or 0) >= max(2, at.low)
        if is_later or reference.is_last:
            return False  # once it is known, the condition is checked on all elements
    if component.is_composite:
        is_called = any(isinstance(node, Aggregate) and node.function for node in walk(question.expression))
        if reference.element is WHOLE:
            return place < at.component and component.most is None and not is_called
        if reference.element is RUNNING or not reference.inner:
            return False
    return (reference.place or 0) >= -1


def of_whole(
    question: RunCondition, branch: PatternBranch, unfinished: bool = False, complete: bool = False
) -> FilterStep[Expr] | EachElement[Expr]:
    """The step that checks a condition on a whole run; or on a `complete` match, whose branch is known."""
    condition = question.condition
    outer = tuple(choice for choice in condition.when if complete or choice not in branch.when)
    place = _list_of(question, branch)
    if place is None:
        return FilterStep(condition.expression, outer)
    item = branch.components[place].item
    assert item.loop is not None
    own = own_choices(item, condition.when)
    outer = tuple(choice for choice in outer if choice not in own)
    steps = (_of_lists_inside(question, FilterStep(condition.expression), item, own),)
    marks = marks_of(item, iter((own,)))
    return EachElement(
        item.variable, item.loop.names, steps, question.lag, outer, marks, unfinished=unfinished
    )


def _of_lists_inside(
    question: RunCondition, step: FilterStep[Expr], closure: PlacedVariable, own: When
) -> FilterStep[Expr] | EachElement[Expr]:
    """A condition on an iteration; on each element of a list that it has, if it names these one by one."""
    assert closure.loop is not None, "a closure"
    for inner in closure.loop.body.items:
        if inner.variable in question.ranged_inside:
            assert inner.loop is not None, "a list of an iteration"
            skipped = lag(step.condition, inner.variable)
            return EachElement(inner.variable, inner.loop.names, (step,), skipped, own)
    return replace(step, when=own)


def _check_at(question: RunCondition, at: RunPosition, branch: PatternBranch) -> TransitionCheck:
    """The form of a condition that is checked when a run comes to a position."""
    if not _is_available(question, at, branch):
        return of_whole(question, branch)
    expression = _named(question.expression, at, branch)
    place = None if question.ranged is None else branch.places.get(question.ranged)
    if place is not None and place < at.component:
        return MoveCondition(expression, (), question.ranged, question.lag > 0)
    present = tuple(dict.fromkeys(_guards(question, at, branch)))
    is_plain = not present and not _is_of_full_list(question, at, branch)
    return expression if is_plain else MoveCondition(expression, present)


def _guards(question: RunCondition, at: RunPosition, branch: PatternBranch) -> Iterator[EventName]:
    """The events that must be there for a condition to be checked."""
    if question.body is not None and question.body < at.component:
        yield branch.components[question.body].first_event
    for mark, _ in question.condition.when:
        if mark not in branch.marks:
            continue
        place, number = branch.marks[mark]
        component = branch.components[place]
        if number is None and place < at.component:
            yield component.first_event
        elif number is not None and place == at.component and number < at.part:
            yield component.parts[number].item.variable


def _named(expression: Expr, at: RunPosition, branch: PatternBranch) -> Expr:
    """The expression with the names that elements have before the event is one of them."""
    component = branch.components[at.component]
    if component.is_list and not component.is_nested:
        places = [at.low] if at.low == at.high else []
        places += [-1] if at.is_full else []
        for name in (part.item.variable for part in component.parts):
            assert isinstance(name, IterationName), "an event of an iteration"
            for place in places:
                expression = renamed(expression, name.at(place), name)
    return expression


def _is_of_full_list(question: RunCondition, at: RunPosition, branch: PatternBranch) -> bool:
    """Whether a condition is about the whole list that the event completes."""
    return at.is_full and question.is_about_whole(branch.components[at.component].item.variable)


# The moves of runs: each way with its bounds of time, its `[id]`s and the conditions checked on it.


@dataclass(frozen=True, eq=False)
class BranchMoves:
    """The moves of one branch."""

    ways: RunGraph
    questions: Sequence[RunCondition]
    variables: BlockVariables
    roles: EventRoles

    def all(self) -> tuple[Move[Expr], ...]:
        """Those that differ only in the number of iterations are one."""
        moves: list[Move[Expr]] = []
        for way in self.ways.all():
            move = self._move(way)
            if moves and _is_continued(moves[-1], move):
                moves[-1] = replace(moves[-1], most=move.most)
            else:
                moves.append(move)
        return tuple(moves)

    def _move(self, way: RunTransition) -> Move[Expr]:
        branch = self.ways.branch
        part = branch.components[way.target.component].parts[way.target.part]
        conditions = list(checks_on(way, self.questions, branch))
        where = (*self._agreements(way, part), *(one for one in conditions if isinstance(one, Expr)))
        after = () if way.source is None else (LAST_ELEMENT,)
        bounds = Bounds(after=after, within=tuple(self._windows(way, part)))
        return Move(
            -1 if way.source is None else self.ways.number(way.source),
            self.ways.number(way.target),
            Take(part.event.variable, self.roles.of[part.event], bounds, (), where),
            way.least,
            way.most,
            way.iteration,
            tuple(self.ways.renames(way)),
            tuple(one for one in conditions if isinstance(one, MoveCondition)),
            tuple(one for one in conditions if isinstance(one, FilterStep | EachElement)),
            way.inner,
            way.left,
        )

    def _windows(self, way: RunTransition, part: ComponentEvent) -> Iterator[Within]:
        """Windows around the event: only the first event in each matters, the others lie between."""
        for window in part.event.within:
            events = tuple(self._firsts(window.events, way))
            measured = window.counted or self.variables.lasting
            if events or measured:
                yield Within(events, window.width, window.counted, member=measured)

    def _firsts(self, names: Sequence[EventName], way: RunTransition) -> Iterator[EventName]:
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
                yield ElementName(part.item.variable, 1) if part.is_list else part.item.variable
                if not part.is_optional:
                    return
        part = component.parts[at.part]
        if component.is_list and way.inner == NEXT and ElementName(part.item.variable, 1) in names:
            yield ElementName(part.item.variable, 1)

    def _agreements(self, way: RunTransition, part: ComponentEvent) -> Iterator[Expr]:
        """`[id]` with the event before: all that come before it agree with that one already."""
        if way.source is None:
            return
        component = self.ways.branch.components[way.source.component]
        left = component.parts[way.source.part]
        before = left.event
        around = component.item.same if way.iteration == NEXT else before.same
        if way.inner == NEXT:
            around = left.item.same
        variable = dict(self.ways.renames(way)).get(before.variable, before.variable)
        facts = self.variables.facts
        for number, name in part.event.same:
            if (number, name) in around and bare(name).casefold() not in self.variables.keyed:
                one = attribute(part.event.variable, name, facts.type(part.event.type))
                two = attribute(variable, name, facts.type(before.type))
                kind = common_of((type_of(one), type_of(two)), strings=False) or type_of(one)
                yield Binary("=", cast_to(two, type_of(two), kind), cast_to(one, type_of(one), kind))


def _is_continued(one: Move[Expr], other: Move[Expr]) -> bool:
    """Whether two moves differ only in the numbers of iterations, and these follow one another."""
    follows = one.most is not None and one.most + 1 == other.least
    return follows and replace(one, least=0, most=None) == replace(other, least=0, most=None)


MOST_NUMBERED = 100
"""How many elements of a list can be named one by one: a plan has a move for each, with names for all."""


def follow_steps(
    block: Block, variables: BlockVariables, roles: EventRoles, contiguous: bool
) -> tuple[PlanStep, ...]:
    """The steps that find all matches, or `UnsupportedQuery`. Runs bind variables; what can only be checked
    on complete matches, negations included, comes after them."""
    ways = branches(block)
    _refuse_shared(ways)
    steps: list[PlanStep] = []
    optional = {mark for way in ways for component in way.components for mark in component.marks}
    steps += [Choose(c.mark, c.count, c.when) for c in block.choices if c.mark not in optional]
    left: dict[int, PlanStep] = {}
    for way in ways:
        questions = list(_questions(block, way, roles))
        ways_on = RunGraph(way, _numbered(questions, way))
        moves = BranchMoves(ways_on, questions, variables, roles)
        steps.append(_follow(moves, contiguous))
        for question in questions:
            if not all(is_decided(question, at, way) for at in ways_on.accepting()):
                left.setdefault(id(question.condition), of_whole(question, way, complete=True))
    rest = replace(block, items=[], choices=[], bound=[], conditions=[], checks=list(_checks(block)))
    around = frozenset(name for item in block.items for name in item.names)
    return (*steps, *left.values(), *blocks_to_steps(rest, variables, roles, around=around))


def _checks(block: Block) -> Iterator[Block]:
    """The negations, also those of iterations: "filters on complete matches"."""
    yield from block.checks
    for item in block.items:
        if item.loop is not None:
            yield from (replace(check, each=(item.variable,)) for check in item.loop.body.checks)
            for inner in item.loop.body.items:
                if inner.loop is not None:
                    each = (item.variable, inner.variable)
                    yield from (replace(check, each=each) for check in inner.loop.body.checks)


def _numbered(questions: list[RunCondition], branch: PatternBranch) -> dict[EventName, int]:
    """The highest number by which conditions name an element of each list."""
    inside = (part.item.variable for one in branch.components for part in one.parts if one.is_nested)
    highest = dict.fromkeys((*branch.places, *inside), 1) if questions else {}
    for question in questions:
        numbers = [(one.variable, one.place) for one in question.references]
        numbers += [_numbered_inside(one) for one in question.references]
        lags = [(question.ranged, question.lag)] if question.ranged is not None else []
        for name, number in (*numbers, *lags):
            if name in highest and number is not None:
                highest[name] = max(highest[name], number)
            if number is not None and number > MOST_NUMBERED:
                what = f"a condition on more than {MOST_NUMBERED} elements of `{name}` one by one"
                raise UnsupportedQuery(f"{what} under this strategy")
    return highest


def _numbered_inside(reference: Reference) -> tuple[EventName, int | None]:
    """The list that an iteration has, and the number of its element that a reference names."""
    number = reference.inside.place if isinstance(reference.inside, ElementName) else None
    return IterationName(reference.variable, reference.inner), number


def without_late_conditions(block: Block) -> Block:
    """The block without conditions at a part that comes after all variables that they name: whether an event
    can be taken does not depend on them."""

    def kept(inner: Block) -> list[BlockCondition]:
        return [one for one in inner.conditions if not one.home or _reaches(one.names, one.home)]

    items = [
        item
        if item.loop is None
        else replace(item, loop=replace(item.loop, body=without_late_conditions(item.loop.body)))
        for item in block.items
    ]
    return replace(block, items=items, conditions=kept(block))


def _reaches(names: frozenset[EventName], home: tuple[EventName, ...]) -> bool:
    """Whether a condition names what its part binds."""
    return any(name in home or base_of(name) in home for name in names)


def _follow(moves: BranchMoves, contiguous: bool) -> Follow[Expr]:
    branch = moves.ways.branch
    closures = tuple(
        Closure(
            one.item.variable,
            one.item.loop.names,
            bool(one.marks),
            one.item.loop.places,
            one.item.loop.lags,
            tuple(part.event.variable for part in one.parts if part.is_list and part.marks),
        )
        for one in branch.components
        if one.item.loop is not None
    )
    marks = tuple((mark, one.first_event) for one in branch.components for mark in sorted(one.marks))
    return Follow(moves.ways.states, moves.all(), closures, contiguous, marks=marks, when=branch.when)


def _refuse_shared(ways: list[PatternBranch]) -> None:
    """A run of one branch could be a match of another."""
    names = [name for way in ways for name in way.places]
    if len(set(names)) < len(names):
        raise UnsupportedQuery("branches of an OR that share variables, under this strategy")


def _questions(block: Block, branch: PatternBranch, roles: EventRoles) -> Iterator[RunCondition]:
    """The conditions that are checked in a branch."""
    for condition in block.conditions:
        if _is_of(condition, branch) and not roles.is_absorbed(condition):
            yield RunCondition(condition)
    for place, component in enumerate(branch.components):
        if component.item.loop is not None:
            lists = (one.loop.body for one in component.item.loop.body.items if one.loop is not None)
            for body in (component.item.loop.body, *lists):
                for condition in body.conditions:
                    if not roles.is_absorbed(condition):
                        yield RunCondition(condition, place)


def _is_of(condition: BlockCondition, branch: PatternBranch) -> bool:
    """Whether a condition stands in a branch, or around all of them."""
    return all(choice in branch.when or choice[0] in branch.marks for choice in condition.when)
