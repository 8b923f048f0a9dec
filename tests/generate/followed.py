"""Sequences with words between their parts, for `oracle.following`: as text, and as its own parts.

text, sequence = followed(Random(1))
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from oracle.following import (
    Bound,
    Group,
    Happening,
    Lacking,
    Many,
    Negative,
    One,
    Part,
    Sequence_,
    Test,
    Word,
    names_of,
)

KINDS = "ABC"


def followed(chance: Random) -> tuple[str, Sequence_]:
    """A query, `PATTERN` without the word, and what it means."""
    names = iter("abcdefghijk")
    parts: list[Part] = [One(chance.choice(KINDS), next(names))]
    if chance.random() < 0.2:
        parts = [Many(chance.choice(KINDS), next(names), each=_word(chance, 0.5))]
    if chance.random() < 0.15:  # what a word means inside of a negative part
        inner = tuple(One(chance.choice(KINDS), next(names), word) for word in (None, Word("NEXT")))
        parts += [Negative(inner), One(chance.choice(KINDS), next(names))]
    for _ in range(chance.choice((0, 1, 1, 2, 2, 3)) if len(parts) > 1 else chance.choice((1, 2, 2, 3))):
        parts.append(_part(chance, names))
    if all(isinstance(one, Negative) for one in parts[1:]) and chance.random() < 0.7:
        parts.append(One(chance.choice(KINDS), next(names), _word(chance, 0.8)))
    positive = tuple(name for part in parts for name in names_of(part))
    tests = tuple(_tests(chance, parts))
    within, same = chance.choice((4, 9, 20)), chance.random() < 0.3
    sequence = Sequence_(tuple(parts), tests, within, same, positive)
    where = " AND ".join([one.text for one in tests] + ["[id]"] * same)
    text = f"SEQ({', '.join(map(text_of, parts))}){f' WHERE {where}' if where else ''} WITHIN {within}"
    return text, sequence


def happenings(chance: Random) -> list[Happening]:
    """A few events, some of them at the same time."""
    most = chance.randint(4, 14)
    return [
        Happening(
            number,
            chance.randint(1, most),
            chance.choice("AABBBCCD"),
            chance.randint(0, 3),
            chance.choice((1, 1, 2, None)),
        )
        for number in range(most)
    ]


def _word(chance: Random, share: float = 0.7) -> Word | None:
    if chance.random() > share:
        return None
    kind = chance.choice(("NEXT", "NEXT", "STRICT", "AMONG", "ANY"))
    return (
        Word("STRICT", tuple(chance.sample(KINDS, chance.choice((1, 2))))) if kind == "AMONG" else Word(kind)
    )


def _part(chance: Random, names: Iterator[str]) -> Part:
    kind, draw = chance.choice(KINDS), chance.random()
    if draw < 0.25:
        return One(kind, next(names), _word(chance))
    if draw < 0.33:
        return One(kind, next(names), _word(chance), optional=True)
    if draw < 0.53:
        return _list(chance, kind, names)
    if draw < 0.68:
        operator = chance.choice(("SEQ", "AND", "OR"))
        kinds = chance.choices(KINDS, k=2)
        words = (None, _word(chance) if operator == "SEQ" else None)
        inner = tuple(One(one, next(names), word) for one, word in zip(kinds, words, strict=True))
        return Group(operator, inner, _word(chance))
    first = One(kind, next(names))
    more = (One(chance.choice(KINDS), next(names), _word(chance, 0.9)),) if chance.random() < 0.7 else ()
    return Negative((first, *more), chance.random() < 0.3)


def _list(chance: Random, kind: str, names: Iterator[str]) -> Many:
    name = next(names)
    within = chance.choice((1, 2, 3)) if chance.random() < 0.2 else None
    lacking = None
    if chance.random() < 0.4:
        own = next(names)
        bound = chance.randint(0, 2)
        test = Test(f"{own}.x > {bound}", frozenset({own}), lambda found, _: found[own][0].x > bound)
        clause = chance.choice(("UNTIL", "WITHOUT"))
        lacking = Lacking(clause, chance.choice(KINDS), own, test if chance.random() < 0.6 else None)
    return Many(kind, name, _word(chance, 0.5), _word(chance), within, lacking)


def _tests(chance: Random, parts: list[Part]) -> Iterator[Test]:
    """Conditions on variables that every match, or every finding of a negative part, has."""
    certain: list[str] = []
    for part in parts:
        match part:
            case One(name=name, optional=False):
                yield from _on(chance, name, certain, 0.35)
                certain.append(name)
            case Many(name=name):
                yield from _on_elements(chance, name, certain)
            case Group("SEQ" | "AND", inner):
                for one in inner:
                    yield from _on(chance, one.name, certain, 0.3)
                    certain.append(one.name)
            case Negative(inner):
                own: list[str] = []
                for one in inner:
                    yield from _on(chance, one.name, [*certain, *own], 0.7)
                    own.append(one.name)


def _on(chance: Random, name: str, others: list[str], share: float) -> Iterator[Test]:
    if chance.random() > share:
        return
    if others and chance.random() < 0.5:
        other = chance.choice(others)
        yield Test(
            f"{name}.x > {other}.x",
            frozenset({name, other}),
            lambda found, _: found[name][0].x > found[other][0].x,
        )
    else:
        least = chance.randint(0, 2)
        yield Test(f"{name}.x > {least}", frozenset({name}), lambda found, _: found[name][0].x > least)


def _on_elements(chance: Random, name: str, others: list[str]) -> Iterator[Test]:
    draw = chance.random()
    if draw < 0.25:

        def grows(found: Bound, place: int) -> bool:
            return place == 0 or found[name][place].x >= found[name][place - 1].x

        yield Test(f"{name}[i].x >= {name}[i-1].x", frozenset({name}), grows)
    elif draw < 0.4:
        yield Test(f"{name}[i].x > 0", frozenset({name}), lambda found, place: found[name][place].x > 0)
    elif draw < 0.6 and others:
        other = chance.choice(others)

        def exceeds(found: Bound, place: int) -> bool:
            return found[name][place].x > found[other][0].x

        yield Test(f"{name}[i].x > {other}.x", frozenset({name, other}), exceeds)


# As text.


def text_of(part: Part) -> str:
    match part:
        case One(kind, name, word, optional):
            return f"{_before(word)}{kind}{'?' if optional else ''} {name}"
        case Many(kind, name, word, each, within, lacking):
            clauses = [f"{_before(word)}{kind}+ {name}[]"]
            clauses += [f"EACH {each}"] if each else []
            clauses += [f"EACH WITHIN {within} MILLISECONDS"] if within is not None else []
            if lacking is not None:
                test = f" : {lacking.test.text}" if lacking.test else ""
                clauses.append(f"{lacking.clause} ({lacking.kind} {lacking.name}{test})")
            return " ".join(clauses)
        case Group(operator, parts, word):
            return f"{_before(word)}{operator}({', '.join(map(text_of, parts))})"
        case Negative(parts, strict):
            inner = text_of(parts[0]) if len(parts) == 1 else f"SEQ({', '.join(map(text_of, parts))})"
            return f"{'STRICT ' if strict else ''}!{inner}"


def _before(word: Word | None) -> str:
    return f"{word} " if word else ""
