"""What a rule may know about the query around the part it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product

from neelc.ir.logical import EventType, Match, Member
from neelc.ir.names import bare, is_quoted, written
from neelc.ir.parts import declared, targets

ANY_MATCH = "SKIP TILL ANY MATCH"


@dataclass(frozen=True)
class Facts:
    """Facts about a query, found when they are asked for. `whole` gives the query as it stands now."""

    whole: Callable[[], Match]

    @cached_property
    def query(self) -> Match:
        return self.whole()

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The variables that a match of the whole pattern binds."""
        return targets(self.query.pattern)

    @property
    def any_match(self) -> bool:
        """Whether every choice of events is a match. The other strategies are defined for SEQ of components
        and negations only, so that no rule may bring in AND or EXISTS under them."""
        return self.query.strategy == ANY_MATCH

    def type(self, name: str) -> EventType:
        """The type of an `Event`."""
        return next(known for known in self.query.types if known.name == name)

    def may_last(self, name: str) -> bool:
        """Whether events of the type may end after they start."""
        names = {member.stream for member in self.type(name).members}
        streams = [stream for stream in self.query.streams if stream.name in names]
        return any(stream.end is not None or stream.query is not None for stream in streams)

    def may_overlap(self, left: str, right: str) -> bool:
        """Whether one event can be of both types. A type that is not quoted is meant in any case.

        >>> from neelc.rewrite.examples import query
        >>> facts = Facts(lambda: query("SEQ(A a, `a` b, `A` c)"))
        >>> facts.may_overlap("A", "`a`"), facts.may_overlap("`a`", "`A`")
        (True, False)
        """
        pairs = product(self.type(left).members, self.type(right).members)
        return any(_overlap(one, two) for one, two in pairs)

    @cached_property
    def _declared(self) -> frozenset[str]:
        return frozenset(bare(known).casefold() for known in declared(self.query.pattern))

    def fresh(self, name: str, taken: Iterable[str] = ()) -> str:
        """A name like `name` that nothing in the pattern has, and that is not in `taken`.

        >>> from neelc.rewrite.examples import query
        >>> Facts(lambda: query("SEQ(A a, B a_2)")).fresh("a")
        'a_3'
        """
        used = self._declared.union(bare(known).casefold() for known in taken)
        names = (f"{bare(name)}_{number}" for number in count(2))
        return written(next(candidate for candidate in names if candidate.casefold() not in used))


def _overlap(left: Member, right: Member) -> bool:
    if left.stream != right.stream:
        return False
    if left.value is None or right.value is None:
        return True
    if is_quoted(left.value) and is_quoted(right.value):
        return bare(left.value) == bare(right.value)
    return bare(left.value).casefold() == bare(right.value).casefold()
