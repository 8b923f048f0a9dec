"""Parse tree to the MATCH_RECOGNIZE clauses: SQL:2016's, and JEPC's sequential and temporal ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from neelc.errors import write
from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir import row_patterns as r
from neelc.ir import row_patterns as t
from neelc.ir.expressions import Expr, Star
from neelc.ir.names import is_quoted, variable
from neelc.ir.patterns import Window
from neelc.ir.script import Matcher
from neelc.syntax.expressions import expression, expressions
from neelc.syntax.mistakes import fail, given_twice, identifier, span_of
from neelc.syntax.patterns import bounds, window

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


def temporal_match(context: Any, patterns: Any, shared: Any) -> t.MatchTemporal:
    symbols = tuple(d.name for d in shared.definitions)
    return t.MatchTemporal(
        _alternatives(patterns, symbols),
        shared.definitions,
        shared.partition_by,
        shared.measures,
        shared.within,
        span=span_of(context),
    )


def _alternatives(context: Any, symbols: tuple[str, ...]) -> tuple[t.TemporalPattern, ...]:
    """A TPL. Parentheses around a whole TP, or around the whole list, only group."""
    found: list[t.TemporalPattern] = []
    for choice in context.temporalPattern():
        items = choice.temporalItem()
        inner = items[0].temporalPatterns() if isinstance(items[0], NeelParser.TemporalGroupContext) else None
        if len(items) == 1 and inner is not None and not _is_one_list(inner):
            found.extend(_alternatives(inner, symbols))
        else:
            parts = tuple(part for item in items for part in _parts(item, symbols))
            found.append(t.TemporalPattern(parts, span=span_of(choice)))
    return tuple(found)


def _is_one_list(context: Any) -> bool:
    """`AABB;A.ABB`: choices of one relation each, a TCL."""
    choices = [choice.temporalItem() for choice in context.temporalPattern()]
    return all(len(c) == 1 and isinstance(c[0], NeelParser.TemporalRelationContext) for c in choices)


def _parts(item: Any, symbols: tuple[str, ...]) -> list[t.TemporalRelations | t.AbsentSymbol]:
    match item:
        case NeelParser.TemporalAbsentContext():
            return [t.AbsentSymbol(identifier(item.name()), span=span_of(item))]
        case NeelParser.TemporalRelationContext():
            return [t.TemporalRelations((_relation(item, symbols),), span=span_of(item))]
        case _:
            inner = item.temporalPatterns()
            choices = inner.temporalPattern()
            if _is_one_list(inner):
                relations = tuple(_relation(c.temporalItem(0), symbols) for c in choices)
                return [_same_symbols(t.TemporalRelations(relations, span=span_of(item)), item)]
            if len(choices) > 1:
                fail(
                    "NEEL1006",
                    "alternatives inside a temporal pattern are single relations",
                    item,
                    "move the alternatives outside: (...); (...)",
                )
            return [part for nested in choices[0].temporalItem() for part in _parts(nested, symbols)]


def _same_symbols(relations: t.TemporalRelations, place: Any) -> t.TemporalRelations:
    if len({frozenset(_symbols(r)) for r in relations.choices}) > 1:
        fail("NEEL1006", "alternative relations must be about the same two symbols", place)
    return relations


def _symbols(relation: t.TemporalRelation) -> list[str]:
    return [s for step in relation.steps for s in step.symbols]


def _relation(context: Any, symbols: tuple[str, ...]) -> t.TemporalRelation:
    """A word in which two symbols occur twice each; a dot joins what happens at the same instant."""
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
    shared, clause = _split(context.temporalClause(), context, "MATCH_RECOGNIZE_TEMPORAL")
    return temporal_match(context, clause.temporalPatterns(), SharedClauses(shared))


class SharedClauses:
    """The clauses that all three kinds have."""

    def __init__(self, clauses: list[Any]) -> None:
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
                    self.measures = tuple(output(i) for i in clause.selectItem())
                case NeelParser.MatchWithinContext():
                    self.within = window(clause.window())
                case _:
                    self.definitions = tuple(
                        r.Definition(identifier(d.name()), expression(d.expression()), span=span_of(d))
                        for d in clause.definition()
                    )


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
    patterns = [c for c in clauses if c.sharedClause() is None]
    if not patterns:
        fail("NEEL1001", f"{kind} needs a PATTERN clause", context.getChild(0))
    if len(patterns) > 1:
        given_twice(patterns[1])
    return [c.sharedClause() for c in clauses if c.sharedClause() is not None], patterns[0]


def _sequential(context: Any) -> r.MatchSequential:
    clauses, clause = _split(context.sequentialClause(), context, "MATCH_RECOGNIZE_SEQUENTIAL")
    shared = SharedClauses(clauses)
    symbols = tuple(d.name for d in shared.definitions)
    return r.MatchSequential(
        _pattern(clause.rowPattern(), symbols),
        shared.definitions,
        shared.partition_by,
        shared.measures,
        shared.within,
        span=span_of(context),
    )


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
    if symbols is not None:
        for term, following in pairwise(context.rowTerm()):
            _check_question_mark(term, following, symbols)
    parts = [part for term in context.rowTerm() for part in _term(term, symbols)]
    return parts[0] if len(parts) == 1 else r.RowSequence(tuple(parts), span=span_of(context))


def _check_question_mark(term: Any, following: Any, symbols: tuple[str, ...]) -> None:
    """The JEPC thesis writes `?` before what it makes optional (15.2.2, `A?BC` in Listing 15.11), and regular
    expressions, which MATCH_RECOGNIZE has, after it. Only a `?` that touches what is before it, and not what
    is after it, is read one way by everyone."""
    quantifier = term.quantifier()
    mark = quantifier and (term.QUESTION() or quantifier.QUESTION())
    if not mark:
        return
    place = span_of(mark)
    before = term.rowPrimary().stop if quantifier.QUESTION() else quantifier.stop
    if span_of(before).end == place.start and place.end < span_of(following).start:
        return
    texts = [part.rowPrimary().getText() for part in (term, following)]
    one, other = (
        (packed_symbols(text, symbols) or [text])[n] for text, n in zip(texts, (-1, 0), strict=True)
    )
    message = f"`?` between `{one}` and `{other}` might make either of them optional"
    hint = (
        f"leave a space after it: `{one}? {other}` makes `{one}` optional, `{one} {other}?` makes `{other}`"
    )
    fail("NEEL3080", message, mark, hint)


def _term(context: Any, symbols: tuple[str, ...] | None) -> list[r.RowPattern]:
    """One part, or several when symbols stand packed: the quantifier of `ab*` is the last one's."""
    parts = _primary(context.rowPrimary(), symbols)
    if context.quantifier() is None:
        return parts
    least, most = bounds(context.quantifier())
    # `{0}` takes no row. JEPC's patterns have events, or they are none.
    if most is not None and (most < least or (most == 0 and symbols is not None)):
        hint = write(f"{{{most},{least}}}") if most else None
        fail("NEEL1005", f"`{context.quantifier().getText()}` can never match", context.quantifier(), hint)
    reluctant = context.QUESTION() is not None
    return [*parts[:-1], r.RowRepeat(parts[-1], least, most, reluctant, span=span_of(context))]


def _primary(context: Any, symbols: tuple[str, ...] | None) -> list[r.RowPattern]:
    span = span_of(context)
    match context:
        case NeelParser.RowPermuteContext():
            return [r.RowPermute(tuple(_pattern(x, symbols) for x in context.rowPattern()), span=span)]
        case NeelParser.RowGroupContext():
            inner = context.rowPattern()
            return [_pattern(inner, symbols) if inner else r.RowEmpty(span=span)]
        case NeelParser.RowExclusionContext():
            return [r.RowExclusion(_pattern(context.rowPattern(), symbols), span=span)]
        case NeelParser.RowAnchorContext():
            return [r.RowAnchor(context.getText(), span=span)]
        case _:
            name = context.name().getText()
            names = [name] if symbols is None else packed_symbols(name, symbols) or [name]
            return [r.RowVariable(n, span=span) for n in names]
