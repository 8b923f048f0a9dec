"""Parse tree to patterns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any, NoReturn

from neelc.errors import write
from neelc.findings import did_you_mean
from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir import patterns as p
from neelc.ir import row_patterns as r
from neelc.ir import row_patterns as t
from neelc.ir.allen import ALLEN
from neelc.ir.expressions import Call, Conjunction, Expr, Interval, MemberAccess, Name, Parameter, Star
from neelc.ir.names import Identifier, is_quoted, same, variable
from neelc.ir.node import Node, map_children, walk
from neelc.ir.patterns import Window
from neelc.ir.script import FromStream, Matcher, Select
from neelc.source import Span
from neelc.syntax import expressions as literals
from neelc.syntax.expressions import expression, expressions, unit
from neelc.syntax.mistakes import FOLLOWINGS, fail, given_twice, identifier, span_of

# MQOS says of a SEQ that it has negative parts.
_OPERATORS = {**p.OPERATORS, "SEQ_NEG": p.Seq}


def pattern_item(context: Any) -> p.Pattern:
    """A pattern with its own window, if it has one."""
    part = pattern_expression(context.patternExpression())
    if context.window() is None:
        return part
    return _with_window(part, context.window())


def _with_window(part: p.Pattern, context: Any) -> p.Pattern:
    """The window of `!q` is q's."""
    if isinstance(part, p.Not):
        return replace(part, part=_with_window(part.part, context))
    if part.within is not None:
        fail("NEEL1004", "this part has two windows", context, "keep the shorter one")
    return replace(part, within=window(context))


def pattern_expression(context: Any) -> p.Pattern:
    parts = tuple(_part(c) for c in context.patternPart())
    return parts[0] if len(parts) == 1 else p.Or(parts, span=span_of(context))


def _part(context: Any) -> p.Pattern:
    match context:
        case NeelParser.NegatedPartContext():
            return p.Not(_part(context.patternPart()), span=span_of(context))
        case NeelParser.ExistsPartContext():
            names = tuple(map(identifier, context.name()))
            return p.Exists(names, _part(context.patternPart()), span=span_of(context))
        case NeelParser.FollowingPartContext():
            return _worded(context)
        case _:
            return _plain(context)


def _worded(context: Any) -> p.Pattern:
    """`NEXT B b`."""
    part, word = _part(context.patternPart()), follow(context.follow())
    if part.follow is not None:
        message = f"this part has two words that say how it follows: {word} and {part.follow}"
        fail("NEEL1004", message, context.follow(), "keep one of them")
    return replace(part, follow=word, span=span_of(context))


def follow(context: Any) -> p.FollowWord:
    kind = p.FollowKind(context.getChild(0).getText().upper())
    return p.FollowWord(kind, type_list(context.typeList()), span=span_of(context))


def type_list(context: Any) -> tuple[str, ...]:
    return tuple(map(identifier, context.name())) if context else ()


def _plain(context: Any) -> p.Pattern:
    """`Type var`, `Type+ var[]`, `SEQ(...)+ var[]`, `SEQ(...)`."""
    atom, quantifier, span = context.patternAtom(), context.quantifier(), span_of(context)
    variable = context.variable()
    name = identifier(variable.name()) if variable else None
    is_list = variable is not None and variable.LBRACKET() is not None
    is_event = isinstance(atom, NeelParser.EventAtomContext)
    once = p.Event(identifier(atom.name()), name, span=span) if is_event else _composite(atom)
    if quantifier is None or quantifier.QUESTION():
        if context.closureClause():
            clause = context.closureClause(0)
            word = clause.getChild(0).getText().upper()
            inside = f"write it inside the parentheses, right after the list: B+ b[] {_text_of(clause)}"
            hint = inside if isinstance(once, p.Repeat) else "repeat it: B+ b[]"
            fail("NEEL1007", f"{word} applies to a list, but nothing repeats here", clause, hint)
        if is_list:
            once_or_more = write(f"{name}", ", or repeat the type: +, * or {n,m}")
            fail("NEEL1007", f"`{name}[]` names a list, but nothing repeats here", variable, once_or_more)
        if name and not is_event:
            hint = "name the events inside it"
            fail("NEEL1007", "only a repeated group can have a name", variable, hint)
        return once if quantifier is None else p.Optional(once, span=span)
    if name and not is_list:
        fail("NEEL1007", f"`{name}` repeats, so it names a list", variable, write(f"{name}[]"))
    least, most = bounds(quantifier)
    body = p.Event(identifier(atom.name()), span=span_of(atom)) if is_event else once
    return _with_clauses(p.Repeat(body, least, most, name, span=span), context.closureClause())


def _with_clauses(closure: p.Repeat, clauses: list[Any]) -> p.Repeat:
    """The closure with EACH, UNTIL and WITHOUT; there may be several of the last two."""
    for clause in clauses:
        match clause:
            case NeelParser.EachFollowsContext():
                if closure.each is not None:
                    given_twice(clause)
                closure = replace(closure, each=follow(clause.follow()))
            case NeelParser.EachWithinContext():
                if closure.each_within is not None:
                    given_twice(clause)
                closure = replace(closure, each_within=window(clause.window()))
            case _:
                reach = p.GapReach(clause.getChild(0).getText().upper())
                inner = pattern_item(clause.patternItem())
                found = conditions(clause.conditionList()) if clause.conditionList() else ()
                gap = p.ClosureGap(_restricted(inner, found), reach, span=span_of(clause))
                closure = replace(closure, gaps=(*closure.gaps, gap))
    return closure


def _refuse_text(item: Any) -> None:
    """`'New Device'+ d[]` reads like a sum, but is a type between the wrong quotes."""
    token = item.start
    if token.type == NeelParser.STRING and (item.stop is token or item.getText().endswith("]")):
        hint = f"a name needs backticks: `{token.text[1:-1]}`"
        fail("NEEL1001", f"found {token.text}, a string, where a name is expected", token, hint)


def _composite(atom: Any) -> p.Pattern:
    if isinstance(atom, NeelParser.GroupAtomContext):
        inner = pattern_item(atom.patternItem())
        found = conditions(atom.conditionList()) if atom.conditionList() else ()
        return _restricted(inner, found)
    operator = _OPERATORS[atom.getChild(0).getText().upper()]
    parts: list[p.Pattern] = []
    qualifications: list[Expr] = []
    for item in atom.patternListItem():
        if item.patternItem() is None:
            _refuse_text(item)
            qualifications.append(expression(item.expression()))
        elif qualifications:
            fail("NEEL1001", "conditions must come after all parts of the pattern", item)
        else:
            parts.append(pattern_item(item.patternItem()))
    if not parts:
        fail(
            "NEEL1001",
            "this list contains conditions only",
            atom,
            "for example SEQ(A a, B b WHERE a.id = b.id)",
        )
    if atom.qualification():
        qualifications.extend(conditions(atom.qualification().conditionList()))
    return _restricted(operator(tuple(parts), span=span_of(atom)), tuple(qualifications))


def conditions(context: Any) -> tuple[Expr, ...]:
    return tuple(expression(x) for x in context.expression())


def _restricted(part: p.Pattern, found: tuple[Expr, ...]) -> p.Pattern:
    """`part` with more conditions: all of them must hold. Those of `!q` are q's."""
    if not found:
        return part
    if isinstance(part, p.Not):
        return replace(part, part=_restricted(part.part, found))
    every = found if part.where is None else (part.where, *found)
    where = every[0] if len(every) == 1 else Conjunction(every, span=_covering(every))
    return replace(part, where=where)


def _covering(found: tuple[Expr, ...]) -> Span | None:
    spans = [x.span for x in found if x.span is not None]
    return Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else None


def bounds(quantifier: Any) -> tuple[int, int | None]:
    """How often: `+` is (1, None), `{2,5}` is (2, 5)."""
    text = quantifier.getText()
    if text in ("+", "*", "?"):
        return (1 if text == "+" else 0), (1 if text == "?" else None)
    numbers = [literals.whole_number(n) for n in quantifier.NUMBER()]
    if not quantifier.COMMA():
        if not numbers:
            fail("NEEL1005", "these braces contain no number", quantifier, "for example {3}, {2,} or {2,5}")
        return numbers[0], numbers[0]
    before_comma = quantifier.getChild(1).getText() != ","
    least = numbers[0] if before_comma else 0
    most = numbers[-1] if len(numbers) == 2 or (numbers and not before_comma) else None
    return least, most


def window(context: Any) -> p.Window:
    """`10 SECONDS`, `100`, `50 EVENTS`, `:w`, `:n SECONDS`, `INTERVAL '10' SECOND`."""
    span = span_of(context)
    if context.interval():
        return p.Window(literals.interval(context.interval()), span=span)
    names = context.name()
    unit_name = names[-1] if len(names) > (1 if context.COLON() else 0) else None
    if context.COLON():
        count: Expr = Parameter(identifier(names[0]), span=span_of(context.COLON()) | span_of(names[0]))
    else:
        count = literals.number(context.NUMBER())
    return p.Window(count, unit(unit_name.getText(), unit_name, ("EVENT",)) if unit_name else None, span=span)


# Parse tree to the MATCH_RECOGNIZE clauses: SQL:2016's, and JEPC's sequential and temporal ones.


def _text_of(context: Any) -> str:
    """A node of the parse tree as it is written."""
    return str(context.start.getInputStream().getText(context.start.start, context.stop.stop))


# JEPC writes symbols without spaces between them.

_LETTER = re.compile(r"[A-Za-z_][0-9]*")


def packed_symbols(word: str, defined: Iterable[str]) -> list[str] | None:
    """The symbols in a word: defined names first, the longest that fits, else a letter with its digits.

    >>> packed_symbols("ABCD", ["A", "B"])
    ['A', 'B', 'C', 'D']
    >>> packed_symbols("up1down", ["up1", "down"])
    ['up1', 'down']
    >>> packed_symbols("AB", ["AB"])
    ['AB']
    """
    if is_quoted(word):
        return [word]
    longest = sorted(map(variable, defined), key=len, reverse=True)
    found = []
    while word:
        symbol = next((s for s in longest if word.upper().startswith(s)), None)
        if symbol is None:
            letter = _LETTER.match(word)
            if letter is None:
                return None
            symbol = letter[0]
        found.append(word[: len(symbol)])
        word = word[len(symbol) :]
    return found


# Parse tree to TPStream's temporal patterns.

_EXAMPLE = "for example AABB (A before B), ABAB (A overlaps B), AA.BB (A meets B), A.AB.B (two points)"


def _temporal(context: Any) -> t.MatchTemporal:
    clauses, clause = _split(context.temporalClause(), context, "MATCH_RECOGNIZE_TEMPORAL")
    shared = SharedClauses(clauses, is_temporal=True)
    further = [one for one in context.temporalClause() if one.FROM()]
    if len(further) > 1:
        given_twice(further[1])
    symbols = tuple(d.name for d in shared.definitions)
    return t.MatchTemporal(
        _alternatives(clause.temporalPatterns(), symbols),
        shared.definitions,
        shared.partition_by,
        shared.measures,
        shared.within,
        tuple(_further_stream(one) for one in further[0].furtherStream()) if further else (),
        span=span_of(context),
    )


# TPStream's own queries (JEPC thesis, Listing 15.4): what DO assigns are MEASURES, and RETURN chooses some.


def temporal_query(context: Any) -> Select:
    """The query as JEPC-QL writes it: SELECT of MATCH_RECOGNIZE_TEMPORAL."""
    clauses = context.temporalQueryClause()
    shared_clauses, pattern = _split(clauses, context, "a query that begins with FROM")
    returned = [one for one in clauses if one.RETURN()]
    if not returned:
        hint = "name what DO assigns: RETURN v"
        fail("NEEL1001", "a query that begins with FROM needs a RETURN clause", context.getChild(0), hint)
    if len(returned) > 1:
        given_twice(returned[1])
    shared = SharedClauses(shared_clauses, is_temporal=True, has_assignments=True)
    first, *further = (_further_stream(one) for one in context.furtherStream())
    streams = [one.alias or one.name for one in (first, *further)]
    assigned = tuple(_assigned(one, place, streams) for one, place in shared.assignments)
    items, computed = _returned([output(one) for one in returned[0].selectItem()], assigned)
    symbols = tuple(d.name for d in shared.definitions)
    matcher = t.MatchTemporal(
        _alternatives(pattern.temporalPatterns(), symbols),
        shared.definitions,
        shared.partition_by,
        (*assigned, *computed),
        shared.within,
        tuple(further),
        span=span_of(context),
    )
    return Select(items, (replace(first, matcher=matcher),), span=span_of(context))


def _assigned(symbol: str, context: Any, streams: list[str]) -> r.Output:
    """`v = START(s).x` in the DO of a symbol: `START(symbol).x AS v`. What is named alone, or by the stream,
    is of the event that emits the symbol."""

    def change(node: Node) -> Node:
        match node:
            case MemberAccess(Call(name, (Name(),)) as call) if name.lower() in ("start", "end"):
                return replace(node, base=replace(call, arguments=(Name((symbol,), span=call.span),)))
            case Name((first, *others)):
                is_qualified = bool(others) and any(same(first, one) for one in streams)
                return replace(node, parts=(symbol, *(others if is_qualified else node.parts)))
        return map_children(node, change)

    changed = change(expression(context.expression()))
    assert isinstance(changed, Expr)
    return r.Output(changed, identifier(context.name()), span=span_of(context))


def _returned(
    items: list[r.Output], assigned: tuple[r.Output, ...]
) -> tuple[tuple[r.Output, ...], tuple[r.Output, ...]]:
    """What RETURN lists, over variables; and the measures for what it says of symbols itself."""
    known = {one.alias: one.expression for one in assigned if one.alias is not None}

    def variable_of(node: Node) -> Expr | None:
        if isinstance(node, Name) and len(node.parts) == 1:
            return next((value for name, value in known.items() if same(name, node.parts[0])), None)
        return None

    def with_values(node: Node) -> Node:
        value = variable_of(node)
        return map_children(node, with_values) if value is None else value

    listed, computed = [], []
    for item in items:
        names = [node for node in walk(item.expression) if isinstance(node, Name | Star)]
        if all(variable_of(node) is not None for node in names):
            listed.append(item)
            continue
        if item.alias is None:
            hint = f"{item.expression} AS name"
            fail("NEEL3204", "an item of RETURN about a symbol needs a name", item.span, hint)
        value = with_values(item.expression)
        assert isinstance(value, Expr)
        computed.append(replace(item, expression=value))
        listed.append(replace(item, expression=Name((item.alias,), span=item.span), alias=None))
    return tuple(listed), tuple(computed)


def _alternatives(context: Any, symbols: tuple[str, ...]) -> tuple[t.TemporalPattern, ...]:
    """A TPL. Parentheses around a whole TP, or around the whole list, only group."""
    found: list[t.TemporalPattern] = []
    for choice in context.temporalPattern():
        items = choice.temporalItem()
        inner = items[0].temporalPatterns() if isinstance(items[0], NeelParser.TemporalGroupContext) else None
        if len(items) == 1 and inner is not None and not _is_one_list(inner, symbols):
            found.extend(_alternatives(inner, symbols))
        else:
            parts = tuple(part for item in items for part in _parts(item, symbols))
            found.append(t.TemporalPattern(parts, span=span_of(choice)))
    return tuple(found)


def _is_one_list(context: Any, symbols: tuple[str, ...]) -> bool:
    """`AABB;A.ABB`: choices of one relation each, a TCL."""
    choices = [choice.temporalItem() for choice in context.temporalPattern()]
    return all(len(c) == 1 and _is_relation(c[0], symbols) for c in choices)


def _is_relation(item: Any, symbols: tuple[str, ...]) -> bool:
    if isinstance(item, NeelParser.TemporalNamedContext):
        return True
    return isinstance(item, NeelParser.TemporalRelationContext) and _alone(item, symbols) is None


def _alone(item: Any, symbols: tuple[str, ...]) -> str | None:
    """The symbol that stands alone, if one does."""
    words = item.temporalWord()
    letters = packed_symbols(words[0].getText(), symbols) if len(words) == 1 else None
    return Identifier(letters[0], span_of(item)) if letters is not None and len(letters) == 1 else None


def _parts(item: Any, symbols: tuple[str, ...]) -> list[t.TemporalPart]:
    match item:
        case NeelParser.TemporalAbsentContext():
            return [t.AbsentSymbol(identifier(item.name()), span=span_of(item))]
        case NeelParser.TemporalRelationContext() if (symbol := _alone(item, symbols)) is not None:
            return [t.PresentSymbol(symbol, span=span_of(item))]
        case NeelParser.TemporalRelationContext() | NeelParser.TemporalNamedContext():
            return [t.TemporalRelations((_relation(item, symbols),), span=span_of(item))]
        case _:
            inner = item.temporalPatterns()
            choices = inner.temporalPattern()
            if _is_one_list(inner, symbols):
                relations = tuple(_relation(c.temporalItem(0), symbols) for c in choices)
                return [_same_symbols(t.TemporalRelations(relations, span=span_of(item)), item)]
            if len(choices) > 1:
                fail(
                    "NEEL1006",
                    "alternatives inside a temporal pattern must be single relations",
                    item,
                    "move the alternatives outside: (...); (...)",
                )
            return [part for nested in choices[0].temporalItem() for part in _parts(nested, symbols)]


def _same_symbols(relations: t.TemporalRelations, place: Any) -> t.TemporalRelations:
    if len({frozenset(_symbols(r)) for r in relations.choices}) > 1:
        fail("NEEL1006", "alternative relations must be about the same two symbols", place)
    return relations


def _symbols(relation: t.TemporalRelation | t.NamedRelation) -> list[str]:
    """By their names as CLASSIFIER() would show them, as often as they are named."""
    if isinstance(relation, t.NamedRelation):
        return [variable(relation.left), variable(relation.right)]
    return [variable(s) for step in relation.steps for s in step.symbols]


def _named_relation(context: Any) -> t.NamedRelation:
    """`A OVERLAPS B`."""
    left, right = (Identifier(one.getText(), span_of(one)) for one in context.temporalWord())
    name = context.name().getText().upper() + (" BY" if context.BY() else "")
    if name not in ALLEN:
        fail("NEEL1006", f"`{name}` is not a relation", context.name(), f"one of: {', '.join(ALLEN)}")
    if variable(left) == variable(right):
        fail("NEEL1006", f"`{context.start.text} {name}` itself: a relation is between two symbols", context)
    return t.NamedRelation(left, name, right, span=span_of(context))


def _relation(context: Any, symbols: tuple[str, ...]) -> t.TemporalRelation | t.NamedRelation:
    """A word in which two symbols occur twice each; a dot joins what happens at the same instant."""
    if isinstance(context, NeelParser.TemporalNamedContext):
        return _named_relation(context)
    steps: list[list[str]] = []
    for i, word in enumerate(context.temporalWord()):
        letters = packed_symbols(word.getText(), symbols)
        if letters is None:
            fail("NEEL1006", f"`{word.getText()}` is not made of symbols", context, _EXAMPLE)
        if i:
            steps[-1].append(letters.pop(0))
        steps.extend([letter] for letter in letters)
    span = span_of(context)
    relation = t.TemporalRelation(tuple(t.Instants(tuple(s), span=span) for s in steps), span=span)
    named = list(dict.fromkeys(_symbols(relation)))
    if len(named) > 2:
        fail(
            "NEEL1006",
            f"`{context.getText()}` names {len(named)} symbols, and a relation is between two",
            context,
            f"one relation for each two of them: {', '.join(a + a + b + b for a, b in pairwise(named))}",
        )
    if sorted(Counter(_symbols(relation)).values()) != [2, 2]:
        fail(
            "NEEL1006",
            f"`{context.getText()}` is not a relation: two symbols must occur twice each",
            context,
            _EXAMPLE,
        )
    return relation


def matcher(context: Any) -> Matcher:
    if context.MATCH_RECOGNIZE():
        return _standard(context)
    if context.MATCH_RECOGNIZE_SEQUENTIAL():
        return _sequential(context)
    return _temporal(context)


class SharedClauses:
    """The clauses that all three kinds have. `assignments` are those of DO, each with the symbol that it
    stands at."""

    def __init__(self, clauses: list[Any], is_temporal: bool = False, has_assignments: bool = False) -> None:
        self.assignments: list[tuple[str, Any]] = []
        self.is_temporal, self.has_assignments = is_temporal, has_assignments
        self.partition_by: tuple[Expr, ...] = ()
        self.measures: tuple[r.Output, ...] = ()
        self.within: Window | None = None
        self.definitions: tuple[r.Definition, ...] = ()
        seen: set[type[Any]] = set()
        for clause in clauses:
            if type(clause) in seen:
                given_twice(clause)
            seen.add(type(clause))
            match clause:
                case NeelParser.MatchPartitionContext():
                    self.partition_by = expressions(clause.expressionList())
                case NeelParser.MatchMeasuresContext():
                    if self.has_assignments:
                        hint = "DEFINE A AS TEMP(heat > 80) DO v = START(s).heat"
                        fail(
                            "NEEL1001",
                            "a query that begins with FROM has DO in place of MEASURES",
                            clause,
                            hint,
                        )
                    self.measures = tuple(output(i) for i in clause.selectItem())
                case NeelParser.MatchWithinContext():
                    self.within = window(clause.window())
                case _:
                    self.definitions = tuple(map(self._definition, clause.definition()))
                    self._check_commas(clause)

    def _definition(self, context: Any) -> r.Definition:
        name = identifier(context.name())
        length = context.symbolDuration()
        if length is not None and not self.is_temporal:
            fail("NEEL1001", "DURATION belongs to MATCH_RECOGNIZE_TEMPORAL", length)
        if context.DO() and not self.has_assignments:
            hint = f"MEASURES START({name}).x AS v" if self.is_temporal else f"MEASURES {name}.x AS v"
            fail("NEEL1001", "DO belongs to queries that begin with FROM", context.DO(), hint)
        self.assignments += [(name, one) for one in context.assignment()]
        duration = None if length is None else _symbol_duration(length)
        return r.Definition(name, expression(context.expression()), duration, span=span_of(context))

    def _check_commas(self, clause: Any) -> None:
        """The thesis leaves out commas behind DO."""
        for before, after in pairwise(clause.getChildren()):
            is_pair = all(isinstance(one, NeelParser.DefinitionContext) for one in (before, after))
            if is_pair and not self.has_assignments:
                fail("NEEL1001", "a comma is missing before this definition", after)


_DURATIONS = {"AT LEAST": "least", "AT MOST": "most"}


def _symbol_duration(context: Any) -> r.SymbolDuration:
    span, windows = span_of(context), [window(one) for one in context.window()]
    if context.BETWEEN():
        least, most = windows
        if least.unit is None and not isinstance(least.count, Interval):
            least = replace(least, unit=most.unit)
        return r.SymbolDuration(least, most, span=span)
    words = " ".join(child.getText().upper() for child in list(context.getChildren())[1:3])
    if words not in _DURATIONS:
        hint = "one of: DURATION AT LEAST 5 SECONDS; AT MOST 5 SECONDS; BETWEEN 5 AND 9 SECONDS"
        fail("NEEL1001", f"a duration cannot be `{words}`", context, hint)
    return r.SymbolDuration(**{_DURATIONS[words]: windows[0]}, span=span)


def output(context: Any) -> r.Output:
    """`expression [AS name]`, or `*`."""
    if context.expression() is None:
        return r.Output(Star(span=span_of(context)), span=span_of(context))
    name = identifier(context.name()) if context.name() else None
    return r.Output(expression(context.expression()), name, span=span_of(context))


def sort_item(context: Any) -> r.SortItem:
    nulls = "FIRST" if context.FIRST() else "LAST" if context.LAST() else None
    return r.SortItem(
        expression(context.expression()), context.DESC() is not None, nulls, span=span_of(context)
    )


def _split(clauses: list[Any], context: Any, kind: str) -> tuple[list[Any], Any]:
    """The shared clauses, and the one PATTERN clause."""
    patterns = [c for c in clauses if c.PATTERN()]
    if not patterns:
        fail("NEEL1001", f"{kind} needs a PATTERN clause", context.getChild(0))
    if len(patterns) > 1:
        given_twice(patterns[1])
    return [c.sharedClause() for c in clauses if c.sharedClause() is not None], patterns[0]


def _sequential(context: Any) -> r.MatchSequential:
    clauses, clause = _split(context.sequentialClause(), context, "MATCH_RECOGNIZE_SEQUENTIAL")
    shared = SharedClauses(clauses)
    using = [one for one in context.sequentialClause() if one.following()]
    further = [one for one in context.sequentialClause() if one.FROM()]
    skipping = [one.skipEvent() for one in context.sequentialClause() if one.skipEvent()]
    kept = [list(one.getChildren()) for one in skipping] + _skip_behind(clause.rowPattern())
    for several in (using, further, skipping):
        if len(several) > 1:
            given_twice(several[1])
    if len(kept) > 1:
        given_twice(skipping[0])
    symbols = tuple(d.name for d in shared.definitions)
    return r.MatchSequential(
        _pattern(clause.rowPattern(), symbols),
        shared.definitions,
        shared.partition_by,
        shared.measures,
        shared.within,
        _following(using[0].following()) if using else None,
        tuple(_further_stream(one) for one in further[0].furtherStream()) if further else (),
        _skip_of_events(kept[0]) if kept else None,
        span=span_of(context),
    )


def _skip_behind(pattern: Any) -> list[list[Any]]:
    """The words of AFTER MATCH SKIP behind the pattern, if they are there. They could be symbols, so the
    grammar reads them as such; they are taken out of the tree."""
    sequence = pattern.rowSequence()[-1]
    terms = sequence.rowTerm()
    for place, (one, following) in enumerate(pairwise(terms)):
        if place and (one.getText().upper(), following.getText().upper()) == ("AFTER", "MATCH"):
            sequence.children = sequence.children[: sequence.children.index(one)]
            return [terms[place + 3 :] or [following]]
    return []


_SKIPS = ("PAST LAST EVENT", "TO NEXT EVENT")


def _skip_of_events(words: list[Any]) -> r.Skip:
    """AFTER MATCH SKIP of JEPC's patterns: its words after the third. SQL's word ROW is understood."""
    said = " ".join(word.getText().upper() for word in words)
    span = span_of(words[0]) | span_of(words[-1])
    kind = f"{said.removesuffix(' ROW')} EVENT" if said.endswith(" ROW") else said
    if kind not in _SKIPS:
        text = " ".join(word.getText() for word in words)
        message = f"MATCH_RECOGNIZE_SEQUENTIAL cannot skip `{text}`"
        fail("NEEL3031", message, words[0], "AFTER MATCH SKIP PAST LAST EVENT, or TO NEXT EVENT")
    return r.Skip(kind, span=span)


def _further_stream(context: Any) -> FromStream:
    alias = identifier(context.alias().name()) if context.alias() else None
    return FromStream(alias, name=identifier(context.name()), span=span_of(context))


_FOLLOWING = {
    "DIRECTLY FOLLOWED BY": r.Following(),
    "EVENTUALLY FOLLOWED BY": r.Following(eventually=True),
    "FOLLOWED BY WITHIN": r.Following(eventually=True),
}


def _following(context: Any) -> r.Following:
    words = " ".join(child.getText().upper() for child in list(context.getChildren())[:3])
    if words not in _FOLLOWING:
        fail("NEEL1001", f"symbols cannot follow each other `{words}`", context, FOLLOWINGS)
    within = window(context.window()) if context.window() else None
    return replace(_FOLLOWING[words], within=within, span=span_of(context))


def _standard(context: Any) -> r.MatchRecognize:
    found: dict[type[Any], Any] = {}
    shared = []
    for clause in context.rowClause():
        if isinstance(clause, NeelParser.RowSharedContext):
            shared.append(clause.sharedClause())
        elif type(clause) in found:
            given_twice(clause)
        else:
            found[type(clause)] = clause
    pattern = found.get(NeelParser.RowPatternClauseContext)
    if pattern is None:
        fail("NEEL1001", "MATCH_RECOGNIZE needs a PATTERN clause", context.MATCH_RECOGNIZE())
    order = found.get(NeelParser.RowOrderContext)
    subsets = found.get(NeelParser.RowSubsetContext)
    both = SharedClauses(shared)
    return r.MatchRecognize(
        _pattern(pattern.rowPattern(), None) if pattern.rowPattern() else r.RowEmpty(span=span_of(pattern)),
        both.definitions,
        both.partition_by,
        tuple(sort_item(s) for s in order.sortItem()) if order else (),
        both.measures,
        _rows_per_match(found.get(NeelParser.RowsPerMatchContext)),
        _skip(found.get(NeelParser.AfterMatchContext)),
        both.within,
        tuple(_subset(s) for s in subsets.subset()) if subsets else (),
        span=span_of(context),
    )


def _rows_per_match(clause: Any) -> str | None:
    if clause is None:
        return None
    words = " ".join(child.getText().upper() for child in list(clause.getChildren())[:4])
    if clause.emptyMatches():
        words += " " + " ".join(c.getText().upper() for c in clause.emptyMatches().getChildren())
    if words not in r.ROWS_PER_MATCH:
        hint = "one of: " + "; ".join(r.ROWS_PER_MATCH)
        fail("NEEL1001", f"`{words}` is not an option of MATCH_RECOGNIZE", clause, hint)
    return words


def _skip(clause: Any) -> r.Skip | None:
    if clause is None:
        return None
    to = clause.skipTo()
    keyword = span_of(clause.SKIPPING())
    if to.PAST():
        return r.Skip("PAST LAST ROW", span=span_of(clause), skip_keyword=keyword)
    if to.ROW():
        return r.Skip("TO NEXT ROW", span=span_of(clause), skip_keyword=keyword)
    kind = "TO FIRST" if to.FIRST() else "TO LAST" if to.LAST() else "TO"
    return r.Skip(kind, identifier(to.name()), span=span_of(clause), skip_keyword=keyword)


def _subset(context: Any) -> r.Subset:
    name, *members = map(identifier, context.name())
    return r.Subset(name, tuple(members), span=span_of(context))


def _pattern(context: Any, symbols: tuple[str, ...] | None) -> r.RowPattern:
    """A row pattern; with `symbols`, JEPC's: names may stand packed together, `;` separates alternatives."""
    if symbols is None and context.SEMI():
        message = "`;` separates alternatives in MATCH_RECOGNIZE_SEQUENTIAL only"
        fail("NEEL1001", message, context.SEMI(0), write("|"))
    parts = tuple(_sequence(s, symbols) for s in context.rowSequence())
    return parts[0] if len(parts) == 1 else r.RowAlternation(parts, span=span_of(context))


def _sequence(context: Any, symbols: tuple[str, ...] | None) -> r.RowPattern:
    terms, parts = context.rowTerm(), []
    is_before = False
    for term, following in zip(terms, [*terms[1:], None], strict=True):
        given_away = following is not None and symbols is not None and _is_before(term, following, symbols)
        found = _term(term, symbols, without_mark=given_away)
        if is_before or _mark_before(term):
            found[0] = r.RowRepeat(found[0], 0, 1, span=span_of(term))
        parts += found
        is_before = given_away
    return parts[0] if len(parts) == 1 else r.RowSequence(tuple(parts), span=span_of(context))


def _mark_before(term: Any) -> Any:
    """The `?` that a term begins with."""
    first = term.getChild(0)
    return first if first in term.QUESTION() else None


def _mark_after(term: Any) -> Any:
    """The `?` that a term ends with: one of a repetition, or the quantifier itself."""
    last = term.getChild(term.getChildCount() - 1)
    if last in term.QUESTION():
        return last
    return term.quantifier() and term.quantifier().QUESTION()


def _is_before(term: Any, following: Any, symbols: tuple[str, ...]) -> bool:
    """Whether the `?` after a term stands before the following one, and makes that optional.

    The JEPC thesis writes `?` before what it makes optional (15.2.2, `A?BC` in Listing 15.11), and regular
    expressions, which MATCH_RECOGNIZE has, after it. A `?` that touches one of its neighbours is that one's;
    one that touches both or none is read in two ways by two people."""
    mark = _mark_after(term)
    if not mark:
        return False
    place = span_of(mark)
    siblings = list(term.getChildren())
    before = siblings[siblings.index(mark) - 1] if mark in siblings else term.rowPrimary()
    touches_one = span_of(before).end == place.start
    touches_other = place.end == span_of(following).start
    if touches_one != touches_other:
        return touches_other
    texts = [part.rowPrimary().getText() for part in (term, following)]
    one, other = (
        (packed_symbols(text, symbols) or [text])[n] for text, n in zip(texts, (-1, 0), strict=True)
    )
    message = f"`?` between `{one}` and `{other}` might make either of them optional"
    ways = f"`{one}? {other}` makes `{one}` optional, `{one} ?{other}` makes `{other}`"
    hint = f"leave a space on one side: {ways}"
    fail("NEEL3080", message, mark, hint)


def _term(context: Any, symbols: tuple[str, ...] | None, without_mark: bool) -> list[r.RowPattern]:
    """One part, or several when symbols stand packed: the quantifier of `ab*` is the last one's. With
    `without_mark`, the `?` at the end belongs to what follows."""
    if symbols is None and _mark_before(context):
        _only_sequential("a `?` before the optional part", _mark_before(context))
    parts = _primary(context.rowPrimary(), symbols)
    quantifier, mark = context.quantifier(), _mark_after(context)
    if quantifier is None or (without_mark and mark == quantifier.QUESTION()):
        return parts
    least, most = bounds(quantifier)
    # `{0}` takes no row. JEPC's patterns have events, or they are none.
    if most is not None and (most < least or (most == 0 and symbols is not None)):
        hint = write(f"{{{most},{least}}}") if most else None
        fail("NEEL1005", f"`{quantifier.getText()}` can never match", quantifier, hint)
    reluctant = mark in context.QUESTION() and not without_mark
    return [*parts[:-1], r.RowRepeat(parts[-1], least, most, reluctant, span=span_of(context))]


def _only_sequential(what: str, place: Any) -> NoReturn:
    fail("NEEL1001", f"{what} is allowed only in MATCH_RECOGNIZE_SEQUENTIAL", place)


def _primary(context: Any, symbols: tuple[str, ...] | None) -> list[r.RowPattern]:
    span = span_of(context)
    match context:
        case NeelParser.RowPermuteContext():
            return [r.RowPermute(tuple(_pattern(x, symbols) for x in context.rowPattern()), span=span)]
        case NeelParser.RowGroupContext():
            return [_group(context, symbols)]
        case NeelParser.RowExclusionContext():
            return [r.RowExclusion(_pattern(context.rowPattern(), symbols), span=span)]
        case NeelParser.RowAnchorContext():
            return [r.RowAnchor(context.getText(), span=span)]
        case NeelParser.RowNegatedContext():
            if symbols is None:
                _only_sequential(f"`{context.getText()}`", context)
            first, *others = _symbols_of(context.name(), symbols)
            return [r.RowNegation(first, span=span), *others]
        case _:
            return list(_symbols_of(context.name(), symbols))


LONGEST_OF_LETTERS = 2
"""Symbols that are written in one word, where none of them is defined: a longer word is a mistake."""


def _symbols_of(context: Any, symbols: tuple[str, ...] | None) -> list[r.RowVariable]:
    name = context.getText()
    names = [name] if symbols is None else packed_symbols(name, symbols) or [name]
    if (
        symbols
        and len(names) > LONGEST_OF_LETTERS
        and not {variable(one) for one in names} & set(map(variable, symbols))
    ):
        message = f"`{name}` is not a symbol: DEFINE contains neither it nor any of its letters"
        fail("NEEL3031", message, context, did_you_mean(name, symbols, "symbols"))
    return [r.RowVariable(n, span=span_of(context)) for n in names]


def _group(context: Any, symbols: tuple[str, ...] | None) -> r.RowPattern:
    """What stands in parentheses: a pattern, or with commas the symbols that one event emits."""
    span, inner = span_of(context), context.rowPattern()
    if not inner:
        return r.RowEmpty(span=span)
    if len(inner) == 1:
        return _pattern(inner[0], symbols)
    if symbols is None:
        _only_sequential("a conjunction of symbols", context)
    parts = tuple(_pattern(one, symbols) for one in inner)
    for part, place in zip(parts, inner, strict=True):
        if not isinstance(part, r.RowVariable | r.RowNegation):
            message = (
                f"one event emits everything between the commas, but `{place.getText()}` is not a symbol"
            )
            fail("NEEL3031", message, place, "for example (a, b), or (a, !b)")
    return r.RowConjunction(parts, span=span)
