"""Who can see whom: the variables of a pattern and where each of them lives.

NEEL+ calls the variables that a query binds its target variables, and those its conditions may speak of
its free variables. Here a variable is found by the path to it, and what stands on that path (negations,
closures, EXISTS) decides from where it can be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from neelc.bind.components import Named, parts_of
from neelc.ir.expr import Name
from neelc.ir.names import bare, find, same
from neelc.ir.node import walk
from neelc.ir.pattern import Event, Exists, Not, Optional, Or, Pattern, Repeat

# The way from the root of a pattern to one of its parts: which part of which part.
Path = tuple[int, ...]

EVENT, KLEENE, CLOSURE = "event", "kleene", "closure"


@dataclass(frozen=True)
class Declared:
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
    variables: tuple[Declared, ...]
    explicit: tuple[str, ...] = ()
    made: tuple[str, ...] = ()

    def variable(self, name: str) -> Declared | None:
        return next((v for v in self._alike(name) if same(name, v.name)), None)

    @cached_property
    def _by_name(self) -> dict[str, list[Declared]]:
        """The variables by what they can be called, without regard to case and backticks."""
        found: dict[str, list[Declared]] = {}
        for variable in self.variables:
            names = {variable.name, variable.type or variable.name}
            for name in {bare(name).casefold() for name in names}:
                found.setdefault(name, []).append(variable)
        return found

    @cached_property
    def _made(self) -> frozenset[str]:
        return frozenset(self.made)

    def _alike(self, name: str) -> list[Declared]:
        return self._by_name.get(bare(name).casefold(), [])

    def meant(self, name: str, at: Path) -> list[Declared]:
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

    def inner(self, closure: Declared, name: str) -> Declared | None:
        """A variable of the body of a composite closure."""
        return next((v for v in self.iteration(closure) if same(name, v.name)), None)

    def iteration(self, closure: Declared) -> list[Declared]:
        """The variables that one iteration of a composite closure binds."""
        inside = (*closure.closures, closure.path)
        return [
            v
            for v in self.variables
            if v.closures == inside
            and v.negations == closure.negations
            and not is_below(v.dropped, closure.path)
        ]

    def results(self) -> list[Declared]:
        """The variables a match binds and RETURN can name."""
        return [v for v in self.variables if not v.negations and not v.closures and v.dropped is None]


def is_below(path: Path | None, above: Path) -> bool:
    """Whether `path` leads to something inside what `above` leads to, or to that itself."""
    return path is not None and path[: len(above)] == above


def is_inside(path: Path, above: Path) -> bool:
    """Whether `path` leads to something strictly inside what `above` leads to."""
    return len(path) > len(above) and path[: len(above)] == above


def scopes_of(found: Named) -> Scopes:
    """The variables of a named pattern.

    >>> from neelc.bind.components import named
    >>> from neelc.bind.findings import Findings
    >>> from neelc.parse import pattern
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
    variables = tuple(_declared(found.pattern, Declared("", EVENT, None, ())))
    return Scopes(found.pattern, variables, found.explicit, found.made)


def _declared(node: Pattern, place: Declared) -> Iterator[Declared]:
    """The variables below `node`; `place` says where it stands."""
    path = place.path
    match node:
        case Event(type_name, variable):
            yield replace(place, name=variable or "", type=type_name)
        case Repeat(Event(type_name), variable=variable):
            yield replace(place, name=variable or "", kind=KLEENE, type=type_name)
        case Repeat(part, variable=variable):
            yield replace(place, name=variable or "", kind=CLOSURE)
            yield from _declared(part, replace(place, path=(*path, 0), closures=(*place.closures, path)))
        case Not(part):
            yield from _declared(part, replace(place, path=(*path, 0), negations=(*place.negations, path)))
        case Exists(variables, part):
            for found in _declared(part, replace(place, path=(*path, 0))):
                own = found.closures == place.closures and found.negations == place.negations
                hit = own and found.dropped is None and find(found.name, variables) is not None
                yield replace(found, dropped=path) if hit else found
        case _:
            choices = (*place.choices, path) if isinstance(node, Or | Optional) else place.choices
            for i, part in enumerate(parts_of(node)):
                yield from _declared(part, replace(place, path=(*path, i), choices=choices))


def targets(pattern: Pattern) -> list[str]:
    """TV, the variables a part binds, of a named pattern.

    >>> from neelc.parse import pattern
    >>> targets(pattern("EXISTS c : SEQ(A a, !(B b : b.id = a.id), C c)"))
    ['a']
    >>> targets(pattern("SEQ(A a, !B b, !SEQ(C c, D d), E e)"))
    ['a', 'e']
    """
    return [
        v.name for v in Scopes(pattern, tuple(_declared(pattern, Declared("", EVENT, None, ())))).results()
    ]


def free(pattern: Pattern) -> list[str]:
    """FV, the variables a part speaks of: its targets, and those of other parts that its conditions name.

    >>> from neelc.parse import pattern
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
    found = [*targets(pattern), *(name for part in parts_of(pattern) for name in free(part))]
    if pattern.where is not None:
        found += [node.parts[0] for node in walk(pattern.where) if isinstance(node, Name) and node.parts]
    return list(dict.fromkeys(found))
