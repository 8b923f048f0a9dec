"""Random queries WITH PARTIAL MATCHES, as text, and small streams in which ties and NULLs are frequent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

HEAD = """CREATE STREAM S (ts BIGINT, kind STRING, n BIGINT, id BIGINT, x BIGINT, w DOUBLE)
  TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY kind;
"""
STRATEGIES = ("SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH", "STRICT CONTIGUITY", "PARTITION CONTIGUITY")


@dataclass(frozen=True)
class Part:
    """A part of the SEQ: its text, the variables that it binds, and whether it is a step."""

    text: str
    variables: tuple[str, ...] = ()
    is_step: bool = True

    @property
    def is_negative(self) -> bool:
        return self.text.startswith("!")

    @property
    def bare(self) -> Part:
        """Without its condition."""
        return replace(self, text=self.text.strip("()").partition(" :")[0]) if " : " in self.text else self


@dataclass(frozen=True)
class Query:
    """A query in pieces, so that its prefixes can be written down, too. `within` is a number and a unit;
    each condition has the variables that it names."""

    parts: tuple[Part, ...]
    conditions: tuple[tuple[str, frozenset[str]], ...]
    within: tuple[int, str] | None
    using: str
    returns: str

    @property
    def text(self) -> str:
        """The query with partial matches."""
        plain = self._written(self.parts, self.within, frozenset(self._known(len(self.parts))))
        return plain.replace("RETURN DISTINCT a.n AS n", f"WITH PARTIAL MATCHES RETURN {self.returns}")

    @property
    def ends(self) -> list[int]:
        """How many parts each prefix has."""
        found = [place for place, part in enumerate(self.parts, 1) if part.is_step]
        return found if found[-1] == len(self.parts) else [*found, len(self.parts)]

    @property
    def steps(self) -> int:
        return sum(part.is_step for part in self.parts)

    def prefix(self, number: int) -> str:
        """A query for the starts of a prefix; the first one is number 0."""
        end = self.ends[number]
        return self._written(self.parts[:end], self.within, self._known(end))

    def relaxed(self, number: int) -> Iterator[tuple[str, str]]:
        """Reasons why a prefix has no match, each with a query for the starts that have it."""
        begin, end = self.ends[number - 1], self.ends[number]
        before, known = self._known(begin), self._known(end)
        parts = (*self.parts[:begin], *(one for one in self.parts[begin:end] if not one.is_negative))
        yield "negation", self._written(parts, self.within, known)
        if self.within is not None:
            count, unit = self.within
            yield "window", self._written(parts, (2 * count, unit), known)
        plain = (*parts[:begin], *(part.bare for part in parts[begin:]))
        yield "condition", self._written(plain, self.within, known, before)

    def _known(self, end: int) -> frozenset[str]:
        return frozenset(name for part in self.parts[:end] for name in part.variables)

    def _written(
        self,
        parts: Sequence[Part],
        within: tuple[int, str] | None,
        known: frozenset[str],
        judged: frozenset[str] | None = None,
    ) -> str:
        """A query for starts, with the conditions on `known` variables; of those that are not among the
        `judged` only such that say which events belong together."""
        where = [
            text
            for text, names in self.conditions
            if names <= known and (judged is None or names <= judged or (len(names) > 1 and ".id =" in text))
        ]
        words = [
            f"PATTERN SEQ({', '.join(part.text for part in parts)})",
            f"WHERE {' AND '.join(where)}" if where else "",
            f"WITHIN {within[0]} {within[1]}" if within else "",
            self.using,
            "RETURN DISTINCT a.n AS n",
        ]
        return " ".join(word for word in words if word)


def drawn(seed: int) -> tuple[Query, list[dict[str, object]]]:
    """A query and the rows of its stream."""
    chance = Random(seed)
    strategy = chance.choices(STRATEGIES, (4, 3, 1, 1))[0]
    return _query(chance, strategy), _rows(chance)


def _query(chance: Random, strategy: str) -> Query:
    names = iter("bcdefgh")
    parts = [Part("A a", ("a",))]
    if chance.random() < 0.15:
        parts.insert(0, Part("!X x0", is_step=False))
    for _ in range(chance.choice((1, 2, 2, 3))):
        parts += _step(chance, next(names), next(names), strategy == STRATEGIES[0])
    if chance.random() < 0.25:
        parts.append(chance.choice((Part("!X y0", is_step=False), Part("A? y1", ("y1",), is_step=False))))
    singles = [p.variables[0] for p in parts if p.is_step and len(p.variables) == 1 and "[" not in p.text]
    conditions: list[tuple[str, frozenset[str]]] = []
    keyed = strategy == STRATEGIES[3] or chance.random() < 0.4
    if keyed:
        conditions.append(("[id]", frozenset()))
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        one, other = chance.choice(singles), chance.choice(singles)
        test = chance.choice((f"{one}.x > 0", f"{one}.x <= {other}.x", f"{one}.id = {other}.id"))
        conditions.append((test, frozenset((one, other) if other in test else (one,))))
    # Before and after what stands at the ends a window has to say how far.
    at_ends = not parts[0].is_step or parts[-1].is_negative
    windows = ((4, ""), (2, ""), (4, "EVENTS"), (5, "") if at_ends else None)
    within, using = chance.choice(windows), "" if strategy == STRATEGIES[0] else f"USING {strategy}"
    shown = [name for name in singles[1:] if chance.random() < 0.8]
    listed = [f"{name}.{chance.choice(('x', 'w', 'id', 'ts', 'ts', 'ts'))} AS {name}_x" for name in shown]
    return Query(tuple(parts), tuple(conditions), within, using, ", ".join(["a.n AS n", *listed]))


def _step(chance: Random, name: str, other: str, nests: bool) -> list[Part]:
    kind = chance.choice("BBC")
    found = []
    if chance.random() < 0.5:
        found.append(Part(chance.choice((f"!X {name}0", f"!(X {name}0 : {name}0.x = a.x)")), is_step=False))
    if chance.random() < 0.15:
        found.append(Part(f"C? {name}1", (f"{name}1",), is_step=False))
    texts = [Part(f"{kind} {name}", (name,))] * 4
    texts += [Part(f"({kind} {name} : {name}.x > 0)", (name,)), Part(f"{kind}+ {name}[]", (name,))]
    if nests:
        texts += [
            Part(f"AND(B {name}, C {other})", (name, other)),
            Part(f"OR(B {name}, C {other})", (name, other)),
        ]
    return [*found, chance.choice(texts)]


def _rows(chance: Random) -> list[dict[str, object]]:
    count = chance.choice((1, 6, 9, 12))
    return [
        {
            "ts": chance.randrange(10),
            "kind": chance.choice("AABBBCCXX"),
            "n": number,
            "id": chance.choice((1, 1, 1, 1, 1, 2, None)),
            "x": chance.choice((0, 1, 1, 2, 2, None)),
            "w": chance.choice((0.0, -0.0, 1.5, None, float("nan"))),
        }
        for number in range(count)
    ]
