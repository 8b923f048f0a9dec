"""Dataclasses whose methods are made late are what Python's own are."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from functools import partial
from inspect import signature
from threading import Barrier, Thread
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from neelc.runtime.late_dataclass import LateMethod, dataclass

T = TypeVar("T")
MAKERS: list[Callable[..., Any]] = [dataclass, dataclasses.dataclass]


def classes(make: Callable[..., Any]) -> dict[str, Any]:
    """The same classes, made by one or the other."""

    @make(frozen=True)
    class Base:
        """A base."""

        a: int
        b: tuple[int, ...] = ()
        seen: ClassVar[int] = 7

    @make(frozen=True)
    class Derived(Base):
        c: list[int] = field(default_factory=list, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "b", (*self.b, self.a))

    @make
    class Mutable(Generic[T]):
        value: T
        other: int = field(default=3, repr=False, kw_only=True)

    @make(frozen=True, repr=False)
    class Named:
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

    @make(frozen=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    class Plain(Base):
        pass

    @make
    class Filled:
        """Fields that a call cannot give, and one that is given by its name."""

        own: list[object] = field(init=False, default_factory=list)
        fixed: int = field(init=False, default=4)
        later: int = field(init=False)
        kept: tuple[int, ...] = field(default_factory=tuple)
        first: int = field(default=1, kw_only=True)

    @make(frozen=True)
    class Empty:
        pass

    return {name: one for name, one in locals().items() if isinstance(one, type)}


def outcome(ask: Callable[[], Any]) -> str:
    try:
        return repr(ask()).replace("dataclasses.", "")
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def recursive(value: Any) -> Any:
    value.value = [value]
    return value


def matched(value: Any, cls: Any) -> Any:
    match value:
        case cls(first, second):
            return first, second
    return None


QUESTIONS: list[Callable[[dict[str, Any]], Any]] = [
    lambda c: c["Derived"](1, (2,)),
    lambda c: c["Derived"](1, c=[1]) == c["Derived"](1, c=[2]),
    lambda c: hash(c["Base"](1)) == hash(c["Base"](1)),
    lambda c: c["Base"](1) == c["Derived"](1),
    lambda c: c["Base"](),
    lambda c: c["Base"](1, 2, 3),
    lambda c: setattr(c["Base"](1), "a", 2),
    lambda c: delattr(c["Derived"](1), "a"),
    lambda c: dataclasses.replace(c["Derived"](1), a=5),
    lambda c: [one.name for one in dataclasses.fields(c["Derived"])],
    lambda c: dataclasses.asdict(c["Mutable"]("x")),
    lambda c: (c["Mutable"](1), c["Mutable"](1, other=4) == c["Mutable"](1), c["Mutable"].__hash__),
    lambda c: hash(c["Mutable"](1)),
    lambda c: c["Named"]("n"),
    lambda c: (c["Own"](1) == c["Own"](2), hash(c["Own"](3))),
    lambda c: (c["Plain"](4).a, c["Plain"](4) == c["Plain"](4), c["Plain"].seen),
    lambda c: dataclasses.is_dataclass(c["Plain"]),
    lambda c: c["Derived"].__match_args__,
    lambda c: matched(c["Base"](1, (2,)), c["Base"]),
    lambda c: copy.copy(c["Derived"](3)),
    lambda c: c["Base"].__doc__,
    lambda c: (c["Filled"]().own, c["Filled"]((3,)).kept, c["Filled"]().fixed, vars(c["Filled"](first=2))),
    lambda c: c["Filled"]().own is c["Filled"]().own,
    lambda c: c["Filled"]().later,
    lambda c: c["Filled"](own=[]),
    lambda c: (c["Empty"](), c["Empty"]() == c["Empty"](), hash(c["Empty"]()), c["Empty"](1)),
    lambda c: repr(recursive(c["Mutable"](None))),
    lambda c: [signature(c[name]) for name in ("Base", "Mutable", "Empty")],
    lambda c: [str(signature(c["Filled"])).split("kept")[0], signature(c["Filled"]).parameters.keys()],
    lambda c: (
        c["Base"].__init__.__qualname__,
        c["Base"].__eq__.__module__,
        c["Base"].__eq__(c["Base"](1), 1),
    ),
    lambda c: (hash(c["Base"](1)) == hash((1, ())), hash(c["Own"](1)), hash(c["Named"]("n")) == hash(("n",))),
]


@pytest.mark.parametrize("question", range(len(QUESTIONS)))
def test_late_or_not_it_is_the_same(question: int) -> None:
    late, own = (outcome(partial(QUESTIONS[question], classes(make))) for make in MAKERS)
    assert late == own


@dataclass(frozen=True)
class Unpickled:
    x: int


@dataclass(frozen=True)
class Untouched:
    x: int


def test_an_object_that_comes_from_another_process() -> None:
    """Its class may have made no object here: a pattern finds its fields nevertheless."""
    data = pickle.dumps(Unpickled(4)).replace(b"Unpickled", b"Untouched")
    assert isinstance(Untouched.__dict__["__init__"], LateMethod)
    match pickle.loads(data):
        case Untouched(x):
            assert x == 4
        case _:
            raise AssertionError
    assert isinstance(Untouched.__dict__["__init__"], LateMethod)


def test_two_threads_make_a_class_once() -> None:
    for _ in range(50):
        cls = classes(dataclass)["Derived"]
        barrier, found = Barrier(4), list[Any]()

        def make(cls: Any = cls, barrier: Barrier = barrier, found: list[Any] = found) -> None:
            barrier.wait()
            found.append(cls(1))

        threads = [Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [cls(1)] * 4
