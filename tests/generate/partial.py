"""Random queries WITH PARTIAL MATCHES, as text, and small streams in which ties and NULLs are frequent."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

HEAD = """CREATE STREAM S (ts BIGINT, kind STRING, n BIGINT, id BIGINT, x BIGINT, w DOUBLE)
  TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY kind;
"""
STRATEGIES = ("SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH", "STRICT CONTIGUITY", "PARTITION CONTIGUITY")


@dataclass(frozen=True)
class Part:
    """A part of the SEQ: its text, the variables that it binds, whether it is a step, and conditions of WHERE
    that name it, each with the other variables that they name."""

    text: str
    variables: tuple[str, ...] = ()
    is_step: bool = True


@dataclass(frozen=True)
class Query:
    """A query in pieces, so that its prefixes can be written down, too."""

    parts: tuple[Part, ...]
    conditions: tuple[tuple[str, frozenset[str]], ...]
    clauses: str
    returns: str

    def text(self, parts: int | None = None, partial: bool = False) -> str:
        """The query of the first parts; by itself it returns the number of its first event."""
        taken = self.parts[:parts]
        known = {name for part in taken for name in part.variables}
        where = " AND ".join(text for text, names in self.conditions if names <= known)
        words = [
            f"PATTERN SEQ({', '.join(part.text for part in taken)})",
            f"WHERE {where}" if where else "",
            self.clauses,
            f"WITH PARTIAL MATCHES RETURN {self.returns}" if partial else "RETURN DISTINCT a.n AS n",
        ]
        return " ".join(word for word in words if word)

    @property
    def steps(self) -> list[int]:
        """How many parts each step needs."""
        return [place for place, part in enumerate(self.parts, 1) if part.is_step]


def drawn(seed: int) -> tuple[Query, list[dict[str, object]]]:
    """A query and the rows of its stream."""
    chance = Random(seed)
    strategy = chance.choice((STRATEGIES[0], *STRATEGIES))
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
    keyed = strategy == STRATEGIES[3] or chance.random() < 0.6
    if keyed:
        conditions.append(("[id]", frozenset()))
    for _ in range(chance.choice((0, 1, 1, 2))):
        one, other = chance.choice(singles), chance.choice(singles)
        test = chance.choice((f"{one}.x > 0", f"{one}.x <= {other}.x", f"{one}.id = {other}.id"))
        conditions.append((test, frozenset((one, other) if other in test else (one,))))
    # Before and after what stands at the ends a window has to say how far.
    at_ends = not parts[0].is_step or "!" in parts[-1].text
    within = chance.choice(("WITHIN 4", "WITHIN 2", "WITHIN 4 EVENTS", "" if not at_ends else "WITHIN 5"))
    using = "" if strategy == STRATEGIES[0] else f"USING {strategy}"
    shown = [name for name in singles[1:] if chance.random() < 0.8]
    listed = [f"{name}.{chance.choice(('x', 'w', 'id', 'ts', 'ts', 'ts'))} AS {name}_x" for name in shown]
    return Query(tuple(parts), tuple(conditions), f"{within} {using}", ", ".join(["a.n AS n", *listed]))


def _step(chance: Random, name: str, other: str, nests: bool) -> list[Part]:
    kind = chance.choice("BBC")
    found = []
    if chance.random() < 0.3:
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
    count = chance.choice((0, 3, 6, 9))
    return [
        {
            "ts": chance.randrange(9),
            "kind": chance.choice("AABBCX"),
            "n": number,
            "id": chance.choice((1, 1, 2, None)),
            "x": chance.choice((0, 1, 2, None)),
            "w": chance.choice((0.0, -0.0, 1.5, None, float("nan"))),
        }
        for number in range(count)
    ]
