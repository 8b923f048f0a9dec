"""Who can see whom: the variables of a pattern and where each of them lives.

NEEL+ calls the variables that a query binds its target variables, and those its conditions may speak of
its free variables. Here a variable is found by the path to it, and what stands on that path (negations,
closures, EXISTS) decides from where it can be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from neelc.catalog.catalog import KnownType
from neelc.errors import Hint, write
from neelc.findings import Findings, did_you_mean
from neelc.ir.expressions import Name
from neelc.ir.names import bare, find, same, written
from neelc.ir.node import walk
from neelc.ir.patterns import ClosureGap, Event, Exists, Not, Optional, Or, Pattern, Repeat, inner_parts
from neelc.ir.program import Clock
from neelc.pattern.bind.components import NamedPattern
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.functions import changing
from neelc.source import Span

# The way from the root of a pattern to one of its parts: which part of which part.
Path = tuple[int, ...]

EVENT, KLEENE, CLOSURE = "event", "kleene", "closure"


@dataclass(frozen=True)
class DeclaredVariable:
    """A variable and where it lives.

    `kind` is EVENT for one event, KLEENE for a list of them, CLOSURE for a list of iterations. `negations`
    and `closures` are the negative parts and the composite closures around it, outermost first, `choices` the
    ORs and optional parts, `dropped` the EXISTS that drops it.
    """

    name: str
    kind: str
    type: str | None
    path: Path
    negations: tuple[Path, ...] = ()
    closures: tuple[Path, ...] = ()
    choices: tuple[Path, ...] = ()
    dropped: Path | None = None


@dataclass(frozen=True)
class Scopes:
    """All variables of a pattern, in the order of the text."""

    pattern: Pattern
    variables: tuple[DeclaredVariable, ...]
    explicit: tuple[str, ...] = ()
    made: tuple[str, ...] = ()

    def variable(self, name: str) -> DeclaredVariable | None:
        return next((v for v in self._alike(name) if same(name, v.name)), None)

    @cached_property
    def _by_name(self) -> dict[str, list[DeclaredVariable]]:
        """The variables by what they can be called, without regard to case and backticks."""
        found: dict[str, list[DeclaredVariable]] = {}
        for variable in self.variables:
            names = {variable.name, variable.type or variable.name}
            for name in {bare(name).casefold() for name in names}:
                found.setdefault(name, []).append(variable)
        return found

    @cached_property
    def _made(self) -> frozenset[str]:
        return frozenset(self.made)

    def _alike(self, name: str) -> list[DeclaredVariable]:
        return self._by_name.get(bare(name).casefold(), [])

    def meant(self, name: str, at: Path) -> list[DeclaredVariable]:
        """The variables that `name` could mean there: more than one if it is ambiguous.

        A component without a variable is called by its type. If several are, those in the part the name
        stands in come first: in `OR(SEQ(A, B; A.id = B.id), SEQ(A, C))` the first `A` is meant.
        """
        alike = self._alike(name)
        found = [v for v in alike if same(name, v.type if v.name in self._made and v.type else v.name)]
        found = [v for v in found if v.name == name and name in self.explicit] or found
        for end in range(len(at), -1, -1):
            inside = [v for v in found if is_below(v.path, at[:end])]
            if inside:
                return inside
        return found or [v for v in alike if same(name, v.name)]

    def inner(self, closure: DeclaredVariable, name: str) -> DeclaredVariable | None:
        """A variable of the body of a composite closure."""
        return next((v for v in self.iteration(closure) if same(name, v.name)), None)

    def iteration(self, closure: DeclaredVariable) -> list[DeclaredVariable]:
        """The variables that one iteration of a composite closure binds."""
        inside = (*closure.closures, closure.path)
        return [
            v
            for v in self.variables
            if v.closures == inside
            and v.negations == closure.negations
            and not is_below(v.dropped, closure.path)
        ]

    def results(self) -> list[DeclaredVariable]:
        """The variables a match binds and RETURN can name."""
        return [v for v in self.variables if not v.negations and not v.closures and v.dropped is None]


def is_below(path: Path | None, above: Path) -> bool:
    """Whether `path` leads to something inside what `above` leads to, or to that itself."""
    return path is not None and path[: len(above)] == above


def is_inside(path: Path, above: Path) -> bool:
    """Whether `path` leads to something strictly inside what `above` leads to."""
    return len(path) > len(above) and path[: len(above)] == above


def is_in_body(path: Path, closure: Path) -> bool:
    """Whether `path` leads to something in an iteration of a closure, not in what the closure must lack."""
    return is_below(path, (*closure, 0))


def scopes_of(found: NamedPattern) -> Scopes:
    """The variables of a named pattern.

    >>> from neelc.pattern.bind.components import named
    >>> from neelc.findings import Findings
    >>> from neelc.syntax import pattern
    >>> from neelc.source import Source
    >>> nested = pattern("EXISTS c : SEQ(A a, !SEQ(B b, D+ d[]), C c)")
    >>> scopes = scopes_of(named(nested, Findings(Source(""))))
    >>> for v in scopes.variables:
    ...     print(v.name, v.kind, v.negations, v.dropped)
    a event () None
    b event ((0, 1),) None
    d kleene ((0, 1),) None
    c event () ()
    """
    variables = tuple(_declared(found.pattern, DeclaredVariable("", EVENT, None, ())))
    return Scopes(found.pattern, variables, found.explicit, found.made)


def _declared(node: Pattern, place: DeclaredVariable) -> Iterator[DeclaredVariable]:
    """The variables below `node`; `place` says where it stands."""
    path = place.path
    match node:
        case Event(type_name, variable):
            yield replace(place, name=variable or "", type=type_name)
        case Repeat(part, variable=variable):
            if isinstance(part, Event):
                yield replace(place, name=variable or "", kind=KLEENE, type=part.type)
            else:
                yield replace(place, name=variable or "", kind=CLOSURE)
                yield from _declared(part, replace(place, path=(*path, 0), closures=(*place.closures, path)))
            for i, gap in enumerate(node.gaps, 1):
                yield from _declared(gap, replace(place, path=(*path, i)))
        case Not(part) | ClosureGap(part):
            yield from _declared(part, replace(place, path=(*path, 0), negations=(*place.negations, path)))
        case Exists(variables, part):
            for found in _declared(part, replace(place, path=(*path, 0))):
                own = found.closures == place.closures and found.negations == place.negations
                hit = own and found.dropped is None and find(found.name, variables) is not None
                yield replace(found, dropped=path) if hit else found
        case _:
            choices = (*place.choices, path) if isinstance(node, Or | Optional) else place.choices
            for i, part in enumerate(inner_parts(node)):
                yield from _declared(part, replace(place, path=(*path, i), choices=choices))


def targets(pattern: Pattern) -> list[str]:
    """TV, the variables a part binds, of a named pattern.

    >>> from neelc.syntax import pattern
    >>> targets(pattern("EXISTS c : SEQ(A a, !(B b : b.id = a.id), C c)"))
    ['a']
    >>> targets(pattern("SEQ(A a, !B b, !SEQ(C c, D d), E e)"))
    ['a', 'e']
    """
    return [
        v.name
        for v in Scopes(pattern, tuple(_declared(pattern, DeclaredVariable("", EVENT, None, ())))).results()
    ]


def free(pattern: Pattern) -> list[str]:
    """FV, the variables a part speaks of: its targets, and those of other parts that its conditions name.

    >>> from neelc.syntax import pattern
    >>> free(pattern("(B b : b.id = a.id)")), free(pattern("!(B b : b.id = a.id)"))
    (['b', 'a'], ['a'])
    >>> free(pattern("EXISTS c : SEQ(A a, !(B b : b.id = a.id), C c)"))
    ['a']
    """
    match pattern:
        case Not(part):
            bound = targets(part)
            return [name for name in free(part) if find(name, bound) is None]
        case Exists(variables, part):
            return [name for name in free(part) if find(name, variables) is None]
    found = [*targets(pattern), *(name for part in inner_parts(pattern) for name in free(part))]
    if pattern.where is not None:
        found += [node.parts[0] for node in walk(pattern.where) if isinstance(node, Name) and node.parts]
    return list(dict.fromkeys(found))


# From where a variable can be seen, and what to say where it cannot.


@dataclass(frozen=True)
class ExpressionScope:
    """Where an expression stands: on which part of the pattern, or in RETURN. There may be more matches than
    a BIGINT can count if it is `wide`."""

    scopes: Scopes
    types: Mapping[str, KnownType | None]
    clock: Clock | None
    findings: Findings
    at: Path = ()
    in_return: bool = False
    wide: bool = False


def negations_at(place: ExpressionScope) -> tuple[Path, ...]:
    """The negative parts around the place, outermost first."""
    around = {path for v in place.scopes.variables for path in v.negations if is_inside(place.at, path)}
    return tuple(sorted(around, key=len))


def visible(place: ExpressionScope) -> list[DeclaredVariable]:
    """The variables that can be named there, in the order of the text."""
    if place.in_return:
        return place.scopes.results()
    around = negations_at(place)
    seen = []
    for v in place.scopes.variables:
        beyond = v.negations[len(around) :]
        inner = v.negations[: len(around)] == around[: len(v.negations)]
        if inner and _refusal(v, place) is None and (not beyond or is_below(beyond[0], place.at)):
            seen.append(v)
    return seen


def lookup(name: str, span: Span, place: ExpressionScope, alone: bool = False) -> DeclaredVariable | None:
    """The variable `name`, or None after a report; `alone` if no attribute follows it."""
    meant = place.scopes.meant(name, place.at)
    if len(meant) > 1:
        message = f"`{name}` could be more than one component of the pattern"
        hint = f"name the intended one in the pattern: {name} {written(bare(name).lower() + '1')}"
        place.findings.report("NEEL2002", message, span, hint)
        return None
    if not meant:
        _report_unknown(name, span, place, alone)
        return None
    found = meant[0]
    refusal = _refusal(found, place)
    if refusal is not None:
        place.findings.report(refusal[0], refusal[1], span, refusal[2])
        return None
    return found


def _refusal(v: DeclaredVariable, place: ExpressionScope) -> tuple[str, str, Hint | str] | None:
    """Code, sentence and hint if closures, EXISTS or RETURN hide the variable from the place."""
    for path in v.closures:
        if not is_in_body(place.at, path):
            return _hidden_in_closure(v, path, place)
    if v.kind == "closure" and is_in_body(place.at, v.path):
        list_of_all = f"`{v.name}` is the list of all iterations"
        message = f"{list_of_all}, and this condition is evaluated for each of them separately"
        return "NEEL3010", message, f"put the condition after the closure: WHERE {v.name}[i-1]. ..."
    if v.negations and place.in_return:
        message = f"`{v.name}` belongs to a negative part, so a match has no event for it"
        return "NEEL3030", message, "return variables of positive parts"
    if v.dropped is not None and not is_inside(place.at, v.dropped):
        message = f"`{v.name}` is not visible here: EXISTS drops it"
        hint = (
            "leave it out of EXISTS" if place.in_return else "put the condition inside the part of the EXISTS"
        )
        return "NEEL3009", message, hint
    return None


def _hidden_in_closure(
    v: DeclaredVariable, path: Path, place: ExpressionScope
) -> tuple[str, str, Hint | str]:
    closures = [c for c in place.scopes.variables if c.path in v.closures]
    closure = next(c for c in closures if c.path == path)
    message = f"`{v.name}` is bound again in each iteration of `{closure.name}`, and not visible outside it"
    if v.dropped is not None or v.negations != closure.negations:
        return "NEEL3010", message, "put the condition inside the closure"
    outer, *nested = [c.name for c in closures if not is_in_body(place.at, c.path)]
    way = f"{outer}{'[]' if place.in_return else '[i]'}" + "".join(f".{name}[last]" for name in nested)
    return "NEEL3010", message, write(f"{way}.{v.name}")


def _report_unknown(name: str, span: Span, place: ExpressionScope, alone: bool) -> None:
    if bare(name).casefold() in ("i", "last"):
        hint: Hint | str | None = "as an index, it is allowed only in brackets: b[i], b[last]"
    elif alone and changing(bare(name)):
        hint = changing(bare(name))
    else:
        hint = _owner_hint(name, place) or _variable_hint(name, place, alone)
    place.findings.report("NEEL2001", f"unknown pattern variable `{name}`", span, hint)


def _variable_hint(name: str, place: ExpressionScope, alone: bool) -> Hint | None:
    hint = did_you_mean(name, [bare(v.name) for v in visible(place)], "variables in scope")
    if hint is None or hint.replacements or not alone:
        return hint
    return Hint(f"{hint.words}; a string needs quotes: '{bare(name)}'")


def _owner_hint(name: str, place: ExpressionScope) -> Hint | None:
    """`price` alone might be the price of some variable, and a type's name might stand for its variable."""
    for v in visible(place):
        if v.type is not None and same(name, v.type):
            return Hint(f"`{name}` is a type; its variable is {v.name}", (v.name,))
        known = place.types.get(v.type or "")
        if known is not None and known.attribute(name) is not None:
            index = {EVENT: "", KLEENE: "[]" if place.in_return else "[i]"}[v.kind]
            path = f"{v.name}{index}.{name}"
            return Hint(f"an attribute is named with its variable: {path}", (path,))
    return None
