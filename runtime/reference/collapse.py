"""RETURN COLLAPSED: SASE++'s collapsed format."""

from __future__ import annotations

from collections.abc import Iterable

from neelc.runtime.reference.events import in_order
from neelc.runtime.reference.model import Binding, binding_key, bound_events


def collapse(bindings: Iterable[Binding]) -> list[Binding]:
    """ "One row per choice of the single variables, with the superset list of each Kleene variable": the
    union of the lists it has in these matches, in order of time.

    >>> from neelc.runtime.reference.model import Event
    >>> events = [Event("S", row, "A", row, row, {}, (row, row)) for row in range(3)]
    >>> short, long = {"a": events[0], "b": (events[2],)}, {"a": events[0], "b": (events[1],)}
    >>> [[event.row for event in binding["b"]] for binding in collapse([short, long])]
    [[1, 2]]
    """
    groups: dict[object, list[Binding]] = {}
    for binding in bindings:
        groups.setdefault(singles(binding), []).append(binding)
    return [joined(group) for group in groups.values()]


def singles(binding: Binding) -> object:
    """The choice of single variables; of a list only whether its OR branch was taken."""
    return binding_key({name: () if isinstance(value, tuple) else value for name, value in binding.items()})


def joined(group: list[Binding]) -> Binding:
    """Matches with the same single variables as one."""

    def join(name: str, value: object) -> object:
        if not isinstance(value, tuple):
            return value
        return in_order(set(bound_events(tuple(binding[name] for binding in group))))

    return {name: join(name, value) for name, value in group[0].items()}
