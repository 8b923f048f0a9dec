"""Random programs and events for the kernel: small, so that ties and absent events are common."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers
from neelc.runtime.program import (
    ALL,
    EARLIEST,
    LATEST,
    Absent,
    AnyBound,
    Apply,
    BetweenGroups,
    Bounds,
    Choose,
    ColumnValue,
    Constant,
    EventPick,
    FilterStep,
    KernelStep,
    PatternProgram,
    Present,
    Take,
    Value,
    VariableOutput,
    When,
    Within,
)

ROLES = ("A", "B", "C")
WIDTHS = (0, 2, 3, 4, 5, 8, 2**62, 2**70)


def numbers(values: Iterable[int]) -> Numbers:
    return np.array(list(values), np.int64)


def sample_events(random: random.Random, lasting: bool) -> KernelEvents:
    """A few segments: near in time, far from each other, at the ends of what 64 bits hold, or very long."""
    rows: list[tuple[int, int, int]] = []
    owned = []
    for segment in range(random.choice((1, 1, 2, 3))):
        base = random.choice((0, 0, 100, -(2**63), 2**63 - 20, 2**62))
        for _ in range(random.choice((0, 3, 5, 7, 9))):
            far = 2**60 if base <= 2**62 and random.random() < 0.01 else 0
            time = base + far + random.randrange(10)
            rows.append((segment, time, time + random.randrange(5) * lasting))
        low, high = random.choice(((0, 19), (0, 19), (0, 4), (2, 7), (4, 19)))
        owned.append((base + low, base + high))
    rows.sort(key=lambda row: row[:2])
    start = numbers(row[1] for row in rows)
    first = numbers(sum(o[0] == s and o[1] < t for o in rows) for s, t, _ in rows)
    beyond = numbers(sum(o[0] == s and o[1] <= u for o in rows) for s, _, u in rows)
    playing = {role: [n for n in range(len(rows)) if random.random() < 0.6] for role in ROLES}
    return KernelEvents(
        start,
        numbers(row[2] for row in rows) if lasting else start,
        numbers(row[0] for row in rows),
        {role: numbers(playing[role]) for role in ROLES},
        sample_columns(random, len(rows)),
        (numbers(low for low, _ in owned), numbers(high for _, high in owned)),
        first,
        beyond,
    )


def sample_columns(random: random.Random, size: int) -> dict[str, NullableArray]:
    def validity() -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
        return None if random.random() < 0.3 else np.array([random.random() < 0.8 for _ in range(size)], bool)

    floats = [random.choice((0.0, -0.0, 1.0, 2.0, float("nan"))) for _ in range(size)]
    return {
        "id": NullableArray(numbers(random.randrange(2) for _ in range(size)), validity()),
        "x": NullableArray(numbers(random.randrange(3) for _ in range(size)), validity()),
        "y": NullableArray(np.array(floats, np.float64), validity()),
    }


class Sampler:
    """Writes steps one after the other, and knows which variables and marks there are."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.count = 0
        self.marks: list[tuple[str, int]] = []

    def some(self, variables: list[str], chance: float) -> tuple[str, ...]:
        return tuple(name for name in variables if self.random.random() < chance)

    def steps(self, known: list[str], length: int, depth: int) -> tuple[tuple[KernelStep, ...], list[str]]:
        """Steps and the variables that they bind."""
        steps: list[KernelStep] = []
        bound: list[str] = []
        marks = len(self.marks)
        for _ in range(length):
            steps.append(self.step(known + bound, bound, depth))
        del self.marks[marks:]
        return tuple(steps), bound

    def step(self, known: list[str], bound: list[str], depth: int) -> KernelStep:
        kind = self.random.choice("tttttttcfanep" if depth < 2 and known else "ttttttcf" if known else "ttc")
        when = self.when()
        match kind:
            case "c":
                mark = f"m{self.fresh()}"
                step = Choose(mark, self.random.choice((2, 2, 3)), when)
                self.marks.append((mark, step.count))
                return step
            case "f":
                return FilterStep(self.condition(known), when)
            case "a":
                return AnyBound(self.some(known, 0.5) or tuple(known), when)
            case "n" | "e" | "p":
                inner, _ = self.steps(known, self.random.choice((1, 2, 2, 3)), depth + 1)
                return Present(inner, when) if kind == "p" else Absent(inner, when)
        variable = f"v{self.fresh()}"
        take = self.take(variable, known, when, ALL if depth == 0 else self.pick())
        bound.append(variable)
        return take

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def pick(self) -> EventPick:
        return self.random.choice((ALL, ALL, EARLIEST, LATEST))

    def when(self) -> When:
        if not self.marks or self.random.random() < 0.4:
            return ()
        mark, count = self.random.choice(self.marks)
        return ((mark, self.random.randrange(count)),)

    def take(self, variable: str, known: list[str], when: When, pick: EventPick) -> Take[Value]:
        differs = self.some(known, 0.3) if self.random.random() < 0.4 else ()
        where = (self.condition([*known, variable]),) if self.random.random() < 0.3 else ()
        until = (self.chain(known),) if known and not when and self.random.random() < 0.15 else ()
        role = self.random.choice(ROLES)
        return Take(variable, role, self.bounds(known), differs, where, pick, when, until)

    def chain(self, known: list[str]) -> tuple[Take[Value], ...]:
        """Events, each the earliest after one that is bound, or after the one before it."""
        takes: list[Take[Value]] = []
        for _ in range(self.random.choice((1, 2, 3))):
            after = (takes[-1].variable,) if takes else (known[0],)
            takes.append(
                Take(f"u{self.fresh()}", self.random.choice(ROLES), Bounds(after=after), pick=EARLIEST)
            )
        return tuple(takes)

    def bounds(self, known: list[str]) -> Bounds:
        within: tuple[Within, ...] = ()
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2))):
            counted, member = self.random.random() < 0.3, self.random.random() < 0.4
            within += (Within(self.some(known, 0.7), self.random.choice(WIDTHS), counted, member),)
        between: tuple[BetweenGroups, ...] = ()
        if len(known) > 1 and self.random.random() < 0.15:
            between = (BetweenGroups(self.some(known[::2], 0.7), self.some(known[1::2], 0.7)),)
        return Bounds(self.some(known, 0.25), self.some(known, 0.1), within, between)

    def condition(self, known: list[str]) -> Value:
        match self.random.choice("cccancoi"):
            case "a":
                return Apply("and", (self.comparison(known), self.comparison(known)))
            case "o":
                return Apply("or", (self.comparison(known), self.comparison(known)))
            case "n":
                return Apply("not", (self.comparison(known),))
            case "i":
                return Apply("isnull", (ColumnValue(self.random.choice(known), "x"),))
        return self.comparison(known)

    def comparison(self, known: list[str]) -> Value:
        name = self.random.choice(("id", "x", "y"))
        left = ColumnValue(self.random.choice(known), name)
        if self.random.random() < 0.2:
            constant = float(self.random.randrange(3)) if name == "y" else self.random.randrange(3)
            return Apply("<>", (left, Constant(self.random.choice((constant, constant, None)))))
        right = ColumnValue(self.random.choice(known), name)
        return Apply(self.random.choice(("agrees", "=", "<>", "<")), (left, right))


def sample_program(random: random.Random) -> PatternProgram:
    sampler = Sampler(random)
    leader = None
    if random.random() < 0.4:
        leader = "v0"
        first = sampler.take("v0", [], (), ALL)
        steps, bound = sampler.steps(["v0"], random.randrange(1, 5), 0)
        follow = Bounds(after=("v0",))
        steps = (first, *(_led(step, follow) for step in steps))
        bound = ["v0", *bound]
    else:
        steps, bound = sampler.steps([], random.randrange(1, 6), 0)
    returned = [name for name in bound if name == leader or random.random() < 0.8] or ["v1"]
    outputs = tuple(VariableOutput(name, name) for name in returned)
    return PatternProgram(steps, outputs, ROLES, leader=leader, unique=random.random() < 0.3, counted=True)


def _led(step: KernelStep, follow: Bounds) -> KernelStep:
    """A step of a program whose matches all start with the leader."""
    return replace(step, bounds=replace(step.bounds, after=follow.after)) if isinstance(step, Take) else step
