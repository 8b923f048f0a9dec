"""Where a variable lives, in sentences: docs/reference/patterns.md tells what they mean."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.bind.components import paths
from neelc.bind.scopes import Declared, Path, Scopes
from neelc.ir.pattern import Not, Pattern, Repeat, Seq
from neelc.ir.script import PatternQuery

# A part that is longer is not quoted whole.
_LONGEST = 40


def scope_sentences(v: Declared, scopes: Scopes, query: PatternQuery) -> tuple[str, ...]:
    """What negations, closures, choices and EXISTS around a variable mean for it."""
    parts = dict(paths(scopes.pattern))
    found = []
    if v.negations:
        found.append("of a negative part: a match has no event for it")
        found.append(f"looked for {_scope(v.negations[-1], parts, query)}")
    for path in v.closures:
        closure = parts[path]
        if isinstance(closure, Repeat):
            found.append(f"bound anew in each iteration of `{closure.variable}`")
    if v.choices:
        found.append("NULL in matches without this part")
    if v.dropped is not None:
        found.append("dropped by EXISTS: RETURN cannot name it")
    return tuple(found)


def _scope(path: Path, parts: dict[Path, Pattern], query: PatternQuery) -> str:
    """The interval in which a negative part is looked for."""
    after = next(_neighbours(path, parts, -1), None)
    before = next(_neighbours(path, parts, 1), None)
    bounds = [f"after `{_short(after)}`"] if after is not None else []
    if after is None and query.within is not None:
        bounds.append(f"at most {query.within} before the end of the match")
    if before is None and query.within is not None:
        bounds.append(f"at most {query.within} after the start of the match")
    if before is not None:
        bounds.append(f"before `{_short(before)}`")
    return " and ".join(bounds) or "anywhere"


def _neighbours(path: Path, parts: dict[Path, Pattern], step: int) -> Iterator[Pattern]:
    """The positive parts next to a part in the SEQs around it, from the inside out, on one side."""
    while path:
        path, at = path[:-1], path[-1]
        around = parts[path]
        if isinstance(around, Seq):
            at += step
            while 0 <= at < len(around.parts):
                if not isinstance(around.parts[at], Not):
                    yield around.parts[at]
                    break
                at += step


def _short(part: Pattern) -> str:
    text = str(part)
    return text if len(text) <= _LONGEST else text[:_LONGEST].rstrip() + " ..."
