"""The rule `expand_concept`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.names import bare, written
from neelc.ir.node import Node, transform
from neelc.ir.patterns import all_parts
from neelc.ir.program import EventType, Match, Member
from neelc.ir.script import SelectionStrategy
from neelc.pattern.rules.rebuilding import branches, too_many
from neelc.pattern.rules.rule import RefusalReason


def expand_concept(query: Match) -> Match | RefusalReason | None:
    """An event of a type with several members is one of one of them: an OR with one event for each.

    A choice, not a simplification: each member can then be scanned, ordered and shared by itself, and the
    branches share the variable. An event of two members satisfies two branches in the same way, which is
    one match.

    >>> from pattern_examples import STREAM, query
    >>> shop = STREAM + "CREATE TYPE Computer AS (DELL, INTC); "
    >>> expanded = expand_concept(query("SEQ((Computer c : c.x > 1), ORCL o)", shop))
    >>> print(expanded.pattern, [str(member.value) for type in expanded.types for member in type.members])
    SEQ(OR((DELL c : c.x > 1), (INTC c : c.x > 1)), ORCL o) ['ORCL', 'DELL', 'INTC']

    Not what repeats, since the elements of a list have no name to share; not under strategies other than SKIP
    TILL ANY MATCH, which know no OR inside a SEQ; not beyond MAX_BRANCHES.

    >>> expand_concept(query("SEQ(ORCL o, Computer+ c[])", shop))
    >>> expand_concept(query("SEQ(Computer c, ORCL o) USING SKIP TILL NEXT MATCH", shop))
    >>> expand_concept(query(f"SEQ({', '.join(f'Computer c{n}' for n in range(9))})", shop)).reason
    'it would have 512 branches, and the limit MAX_BRANCHES is 256'
    """
    if query.strategy != SelectionStrategy.ANY_MATCH:
        return None
    types = {kind.name: kind for kind in query.types}
    concepts = [kind for kind in query.types if len(kind.members) > 1]
    counts = {concept.name: (concept.name,) * len(concept.members) for concept in concepts}
    counted = _with_members(query.pattern, counts)
    if counted is query.pattern:
        return None
    if reason := too_many(max(map(branches, _regions(counted)))):
        return RefusalReason(reason)
    members = {
        concept.name: tuple(_alone(member, concept, types).name for member in concept.members)
        for concept in concepts
    }
    pattern = _with_members(query.pattern, members)
    used = {event.type for event in all_parts(pattern) if isinstance(event, p.Event)}
    return replace(query, pattern=pattern, types=tuple(kind for kind in types.values() if kind.name in used))


def _with_members(pattern: p.Pattern, members: Mapping[str, tuple[str, ...]]) -> p.Pattern:
    """The pattern with an OR of its members for each event of a type that has some."""

    def change(node: Node) -> Node | None:
        match node:
            case p.Event(type=name, variable=str()) if name in members:
                return p.Or(tuple(replace(node, type=one) for one in members[name]), span=node.span)
        return None

    changed = transform(pattern, change)
    assert isinstance(changed, p.Pattern)
    return changed


def _regions(pattern: p.Pattern) -> Iterator[p.Pattern]:
    """The parts that ORs can be moved to the root of."""
    yield pattern
    for node in all_parts(pattern):
        if isinstance(node, p.Not | p.Optional | p.Repeat | p.ClosureGap):
            yield node.part


def _alone(member: Member, concept: EventType, types: dict[str, EventType]) -> EventType:
    """The type of one member, which is put into `types`. It has the attributes of the concept, which
    conditions may name, with the types they have there."""
    of_member = (kind for kind in types.values() if kind.members == (member,))
    type = next((kind for kind in of_member if kind.columns == concept.columns), None)
    type = type or EventType(_name(member, types), (member,), concept.columns)
    return types.setdefault(type.name, type)


def _name(member: Member, known: Collection[str]) -> str:
    """The member's own name, with that of its stream if another type has it."""
    name = written(member.stream) if member.value is None else member.value
    whole = f"{member.stream}.{bare(name)}"
    names = (name, written(whole), *(written(f"{whole}_{number}") for number in range(2, len(known) + 3)))
    return next(candidate for candidate in names if candidate not in known)
