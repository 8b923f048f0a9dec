"""How result columns are called when no alias says so: `var_attr`, else the text as Spark would write it."""

from __future__ import annotations

from neelc.ir import expr as e
from neelc.ir.names import bare

# Functions whose name Spark writes in capitals when they are called by it.
_LOUD = ("ceil", "power", "rlike")


def output_name(node: e.Expr) -> str:
    """The name of the column of an expression, as the parser left it.

    >>> from neelc.parse import expression
    >>> [output_name(expression(x)) for x in ("a.price", "b[last].price", "k[].a.id", "a", "match_start")]
    ['a_price', 'b_price', 'k_a_id', 'a', 'match_start']
    >>> [output_name(expression(x)) for x in ("count(*)", "a.x + 1", "Upper(a.n) || '!'", "a.x <> 1")]
    ['count(1)', '(a.x + 1)', 'concat(upper(a.n), !)', '(NOT (a.x = 1))']
    """
    words = _path(node)
    return spark_text(node) if words is None else "_".join(bare(word) for word in words)


def _path(node: e.Expr) -> tuple[str, ...] | None:
    """The names a reference is made of, without its indexes; None for what is no reference."""
    match node:
        case e.Name(parts):
            return parts
        case e.Member(base, name):
            path = _path(base)
            return None if path is None else (*path, name)
        case e.Subscript(base) | e.Slice(base):
            return _path(base)
    return None


def spark_text(node: e.Expr) -> str:
    """The text that names the column of an expression in Spark; variables stand for columns of structs."""
    match node:
        case e.Literal(value):
            return _literal(node) if not isinstance(value, str) or str(node)[0] != "'" else value
        case e.Name(parts):
            return ".".join(bare(part) for part in parts)
        case e.Member(base, name):
            return f"{spark_text(base)}.{bare(name)}"
        case e.Subscript(base, index):
            return f"{spark_text(base)}[{index if isinstance(index, e.Binary) else spark_text(index)}]"
        case e.Slice(base, upper):
            return f"{spark_text(base)}[{'' if upper is None else f'..{upper}'}]"
        case e.Unary(op, operand):
            return f"~{spark_text(operand)}" if op == "~" else f"({op} {spark_text(operand)})"
        case e.Binary("||", left, right):
            return f"concat({spark_text(left)}, {spark_text(right)})"
        case e.Binary("<>", left, right):
            return f"(NOT ({spark_text(left)} = {spark_text(right)}))"
        case e.Binary(op, left, right):
            return f"({spark_text(left)} {op.lower()} {spark_text(right)})"
        case e.Conjunction(operands):
            return _chained("AND", operands)
        case e.Disjunction(operands):
            return _chained("OR", operands)
        case e.Negation(operand):
            return f"(NOT {spark_text(operand)})"
        case e.Cast(operand, kind, safe):
            return f"{'TRY_CAST' if safe else 'CAST'}({spark_text(operand)} AS {kind})"
        case e.Extract(field, operand):
            return f"extract({field} FROM {spark_text(operand)})"
        case e.Call():
            return _call(node)
        case e.Filtered(call, condition):
            return f"{spark_text(call)} FILTER (WHERE {spark_text(condition)})"
        case e.Case():
            return _case(node)
    return _predicate(node)


def _literal(node: e.Literal) -> str:
    match node.value:
        case bool():
            return str(node.value).lower()
        case int() | float():
            return str(node.value)
    return str(node)


def _chained(word: str, operands: tuple[e.Expr, ...]) -> str:
    """Spark joins two at a time, from the left."""
    text = spark_text(operands[0]) if operands else ""
    for operand in operands[1:]:
        text = f"({text} {word} {spark_text(operand)})"
    return text


def _call(node: e.Call) -> str:
    name = bare(node.name).lower()
    arguments = ["1" if isinstance(a, e.Star) else spark_text(a) for a in node.arguments]
    text = f"{'DISTINCT ' if node.distinct else ''}{', '.join(arguments)}"
    if name == "if":
        return f"(IF({text}))"
    return f"{name.upper() if name in _LOUD else name}({text})"


def _case(node: e.Case) -> str:
    whens = []
    for when in node.whens:
        test = spark_text(when.condition)
        test = test if node.operand is None else f"({spark_text(node.operand)} = {test})"
        whens.append(f"WHEN {test} THEN {spark_text(when.result)}")
    otherwise = "" if node.otherwise is None else f" ELSE {spark_text(node.otherwise)}"
    return f"CASE {' '.join(whens)}{otherwise} END"


def _predicate(node: e.Expr) -> str:
    negated = False
    match node:
        case e.Between(operand, low, high, negated):
            text = f"between({spark_text(operand)}, {spark_text(low)}, {spark_text(high)})"
        case e.InList(operand, items, negated):
            text = f"({spark_text(operand)} IN ({', '.join(map(spark_text, items))}))"
        case e.Like(operand, pattern, "LIKE", escape, negated):
            ending = "" if escape is None else f" ESCAPE '{escape}'"
            text = f"{spark_text(operand)} LIKE {spark_text(pattern)}{ending}"
        case e.Like(operand, pattern, kind, _, negated):
            text = f"{'RLIKE' if kind == 'RLIKE' else 'ilike'}({spark_text(operand)}, {spark_text(pattern)})"
        case e.IsNull(operand, negated) | e.IsTruth(operand, None, negated):
            return f"({spark_text(operand)} IS {'NOT ' if negated else ''}NULL)"
        case e.IsTruth(operand, value, negated):
            text = f"({spark_text(operand)} <=> {str(value).lower()})"
        case e.IsDistinct(left, right, is_same):
            text, negated = f"({spark_text(left)} <=> {spark_text(right)})", not is_same
        case _:
            text = str(node)
    return f"(NOT {text})" if negated else text
