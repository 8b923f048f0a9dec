"""Roles: which events can stand for a variable, as far as one event alone can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from neelc.ir.conjuncts import names_in
from neelc.ir.expr import Attribute, Binary, Expr, IsNull, Variable
from neelc.ir.logical import EventType
from neelc.ir.names import same, written
from neelc.ir.node import Node, transform
from neelc.plan.blocks import Block, Condition, Item, implies
from neelc.plan.list_names import list_of
from neelc.plan.steps import Role
from neelc.rewrite.keys import Key
from neelc.rewrite.roles import plain


@dataclass(frozen=True)
class EventRoles:
    """The role of each item, by its variable and choices; and the conditions that roles have taken over."""

    roles: tuple[Role, ...]
    of: Mapping[Item, str]
    absorbed: frozenset[int]

    def is_absorbed(self, condition: Condition) -> bool:
        return id(condition) in self.absorbed


def event_roles(block: Block, types: Mapping[str, EventType]) -> EventRoles:
    """Every item gets a role; items that ask the same of their events share one."""
    roles: dict[object, Role] = {}
    of: dict[Item, str] = {}
    absorbed: set[int] = set()
    for inner in block.all_blocks():
        alone: dict[str, list[Condition]] = {}
        for condition in inner.conditions:
            if len(condition.names) == 1:
                alone.setdefault(next(iter(condition.names)), []).append(condition)
        for item in (one for one in inner.items if one.loop is None):
            own = [c for c in alone.get(item.variable, ()) if implies(item.when, c.when)]
            absorbed |= {id(condition) for condition in own if implies(condition.when, item.when)}
            wanted = (*_not_null(item, types[item.type]), *(condition.expression for condition in own))
            conditions = tuple(dict.fromkeys(wanted))
            role = (item.type, frozenset(renamed(condition, item.variable, "") for condition in conditions))
            if role not in roles:
                name = _free(item.variable if conditions else item.type, roles.values())
                roles[role] = Role(name, item.type, item.variable, conditions)
            of[item] = roles[role].name
    return EventRoles(tuple(roles.values()), of, frozenset(absorbed))


def _not_null(item: Item, type: EventType) -> Iterator[Expr]:
    """ "`[id]` means: equal `id` on every event. NULL equals nothing." """
    for _, name in item.same:
        yield IsNull(attribute(item.variable, name, type), negated=True)


def attribute(variable: str, name: str, type: EventType) -> Attribute:
    column = next(column for column in type.columns if same(name, written(column.name)))
    return Attribute(Variable(variable), written(column.name), column.type)


def renamed(expression: Expr, old: str, new: str) -> Expr:
    """The expression with another name for a variable."""

    def change(node: Node) -> Node | None:
        return Variable(new) if isinstance(node, Variable) and node.name == old else None

    changed = transform(expression, change)
    assert isinstance(changed, Expr)
    return changed


def _free(name: str, taken: Iterable[Role]) -> str:
    names = {role.name for role in taken}
    numbered = (f"{name}_{number}" for number in range(2, len(names) + 3))
    return name if name not in names else next(other for other in numbered if other not in names)


def without_key_equalities(block: Block, keys: tuple[Key, ...]) -> Block:
    """Events are partitioned by the keys, so that `a.id = b.id` asks no more than that neither is NULL."""
    conditions: list[Condition] = []
    for condition in block.conditions:
        sides = _sides(condition.expression, keys)
        nots = [replace(condition, expression=IsNull(side, negated=True)) for side in sides]
        conditions += nots or [condition]
    checks = [without_key_equalities(check, keys) for check in block.checks]
    items = [_loop_without_key_equalities(item, keys) for item in block.items]
    return replace(block, items=items, conditions=conditions, checks=checks)


def _loop_without_key_equalities(item: Item, keys: tuple[Key, ...]) -> Item:
    if item.loop is None:
        return item
    return replace(item, loop=replace(item.loop, body=without_key_equalities(item.loop.body, keys)))


def _sides(expression: Expr, keys: tuple[Key, ...]) -> tuple[Expr, ...]:
    if not isinstance(expression, Binary) or expression.op != "=":
        return ()
    sides = (expression.left, expression.right)
    names = [names_in(side) for side in sides]
    if any(len(found) != 1 for found in names) or names[0] == names[1]:
        return ()
    for key in keys:
        terms = [_term(key, next(iter(found))) for found in names]
        if all(
            term is not None and plain(side) == plain(term) for side, term in zip(sides, terms, strict=True)
        ):
            return sides
    return ()


def _term(key: Key, name: str) -> Expr | None:
    """What gives the key of a variable's event. The key of a list is that of each of its events."""
    terms = dict(key.terms)
    listed = list_of(name)
    if listed is None:
        return terms.get(name)
    inner = name.partition("].")[2] or listed
    return renamed(terms[inner], inner, name) if inner in terms else None
