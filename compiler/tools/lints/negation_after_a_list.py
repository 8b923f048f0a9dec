"""The lint `negation_after_a_list`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir import patterns as p
from neelc.ir.expressions import conjuncts, names_in
from neelc.ir.patterns import all_parts, inner_parts
from neelc.ir.script import SelectionStrategy
from neelc.tools.lints.lint import MAX_TEXT, LintedQuery

NAMES = ("k", "list", "all_of_them")
"""What the closure of the hint may be called."""


def negation_after_a_list(linted: LintedQuery) -> Iterator[Diagnostic]:
    """A negation between a list and what follows it looks at the time after the last element only: an event
    between two elements is not excluded.

    >>> from lint_examples import shown
    >>> lint = negation_after_a_list
    >>> print(shown(lint, "SEQ(A{5,} a[], !N n, B b) WHERE [id] WITHIN 1 HOUR"))
    !N n: `!N n` excludes events after the last event of `a[]`, not between its events

    Not at the end of a sequence, where it speaks of what comes afterwards, nor if it is about events of the
    list's own type: that no more of them follow.

    >>> shown(lint, "SEQ(A+ a[], !N n) WITHIN 1 HOUR")
    >>> shown(lint, "SEQ(A+ a[], !A n, B b) WITHIN 1 HOUR")

    Nor if the list may be empty or has one element, if its elements exclude something themselves, or if a
    condition says how the negative event and the list belong together.

    >>> shown(lint, "SEQ(C c, A* a[], !N n, B b) WITHIN 1 HOUR")
    >>> shown(lint, "SEQ(A{1} a[], !N n, B b) WITHIN 1 HOUR")
    >>> shown(lint, "SEQ(SEQ(A a, !N m, C c)+ k[], !N n, B b) WITHIN 1 HOUR")
    >>> shown(lint, "SEQ(A+ a[], !N n, B b) WHERE n.x > a[last].x WITHIN 1 HOUR")

    Nor where the strategy leaves no room between the elements, or where it could not be written otherwise.

    >>> shown(lint, "SEQ(A+ a[], !N n, B b) WITHIN 1 HOUR USING STRICT CONTIGUITY")
    >>> shown(lint, "SEQ(A+ a[], !N n, B b) WITHIN 1 HOUR RETURN COLLAPSED b.x, count(a[])")
    """
    if (
        linted.match.strategy not in (SelectionStrategy.ANY_MATCH, SelectionStrategy.NEXT_MATCH)
        or linted.match.collapsed
    ):
        return
    for sequence in _sequences(linted.match.pattern):
        for place, negation in enumerate(sequence.parts):
            closure = _list_before(sequence, place)
            if isinstance(negation, p.Not) and closure is not None and _is_doubtful(closure, negation):
                text = linted.text(negation)
                message = f"`{text}` excludes events after the last event of `{closure.variable}[]`"
                hint = _hint(closure, negation, linted)
                yield linted.warning("NEEL6130", f"{message}, not between its events", negation, hint)


def _sequences(part: p.Pattern) -> Iterator[p.Seq]:
    """The sequences of which a match has the events."""
    if isinstance(part, p.Not):
        return
    if isinstance(part, p.Seq):
        yield part
    for inner in inner_parts(part):
        yield from _sequences(inner)


def _list_before(sequence: p.Seq, place: int) -> p.Repeat | None:
    """The list of single events that a negation at a place follows, if a positive part follows that."""
    before = next((one for one in reversed(sequence.parts[:place]) if not isinstance(one, p.Not)), None)
    follows = any(not isinstance(one, p.Not) for one in sequence.parts[place + 1 :])
    if follows and isinstance(before, p.Repeat) and isinstance(before.part, p.Event) and before.variable:
        return before if before.least > 0 and before.most != 1 else None
    return None


def _is_doubtful(closure: p.Repeat, negation: p.Not) -> bool:
    listed = {part.type for part in all_parts(closure.part) if isinstance(part, p.Event)}
    denied = {part.type for part in all_parts(negation.part) if isinstance(part, p.Event)}
    named = {
        name for part in all_parts(negation.part) for one in conjuncts(part.where) for name in names_in(one)
    }
    return not listed & denied and closure.variable not in named


def _hint(closure: p.Repeat, negation: p.Not, linted: LintedQuery) -> str:
    """How to write that there is none between the elements either: the negation follows each of them."""
    assert isinstance(closure.part, p.Event)
    name = closure.variable or ""
    taken = {one.variable for one in all_parts(linted.match.pattern) if isinstance(one, p.Event | p.Repeat)}
    group = next(one for one in NAMES if one not in taken)
    inner = f"SEQ({closure.part.type} {name}, {linted.text(negation)}){_times(closure)} {group}[]"
    if "..." in inner or len(inner) > 2 * MAX_TEXT:
        inner = f"SEQ({closure.part.type} {name}, !...){_times(closure)} {group}[]"
    then = f"{name}[i].x is {group}[i].{name}.x then"
    return f"if none may be there either, write {inner} in place of both; {then}"


def _times(closure: p.Repeat) -> str:
    """
    >>> _times(p.Repeat(p.Event("A"), 1, None, "a")), _times(p.Repeat(p.Event("A"), 2, 2, "a"))
    ('+', '{2}')
    """
    match closure.least, closure.most:
        case 1, None:
            return "+"
        case least, None:
            return f"{{{least},}}"
        case least, most if least == most:
            return f"{{{least}}}"
    return f"{{{closure.least},{closure.most}}}"
