"""Parse tree to TPStream's temporal patterns."""

from __future__ import annotations

from collections import Counter
from typing import Any

from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir import temporal as t
from neelc.parse.problem import fail, span_of
from neelc.parse.symbols import packed_symbols

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


def _parts(item: Any, symbols: tuple[str, ...]) -> list[t.Relations | t.Absent]:
    match item:
        case NeelParser.TemporalAbsentContext():
            return [t.Absent(item.name().getText(), span=span_of(item))]
        case NeelParser.TemporalRelationContext():
            return [t.Relations((_relation(item, symbols),), span=span_of(item))]
        case _:
            inner = item.temporalPatterns()
            choices = inner.temporalPattern()
            if _is_one_list(inner):
                relations = tuple(_relation(c.temporalItem(0), symbols) for c in choices)
                return [_same_symbols(t.Relations(relations, span=span_of(item)), item)]
            if len(choices) > 1:
                fail(
                    "NEEL1006",
                    "alternatives inside a temporal pattern are single relations",
                    item,
                    "move the alternatives outside: (...); (...)",
                )
            return [part for nested in choices[0].temporalItem() for part in _parts(nested, symbols)]


def _same_symbols(relations: t.Relations, place: Any) -> t.Relations:
    if len({frozenset(_symbols(r)) for r in relations.choices}) > 1:
        fail("NEEL1006", "alternative relations must be about the same two symbols", place)
    return relations


def _symbols(relation: t.Relation) -> list[str]:
    return [s for step in relation.steps for s in step.symbols]


def _relation(context: Any, symbols: tuple[str, ...]) -> t.Relation:
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
    relation = t.Relation(tuple(t.Instants(tuple(s), span=span) for s in steps), span=span)
    if sorted(Counter(_symbols(relation)).values()) != [2, 2]:
        fail(
            "NEEL1006",
            f"`{context.getText()}` is not a relation: two symbols must occur twice each",
            context,
            _EXAMPLE,
        )
    return relation
