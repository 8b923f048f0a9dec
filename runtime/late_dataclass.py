"""`dataclass`, whose methods are made when they are first called.

Python's own makes five methods of a class, each from a text, as soon as its module is loaded: half a
millisecond for each of some 800 classes, of which a run uses a fourth. Here the fields of a class are found
at once, which takes 20 microseconds, and the first call of a method makes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """Python's `dataclass`; its options are `frozen`, `eq`, `repr` and `kw_only`.

        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> isinstance(Point.__dict__["__init__"], LateMethod)
        True
        >>> Point(1), Point(1) == Point(1, 0), isinstance(Point.__dict__["__init__"], LateMethod)
        (Point(x=1, y=0), True, False)
        """
        if cls is None:
            return lambda decorated: dataclass(decorated, **options)
        return _prepared(cls, **options)


def _prepared(
    cls: type, *, frozen: bool = False, eq: bool = True, repr: bool = True, kw_only: bool = False
) -> type:
    """The class with its fields, and with late methods for those that it does not define."""
    defined = dict(cls.__dict__)
    # Python's check that frozen classes have frozen bases would make methods: ours freeze by themselves.
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    late = ["__init__", *(["__repr__"] if repr else []), *(["__eq__"] if eq else [])]
    if eq and frozen:
        late.append("__hash__")
    elif eq and defined.get("__hash__") is None:
        cls.__hash__ = None  # type: ignore[assignment]  # equal objects may change
    for name in late:
        # A class that defines equality only has `__hash__ = None` from Python.
        is_own = name in defined and not (
            name == "__hash__" and defined[name] is None and "__eq__" in defined
        )
        if not is_own:
            setattr(cls, name, LateMethod(name, cls, frozen))
    if frozen:
        _freeze(cls)
    return cls


def _freeze(cls: Any) -> None:
    """Let nobody change the fields of an object."""

    def refuse_setting(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def refuse_deleting(self: object, name: str) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = refuse_setting, refuse_deleting


class LateMethod:
    """A method that is not made yet. To look it up puts the made one in its place, at once: another thread
    finds either."""

    def __init__(self, name: str, of: type, frozen: bool) -> None:
        self.name = name
        self.of = of
        self.frozen = frozen

    def __get__(self, instance: object, owner: type) -> Any:
        if self.of.__dict__[self.name] is self:
            setattr(self.of, self.name, self._made(self.of))
        # That of its own class: a method of a subclass may have asked for it by `super()`.
        made = self.of.__dict__[self.name]
        return made if instance is None else made.__get__(instance, owner)

    def _made(self, cls: Any) -> Any:
        """The method, from a text like the one that Python's own makes it from."""
        fields = dataclasses.fields(cls)
        space: dict[str, Any] = {"_set": object.__setattr__, "_absent": _ABSENT, "_repr": recursive_repr()}
        space |= {f"_of_{one.name}": _default(one) for one in fields}
        exec(_WRITTEN[self.name](cls, fields, self.frozen), space)
        made = space[self.name]
        made.__module__, made.__qualname__ = cls.__module__, f"{cls.__qualname__}.{self.name}"
        if self.name == "__init__":
            made.__annotations__ = {one.name: one.type for one in fields if one.init} | {"return": None}
        return made


Fields = tuple[dataclasses.Field[Any], ...]

_ABSENT = object()
"""What a parameter is if a call leaves it out and a factory makes its value."""


def _has_factory(one: dataclasses.Field[Any]) -> bool:
    return one.default_factory is not dataclasses.MISSING


def _default(one: dataclasses.Field[Any]) -> Any:
    """The default of a field, or the factory that makes it."""
    return one.default_factory if _has_factory(one) else one.default


def _init(cls: Any, fields: Fields, frozen: bool) -> str:
    """The text of `__init__`; `_of_x` is what `_default` gives for the field x.

    >>> @dataclass(frozen=True)
    ... class Line:
    ...     start: int
    ...     marks: list[str] = dataclasses.field(default_factory=list)
    >>> print(_init(Line, dataclasses.fields(Line), frozen=True))
    def __init__(self, start, marks=_absent):
      _set(self, 'start', start)
      _set(self, 'marks', _of_marks() if marks is _absent else marks)
    """
    positional, named, lines = ["self"], list[str](), list[str]()
    for one in fields:
        name, value = one.name, one.name
        if _has_factory(one):
            value = f"_of_{name}() if {name} is _absent else {name}" if one.init else f"_of_{name}()"
        elif not one.init:
            continue  # its value is the default, if it has one, which the class holds
        if one.init:
            (named if one.kw_only else positional).append(name + _equals_default(one))
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *named] if named else [])])
    return "\n  ".join([f"def __init__({parameters}):", *(lines or ["pass"])])


def _equals_default(one: dataclasses.Field[Any]) -> str:
    if _has_factory(one):
        return "=_absent"
    return "" if one.default is dataclasses.MISSING else f"=_of_{one.name}"


def _eq(_: Any, fields: Fields, __: bool) -> str:
    compared = [one.name for one in fields if one.compare]
    is_same = f"{_tuple('self', compared)} == {_tuple('other', compared)}"
    is_alike = "other.__class__ is self.__class__"
    return f"def __eq__(self, other):\n  return {is_same} if {is_alike} else NotImplemented"


def _hash(_: Any, fields: Fields, __: bool) -> str:
    hashed = [one.name for one in fields if (one.compare if one.hash is None else one.hash)]
    return f"def __hash__(self):\n  return hash({_tuple('self', hashed)})"


def _representation(_: Any, fields: Fields, __: bool) -> str:
    """
    >>> print(_representation(LateMethod, (), False))
    @_repr
    def __repr__(self):
      return f'{self.__class__.__qualname__}()'
    """
    shown = ", ".join(f"{one.name}={{self.{one.name}!r}}" for one in fields if one.repr)
    return f"@_repr\ndef __repr__(self):\n  return f'{{self.__class__.__qualname__}}({shown})'"


def _tuple(value: str, names: Sequence[str]) -> str:
    """
    >>> _tuple("self", ["x"]), _tuple("self", [])
    ('(self.x,)', '()')
    """
    return f"({''.join(f'{value}.{name},' for name in names)})"


_WRITTEN = {"__init__": _init, "__eq__": _eq, "__hash__": _hash, "__repr__": _representation}
