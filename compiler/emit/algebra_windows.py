"""Windows: how long events stay valid, by time or by the number of events that came after them."""

from __future__ import annotations

from neelc.emit.algebra_stage import FOREVER, Emitting, Stage, key_of
from neelc.emit.literals import identifier
from neelc.emit.relations import Extend, Items, Join, Select, Where
from neelc.ir import algebra as a
from neelc.ir.units import LENGTHS
from neelc.plan.widths import width_of

ONE_SEQUENCE = ", whoever they are: all are one sequence, on one core, as there is no PARTITION BY"


def emit_time_window(emitting: Emitting, window: a.TimeWindow, stage: Stage) -> Stage:
    """An event is valid until its last instant has left the window; with a jump, both ends are moved up to
    its multiples."""
    size, _ = width_of(window.size, emitting.unit)
    instant = a.instant(window.clock) // LENGTHS[emitting.unit]
    start, end = "start", f"`end` + {size - instant}L"
    length = None if stage.length is None else stage.length + size - instant
    comment = f"Each event is valid for {window.size}."
    if window.jump is not None:
        jump, _ = width_of(window.jump, emitting.unit)
        start, end = _multiple(start, jump), _multiple(f"({end})", jump)
        length = None if length is None else length + jump
        comment = f"Each event is valid for {window.size}, in steps of {window.jump}."
    if stage.length is None:
        end = f"IF(`end` = {FOREVER}, {FOREVER}, {end})"
    items: Items = (*stage.items(), (start, "start"), (end, "end"))
    having = None if window.jump is None else "start < `end`"
    name = emitting.let("windowed", Select(stage.relation, items, having=having), comment)
    return Stage(name, stage.columns, length)


def _multiple(text: str, jump: int) -> str:
    """The least multiple of `jump` that is not less.

    >>> _multiple("start", 10)
    'start + pmod(-start, 10L)'
    """
    return f"{text} + pmod(-{text}, {jump}L)"


def emit_count_window(emitting: Emitting, window: a.CountWindow, stage: Stage) -> Stage:
    """An event is valid until so many later ones have come; simultaneous ones come and go together."""
    keys = tuple(identifier(stage.columns[key_of(one)]) for one in window.partition)
    comment = f"Each event is valid until {window.size} others have come after it"
    comment += f", of its {', '.join(map(str, window.partition))}." if keys else f"{ONE_SEQUENCE}."
    if window.jump == 1:
        return Stage(_sliding(emitting, window.size, stage, keys, comment), stage.columns)
    return Stage(_jumping(emitting, window, stage, keys, comment), stage.columns)


def _sliding(emitting: Emitting, size: int, stage: Stage, keys: tuple[str, ...], comment: str) -> str:
    by = ", ".join(keys)
    over = f"PARTITION BY {by} ORDER BY start" if keys else "ORDER BY start"
    later = emitting.let(
        "followed",
        Select(
            stage.relation,
            (
                *stage.items(),
                ("start", "start"),
                (f"coalesce(lead(start, {size}) OVER ({over}), {FOREVER})", "next"),
            ),
        ),
        comment,
    )
    # Of simultaneous events the last one in whatever order counts: they leave together.
    together = ", ".join((*keys, "start"))
    items: Items = (
        *stage.items(),
        ("start", "start"),
        (f"max(next) OVER (PARTITION BY {together})", "end"),
    )
    return emitting.let("windowed", Select(later, items), "Simultaneous events leave together.")


def _jumping(
    emitting: Emitting, window: a.CountWindow, stage: Stage, keys: tuple[str, ...], comment: str
) -> str:
    by = f"PARTITION BY {', '.join(keys)} " if keys else ""
    placed = emitting.let(
        "placed",
        Extend(
            stage.relation,
            (
                (f"CAST(row_number() OVER ({by}ORDER BY start) AS BIGINT)", "place"),
                (f"count(*) OVER ({by}ORDER BY start RANGE UNBOUNDED PRECEDING)", "passed"),
            ),
        ),
        f"{comment[:-1]}, in steps of {window.jump}.",
    )
    key_items: Items = tuple((key, f"key_{number}") for number, key in enumerate(keys))
    instants = emitting.let(
        "instants",
        Select(placed, (*key_items, ("place", "place"), ("start", "next")), f"place % {window.jump} = 0"),
        "When the window changes: after every so many events.",
    )
    begun = emitting.let(
        "begun",
        Join(
            (placed, "e"),
            (instants, "i"),
            _at("passed", window.jump, keys),
            items=(*stage.items("e"), ("i.next", "start"), ("e.passed", "passed")),
        ),
        "When each event comes into the window.",
    )
    left = emitting.let(
        "left",
        Join(
            (begun, "e"),
            (instants, "i"),
            _at(f"passed + {window.size}L", window.jump, keys),
            "LEFT OUTER",
            (*stage.items("e"), ("e.start", "start"), (f"coalesce(i.next, {FOREVER})", "end")),
        ),
        "When it leaves.",
    )
    return emitting.let(
        "windowed", Where(left, "start < `end`"), "Who comes and goes at once is never in it."
    )


def _at(place: str, jump: int, keys: tuple[str, ...]) -> str:
    """The event at a place, moved up to a multiple of the jump."""
    place = f"(e.{place})"
    same = [f"e.{key} <=> i.key_{number}" for number, key in enumerate(keys)]
    return " AND ".join([*same, f"{_multiple(place, jump)} = i.place"])
