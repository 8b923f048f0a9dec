"""The forms a query can be executed in: alternatives that cost decides between."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.ir.logical import Match, NamedQuery, Program
from neelc.rewrite.batches import MEMBERS, NORMALISE, ORDER, SIMPLIFY, UNUSED
from neelc.rewrite.driver import rewrite
from neelc.rewrite.rule import Batch, Rewriting


@dataclass(frozen=True)
class Form:
    """A way to write a query: `name` says what was done to it after it was simplified."""

    name: str
    rewriting: Rewriting


FORMS: dict[str, tuple[Batch, ...]] = {
    "simplified": (),
    "normal form": NORMALISE,
    "every order of AND": ORDER,
    "every member of a concept": MEMBERS,
}


def has_readers(query: NamedQuery, program: Program) -> bool:
    """Whether other queries of a script read the query as a stream."""
    readers = (stream.query for other in program.queries for stream in other.query.streams)
    return query.name is not None and query.name in readers


def forms(query: Match, is_stream: bool = False) -> tuple[Form, ...]:
    """The query simplified, and every other form that differs from those before it.

    `is_stream` says that other queries read it as a stream: see `has_readers`.
    """
    # Which of several partial matches is kept depends on the times of all their events.
    is_stream = is_stream or query.partial is not None
    simple = rewrite(query, SIMPLIFY if is_stream else (*SIMPLIFY, *UNUSED))
    found: list[Form] = []
    for name, batches in FORMS.items():
        more = rewrite(simple.query, batches)
        refusals = tuple(dict.fromkeys((*simple.refusals, *more.refusals)))
        if not any(known.rewriting.query == more.query for known in found):
            found.append(Form(name, Rewriting(more.query, (*simple.steps, *more.steps), refusals)))
    return tuple(found)
