"""What is judged on each way: the conditions that can be judged with it, and could not be before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.ir.expr import Expr
from neelc.plan.event_roles import renamed
from neelc.plan.follow_components import Branch
from neelc.plan.follow_decided import RUNNING, WHOLE, Position, Question, is_decided
from neelc.plan.follow_ways import Way
from neelc.plan.list_names import CURRENT, FIRST, LAST, element
from neelc.plan.steps import Judged
from neelc.plan.unsupported import Unsupported
from neelc.runtime.moves import NEXT


def judged_on(way: Way, questions: Sequence[Question], branch: Branch) -> Iterator[tuple[Judged, bool]]:
    """The conditions, and whether each is one for the event and what was bound before, and no more."""
    _check_iteration(way, questions, branch)
    for question in questions:
        if _is_new(question, way, branch):
            one = _judged(question, way.target, branch)
            is_plain = one.each is None and not one.present and not _is_of_full_list(question, way, branch)
            yield one, is_plain


def _is_new(question: Question, way: Way, branch: Branch) -> bool:
    if not is_decided(question, way.target, branch):
        return False
    if any(mark in way.left_out for mark, _ in question.condition.when):
        return False
    is_about_it = question.ranged == branch.components[way.target.component].item.variable
    if is_about_it and way.target.is_first and question.looks_back:
        return False  # it holds for the first element by definition
    is_next = is_about_it and way.iteration == NEXT
    return way.source is None or is_next or not is_decided(question, way.source, branch)


def _check_iteration(way: Way, questions: Sequence[Question], branch: Branch) -> None:
    """An iteration that ends without some of its parts must not leave a condition unjudged."""
    if way.source is None or (way.source.component == way.target.component and way.iteration != NEXT):
        return
    source = way.source
    end = replace(source, part=len(branch.components[source.component].parts) - 1)
    for question in questions if end != source else ():
        is_asked = not any(mark in way.left_out for mark, _ in question.condition.when)
        is_early = is_decided(question, source, branch)
        if is_asked and not is_early and is_decided(question, end, branch):
            raise Unsupported("a condition about an optional part at the end of a closure's body")


def _judged(question: Question, at: Position, branch: Branch) -> Judged:
    """A condition as it is asked when a run comes to a position."""
    place = None if question.ranged is None else branch.places.get(question.ranged)
    if place is None or place >= at.component:
        present = tuple(dict.fromkeys(_guards(question, at, branch)))
        return Judged(_named(question.expression, at, branch), present)
    is_running = any(reference.place == RUNNING for reference in question.references)
    if branch.components[place].is_composite or is_running:
        raise Unsupported(f"the condition `{question.expression}` for a list that is complete")
    return Judged(_named(question.expression, at, branch), (), question.ranged, question.looks_back)


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
        elif number is not None and place < at.component:
            raise Unsupported(f"the condition `{question.expression}` about an optional part of a closure")


def _named(expression: Expr, at: Position, branch: Branch) -> Expr:
    """The expression with the names that elements have before the event is one of them."""
    component = branch.components[at.component]
    if component.is_list:
        variable = component.item.variable
        places = [place for place, is_it in ((FIRST, at.is_first), (LAST, at.is_full)) if is_it]
        for part in component.parts:
            inner = part.item.variable.removeprefix(element(variable, CURRENT))
            for place in places:
                expression = renamed(expression, element(variable, place) + inner, part.item.variable)
    return expression


def _is_of_full_list(question: Question, way: Way, branch: Branch) -> bool:
    """Whether a condition is about the whole list that the event completes."""
    variable = branch.components[way.target.component].item.variable
    return way.target.is_full and any(
        reference.variable == variable and reference.place == WHOLE for reference in question.references
    )
