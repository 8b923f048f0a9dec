"""How one part follows another: NEXT, STRICT and EACH become negations.

`SEQ(A a, NEXT B b)` asks that no other such B lies between: it is `SEQ(A a, SEQ(!B b_2, B b))`, where b_2 has
the type of b and all conditions of b that name only b and parts before it. `STRICT` says the same of all
events. So every stage after the binder, and every engine, has these words without knowing them; what a
negation stands for is noted in `Not.means` and `Gap.means`, for those who explain.

Between the elements of a closure nothing can be written in a SEQ: what must be absent there is one of its
`gaps`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.catalog.catalog import Catalog, all_columns
from neelc.findings import Findings
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, SameAttributes, conjoin, conjuncts, names_in
from neelc.ir.names import Identifier, bare, written
from neelc.ir.node import Node, map_children, transform, walk
from neelc.ir.patterns import ClosureGap, FollowKind, GapReach, all_parts, inner_parts, may_be_empty, targets
from neelc.ir.program import EventType, Match, Member
from neelc.ir.script import PatternQuery, SelectionStrategy
from neelc.runtime.late_dataclass import dataclass
from neelc.syntax.print_patterns import as_written

ANY_EVENT = "`any event`"
"""The type that all events of the FROM streams have: what STRICT looks for."""

_DEFAULTS = {
    SelectionStrategy.NEXT_MATCH: FollowKind.NEXT,
    SelectionStrategy.STRICT: FollowKind.STRICT,
    SelectionStrategy.PARTITION: FollowKind.STRICT,
}


def speaks_of_following(query: PatternQuery) -> bool:
    """Whether a query has a word of its own for a part: then its strategy is the word of all other parts."""
    return bool(query.among) or any(
        node.follow is not None or (isinstance(node, p.Repeat) and _has_clauses(node))
        for node in all_parts(query.pattern)
    )


def _has_clauses(node: p.Repeat) -> bool:
    return bool(node.each or node.each_within or node.gaps)


# Where the words stand, and where they cannot.


def with_types_for_words(query: PatternQuery, catalog: Catalog) -> PatternQuery:
    """The query with `Any x` read as an event of the type Any, where there is such a type: the parser reads
    it as the word ANY before a part without a name."""

    def change(node: Node) -> Node | None:
        match node:
            case p.Event(name, None, follow=p.FollowWord(kind, ()) as word) if catalog.kind_of(kind):
                return replace(node, type=_spelled(str(kind), word, node), variable=name, follow=None)
        return None

    changed = transform(query.pattern, change)
    assert isinstance(changed, p.Pattern)
    return query if changed is query.pattern else replace(query, pattern=changed)


def _spelled(name: str, word: p.FollowWord, part: p.Pattern) -> str:
    span = word.span or part.span
    return name if span is None else Identifier(name, span)


def check_following(
    pattern: p.Pattern, strategy: SelectionStrategy, among: tuple[str, ...], findings: Findings
) -> None:
    """Report each word that has nothing to speak of."""
    _check(pattern, False, _default_word(strategy, among), findings)


def _default_word(strategy: SelectionStrategy, among: tuple[str, ...]) -> p.FollowWord | None:
    """The word of the parts that have none."""
    kind = _DEFAULTS.get(strategy)
    return None if kind is None else p.FollowWord(kind, among)


def _check(part: p.Pattern, is_preceded: bool, default: p.FollowWord | None, findings: Findings) -> None:
    """`is_preceded`: an event lies before the part in every match."""
    if part.follow is not None:
        _check_word(part, part.follow, is_preceded, findings)
    word = part.follow or (default if is_preceded and not isinstance(part, p.Not | p.Seq | p.Or) else None)
    if word is not None:
        _check_beginning(part, word, findings)
    match part:
        case p.Seq(parts):
            for inner in parts:
                _check(inner, is_preceded, None if part.follow else default, findings)
                is_preceded = is_preceded or not may_be_empty(inner)
        case p.Repeat(inner):
            _check(inner, is_preceded, default, findings)
            if part.each is not None:
                _check_beginning(part, part.each, findings)
            if part.each_within is not None and not isinstance(inner, p.Event):
                message = "EACH WITHIN is defined for lists of single events, such as B+ b[]"
                hint = f"compare times in a condition on {part.variable}[i-1]"
                findings.report("NEEL3040", message, findings.at(part.each_within, part), hint)
            for gap in part.gaps:
                _check_gap(gap, part, is_preceded, findings)
        case _:
            default = None if _is_apart(part) else default
            for inner in inner_parts(part):
                _check(inner, is_preceded, default, findings)


def _is_apart(part: p.Pattern) -> bool:
    """Whether the query's own word is not one for the parts inside."""
    return isinstance(part, p.Not | p.Joint) and not isinstance(part, p.Seq)


def _check_beginning(part: p.Pattern, word: p.FollowWord, findings: Findings) -> None:
    """Report a word of a part whose first event is dropped where no negation can look up to it."""
    if word.kind != FollowKind.ANY and not _has_room_before(part):
        message = f"{word.kind} cannot precede a group whose first event EXISTS may drop"
        hint = "put the word before a part of the group"
        findings.report("NEEL3040", message, findings.at(part.follow or part, part), hint)


def _check_word(part: p.Pattern, word: p.FollowWord, is_preceded: bool, findings: Findings) -> None:
    span = findings.at(word, part)
    if isinstance(part, p.Not) and word.kind == FollowKind.NEXT:
        message = "NEXT cannot precede a negative part, because no event is bound to it"
        findings.report("NEEL3040", message, span, "STRICT !B b means that the next event is not such a B")
    elif not is_preceded:
        message = f"{word.kind} requires a part before it that every match has"
        findings.report("NEEL3040", message, span, f"for example SEQ(A a, {word.kind} B b)")
    elif word.kind != FollowKind.ANY and _may_be_empty_composite(part):
        message = f"{word.kind} cannot precede a group that may be empty"
        findings.report("NEEL3040", message, span, "put the word before a part of the group")


def _may_be_empty_composite(part: p.Pattern) -> bool:
    match part:
        case p.Not(inner) | p.Optional(inner):
            return _may_be_empty_composite(inner)
        case p.Event() | p.Repeat():
            return False
    return may_be_empty(part)


def _check_gap(gap: ClosureGap, closure: p.Repeat, is_preceded: bool, findings: Findings) -> None:
    if isinstance(gap.part, p.Not):
        message = f"{gap.reach} states what must be absent, so it cannot itself be negative"
        findings.report("NEEL3005", message, findings.at(gap, closure), "leave the `!` out")
    if gap.reach == GapReach.UNTIL and not is_preceded:
        message = "UNTIL requires a part before the closure that every match has"
        hint = "WITHOUT (C c) looks from the first element on"
        findings.report("NEEL3040", message, findings.at(gap, closure), hint)
    ranged = (node for node in walk(gap.part) if isinstance(node, e.ListElement | e.EveryElement))
    if any(_is_current(node) for node in ranged):
        message = f"{gap.reach} is evaluated once for the whole list, so it cannot use `i`"
        findings.report("NEEL3040", message, findings.at(gap, closure), "name an element: b[1], b[last]")
    _check(gap.part, False, None, findings)


def _is_current(node: e.ListElement | e.EveryElement) -> bool:
    index = node.index if isinstance(node, e.ListElement) else node.upper
    return index is not None and index.anchor == "CURRENT"


# Words become negations.


def with_negations(match: Match, among: tuple[str, ...]) -> Match:
    """The query with negations for its words. Its strategy is the word of all parts that have none.

    >>> from pattern_examples import query
    >>> found = query("SEQ(A a, NEXT B b, STRICT C c) WHERE b.x > a.x AND b.x < c.x").pattern
    >>> print(found)
    SEQ(A a, NEXT B b, STRICT C c WHERE b.x > a.x AND b.x < c.x)
    >>> print(found.parts[1].parts[0].part)
    (B b_2 : b_2.x > a.x)
    """
    made = _Negations(match, _default_word(match.strategy, among))
    pattern = made.changed(match.pattern, (), False)
    types = match.types if not made.is_strict else (*match.types, _any_event(match))
    return replace(
        match,
        pattern=pattern,
        types=types,
        strategy=SelectionStrategy.ANY_MATCH,
        written=str(as_written(match.pattern)),
    )


def _any_event(match: Match) -> EventType:
    members = tuple(Member(stream.name) for stream in match.streams)
    return EventType(ANY_EVENT, members, all_columns(list(match.streams)))


@dataclass(frozen=True)
class Beginning:
    """An event that a part can begin with: of a `type`, bound to a variable. With `lists`, from the outermost
    on, it is in the last one, or in its iterations. `same` are the `[id]`s that it has of its own."""

    type: str
    variable: str
    lists: tuple[str, ...] = ()
    same: tuple[SameAttributes, ...] = ()


def beginnings(part: p.Pattern, lists: tuple[str, ...] = ()) -> Iterator[Beginning]:
    """The events that a part can begin with.

    >>> from neelc.syntax import pattern
    >>> [one.variable for one in beginnings(pattern("SEQ(!X x, A? a, OR(B b, AND(C c, D+ d[])), E e)"))]
    ['a', 'b', 'c', 'd']
    """
    match part:
        case p.Event(type, variable):
            same = tuple(one for one in conjuncts(part.where) if isinstance(one, SameAttributes))
            yield Beginning(type, variable or (lists[-1] if lists else ""), lists, same)
        case p.Repeat(inner, variable=variable):
            yield from beginnings(inner, (*lists, variable or ""))
        case p.Not() | ClosureGap():
            return
        case p.Seq(parts):
            for one in _first_parts(parts):
                yield from beginnings(one, lists)
        case _:
            for one in inner_parts(part):
                yield from beginnings(one, lists)


def _first_parts(parts: Sequence[p.Pattern]) -> Iterator[p.Pattern]:
    """The parts of a SEQ that it can begin with. What EXISTS drops is there, although it is not bound."""
    for part in parts:
        if not isinstance(part, p.Not | ClosureGap):
            yield part
            if not may_be_empty(_with_dropped(part)):
                return


def _with_dropped(part: p.Pattern) -> p.Pattern:
    """`part` with all that EXISTS drops."""

    def change(node: Node) -> Node | None:
        return node.part if isinstance(node, p.Exists) else None

    changed = transform(part, change)
    assert isinstance(changed, p.Pattern)
    return changed


# Up to where a negation before a part looks: the first event that it binds, also if EXISTS drops that.


def _is_dropped(part: p.Pattern) -> bool:
    """Whether EXISTS drops an event that a part can begin with: then the part starts later than it begins.

    >>> from neelc.syntax import pattern
    >>> [_is_dropped(pattern(one)) for one in ("EXISTS b : SEQ(B b, C c)", "EXISTS c : SEQ(B b, C c)")]
    [True, False]
    """
    match part:
        case p.Not() | ClosureGap():
            return False
        case p.Exists(variables, inner):
            names = {bare(name).casefold() for name in variables}
            found = ((*one.lists, one.variable)[0] for one in beginnings(inner))
            return any(bare(one).casefold() in names for one in found) or _is_dropped(inner)
        case p.Seq(parts):
            return any(map(_is_dropped, _first_parts(parts)))
    return any(map(_is_dropped, inner_parts(part)))


def _has_room_before(part: p.Pattern) -> bool:
    """Whether `before_beginning` finds a place. A window inside would cut what the negation looks at, and of
    several events that can be the first one, each could be dropped."""
    if not _is_dropped(part):
        return True
    match part:
        case p.Exists(_, inner, within=None) | p.Not(inner) | p.Optional(inner):
            return _has_room_before(inner)
        case p.Seq(parts, within=None):
            first, *others = _first_parts(parts)
            return not others and _has_room_before(first)
    return False


def before_beginning(part: p.Pattern, negations: Sequence[p.Not]) -> p.Pattern:
    """`part` with negations right before the first event that it binds.

    >>> from neelc.syntax import pattern
    >>> absent = p.Not(pattern("X x"))
    >>> for text in ("SEQ(B b, C c)", "EXISTS b : SEQ(B b, C c)", "SEQ(EXISTS b : B b, C c)"):
    ...     print(before_beginning(pattern(text), [absent]))
    SEQ(!X x, SEQ(B b, C c))
    EXISTS b : SEQ(SEQ(!X x, B b), C c)
    SEQ(EXISTS b : SEQ(!X x, B b), C c)
    """
    return _before(part, negations, _is_dropped(part))


def _before(part: p.Pattern, negations: Sequence[p.Not], is_inside: bool) -> p.Pattern:
    match part:
        case p.Exists(_, inner) if is_inside:
            return replace(part, part=_before(inner, negations, True))
        case p.Seq(parts) if is_inside:
            first = next(_first_parts(parts))
            return replace(
                part, parts=tuple(_before(one, negations, True) if one is first else one for one in parts)
            )
    return p.Seq((*negations, part), span=part.span)


class _Negations:
    """The negations as they are made, and the names that are taken."""

    def __init__(self, match: Match, default: p.FollowWord | None) -> None:
        self.default = default
        self.is_strict = False
        self.taken = {bare(name).casefold() for name in p.declared(match.pattern)}
        self.conditions: tuple[Expr, ...] = tuple(_conditions(match.pattern))

    def changed(self, part: p.Pattern, before: Sequence[str], is_preceded: bool) -> p.Pattern:
        """`part` without words; `before` are the variables of what comes before it, `is_preceded` if one of
        them has an event in every match."""
        word = part.follow
        if word is None and is_preceded and self._takes_default(part):
            word = self.default
        plain = replace(part, follow=None)
        match plain:
            case p.Not(inner):
                return self._negative(plain, inner, word, before)
            case p.Optional(inner):
                inner = inner if inner.follow is not None else replace(inner, follow=word)
                return replace(plain, part=self.changed(inner, before, is_preceded))
            case p.Repeat():
                return self._closure(plain, word, before)
        # What a word is said of does not get the strategy as a second one.
        inside = self._inside(plain, before, is_preceded and word is None)
        return inside if word is None else self._following(inside, word, before)

    def _takes_default(self, part: p.Pattern) -> bool:
        """A SEQ hands the strategy on to its parts, and an OR to its branches."""
        return self.default is not None and not isinstance(part, p.Not | p.Seq | p.Or)

    def _inside(self, part: p.Pattern, before: Sequence[str], is_preceded: bool) -> p.Pattern:
        match part:
            case p.Seq(parts):
                found = []
                for inner in parts:
                    found.append(self.changed(inner, before, is_preceded))
                    before = (*before, *targets(inner))
                    is_preceded = is_preceded or not may_be_empty(inner)
                return replace(part, parts=tuple(found))
            case p.Joint():
                # What follows what is said by a SEQ alone: the strategy stops here.
                kept, self.default = self.default, None
                found = [self.changed(inner, before, is_preceded) for inner in part.parts]
                self.default = kept
                return replace(part, parts=tuple(found))

        def change(child: Node) -> Node:
            return self.changed(child, before, is_preceded) if isinstance(child, p.Pattern) else child

        return map_children(part, change)

    def _negative(
        self, part: p.Not, inner: p.Pattern, word: p.FollowWord | None, before: Sequence[str]
    ) -> p.Pattern:
        """`STRICT !X x`: the event right after is no such x."""
        return replace(
            part, part=self._absent_part(replace(inner, follow=inner.follow or word), before, True)
        )

    def _absent_part(self, part: p.Pattern, before: Sequence[str], is_preceded: bool) -> p.Pattern:
        """A part that must be absent: what its words mean rests on its own conditions, too, and the strategy
        is no word of it."""
        default, conditions = self.default, self.conditions
        self.default, self.conditions = None, (*conditions, *_conditions(part))
        changed = self.changed(part, before, is_preceded)
        self.default, self.conditions = default, conditions
        return changed

    def _closure(self, part: p.Repeat, word: p.FollowWord | None, before: Sequence[str]) -> p.Pattern:
        each = part.each or (self.default if part.most != 1 else None)
        gaps = [self._gap_of(gap, before) for gap in part.gaps]
        for one, reach in ((word, GapReach.FIRST), (each, GapReach.EACH)):
            if one is not None:
                absent = self._absent(part, one, before, reach)
                gaps += [ClosureGap(event, reach, means=one, span=part.span) for event in absent]
        body = part.part if isinstance(part.part, p.Event) else self.changed(part.part, before, False)
        return replace(part, part=body, gaps=tuple(gaps), each=None)

    def _gap_of(self, gap: ClosureGap, before: Sequence[str]) -> ClosureGap:
        return replace(gap, part=self._absent_part(gap.part, before, False))

    def _following(self, part: p.Pattern, word: p.FollowWord, before: Sequence[str]) -> p.Pattern:
        absent = self._absent(part, word, before, GapReach.FIRST)
        if not absent:
            return part
        return before_beginning(part, [p.Not(event, means=word, span=part.span) for event in absent])

    def _absent(
        self, part: p.Pattern, word: p.FollowWord, before: Sequence[str], reach: GapReach
    ) -> list[p.Pattern]:
        """The events that may not lie between."""
        match word.kind:
            case FollowKind.ANY:
                return []
            case FollowKind.STRICT:
                self.is_strict = self.is_strict or not word.among
                types = word.among or (ANY_EVENT,)
                return [p.Event(type, self._fresh("between"), span=part.span) for type in types]
        return [self._rival(one, before, reach) for one in dict.fromkeys(beginnings(part))]

    def _rival(self, beginning: Beginning, before: Sequence[str], reach: GapReach) -> p.Pattern:
        """Another event that qualifies as the beginning: of its type, with all of its conditions that name
        only it and what comes before it."""
        name = self._fresh(beginning.variable)
        known = {name, *before}
        if reach == GapReach.EACH:
            known |= {*beginning.lists[:1]}
        found = (_of_rival(one, beginning, name, reach) for one in self.conditions)
        own = [one for one in found if one is not None and names_in(one) <= known and name in names_in(one)]
        return p.Event(beginning.type, name, where=conjoin(dict.fromkeys((*own, *beginning.same))))

    def _fresh(self, base: str) -> str:
        number = 2
        while f"{bare(base)}_{number}".casefold() in self.taken:
            number += 1
        found = f"{bare(base)}_{number}"
        self.taken.add(found.casefold())
        return written(found)


def _conditions(part: p.Pattern) -> Iterator[Expr]:
    """All conditions on what a part binds: not those of negative parts in it, nor `[id]`, which negations
    have where they stand."""
    if isinstance(part, p.Not | ClosureGap):
        return
    yield from (one for one in conjuncts(part.where) if not isinstance(one, SameAttributes))
    for inner in inner_parts(part):
        yield from _conditions(inner)


# A condition on the beginning of a part, as one on another event in its place.


def _of_rival(condition: Expr, beginning: Beginning, name: str, reach: GapReach) -> Expr | None:
    """None if the condition is not decided when the event is bound."""
    rival = e.Variable(name)

    def change(node: Node) -> Node:
        if isinstance(node, e.EventRef) and _is_it(node, beginning, reach):
            return rival
        return map_children(node, change)

    changed = change(condition)
    assert isinstance(changed, Expr)
    if not beginning.lists:
        return changed
    # With `b[i-1]`, it holds for the first element by definition.
    whole = beginning.lists if reach == GapReach.FIRST else beginning.lists[1:]
    if names_in(changed).intersection(whole):
        return None
    later = (node for node in walk(changed) if _is_later(node, beginning.lists[0]))
    return None if next(later, None) is not None else changed


def _is_it(reference: e.EventRef, beginning: Beginning, reach: GapReach) -> bool:
    """Whether a reference means the event: `b`; of a list `b[i]`, and of its first element `b[1]`; of a
    closure `k[i].b`, and in its own conditions `b`."""
    path = _path(reference)
    anchors = [{"CURRENT", "FIRST"} for _ in beginning.lists]
    if anchors and reach == GapReach.EACH:
        anchors[0] = {"CURRENT"}
    wanted: list[tuple[str, set[str]]] = [*zip(beginning.lists, anchors, strict=True)]
    if beginning.variable not in beginning.lists[-1:]:
        wanted.append((beginning.variable, {""}))
    if path is None or len(path) > len(wanted):
        return False
    named = zip(path, wanted[-len(path) :], strict=True)
    return all(name == other and anchor in allowed for (name, anchor), (other, allowed) in named)


def _path(reference: Node) -> tuple[tuple[str, str], ...] | None:
    """The lists that a reference goes through, with the anchor of the element that it takes, and the variable
    at the end: `k[i].b[1]` is k at CURRENT and b at FIRST. None if it takes another element."""
    match reference:
        case e.Variable(name):
            return ((name, ""),)
        case e.InnerVariable(base, name):
            path = _path(base)
            return None if path is None else (*path, (name, ""))
        case e.ListElement(base, e.Index(anchor, 0)):
            path = _path(base)
            return None if path is None else (*path[:-1], (path[-1][0], anchor))
    return None


def _is_later(node: Node, list: str) -> bool:
    """Whether a reference to a list means more of it than what comes before an element."""
    match node:
        case e.ListElement(e.Variable(name), e.Index(anchor, offset)) if name == list:
            return not (anchor == "CURRENT" and offset < 0) and not (anchor == "FIRST" and offset == 0)
        case e.EveryElement(e.Variable(name), upper) if name == list:
            return upper is None or not (upper.anchor == "CURRENT" and upper.offset < 0)
    return False
