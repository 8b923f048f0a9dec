"""Relations between an element of a list and the one before it: which of them are transitive.

Of a list in which a transitive relation holds for all neighbours, it holds for the neighbours of every part:
what stood between two elements is skipped step by step.
"""

from __future__ import annotations

from neelc.ir import expr as e
from neelc.ir.node import Node, transform, walk
from neelc.plan.consistency_shape import PER_PAIR, Shape, is_current, shapes
from neelc.plan.consistency_values import number

COMPLEMENT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>", "<=>": "<=>"}
ORDERS = ("<", "<=", ">", ">=", "=", "<=>")


def is_adjacent(condition: e.Expr) -> bool:
    """Whether a condition relates elements to the ones before them, and mentions nothing else but single
    variables."""
    found = dict(shapes(condition)).values()
    return len(found) == 1 and all(Shape.ADJACENT in shape and shape in PER_PAIR for shape in found)


def is_transitive(condition: e.Expr) -> bool:
    """Whether an adjacent condition that holds for x, y and for y, z holds for x, z.

    >>> from neelc.rewrite.examples import query
    >>> def transitive(text: str) -> bool:
    ...     return is_transitive(query(f"SEQ(A a, B+ b[]) WHERE {text}").pattern.where)
    >>> transitive("b[i].x >= b[i-1].x"), transitive("b[i-1].x * a.x < b[i].x * a.x")
    (True, True)
    >>> transitive("b[i].n > b[i-1].n + 1"), transitive("b[i].n < b[i-1].n + 1")
    (True, False)
    >>> transitive("b[i].x <> b[i-1].x"), transitive("b[i].x > b[i-1].n"), transitive("b[i].x > a.x")
    (False, False, False)
    """
    return is_adjacent(condition) and _is_transitive(condition)


def _is_transitive(condition: e.Expr) -> bool:
    if not (_mentions(condition, 0) and _mentions(condition, -1)):
        return True  # of y alone, or of x alone: the relation says of x, z what it said before
    match condition:
        case e.Conjunction(operands):
            return all(_is_transitive(operand) for operand in operands)
        case e.Negation(e.Binary(op, left, right)) if op in COMPLEMENT:
            return _is_order(COMPLEMENT[op], left, right)
        case e.Binary(op, left, right):
            return _is_order(op, left, right)
        case e.IsDistinct(left, right, negated=True):
            return _is_order("<=>", left, right)
    return False


def _is_order(op: str, left: e.Expr, right: e.Expr) -> bool:
    """Whether both sides are the same for their elements, in one of Spark's orders: those are total, NaN
    included, and TRUE of no NULL. Or almost the same: from y > x + c and z > y + c follows z > x + c if c is
    not negative, since y + c >= y however it is rounded."""
    if _mentions(left, -1):
        op, left, right = MIRROR.get(op, ""), right, left
    if op not in ORDERS or _mentions(left, -1) or _mentions(right, 0):
        return False
    before = _shifted(left)
    match op, right:
        case ((">" | ">="), e.Binary("+", base, step)) | (("<" | "<="), e.Binary("-", base, step)):
            least = number(step)
            return right == before or (base == before and least is not None and least >= 0)
    return right == before


def _mentions(node: Node, offset: int) -> bool:
    return any(isinstance(ref, e.Index) and ref.offset == offset for ref in walk(node))


def _shifted(expression: e.Expr) -> Node:
    """The expression of `b[i]` as one of `b[i-1]`."""

    def change(node: Node) -> Node | None:
        match node:
            case e.At(base) if is_current(node):
                return e.At(base, e.Index("CURRENT", -1))
        return None

    return transform(expression, change)
