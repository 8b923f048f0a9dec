"""What can follow the beginning of a statement, by all ways through the grammar at once.

The parser itself stops at the first token that does not fit and knows what it waited for at that place alone:
behind `PATTERN A a` it waits for the end, because it has decided already that no clause follows. Here no
decision is taken: all states of the grammar's network that the tokens can lead to are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from antlr4 import PredictionMode
from antlr4.atn.ATNState import RuleStopState
from antlr4.atn.Transition import RuleTransition
from antlr4.error.Errors import ParseCancellationException

from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir.script import Statement
from neelc.runtime.late_dataclass import dataclass
from neelc.syntax import statements
from neelc.syntax.mistakes import SyntaxProblem, is_word, spelling
from neelc.syntax.parser import attempt, limit_problem, stray_tokens, tokens_of

# A place in the network: the state, and the states to go on with after the rules around it.
Way = tuple[int, Any]


@dataclass(frozen=True)
class Continuations:
    """The `words` of the language that can follow, and the rules of the grammar that wait for a name, or, as
    `predicateTail`, for one that is a word there."""

    words: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


def following(text: str) -> Continuations:
    """What can follow a text that begins a statement; nothing if no statement begins so.

    >>> following("CREATE ").words
    ('FUNCTION', 'HIERARCHY', 'QUERY', 'RELATION', 'STREAM', 'TYPE')
    >>> following("PATTERN A a WITHIN 5 SECONDS ").words[:8]
    ('AFTER', 'AS', 'EXCEPT', 'FROM', 'LIMIT', 'ONE', 'ORDER', 'PARTITION')
    >>> following("PATTERN SEQ(A a, ").names == {"patternAtom", "primary"}
    True
    """
    tokens = [token for token in tokens_of(text) if token.channel == 0]
    if limit_problem(tokens) is not None:
        return Continuations()
    ways = _reached([(NeelParser.atn.ruleToStartState[NeelParser.RULE_singleStatement].stateNumber, None)])
    for token in tokens:
        ways = _reached(_after(ways, token.type))
    words: set[int] = set()
    names: set[str] = set()
    for state, stack in ways:
        rule = _rule(state)
        if rule == "name":
            names.add(_rule(stack[0]))
        elif rule != "softWord":
            words.update(kind for kind, _ in _tokens(state) if is_word(kind))
            names.update({rule} if any(kind == NeelParser.BEFORE for kind, _ in _tokens(state)) else ())
    return Continuations(tuple(sorted(map(spelling, words))), frozenset(names))


def _reached(ways: Iterable[Way]) -> set[Way]:
    """The places that can be reached without a token, as far as a token is awaited there."""
    seen: set[Way] = set()
    found: set[Way] = set()
    todo = list(ways)
    while todo:
        way = todo.pop()
        if way in seen:
            continue
        seen.add(way)
        number, stack = way
        state = NeelParser.atn.states[number]
        if isinstance(state, RuleStopState):
            if stack is not None:
                todo.append((stack[0], stack[1]))
            continue
        for transition in state.transitions:
            if isinstance(transition, RuleTransition):
                todo.append((transition.target.stateNumber, (transition.followState.stateNumber, stack)))
            elif transition.isEpsilon:
                todo.append((transition.target.stateNumber, stack))
            else:
                found.add(way)
    return found


def _after(ways: Iterable[Way], kind: int) -> Iterator[Way]:
    """The places behind a token."""
    for state, stack in ways:
        yield from ((target, stack) for awaited, target in _tokens(state) if awaited == kind)


def _tokens(state: int) -> Iterator[tuple[int, int]]:
    """The kinds of tokens that are awaited at a state, each with the state behind it."""
    for transition in NeelParser.atn.states[state].transitions:
        if not transition.isEpsilon:
            for interval in transition.label.intervals:
                yield from ((kind, transition.target.stateNumber) for kind in interval)


def _rule(state: int) -> str:
    return str(NeelParser.ruleNames[NeelParser.atn.states[state].ruleIndex])


# Whether a text is a statement, when nobody asks why not: reasons take longer to find than the answer.


def statement_or_none(text: str) -> Statement | None:
    """The one statement that the text is, without a semicolon; no reasons are given for None.

    >>> print(statement_or_none("PATTERN SEQ(A a, B b)").query.pattern)
    SEQ(A a, B b)
    >>> statement_or_none("PATTERN SEQ(A a, ") is None
    True
    """
    tokens = tokens_of(text)
    visible = [token for token in tokens if token.channel == 0]
    if stray_tokens(tokens) or limit_problem(visible) is not None or not visible:
        return None
    try:
        return statements.statement(attempt(visible, "singleStatement", PredictionMode.SLL).statement())
    except (ParseCancellationException, SyntaxProblem):
        return None
