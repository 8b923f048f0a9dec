"""WITH PARTIAL MATCHES: how far each start came, and why not further.

The query becomes one that has a branch for every answer: an OR of the prefixes of the SEQ, each with
variables of its own, and of the relaxed ones, which show why. Each start keeps one match (`FurthestPrefix`),
and RETURN speaks of the variables of its branch. Those of the others are NULL, as in every OR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from neelc.findings import Findings
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import conjoin, conjuncts, names_in
from neelc.ir.names import bare, written
from neelc.ir.node import Node, map_children
from neelc.ir.patterns import Listing, all_parts, declared, inner_parts, may_be_empty, renamed, targets
from neelc.ir.program import FurthestPrefix, Match, OutputColumn, PrefixLevel
from neelc.ir.script import PatternQuery, SelectionStrategy
from neelc.ir.types import INT, STRING, DataType
from neelc.pattern.bind.outputs import Outputs
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span
from neelc.syntax.print_patterns import as_written

# What WITH PARTIAL MATCHES returns: the items of RETURN, for the branch that was reached, how far that
# is, and why it is not further.

REACHED, STEP, STOPPED, REACHED_AT = "reached", "step", "stopped", "reached_at"
COLUMNS = (REACHED, STEP, STOPPED, REACHED_AT)
COMPLETE, NO_EVENT = "complete", "no event"


@dataclass(frozen=True)
class PrefixBranch:
    """A prefix as a branch: its last step, None if that is the one before; the names of its variables; and
    the reasons why it may have no match, each with the first variable of the branch that shows it."""

    step: p.Pattern | None
    names: Mapping[str, str]
    reasons: tuple[tuple[str, str], ...]


def own_columns(clock: DataType) -> tuple[OutputColumn, ...]:
    """The columns of partial matches, beside those of RETURN, without how they are computed."""
    types = (INT, STRING, STRING, clock)
    return tuple(
        OutputColumn(name, e.Literal(None, type), type) for name, type in zip(COLUMNS, types, strict=True)
    )


def partial_outputs(
    match: Match, branches: Sequence[PrefixBranch], start: str, time: DataType
) -> tuple[OutputColumn, ...]:
    """The columns of a query whose matches begin with `start`, an event whose time has this type."""
    firsts = [_is_there(branch.names[start], time) for branch in branches]
    outputs = [
        replace(
            output,
            expression=_of_branch(firsts, [_in(output.expression, branch, branches) for branch in branches]),
        )
        for output in match.outputs
    ]
    return (*outputs, *_own_columns(match, branches, firsts, time))


def _is_there(variable: str, time: DataType) -> e.Expr:
    """Every event has a time."""
    return e.IsNull(e.EventTime(e.Variable(variable), "ts", time), negated=True)


def _of_branch(firsts: Sequence[e.Expr], values: Sequence[e.Expr]) -> e.Expr:
    """The value for the branch that is there."""
    if all(value == values[0] for value in values):
        return values[0]
    whens = tuple(map(e.CaseBranch, firsts, values))
    return e.Case(None, whens[:-1], values[-1])


def _in(expression: e.Expr, branch: PrefixBranch, branches: Sequence[PrefixBranch]) -> e.Expr:
    """What RETURN says, of the variables of a branch. One that it has not reached has the name that it has in
    the first branch that reaches it: it is NULL where this branch is there."""
    names: dict[str, str] = {}
    for other in (branch, *branches):
        names = {**other.names, **names}
    found = renamed(expression, names)
    assert isinstance(found, e.Expr)
    return found


def _own_columns(
    match: Match, branches: Sequence[PrefixBranch], firsts: Sequence[e.Expr], time: DataType
) -> Iterator[OutputColumn]:
    steps = [branch.step for branch in branches if branch.step is not None]
    number = [e.Literal(min(place, len(steps)), INT) for place in range(1, len(branches) + 1)]
    yield OutputColumn(REACHED, _of_branch(firsts, number), INT)
    names = [name_of(steps[min(place, len(steps) - 1)]) for place in range(len(branches))]
    yield OutputColumn(STEP, _of_branch(firsts, [e.Literal(name, STRING) for name in names]), STRING)
    yield OutputColumn(STOPPED, _stopped(branches, firsts, time), STRING)
    clock = match.clock.type
    yield OutputColumn(REACHED_AT, e.MatchProperty("match_end", clock), clock)


def _stopped(branches: Sequence[PrefixBranch], firsts: Sequence[e.Expr], time: DataType) -> e.Expr:
    """Of the reasons, only those for the branch after the one that was reached are kept with it."""
    reasons = (reason for branch in branches for reason in branch.reasons)
    whens = [e.CaseBranch(_is_there(variable, time), e.Literal(why, STRING)) for why, variable in reasons]
    complete = e.CaseBranch(firsts[-1], e.Literal(COMPLETE, STRING))
    return e.Case(None, (complete, *whens), e.Literal(NO_EVENT, STRING))


def name_of(step: p.Pattern) -> str:
    """How a step is called: by its variable, or by its text if it is a pattern of its own.

    >>> from neelc.syntax import pattern
    >>> [name_of(part) for part in pattern("SEQ(A a, B+ b[], AND(C c, D d))").parts]
    ['a', 'b', 'AND(C c, D d)']
    """
    match step:
        case p.Event(variable=str() as name) | p.Repeat(variable=str() as name):
            return bare(name)
        case p.Seq((*words, part)) if all(isinstance(one, p.Not) and one.means for one in words):
            return name_of(part)  # what a word says is no step
    return str(as_written(step))


# The prefixes of a SEQ, and what each asks for less strictly: what WITH PARTIAL MATCHES looks for.
#
# A step is a positive part that binds an event. What stands before it and binds none, or need not bind any,
# belongs to it; what is left at the end belongs to no step: only complete matches have it. A condition, or
# a negative part, that names variables of later steps belongs to the prefix in which all of them are bound.

Keep = Callable[[Node], bool]
"""Which conditions, or which negative parts, stay."""

NEGATION, WINDOW, CONDITION = "negation", "window", "condition"


@dataclass(frozen=True)
class Prefix:
    """The first parts of a SEQ, up to a `step`; None if it is all of it and ends with what is no step.

    If it has no match, the first of the `relaxed` patterns that has one shows why. That for WINDOW is to be
    looked for in a longer window.
    """

    pattern: p.Seq
    step: p.Pattern | None
    relaxed: tuple[tuple[str, p.Seq], ...] = ()


def prefixes(whole: p.Seq) -> Iterator[Prefix]:
    """
    >>> from neelc.syntax import pattern
    >>> for prefix in prefixes(pattern("SEQ(A a, !X x, (B b : TRUE), C? c, D d, !Y y)")):
    ...     print(prefix.pattern, [f"{why}: {other}" for why, other in prefix.relaxed if why != WINDOW])
    SEQ(A a) []
    SEQ(A a, !X x, (B b : TRUE)) ['negation: SEQ(A a, (B b : TRUE))']
    SEQ(A a, !X x, (B b : TRUE), C? c, D d) []
    SEQ(A a, !X x, (B b : TRUE), C? c, D d, !Y y) ['negation: SEQ(A a, !X x, (B b : TRUE), C? c, D d)']
    """
    before = declared(whole)
    for begin, end in _steps(whole):
        later = _declared(whole.parts[end:])
        step = whole.parts[end - 1]
        known = _naming_none_of(later)
        pattern = _cut(whole, whole.parts[:end], known, known)
        relaxed = _relaxed(whole, begin, end, known, _naming_none_of(before)) if begin else ()
        different = tuple((why, one) for why, one in relaxed if why == WINDOW or one != pattern)
        yield Prefix(pattern, step if _is_step(step) else None, different)
        before = later


def _is_step(part: p.Pattern) -> bool:
    return not isinstance(part, p.Not) and not may_be_empty(part)


def _steps(whole: p.Seq) -> Iterator[tuple[int, int]]:
    """Where the parts of each step begin and end; at last, those that belong to none."""
    begin = 0
    for end, part in enumerate(whole.parts, 1):
        if _is_step(part) or end == len(whole.parts):
            yield begin, end
            begin = end


def _declared(parts: tuple[p.Pattern, ...]) -> frozenset[str]:
    return frozenset(name for part in parts for name in declared(part))


def _naming_none_of(names: frozenset[str]) -> Keep:
    return lambda node: not names_in(node) & names


def _relaxed(whole: p.Seq, begin: int, end: int, known: Keep, old: Keep) -> Iterator[tuple[str, p.Seq]]:
    """A prefix with less of what is new in it: without its negations; and without its conditions, but for
    those that say which events belong together."""
    new = {id(node) for part in whole.parts[begin:end] for node in _negations(part)}
    parts = whole.parts[:end]

    def earlier(negation: Node) -> bool:
        return id(negation) not in new and old(negation)

    def linking(condition: Node) -> bool:
        return known(condition) and (old(condition) or is_link(condition))

    positive = _cut(whole, parts, known, earlier)
    yield NEGATION, positive
    yield WINDOW, positive
    unconditional = _cut(whole, parts, linking, earlier)
    if unconditional != positive:
        yield CONDITION, unconditional


def _negations(part: p.Pattern) -> Iterator[p.Pattern]:
    return (one for one in all_parts(part) if isinstance(one, p.Not))


def is_link(condition: Node) -> bool:
    """Whether a condition says which events belong together, as `[id]` does: an attribute of one event
    equals one of another.

    >>> from pattern_examples import query
    >>> pattern = query("SEQ(A a, B b WHERE a.id = b.id AND a.x < b.x)").pattern
    >>> [is_link(one) for one in conjuncts(pattern.where)]
    [True, False]
    """
    match condition:
        case e.Binary("=", left, right):
            sides = [_attribute(left), _attribute(right)]
            return None not in sides and sides[0] != sides[1]
    return False


def _attribute(side: e.Expr) -> frozenset[str] | None:
    match side:
        case e.Cast(operand, implicit=True):
            return _attribute(operand)
        case e.Attribute():
            return names_in(side)
    return None


def _cut(whole: p.Seq, parts: tuple[p.Pattern, ...], condition: Keep, negation: Keep) -> p.Seq:
    cut = _trimmed(replace(whole, parts=parts), condition, negation)
    assert isinstance(cut, p.Seq)
    return cut


def _trimmed(part: p.Pattern, condition: Keep, negation: Keep) -> p.Pattern:
    """A part without the conditions and negations that do not stay. What is inside of a negation stays."""
    if isinstance(part, p.Not):
        return part
    if isinstance(part, Listing):
        kept = tuple(one for one in part.parts if not isinstance(one, p.Not) or negation(one))
        part = part if len(kept) == len(part.parts) else replace(part, parts=kept)
    where = [one for one in conjuncts(part.where) if isinstance(one, e.SameAttributes) or condition(one)]
    if len(where) < len(conjuncts(part.where)):
        part = replace(part, where=conjoin(where))

    def inner(child: Node) -> Node:
        return _trimmed(child, condition, negation) if isinstance(child, p.Pattern) else child

    return map_children(part, inner)


LONGER = 2
"""How many windows are looked through for a step that comes too late."""
MOST = 2**63 - 1


def partial_matches(match: Match, time: DataType) -> Match:
    """The query with one row for each start, an event whose time has this type. Its pattern is a SEQ, which
    begins with a single event.

    >>> from pattern_examples import query
    >>> found = query("SEQ(A a, (B b : b.n > 0)) WITHIN 9 WITH PARTIAL MATCHES RETURN b.x AS x")
    >>> for branch in found.pattern.parts:
    ...     print(branch)
    SEQ(A a_1) WITHIN 9 MILLISECONDS
    SEQ(A a_2, (B b_2 : b_2.n > 0)) WITHIN 9 MILLISECONDS
    EXISTS b_2_window : (SEQ(A a_2_window, (B b_2_window : b_2_window.n > 0)) WITHIN 18 MILLISECONDS)
    EXISTS b_2_condition : (SEQ(A a_2_condition, B b_2_condition) WITHIN 9 MILLISECONDS)
    >>> found.partial.levels[0]
    PrefixLevel(start='a_1', hints=('a_2_window', 'a_2_condition'))
    """
    assert isinstance(match.pattern, p.Seq), "partial matches are those of a SEQ"
    made = _Branches(match)
    start = targets(match.pattern)[0]
    levels = [made.level(number, prefix) for number, prefix in enumerate(prefixes(match.pattern), 1)]
    reasons = [*(branch.reasons for branch in levels[1:]), ()]
    furthest = FurthestPrefix(
        tuple(
            PrefixLevel(branch.names[start], tuple(name for _, name in why))
            for branch, why in zip(levels, reasons, strict=True)
        ),
        match,
    )
    return replace(
        match,
        pattern=p.Or(tuple(made.patterns), span=match.pattern.span),
        outputs=partial_outputs(match, levels, start, time),
        within=_longer(match.within),
        partial=furthest,
    )


def _longer(within: p.Window | None) -> p.Window | None:
    if within is None:
        return None
    assert isinstance(within.count, e.Literal) and isinstance(within.count.value, int)
    longer = min(LONGER * within.count.value, MOST)
    return replace(within, count=replace(within.count, value=longer))


@dataclass
class _Branches:
    """The branches as they are made, and the names that are taken."""

    match: Match
    patterns: list[p.Pattern] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def level(self, number: int, prefix: Prefix) -> PrefixBranch:
        names = self._add(prefix.pattern, f"{number}", self.match.within)
        return PrefixBranch(prefix.step, names, tuple(self._reasons(number, prefix)))

    def _reasons(self, number: int, prefix: Prefix) -> Iterator[tuple[str, str]]:
        """Each reason, and the first variable of the branch that has a match for it."""
        start = targets(prefix.pattern)[0]
        for why, pattern in prefix.relaxed:
            within = self.match.within or pattern.within
            if why == WINDOW:
                if within is None:
                    continue
                within = _longer(within)
            names = self._add(pattern, f"{number}_{why}", within, drops=True)
            yield why, names[start]

    def _add(
        self, pattern: p.Seq, suffix: str, within: p.Window | None, drops: bool = False
    ) -> Mapping[str, str]:
        names = {name: self._free(f"{bare(name)}_{suffix}") for name in _names(pattern)}
        branch = renamed(replace(pattern, within=within or pattern.within), names)
        assert isinstance(branch, p.Pattern)
        others = targets(branch)[1:]
        # Of what only shows why, it is enough that it exists; runs have to find it.
        dropped = drops and others and self.match.strategy == SelectionStrategy.ANY_MATCH
        self.patterns.append(p.Exists(others, branch) if dropped else branch)
        return names

    def _free(self, name: str) -> str:
        while name.casefold() in self.taken:
            name += "_"
        self.taken.add(name.casefold())
        return written(name)


def _names(part: p.Pattern) -> Iterator[str]:
    """The names declared in a part; those inside closures of composites are seen through the closure's."""
    match part:
        case p.Event(variable=variable) | p.Repeat(variable=variable):
            yield variable or ""
        case _:
            for inner in inner_parts(part):
                yield from _names(inner)


# Where WITH PARTIAL MATCHES is defined.

HINT = "it takes a SEQ that begins with one event: SEQ(A a, B b, C c)"


def check_partial(query: PatternQuery, outputs: Outputs, is_imprecise: bool, findings: Findings) -> None:
    """Report what partial matches are not defined for."""
    keyword = findings.at(query.partial_keyword, query)
    for what, place, hint in _refused(query, outputs, is_imprecise):
        message = f"partial matches are not defined for {what}"
        findings.report("NEEL3032", message, findings.at(place, keyword), hint)
    for column in outputs.columns:
        if column.name.casefold() in COLUMNS:
            message = f"`{column.name}` is a column of partial matches"
            other = written(column.name + "_2")
            hint = f"give it another name: AS {other}" if column.span else "rename the variable"
            findings.report("NEEL2009", message, findings.at(column, keyword), hint)


def _refused(
    query: PatternQuery, outputs: Outputs, is_imprecise: bool
) -> Iterator[tuple[str, Node | Span | None, str]]:
    pattern, returns = query.pattern, query.returns
    if not isinstance(pattern, p.Seq):
        yield "a pattern that is not a SEQ", pattern, HINT
    else:
        first = next((part for part in pattern.parts if not isinstance(part, p.Not)), None)
        if first is not None and not isinstance(first, p.Event):
            yield "a SEQ that does not begin with one event", first, HINT
        if pattern.within is not None and query.within is not None:
            yield "a SEQ with two windows", pattern.within, "keep the shorter one"
    if is_imprecise or query.confidence is not None:
        yield "imprecise times", query.confidence, "leave out WITH PARTIAL MATCHES"
    if returns is not None and returns.collapsed:
        yield "RETURN COLLAPSED", returns, "leave out COLLAPSED: one match is kept for each start anyway"
    if outputs.aggregated:
        hint = "return the columns to count, and pass the result to neelc.funnel"
        yield "aggregates over all matches", returns, hint
