"""What is judged on each way: the conditions that can be judged with it, and could not be before.

Most are told by the event that is taken and by what a run remembers. The others, `b[2]`, `k[i].p` for all
iterations of a complete list, or a part that an iteration has left out, are asked of the run as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neelc.ir.expr import Aggregate, Expr
from neelc.ir.node import walk
from neelc.plan.event_roles import renamed
from neelc.plan.follow_components import Branch
from neelc.plan.follow_decided import RUNNING, WHOLE, Position, Question, Reference, is_decided
from neelc.plan.follow_ways import Way
from neelc.plan.iteration_marks import marks_of, own_choices
from neelc.plan.list_names import CURRENT, LAST, element
from neelc.plan.steps import EachElement, Filter, Judged
from neelc.runtime.moves import NEXT, SAME

Asked = Expr | Judged | Filter | EachElement
"""A condition for the event and what was bound before; one that asks for more; one for the run as a whole."""


def judged_on(way: Way, questions: Sequence[Question], branch: Branch) -> Iterator[Asked]:
    """The conditions that are asked when a run goes this way."""
    for question in questions:
        place = _list_of(question, branch)
        if place is not None and place == way.target.component:
            yield from _in_own_list(question, way, branch)
        elif _is_new(question, way, branch):
            yield _judged(question, way.target, branch)


def _list_of(question: Question, branch: Branch) -> int | None:
    """The component whose iterations a condition is asked of."""
    return question.body if question.ranged is None else branch.places.get(question.ranged)


def _is_new(question: Question, way: Way, branch: Branch) -> bool:
    if not is_decided(question, way.target, branch) or _is_left_out(question, way, branch):
        return False
    return way.source is None or not is_decided(question, way.source, branch)


def _is_left_out(question: Question, way: Way, branch: Branch) -> bool:
    """Whether a condition stands at an optional part that is not there: in a list that is complete, it may be
    there in other iterations."""
    own = _list_of(question, branch) == way.target.component
    return any(
        mark in way.left_out and (own or branch.marks[mark][1] is None) for mark, _ in question.condition.when
    )


def _in_own_list(question: Question, way: Way, branch: Branch) -> Iterator[Asked]:
    """A condition about an iteration, asked while the list grows: of the one that the event belongs to, and
    of the one before, if that has ended without parts that were waited for."""
    source = way.source if way.source and way.source.component == way.target.component else None
    is_next = way.iteration == NEXT and question.ranged is not None
    now = is_decided(question, way.target, branch)
    was = source is not None and is_decided(question, source, branch)
    earlier = way.target.low > 1 and is_decided(question, way.target, branch, of_earlier=True)
    if not _is_told(question, way.target, branch):
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
        yield _judged(question, way.target, branch)


def _is_told(question: Question, at: Position, branch: Branch) -> bool:
    """Whether the event, and what a run remembers, tell all that a condition asks for."""
    place = _list_of(question, branch)
    if place is not None and place < at.component:
        marks = (mark for mark, _ in question.condition.when if mark in branch.marks)
        is_inside = any(branch.marks[mark][1] is not None for mark in marks)
        is_running = any(reference.place == RUNNING for reference in question.references)
        is_composite = question.ranged is not None and branch.components[place].is_composite
        if is_inside or is_running or is_composite or question.lag > 1:
            return False
    return all(_is_remembered(reference, question, at, branch) for reference in question.references)


def _is_remembered(reference: Reference, question: Question, at: Position, branch: Branch) -> bool:
    place = branch.places.get(reference.variable)
    if place is None or reference.place is None:
        return True
    component = branch.components[place]
    if place == at.component and question.ranged == reference.variable:
        is_later = reference.place.isdigit() and int(reference.place) >= max(2, at.low)
        if is_later or reference.place in (LAST, WHOLE):
            return False  # once it is known, it is asked of all elements
    if component.is_composite:
        is_called = any(isinstance(node, Aggregate) and node.function for node in walk(question.expression))
        if reference.place == WHOLE:
            return place < at.component and component.most is None and not is_called
        if reference.place == RUNNING or not reference.inner:
            return False
    return not reference.place.startswith(f"{LAST}-")


def of_whole(
    question: Question, branch: Branch, unfinished: bool = False, complete: bool = False
) -> Filter | EachElement:
    """The step that asks a condition of a run as a whole; or of a `complete` match, which knows its
    branch."""
    condition = question.condition
    outer = tuple(choice for choice in condition.when if complete or choice not in branch.when)
    place = _list_of(question, branch)
    if place is None:
        return Filter(condition.expression, outer)
    item = branch.components[place].item
    assert item.loop is not None
    own = own_choices(item, condition.when)
    outer = tuple(choice for choice in outer if choice not in own)
    steps = (Filter(condition.expression, own),)
    marks = marks_of(item, iter((own,)))
    return EachElement(item.variable, item.loop.names, steps, question.lag, outer, marks, unfinished)


def _judged(question: Question, at: Position, branch: Branch) -> Asked:
    """A condition as it is asked when a run comes to a position."""
    if not _is_told(question, at, branch):
        return of_whole(question, branch)
    expression = _named(question.expression, at, branch)
    place = None if question.ranged is None else branch.places.get(question.ranged)
    if place is not None and place < at.component:
        return Judged(expression, (), question.ranged, question.lag > 0)
    present = tuple(dict.fromkeys(_guards(question, at, branch)))
    is_plain = not present and not _is_of_full_list(question, at, branch)
    return expression if is_plain else Judged(expression, present)


def _guards(question: Question, at: Position, branch: Branch) -> Iterator[str]:
    """The events that must be there for a condition to be asked."""
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


def _named(expression: Expr, at: Position, branch: Branch) -> Expr:
    """The expression with the names that elements have before the event is one of them."""
    component = branch.components[at.component]
    if component.is_list:
        variable = component.item.variable
        places = [str(at.low)] if at.low == at.high else []
        places += [LAST] if at.is_full else []
        for part in component.parts:
            inner = part.item.variable.removeprefix(element(variable, CURRENT))
            for place in places:
                expression = renamed(expression, element(variable, place) + inner, part.item.variable)
    return expression


def _is_of_full_list(question: Question, at: Position, branch: Branch) -> bool:
    """Whether a condition is about the whole list that the event completes."""
    return at.is_full and WHOLE in question.places_of(branch.components[at.component].item.variable)
