"""Queries with aggregates over all matches, as text; most of them can be answered without the matches."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

COMPONENTS = (
    "{kind} {name}", "{kind} {name}", "{kind}+ {name}[]", "{kind}* {name}[]", "{kind}? {name}",
    "{kind}{{2}} {name}[]", "{kind}{{1,2}} {name}[]", "{kind}{{2,}} {name}[]", "{kind}{{0,2}} {name}[]",
)  # fmt: skip
WINDOWS = ("", "WITHIN 3", "WITHIN 6", "WITHIN 6", "WITHIN 20", "WITHIN 4 EVENTS")
OPERATORS = ("<", ">", "<=", "=", "=", "<>")
OF_LISTS = (
    "sum(count({}[]))", "avg(count({}[]))", "sum(count({}[].x))", "sum(sum({}[].n))", "avg(sum({}[].x))",
    "sum(sum({}[].x))", "max(max({}[].x))", "min(min({}[].n))", "count(sum({}[].n))", "count(max({}[].x))",
    "max({}[last].x)", "min({}[1].n)", "sum({}[last].n)", "avg({}[1].x)", "count({}[last].x)",
    "sum({}[1].n + 1)", "count({}[1].user)", "max({}[1].x)", "avg({}[last].n)",
    "max(count({}[]))", "min(count({}[]))", "max(count({}[].x))", "min(count({}[].n))",
)  # fmt: skip


@dataclass(frozen=True)
class Component:
    """A component of a SEQ: how it is written, and what is known of it."""

    text: str
    name: str
    is_list: bool
    may_be_empty: bool

    def reference(self, chance: Random) -> str:
        """One of its events."""
        return f"{self.name}[{chance.choice(['1', 'last'])}]" if self.is_list else self.name


def query_text(chance: Random) -> str:
    """`PATTERN` without the word."""
    components = [_component(chance, name) for name in "abcd"[: chance.choice([1, 2, 2, 3, 3, 4])]]
    parts = [one.text for one in components]
    negated = len(parts) > 1 and chance.random() < 0.35
    if negated:
        parts.insert(chance.randrange(1, len(parts)), "!N z")
    conditions = [_condition(chance, components) for _ in range(chance.choice([0, 0, 1, 1, 2, 3]))]
    if negated and chance.random() < 0.4:
        conditions.append(f"z.x {chance.choice('<>')} {chance.choice(components).reference(chance)}.x")
    if chance.random() < 0.3:
        conditions.append("[id]")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    pattern = f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]
    return f"{pattern}{where} {chance.choice(WINDOWS)} RETURN {', '.join(_items(chance, components))}"


def _component(chance: Random, name: str) -> Component:
    form = chance.choice(COMPONENTS)
    empty = any(mark in form for mark in ("?", "*", "{{0"))
    return Component(form.format(kind=chance.choice("AABC"), name=name), name, "[]" in form, empty)


def _condition(chance: Random, components: list[Component]) -> str:
    one, other = chance.choice(components), chance.choice(components)
    field, operator, kind = chance.choice(("x", "n", "user")), chance.choice(OPERATORS), chance.random()
    if one.is_list and kind < 0.35:
        return f"{one.name}[i].{field} {operator} {one.name}[i-1].{field}"
    if one.is_list and kind < 0.5:
        return f"{one.name}[i].n {operator} {chance.choice('123')}"
    if one.is_list and kind < 0.65 and one is not other:
        return f"{one.name}[i].{field} {operator} {other.reference(chance)}.{field}"
    if chance.random() < 0.7:
        other = components[min(components.index(one) + 1, len(components) - 1)]
    if one is other:
        return f"{one.reference(chance)}.{field} {chance.choice(['IS NULL', 'IS NOT NULL'])}"
    return f"{one.reference(chance)}.{field} {operator} {other.reference(chance)}.{field}"


def _items(chance: Random, components: list[Component]) -> list[str]:
    sure = [one.name for one in components if not one.is_list and not one.may_be_empty]
    groups = chance.choice([0, 0, 1, 2]) if sure else 0
    fields = ("id", "x", "n", "user")
    items = [f"{chance.choice(sure)}.{chance.choice(fields)} AS g{n}" for n in range(groups)]
    functions = ("sum", "avg", "min", "max", "count")
    singles = [one.name for one in components if not one.is_list]
    aggregates = ["count(*)", *(f"{f}({name}.{x})" for name in singles for f in functions for x in "xn")]
    aggregates += [form.format(one.name) for one in components if one.is_list for form in OF_LISTS]
    items += [f"{chance.choice(aggregates)} AS t{n}" for n in range(chance.choice([1, 2, 3]))]
    chance.shuffle(items)
    return items


def events(chance: Random) -> list[dict[str, object]]:
    """A small stream for them, in any order."""
    steps, time = chance.choice([[1], [0, 1], [0, 1, 2, 3]]), 0
    rows: list[dict[str, object]] = []
    for _ in range(chance.choice([0, 4, 7, 9, 11])):
        time += chance.choice(steps)
        rows.append(
            {
                "ts": time,
                "kind": chance.choice("AAAABBBCCN"),
                "id": chance.choice([1, 1, 2]),
                "user": chance.choice(["u", None, "v"]),
                "x": chance.choice([None, 0.5, 1.5, -2.0, 3.0]),
                "n": chance.choice([None, 1, 2, 3, -4]),
            }
        )
    chance.shuffle(rows)
    return rows
