"""The lint `closure_of_every_event`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.findings import Findings
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import conjuncts, names_in
from neelc.ir.node import walk
from neelc.ir.patterns import all_parts, inner_parts
from neelc.ir.script import SelectionStrategy
from neelc.pattern.bind.windows import check_strategy
from neelc.tools.lints.lint import LintedQuery

FEW_EVENTS = 10
"""A window of so few events leaves so few lists that nobody need be warned: 2^10 is a thousand."""


def closure_of_every_event(linted: LintedQuery) -> Iterator[Diagnostic]:
    """A list without a limit that any events of its type fit in has as many matches as there are lists.

    >>> from lint_examples import shown
    >>> lint = closure_of_every_event
    >>> print(shown(lint, "SEQ(A a, B+ b[], C c) WHERE [id] AND b[1].x > 1 WITHIN 5 SECONDS"))
    B+ b[]: `b[]` can be any list of B events: n of them make about 2^n matches
    >>> print(shown(lint, "SEQ(A a, SEQ(B b, C c)+ k[]) WITHIN 5 SECONDS"))
    SEQ(B b, C c)+ k[]: `k[]` can be any list of iterations: n of them make about 2^n matches

    Not if a condition says which lists or which elements fit, nor with a limit.

    >>> shown(lint, "SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x WITHIN 5 SECONDS")
    >>> shown(lint, "SEQ(A a, B+ b[], C c) WHERE count(b[]) <= 3 WITHIN 5 SECONDS")
    >>> shown(lint, "SEQ(A a, B{1,3} b[], C c) WITHIN 5 SECONDS")
    >>> shown(lint, "SEQ(A a, B+ b[], C c) WITHIN 5 EVENTS")

    Nor if the lists are not told apart: by the strategy, by COLLAPSED, by DISTINCT, in EXISTS or `!`.
    They are told apart where they are counted.

    >>> shown(lint, "SEQ(A a, B+ b[]) WITHIN 5 SECONDS USING SKIP TILL NEXT MATCH")
    >>> shown(lint, "SEQ(A a, B+ b[], C c) WITHIN 5 SECONDS RETURN COLLAPSED a.x, count(b[])")
    >>> shown(lint, "SEQ(A a, B+ b[], C c) WITHIN 5 SECONDS RETURN DISTINCT a.x")
    >>> shown(lint, "SEQ(A a, B+ b[], C c) WITHIN 5 SECONDS RETURN max(a.x)")
    >>> shown(lint, "SEQ(A a, B+ b[], C c) WITHIN 5 SECONDS RETURN count(*)") is None
    False
    >>> shown(lint, "EXISTS b : SEQ(A a, B+ b[], !D+ d[], C c) WITHIN 5 SECONDS")

    Nor where the first match of a start, or of some events, is enough: it has the shortest list.

    >>> shown(lint, "SEQ(A a, B+ b[], C c) WITHIN 5 SECONDS AFTER MATCH SKIP PAST LAST EVENT")
    """
    match = linted.match
    if match.strategy != SelectionStrategy.ANY_MATCH or match.collapsed or _allows_few(match.within):
        return
    for closure in _closures(match.pattern):
        name = closure.variable or ""
        if _is_first_enough(closure, name, linted):
            continue
        if not _is_restricted(closure, name, linted) and not _is_left_out(name, linted):
            what = f"{closure.part.type} events" if isinstance(closure.part, p.Event) else "iterations"
            message = f"`{name}[]` can be any list of {what}: n of them make about 2^n matches"
            yield linted.warning("NEEL6002", message, closure, _hint(closure, name, linted))


def _closures(part: p.Pattern, dropped: frozenset[str] = frozenset()) -> Iterator[p.Repeat]:
    """The lists without a limit that a match binds. Those inside others are checked with them."""
    if isinstance(part, p.Not) or _allows_few(part.within):
        return
    if isinstance(part, p.Repeat):
        if part.most is None and part.variable not in dropped:
            yield part
        return
    if isinstance(part, p.Exists):
        dropped = dropped.union(part.variables)
    for inner in inner_parts(part):
        yield from _closures(inner, dropped)


def _allows_few(window: p.Window | None) -> bool:
    match window:
        case p.Window(e.Literal(int(count)), "EVENT"):
            return count <= FEW_EVENTS
    return False


def _is_restricted(closure: p.Repeat, name: str, linted: LintedQuery) -> bool:
    """Whether a condition leaves out lists or elements. One that speaks of one place in the list, such as
    `b[1]`, leaves all others free."""
    if closure.gaps or closure.each_within is not None:
        return True
    inside = [conjunct for part in all_parts(closure.part) for conjunct in conjuncts(part.where)]
    if any(not isinstance(conjunct, e.SameAttributes) for conjunct in inside):
        return True
    about = [(conjunct, part) for conjunct, part in linted.conditions if name in names_in(conjunct)]
    return any(
        not _is_about_one_place(conjunct, name) and not linted.is_always_true(conjunct, part)
        for conjunct, part in about
    )


def _is_first_enough(closure: p.Repeat, name: str, linted: LintedQuery) -> bool:
    """Whether only lists of one element can be in a match that is kept: any element is one."""
    kept = linted.match.kept
    if kept is None or not (kept.skip or kept.one_per) or name in kept.one_per:
        return False
    named = any(name in names_in(conjunct) for conjunct, _ in linted.conditions)
    return isinstance(closure.part, p.Event) and not named


def _is_about_one_place(conjunct: e.Expr, name: str) -> bool:
    places = {
        node.index
        for node in walk(conjunct)
        if isinstance(node, e.ListElement) and node.base == e.Variable(name)
    }
    uses = sum(node == e.Variable(name) for node in walk(conjunct))
    at = sum(isinstance(node, e.ListElement) and node.base == e.Variable(name) for node in walk(conjunct))
    return uses == at and len(places) == 1 and all(place.anchor != "CURRENT" for place in places)


def _is_left_out(name: str, linted: LintedQuery) -> bool:
    """Whether the result is the same for all lists: it does not name them, and does not count matches."""
    match = linted.match
    if any(name in names_in(output.expression) for output in match.outputs):
        return False
    found = [
        node for output in match.outputs for node in walk(output.expression) if isinstance(node, e.Aggregate)
    ]
    counts = [node for node in found if not (node.distinct or node.name in ("min", "max"))]
    return match.distinct or (match.aggregated and not counts)


def _hint(closure: p.Repeat, name: str, linted: LintedQuery) -> str:
    """The ways out that this query has."""
    ways = []
    findings = Findings(linted.source)
    check_strategy(SelectionStrategy.NEXT_MATCH, linted.match.pattern, findings)
    if not findings.diagnostics:
        ways.append(f"USING {SelectionStrategy.NEXT_MATCH}")
    lists = [part for part in all_parts(linted.match.pattern) if isinstance(part, p.Repeat)]
    if all(isinstance(part.part, p.Event) for part in lists) and not linted.match.distinct:
        ways.append("RETURN COLLAPSED")
    least = max(closure.least, 1)
    ways.append(f"an upper limit such as {{{least},{least + 4}}}")
    if isinstance(closure.part, p.Event):
        ways.append(f"a condition on {name}[i]")
    return "fewer with " + (", or ".join((", ".join(ways[:-1]), ways[-1])) if ways[1:] else ways[0])
