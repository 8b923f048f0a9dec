"""How a query is executed, and why not otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.arguments import ExecutionStrategy
from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import Recognize
from neelc.ir.expressions import Literal, SameAttributes, conjuncts
from neelc.ir.node import walk
from neelc.ir.patterns import all_parts
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.consistency import Consistency, ConsistencyKind, ListPlaces, consistency, knowledge
from neelc.pattern.plan.counting.plan import sentence
from neelc.pattern.plan.strategies import StrategyPlan
from neelc.runtime.kernels.counting.chain import CountingProgram
from neelc.runtime.kernels.rows.program import RowProgram
from neelc.runtime.kernels.sequential.program import SequentialProgram
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import ImpreciseProgram, PatternProgram, SkipTarget, Value, Weigh, WeighTimes

# SASE++'s classes of the conditions on closures, and when they are checked as a consequence.


def list_conditions(query: Match) -> Iterator[str]:
    """A sentence for each condition on a list.

    >>> from pattern_examples import query
    >>> for line in list_conditions(query("SEQ(A a, B+ b[]) WHERE b[i].x > 1 AND count(b[]) > 2")):
    ...     print(line)
    b[i].x > 1 is true- and false-value consistent: checked on each event alone, and SAFE from then on.
    count(b[]) > 2 is false-value consistent: checked on complete lists, and before that on all events that \
could be elements: what fails there fails for each list.
    """
    known = knowledge(query.pattern)
    for part in all_parts(query.pattern):
        for condition in conjuncts(part.where):
            found = consistency(condition, known)
            if found.shapes and not isinstance(condition, SameAttributes):
                yield f"{condition} is {_kind(found)}: checked {_when(found, query)}."


def _kind(found: Consistency) -> str:
    names = ", ".join(sorted(map(str, found.provided)))
    proviso = f" where {names} is not NULL" if names else ""
    transitive = ", but transitive" if found.is_transitive else ""
    return f"{found.kind_without_nulls.value}{proviso}{transitive}"


def _when(found: Consistency, query: Match) -> str:
    shape = found.shape
    if not shape & ~ListPlaces.ELEMENT:
        return "on each event alone, and SAFE from then on"
    if query.strategy != SelectionStrategy.ANY_MATCH:
        return "as soon as all that it names is bound"
    if not shape & ~(ListPlaces.ELEMENT | ListPlaces.ADJACENT | ListPlaces.RUNNING | ListPlaces.FIRST):
        return "on the first element" if shape == ListPlaces.FIRST else "when an element is added to a list"
    # Events whose order is open make no list of all of them.
    if found.kind in (ConsistencyKind.FALSE, ConsistencyKind.BOTH) and not any(
        stream.latest for stream in query.streams
    ):
        early = "what fails there fails for each list"
        return f"on complete lists, and before that on all events that could be elements: {early}"
    return "on complete lists"


# How a query over imprecise times is executed, in words.


def weighing_sentence(program: ImpreciseProgram) -> str:
    """For explanations.

    >>> from textwrap import fill
    >>> from pattern_examples import imprecise_query
    >>> from neelc.pattern.plan.imprecise import imprecise_plan
    >>> example = imprecise_query("SEQ(A a, !N n, B b) WITHIN 9 WITH CONFIDENCE >= 0.4")
    >>> print(fill(weighing_sentence(imprecise_plan(example, (), "MILLISECOND").program), 90))
    all events together, by their earliest time; a program of 4 steps runs over them. It finds
    what can be in order, and computes the confidence by dynamic programming, negations
    included, without making possible worlds; after each event it drops partial matches that
    cannot reach 0.4.
    """
    together = "the events of a key together" if program.keys else "all events together"
    if program.is_cut:
        widest = "or as wide as the widest range of times"
        together = f"time is cut into chunks of eight windows, {widest}, the events of a chunk together"
    last = program.steps[-1]
    count = f"a program of {len(program.steps)} steps"
    if isinstance(last, WeighTimes):
        return f"{together}, by their earliest time; {count} runs over them. {_weighed_times(last)}"
    assert isinstance(last, Weigh), "matches are weighed at last"
    negations = ", negations included" if last.negations else ""
    dropped = f"cannot {'exceed' if last.strictly else 'reach'} {last.least:g}"
    return (
        f"{together}, by their earliest time; {count} runs over them. It finds what can be in order, and"
        f" computes the confidence by dynamic programming{negations}, without making possible worlds;"
        f" after each event it drops partial matches that {dropped if last.least else 'no world has'}."
    )


def _weighed_times(last: WeighTimes[Value]) -> str:
    """How matches are weighed whose events have no one order.

    >>> from pattern_examples import imprecise_query
    >>> from neelc.pattern.plan.imprecise import imprecise_plan
    >>> example = imprecise_query("AND(A a, !N n, B b) WITHIN 9")
    >>> from textwrap import fill
    >>> print(fill(_weighed_times(imprecise_plan(example, (), "MILLISECOND").program.steps[-1]), 90))
    It finds what can be a match, and adds up the probabilities of the times of its own events
    at which it is one; given these, those of events that it must have, or must not have, are
    multiplied.
    """
    if last.collapsed:
        return (
            "For each choice of single events it makes all combinations of the times of all events that can"
            " be in their lists, and adds up the probabilities of each set of elements."
        )
    if last.united or last.counts or any(check.checks or len(check.steps) > 1 for check in last.checks):
        return (
            "It finds what can be a match, and adds up the probabilities of the times, of its own events and"
            " of those that checks may find, at which it is one."
        )
    others = "; given these, those of events that it must have, or must not have, are multiplied"
    others = others if last.checks or last.most_events is not None else ""
    return (
        "It finds what can be a match, and adds up the probabilities of the times of its own events at which"
        f" it is one{others}."
    )


# How a row pattern is searched, in words.

PATH = "the path of a match"


def rows_sentence(program: RowProgram) -> str:
    """Which way the search goes, how long it may take, and why.

    >>> from neelc.runtime.kernels.rows.program import ACCEPT, RowCondition, Machine
    >>> machine = Machine((0, 1), (False, False), (0,), (0,), ((1,), (1, ACCEPT)), (False, True))
    >>> rows_sentence(RowProgram(machine, ("A", "B"), ("id",), ())).partition(": ")[0]
    'the rows of a partition together, in order; two passes over them, back and forth, in time linear in rows'
    >>> program = RowProgram(machine, ("A", "B"), (), (), conditions=(RowCondition(1, None, (), ()),))
    >>> rows_sentence(program).partition(": ")[2]
    'the condition of B depends on the path of a match.'
    """
    together = "the rows of a partition together" if program.keys else "all rows together"
    return f"{together}, in order; {_search(program)}."


def _search(program: RowProgram) -> str:
    if program.conditions:
        names = " and ".join(program.names[one.variable] for one in program.conditions)
        several = "conditions of" if len(program.conditions) > 1 else "condition of"
        depend = "depend" if len(program.conditions) > 1 else "depends"
        return f"choices are tried one by one, within a budget: the {several} {names} {depend} on {PATH}"
    has_window = program.reach is not None or program.rows is not None
    linear = "in time linear in rows"
    if program.skip != "PAST":
        linear += " and in those of all matches"
    passes = "two passes over them, back and forth"
    if program.starting:
        passes += ", for each way in which conditions on the first row of a match can hold"
    if has_window:
        passes, linear = (
            "how early a match can end, then the matches",
            "in time linear in the rows of all windows",
        )
    return f"{passes}, {linear}: no condition depends on {PATH}"


def memory_sentence(query: Recognize) -> str:
    """What bounds the rows of a partition that a worker keeps: those from which a match may still come."""
    if query.within is not None:
        return f"bounded by WITHIN {query.within}: no row outside of a window is kept"
    most = longest_match(query.pattern)
    if most is not None:
        return f"bounded by the longest match: {most} {'row' if most == 1 else 'rows'}"
    free = _free_variables(query)
    for node in walk(query.pattern):
        if isinstance(node, r.RowRepeat) and node.most is None and _takes_anything(node.part, free):
            return f"grows with the partition: {node} takes any row, so a match may stay open to the end"
    return "bounded by the longest match: rows are kept while a match that began at them may go on"


def longest_match(pattern: r.RowPattern) -> int | None:
    """How many rows a match can have; None if there is no limit.

    >>> a = r.RowVariable("A")
    >>> longest_match(r.RowSequence((a, r.RowRepeat(r.RowAlternation((a, r.RowEmpty())), 0, 3))))
    4
    >>> longest_match(r.RowRepeat(a, 1, None)) is None
    True
    """
    match pattern:
        case r.RowVariable():
            return 1
        case r.RowSequence(parts) | r.RowPermute(parts) | r.RowAlternation(parts):
            lengths = [longest_match(part) for part in parts]
            known = [one for one in lengths if one is not None]
            if len(known) < len(lengths):
                return None
            return max(known) if isinstance(pattern, r.RowAlternation) else sum(known)
        case r.RowExclusion(part):
            return longest_match(part)
        case r.RowRepeat(part, _, most):
            one = longest_match(part)
            if one == 0 or (one is not None and most is not None):
                return one * (most or 0)
            return None
    return 0


def _free_variables(query: Recognize) -> frozenset[str]:
    """The variables that every row can be mapped to."""
    names = {node.name for node in walk(query.pattern) if isinstance(node, r.RowVariable)}
    conditions = {one.variable: one.condition for one in query.definitions}
    true = (name for name in names if name not in conditions or _is_true(conditions[name]))
    return frozenset(true)


def _is_true(condition: object) -> bool:
    return isinstance(condition, Literal) and condition.value is True


def _takes_anything(part: r.RowPattern, free: frozenset[str]) -> bool:
    """Whether rows can be taken by free variables alone, one or more."""
    match part:
        case r.RowVariable(name):
            return name in free
        case r.RowSequence(parts) | r.RowPermute(parts):
            taken = [one for one in parts if _takes_anything(one, free)]
            return bool(taken) and all(_may_be_empty(one) for one in parts if one not in taken)
        case r.RowAlternation(parts):
            return any(_takes_anything(one, free) for one in parts)
        case r.RowExclusion(inner) | r.RowRepeat(inner):
            return _takes_anything(inner, free)
    return False


def _may_be_empty(part: r.RowPattern) -> bool:
    match part:
        case r.RowSequence(parts) | r.RowPermute(parts):
            return all(map(_may_be_empty, parts))
        case r.RowAlternation(parts):
            return any(map(_may_be_empty, parts))
        case r.RowRepeat(inner, least):
            return least == 0 or _may_be_empty(inner)
        case r.RowExclusion(inner):
            return _may_be_empty(inner)
    return isinstance(part, r.RowEmpty)


# How a MATCH_RECOGNIZE_SEQUENTIAL is executed, in words.


def sequential_sentence(program: SequentialProgram) -> str:
    """For explanations.

    >>> from neelc.runtime.program import Constant
    >>> from neelc.runtime.kernels.sequential.program import SymbolAutomaton, SymbolCondition
    >>> automaton = SymbolAutomaton(3, ((0, 0, 1), (1, 1, 2)), (2,))
    >>> sequential_sentence(SequentialProgram(automaton, ("A", "B"), (), ())).partition("; ")[2]
    'an automaton of 3 states reads each instant once, and matches are collected from their ends.'
    >>> test = (SymbolCondition(1, Constant(True)),)
    >>> sequential_sentence(SequentialProgram(automaton, ("A", "B"), ("id",), (), test)).partition("; ")[2]
    'an automaton of 3 states is followed from every start, since B depends on the events before it.'
    >>> skipping = SequentialProgram(automaton, ("A", "B"), (), (), skip=SkipTarget.END)
    >>> sequential_sentence(skipping).rpartition("; ")[2]
    'of the matches those that do not overlap are kept.'
    """
    if program.skip is not None:
        which = (
            "that do not overlap" if program.skip == SkipTarget.END else "that are the first of their starts"
        )
        return (
            f"{sequential_sentence(replace(program, skip=None))[:-1]}; of the matches those {which} are kept."
        )
    together = "the events of a partition together" if program.keys else "all events together"
    states = f"an automaton of {program.automaton.states} states"
    read = [_reading_text(program, one.reading) for one in program.conditions]
    symbols = list(dict.fromkeys(read))
    if program.eventually:
        limit = "" if program.step is None else " that is close enough"
        return (
            f"{together}, in the order of time; {states} goes from each event to every later one{limit} "
            "that it can read next."
        )
    if not symbols:
        return (
            f"{together}, in the order of time; {states} reads each instant once, and matches "
            "are collected from their ends."
        )
    depends = "depends" if len(symbols) == 1 else "depend"
    return (
        f"{together}, in the order of time; {states} is followed from every "
        f"start, since {', '.join(symbols)} {depends} on the events before it."
    )


def _reading_text(program: SequentialProgram, reading: int) -> str:
    """The symbols that are read, or what is not."""
    symbols = program.alphabet[reading].symbols
    return ", ".join(program.names[one] for one in symbols) or "a negated symbol"


# How a program of the kernel is executed, in words.


def program_sentence(program: PatternProgram | RowProgram | SequentialProgram) -> str:
    """For explanations.

    >>> print(program_sentence(PatternProgram((), (), (), keys=("id",))))
    the events of a key together, in the order of time; a program of 0 steps runs over them.
    """
    match program:
        case CountingProgram():
            return sentence(program)
        case ImpreciseProgram():
            return weighing_sentence(program)
        case PatternProgram():
            return _searching(program)
        case SequentialProgram():
            return sequential_sentence(program)
    return rows_sentence(program)


def _searching(program: PatternProgram) -> str:
    together = "all events together" if not program.keys else "the events of a key together"
    if program.chunk is not None:
        together = "time is cut into chunks of eight windows, the events of a chunk together"
    count = "1 step" if len(program.steps) == 1 else f"{len(program.steps)} steps"
    order = "time and THEN BY" if program.order else "time"
    return f"{together}, in the order of {order}; a program of {count} runs over them."


def counting_degree(program: PatternProgram | RowProgram) -> int | None:
    """About how often an event is looked at where matches are counted: as often as there are choices of so
    many events of a window. None where they are not counted.

    >>> from neelc.pattern.plan.counting.plan import aggregate_plan
    >>> from pattern_examples import query
    >>> text = "SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x WITHIN 9 RETURN count(*)"
    >>> counting_degree(aggregate_plan(query(text), (), "SECOND").program)
    3
    """
    if not isinstance(program, CountingProgram):
        return None
    pairs = any(move.where or move.absent for chain in program.chains for move in chain.moves)
    return 1 + max(len(chain.pins) for chain in program.chains) + pairs


@dataclass(frozen=True)
class Execution:
    """`strategy` is None if no strategy can execute the query; `others` are the strategies also considered;
    `lists` say when the conditions on closures are checked. `degree` is that of the work where matches are
    counted."""

    strategy: str | None
    how: str
    others: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    degree: int | None = None

    @property
    def text(self) -> str:
        """Everything in one paragraph."""
        head = f"{self.strategy}: {self.how}" if self.strategy else self.how
        return " ".join([head, *self.others])


def refusal_sentence(refusal: UnsupportedQuery, streaming: bool) -> str:
    """Why no engine runs a query, and what to do.

    >>> from neelc.pattern.plan.blocks import UnboundedState
    >>> print(refusal_sentence(UnboundedState("this query would keep every event"), True))
    no: this query would keep every event. Add WITHIN, such as WITHIN 1 HOUR: older events are then forgotten.
    >>> print(refusal_sentence(UnsupportedQuery("a closure inside a closure"), False))
    not yet: a closure inside a closure is not supported. The reference interpreter runs it.
    """
    hint = refusal.hint
    advice = f" {hint[0].upper()}{hint[1:]}." if hint else ""
    if refusal.is_sentence:
        return f"no: {refusal.what}.{advice}"
    if streaming:
        return f"not yet, over streams: {refusal.what}.{advice}"
    return f"not yet: {refusal.what} is not supported. The reference interpreter runs it."


def execution(query: Match, found: StrategyPlan | UnsupportedQuery, streaming: bool = False) -> Execution:
    """How a query is executed, as its plan says."""
    if isinstance(found, UnsupportedQuery):
        how = refusal_sentence(found, streaming)
        return Execution(None, how, lists=tuple(list_conditions(query)))
    least = next(price.work for price in found.prices if price.strategy == found.strategy) or 1.0
    others = []
    for price in found.prices:
        if price.strategy == found.strategy:
            continue
        if price.work is None:
            others.append(f"{price.strategy} cannot do it ({price.refusal}).")
        else:
            others.append(f"{price.strategy} would need {price.work / least:.1f}x the work.")
    lists = tuple(list_conditions(query))
    program = found.program
    degree = None if program is None else counting_degree(program)
    return Execution(found.strategy, _how(found), tuple(others), lists, degree)


def _how(found: StrategyPlan) -> str:
    """In a sentence."""
    if found.strategy == ExecutionStrategy.WINDOW:
        return "window functions over the events of each key, in the order of time."
    if found.strategy == ExecutionStrategy.JOIN:
        return "one join for each event, by key and by buckets of one window; checks are semi and anti joins."
    program = found.program
    assert program is not None, "all other strategies have a kernel"
    return program_sentence(program)
