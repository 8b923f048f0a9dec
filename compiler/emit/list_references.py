"""Events, elements of lists and iterations of closures, as text over the columns of a match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from neelc.emit import literals
from neelc.emit.literals import identifier, literal, spark_type
from neelc.emit.times import as_time
from neelc.ir.expr import At, Attribute, Each, EventRef, EventTime, Expr, Index, Inner, Variable
from neelc.ir.logical import Clock
from neelc.ir.names import bare
from neelc.ir.typeof import DATETIMES
from neelc.ir.types import STRING, Array, DataType, Struct
from neelc.plan import list_names
from neelc.plan.kernel_outputs import START
from neelc.plan.unsupported import Unsupported

Field = Callable[[Expr, str], str]
"""The field of a variable's struct that holds an attribute; START, if it is the start of the event. It is
asked for `Attribute(Variable(b), price)` and the variable, `b`, whether that is an event, a list of them or
a variable of a closure's body."""

InnerField = Callable[[str, str], str]
"""The field of an iteration's struct that holds a variable: asked for the closure `k` and the variable `a` of
its body."""


@dataclass(frozen=True)
class Element(EventRef):
    """An element of a list where a lambda has a name for it."""

    base: EventRef
    name: str


@dataclass(frozen=True)
class Current:
    """`i` in the text: it runs over the list `base`; `element` is b[i], and `place`, from 0, is i."""

    base: EventRef
    element: str
    place: str


@dataclass(frozen=True)
class Layout:
    """How a match is laid out. A variable has the column `struct`: the struct of its event, or the array of
    those of its events, or of the structs of its iterations, which have a struct for each variable of the
    closure's body (`closures`). `absent` are variables whose column may be NULL."""

    unit: str
    struct: Callable[[str], str]
    field_of: Field
    inner: InnerField
    absent: frozenset[str] = frozenset()
    closures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def event(self, reference: EventRef, current: Current | None = None) -> str:
        """What a reference reaches: a struct, or an array if it is one of all elements.

        >>> layout = Layout("SECOND", str.lower, lambda reference, _: reference.name, lambda _, a: a)
        >>> k, last = Variable("k"), Index("LAST", -1)
        >>> layout.event(Inner(At(k, last), "a")), layout.event(Inner(Each(k), "a"))
        ('try_element_at(k, -2).a', 'k.a')
        """
        match reference:
            case Variable(name):
                return identifier(self.struct(name))
            case Element(_, name):
                return name
            case Inner(base, name):
                return literals.field(self.event(base, current), self.inner(variable_of(base), name))
            case At(base, index):
                return self._at(base, index, current)
            case Each(base, upper):
                elements = self.event(base, current)
                return elements if upper is None else self._up_to(elements, upper, current)
        raise AssertionError(f"{reference} has no text")

    def _at(self, base: EventRef, index: Index, current: Current | None) -> str:
        index = _near(index)
        if index.anchor == "LAST":
            return f"try_element_at({self.event(base, current)}, {index.offset - 1})"
        if index.anchor == "FIRST":
            return f"get({self.event(base, current)}, {index.offset})"
        assert current is not None, "`i` stands in conditions only"
        if current.base == base and not index.offset:
            return current.element
        return f"get({self.event(base, current)}, {_plus(current.place, index.offset)})"

    def _up_to(self, elements: str, upper: Index, current: Current | None) -> str:
        """The elements up to that place. One before the first is the end of an empty list."""
        upper = _near(upper)
        if upper.anchor == "FIRST":
            return f"slice({elements}, 1, {upper.offset + 1})"
        if upper.anchor == "LAST":
            length, least = _plus(f"array_size({elements})", upper.offset), upper.offset
        else:
            assert current is not None, "`i` stands in conditions only"
            length, least = _plus(current.place, upper.offset + 1), upper.offset + 1
        return f"slice({elements}, 1, {f'greatest({length}, 0)' if least < 0 else length})"

    def value(self, reference: Attribute | EventTime, current: Current | None = None) -> str:
        """An attribute, or a time, of one event."""
        text, name = self.event(reference.event, current), self.field_name(reference)
        number = literals.field(text, name)
        if name != START:
            return number
        kind = reference.type
        return as_time(number, self.unit, Clock(kind, None if kind in DATETIMES else self.unit))

    def field_name(self, reference: Attribute | EventTime) -> str:
        variable = variable_of(reference.event)
        return self.field_of(replace(reference, event=Variable(variable)), variable)

    def whole(self, reference: EventRef, type: DataType, current: Current | None = None) -> str:
        """One event with all its attributes, or an iteration with all its variables."""
        assert isinstance(type, Struct)
        bodies = self.closures.get(variable_of(reference))
        parts = []
        for part in type.fields:
            if bodies is None:
                text = self.value(Attribute(reference, part.name, part.type), current)
            elif isinstance(part.type, Array):
                raise Unsupported("a closure inside a closure")
            else:
                found = [name for name in bodies if bare(name) == bare(part.name)]
                # A branch that can never be taken is not in the pattern any more.
                text = f"CAST(NULL AS {spark_type(part.type)})"
                if found:
                    text = self.whole(Inner(reference, found[0]), part.type, current)
            parts.append(f"{literal(bare(part.name), STRING)}, {text}")
        struct = f"named_struct({', '.join(parts)})"
        event = self.event(reference, current)
        return f"IF({event} IS NULL, NULL, {struct})" if self.may_be_null(reference) else struct

    def may_be_null(self, reference: EventRef) -> bool:
        """Whether there may be no such event, iteration or list."""
        match reference:
            case Variable(name):
                return name in self.absent
            case Each(base):
                return self.may_be_null(base)
            case At(base, index):
                return index != Index("CURRENT") or self.may_be_null(base)
        return not isinstance(reference, Element)


def variable_of(reference: EventRef) -> str:
    """The variable whose event, list or iteration is reached."""
    return list_names.variable_of(reference.base if isinstance(reference, Element) else reference)


def _plus(text: str, number: int) -> str:
    """
    >>> _plus("i", 0), _plus("i", -2), _plus("i", 1)
    ('i', 'i - 2', 'i + 1')
    """
    return f"{text} {'-' if number < 0 else '+'} {abs(number)}" if number else text


def _near(index: Index) -> Index:
    """The index, or one that no list reaches either, but INT does.

    >>> _near(Index("LAST", -3_000_000_000)).offset
    -2147483646
    """
    most = 2**31 - 2
    return replace(index, offset=max(-most, min(most, index.offset)))
