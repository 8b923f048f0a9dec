"""The text of what MEASURES and DEFINE say about rows, as they could be written.

>>> from neelc.ir.expr import AtRow, Attribute, OverRows, Variable
>>> from neelc.ir.types import BIGINT, INT
>>> price = Attribute(Variable("row"), "price", INT)
>>> print(AtRow(INT, price), AtRow(INT, price, ("A",), "FIRST", 2, -1, final=True), sep="; ")
price; PREV(FINAL FIRST(A.price, 2), 1)
>>> print(OverRows(BIGINT, "count", None, ("A",)), OverRows(INT, "sum", price), sep="; ")
count(A.*); sum(price)
"""

from __future__ import annotations

from neelc.ir.node import Node, transform
from neelc.ir.refs import Attribute, Name, Variable
from neelc.ir.row_values import ROW, AtRow, Classifier, Given, MatchNumber, OverRows, RowValue
from neelc.ir.scalar import Expr


def show_row_value(node: RowValue) -> str:
    match node:
        case AtRow():
            return _at_row(node)
        case Given(_, argument):
            return _argument(argument, ())
        case OverRows(_, name, argument, variables, final, distinct):
            every = f"{'|'.join(variables)}.*" if variables else "*"
            inside = every if argument is None else _argument(argument, variables)
            return f"{'FINAL ' if final else ''}{name}({'DISTINCT ' if distinct else ''}{inside})"
        case Classifier():
            return "CLASSIFIER()"
        case MatchNumber():
            return "MATCH_NUMBER()"
    raise AssertionError(f"{type(node).__name__} has no text")


def _at_row(node: AtRow) -> str:
    text = _argument(node.argument, node.variables)
    if node.anchor == "FIRST" or node.place or node.final:
        distance = f", {node.place}" if node.place else ""
        text = f"{'FINAL ' if node.final else ''}{node.anchor}({text}{distance})"
    if node.shift:
        text = f"{'PREV' if node.shift < 0 else 'NEXT'}({text}, {abs(node.shift)})"
    return text


def _argument(argument: Expr, variables: tuple[str, ...]) -> str:
    qualifier = ("|".join(variables),) if variables else ()

    def change(node: Node) -> Node | None:
        match node:
            case Attribute(Variable(name), column) if name == ROW:
                return Name((*qualifier, column))
        return None

    return str(transform(argument, change))
