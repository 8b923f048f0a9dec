"""What is told of a start event: plain values, for texts, for JSON and for pages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from neelc.ir.logical import Match


@dataclass(frozen=True)
class Told:
    """An event of a match or of a run: which variable it is bound to, or would be; its type and its time.

    `clock` is the time of day, if the start is on the same day, else the time; `after` is how long after
    the start that was.
    """

    variable: str
    type: str
    time: str
    clock: str
    after: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """A requirement of the query, and what it was judged with.

    `kind` is condition, same, partition, window, negation, strategy or confidence. `detail` says in words
    what was found: the values, by how much a window was missed, which events hit the negation.
    """

    kind: str
    text: str
    detail: str
    values: Mapping[str, str] = field(default_factory=dict)
    events: tuple[Told, ...] = ()


@dataclass(frozen=True)
class Stop:
    """Why a run did not come to the next step: what failed there, and the events it failed with.

    `step` is empty if all steps were reached, and negations reject the match. `is_missing`: there was no
    event for the step at all.
    """

    step: str
    failed: tuple[Judged, ...]
    events: tuple[Told, ...] = ()
    is_missing: bool = False


@dataclass(frozen=True)
class OtherRun:
    """A run that did not come further than the one that is told in full: the steps reached, the events."""

    reached: int
    events: tuple[Told, ...]


@dataclass(frozen=True)
class Proposal:
    """A relaxation that would match, why each change is needed, and the match it would have.

    `texts` are what would be written instead, one for each of the changes. `query` is the relaxed query,
    which has been run.
    """

    texts: tuple[str, ...]
    changes: tuple[Judged, ...]
    events: tuple[Told, ...]
    query: Match = field(repr=False)

    @property
    def text(self) -> str:
        """All changes in one line."""
        return " and ".join(self.texts)

    def as_record(self) -> dict[str, object]:
        return {
            "text": self.text,
            "changes": [asdict(change) for change in self.changes],
            "events": [asdict(event) for event in self.events],
        }


@dataclass(frozen=True)
class Note:
    """An explanation as pictures of matches take it: the key and the time of the start as the stream has
    them, and a text."""

    key: tuple[object, ...]
    time: object
    text: str


@dataclass(frozen=True)
class Explanation:
    """Why a start event has a match, or has none.

    `matches` is None where that could not be found out: `notes` says why. `count` is the number of matches
    that start with the event; `reached` of `steps` steps were reached; `events` are those of the match, or
    of the furthest run, beside which there were `others`. `branch` is the branch of an OR that came furthest.
    `place` is the key and the time of the start as values, not texts.
    """

    key: Mapping[str, str]
    start: Told
    matches: bool | None
    steps: int = 0
    reached: int = 0
    count: int = 0
    branch: str | None = None
    events: tuple[Told, ...] = ()
    held: tuple[Judged, ...] = ()
    stopped: tuple[Stop, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    notes: tuple[str, ...] = ()
    others: tuple[OtherRun, ...] = ()
    place: tuple[tuple[object, ...], object] = field(default=((), None), repr=False)

    @property
    def note(self) -> Note:
        """The explanation for a picture."""
        return Note(*self.place, "\n".join(self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """The explanation as text, line by line; the first one is the headline."""
        from neelc.reasons.lines import lines

        return tuple(lines(self))

    def as_record(self) -> dict[str, object]:
        """The explanation as plain values, for JSON."""
        record = asdict(replace(self, proposals=(), place=((), None)))
        del record["place"]
        return {
            **record,
            "proposals": [proposal.as_record() for proposal in self.proposals],
            "lines": list(self.lines),
        }


@dataclass(frozen=True)
class Why:
    """The explanations of all start events that were asked for, in order of key and time."""

    query: str
    explanations: tuple[Explanation, ...]

    @property
    def text(self) -> str:
        """All of it, for a terminal."""
        from neelc.reasons.lines import whole

        return whole(self)

    def __str__(self) -> str:
        return self.text

    @property
    def notes(self) -> tuple[Note, ...]:
        """All explanations for a picture: `neelc.timeline(..., why=neelc.why(...).notes)`."""
        return tuple(one.note for one in self.explanations)

    def json(self) -> str:
        """All of it as JSON."""
        record = {
            "query": self.query,
            "starts": len(self.explanations),
            "matching": sum(one.matches is True for one in self.explanations),
            "explanations": [one.as_record() for one in self.explanations],
        }
        return json.dumps(record, indent=2, ensure_ascii=False)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.text)}</pre>"
