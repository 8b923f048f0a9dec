"""The driver of all rewriting: batches of rules, each run over and over until no rule fires.

The driver owns recursion, order and fixpoint. A rule sees one part of a tree at a time. The kind of tree
decides what else a rule gets and what is recorded when it fires: `apply` tries rules on a part and returns
the result of the first one that fires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from neelc.ir.node import Node, map_children
from neelc.runtime.late_dataclass import dataclass

N = TypeVar("N", bound=Node)
W = TypeVar("W")
PartRule = TypeVar("PartRule")
WholeRule = TypeVar("WholeRule")


class RuleLoop(Exception):
    """Rules that undo each other: our own bug."""


class NamedStep(Protocol):
    """What is recorded of a rule that fired."""

    @property
    def rule(self) -> str: ...


@dataclass(frozen=True)
class Batch(Generic[PartRule, WholeRule]):
    """Rules that run together, over and over until none fires; more than `most` passes are an error.

    `parts` are tried in order on every part of the tree, innermost parts first unless it is `outermost`
    first; then `wholes` on the whole. `why` says why the batch stands where it stands.
    """

    name: str
    why: str
    parts: tuple[PartRule, ...] = ()
    wholes: tuple[WholeRule, ...] = ()
    most: int = 100
    outermost: bool = False


def until_none_fires(
    batch: Batch[PartRule, WholeRule], whole: W, one_pass: Callable[[W], W], steps: Sequence[NamedStep]
) -> W:
    """The whole after as many passes as it takes. `steps` grow by one for each rule that fires."""
    for _ in range(batch.most):
        fired = len(steps)
        changed = one_pass(whole)
        if len(steps) == fired:
            return whole
        whole = changed
    raise no_end(batch, steps)


def no_end(batch: Batch[PartRule, WholeRule], steps: Sequence[NamedStep]) -> RuleLoop:
    last = ", ".join(step.rule for step in steps[-5:])
    return RuleLoop(f"batch {batch.name} came to no end in {batch.most} passes; the last rules were {last}")


@dataclass(frozen=True)
class TreePass(Generic[N, W, PartRule, WholeRule]):
    """One pass of a batch over a tree: `inner` gives the parts of a part."""

    batch: Batch[PartRule, WholeRule]
    inner: Callable[[N], Iterable[N]]
    apply: Callable[[N, Callable[[N], W]], N | None]
    steps: Sequence[NamedStep]

    def visit(self, part: N, rebuild: Callable[[N], W]) -> N:
        return self._outermost(part, rebuild) if self.batch.outermost else self._innermost(part, rebuild)

    def _innermost(self, part: N, rebuild: Callable[[N], W]) -> N:
        """`part` with the rules applied to everything in it, innermost first, and then to itself."""
        for old in tuple(self.inner(part)):
            part = put(part, old, self._innermost(old, partial(_around, rebuild, part, old)))
        for _ in range(self.batch.most):
            changed = self.apply(part, rebuild)
            if changed is None:
                return part
            part = changed
        raise no_end(self.batch, self.steps)

    def _outermost(self, part: N, rebuild: Callable[[N], W]) -> N:
        """`part` after the first rule that fires, on itself or else on something in it."""
        changed = self.apply(part, rebuild)
        if changed is not None:
            return changed
        for old in self.inner(part):
            new = self._outermost(old, partial(_around, rebuild, part, old))
            if new is not old:
                return put(part, old, new)
        return part


def _around(rebuild: Callable[[N], W], outer: N, old: N, new: N) -> W:
    return rebuild(put(outer, old, new))


def put(outer: N, old: Node, new: Node) -> N:
    """`outer` with `new` in the place of its part `old`, compared by identity: parts may be equal."""
    return outer if old is new else map_children(outer, lambda child: new if child is old else child)
