"""RETURN: the columns of the result."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import write
from neelc.ir import expressions as e
from neelc.ir.expressions import is_many
from neelc.ir.names import bare, written
from neelc.ir.node import Node, children, walk
from neelc.ir.program import MATCH_NUMBER, OutputColumn
from neelc.ir.row_patterns import Output
from neelc.ir.script import Return
from neelc.ir.types import DOUBLE, VOID, Array
from neelc.pattern.bind.conditions import bind_expression
from neelc.pattern.bind.references import iteration_struct, struct_of
from neelc.pattern.bind.scopes import CLOSURE, EVENT, DeclaredVariable, ExpressionScope, lookup
from neelc.runtime.late_dataclass import dataclass

# How result columns are called when no alias says so: `var_attr`, else the text as Spark would write it.

# Functions whose name Spark writes in capitals when they are called by it.
_LOUD = ("ceil", "power", "rlike")


def output_name(node: e.Expr) -> str:
    """The name of the column of an expression, as the parser left it.

    >>> from neelc.syntax import expression
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
        case e.MemberAccess(base, name):
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
        case e.MemberAccess(base, name):
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
        case e.FilteredCall(call, condition):
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


@dataclass(frozen=True)
class Outputs:
    """The columns, and whether they hold aggregates over all matches."""

    columns: tuple[OutputColumn, ...]
    aggregated: bool = False


def bind_outputs(returns: Return | None, place: ExpressionScope, is_imprecise: bool) -> Outputs:
    """What RETURN lists, or one column for each variable and the time of the match."""
    if returns is None or not returns.items:
        columns = list(_default_columns(place, is_imprecise))
    else:
        columns = [c for item in returns.items for c in _columns_of(item, place, is_imprecise)]
    _report_duplicates(columns, place)
    aggregated = any(over_matches(column.expression) for column in columns)
    if aggregated:
        _refuse_numbers(columns, place)
    return Outputs(tuple(columns), aggregated)


def _refuse_numbers(columns: list[OutputColumn], place: ExpressionScope) -> None:
    for column in columns:
        if any(isinstance(node, e.MatchProperty) and node.name == MATCH_NUMBER for node in walk(column)):
            message = "`match_number` numbers matches, but a row with an aggregate stands for many"
            place.findings.report(
                "NEEL3035", message, column.span, "leave it out, or leave out the aggregates"
            )


def _default_columns(place: ExpressionScope, is_imprecise: bool) -> Iterator[OutputColumn]:
    for v in place.scopes.results():
        whole = _whole(v, place)
        if whole is not None:
            kind = whole.type if v.kind == EVENT else Array(whole.type)
            yield OutputColumn(bare(v.name), whole, kind)
    if place.clock is not None:
        for name in ("match_start", "match_end"):
            yield OutputColumn(name, e.MatchProperty(name, place.clock.type), place.clock.type)
    if is_imprecise:
        yield OutputColumn("confidence", e.MatchProperty("confidence", DOUBLE), DOUBLE)


def _whole(v: DeclaredVariable, place: ExpressionScope) -> e.WholeEvent | None:
    """A variable as a value: a struct, or for a list every one of its elements."""
    kind = iteration_struct(v, place) if v.kind == CLOSURE else struct_of(v, place)
    event: e.EventRef = e.Variable(v.name)
    return None if kind is None else e.WholeEvent(event if v.kind == EVENT else e.EveryElement(event), kind)


def _columns_of(item: Output, place: ExpressionScope, is_imprecise: bool) -> Iterator[OutputColumn]:
    match item.expression:
        case e.Star(None):
            yield from _default_columns(place, is_imprecise)
        case e.Star(str() as qualifier) as star:
            yield from _attributes(qualifier, star, place)
        case expression:
            column = _column(expression, item, place)
            if column is not None:
                yield column


def _attributes(name: str, star: e.Star, place: ExpressionScope) -> Iterator[OutputColumn]:
    """`a.*`: a column for each attribute of one event."""
    variable = lookup(name, place.findings.at(name, star), place)
    if variable is None:
        return
    if variable.kind != EVENT:
        message = f"`{variable.name}` is a list, and `{star}` does not say which element"
        place.findings.report(
            "NEEL3011", message, place.findings.at(star), write(f"{variable.name}[]", " for all of them")
        )
        return
    known = place.types.get(variable.type or "")
    for column in (one for one in known.type.columns if one.of is None) if known is not None else ():
        attribute = e.Attribute(e.Variable(variable.name), written(column.name), column.type, span=star.span)
        yield OutputColumn(f"{bare(variable.name)}_{column.name}", attribute, column.type, span=star.span)


def _column(expression: e.Expr, item: Output, place: ExpressionScope) -> OutputColumn | None:
    bound, kind, references = bind_expression(expression, place)
    span = place.findings.at(item, expression)
    if references.broken:
        return None
    if kind == VOID:
        if not place.findings.knows(span):
            message = "this column is always NULL and has no type"
            place.findings.report("NEEL2013", message, span, "give it one: CAST(NULL AS STRING)")
        return None
    if over_matches(bound) and _per_match(bound):
        message = "this mixes an aggregate over all matches with values of single matches"
        hint = "return them as separate columns: those without an aggregate form the groups"
        place.findings.report("NEEL3020", message, span, hint)
        return None
    name = output_name(expression) if item.alias is None else bare(item.alias)
    return OutputColumn(name, bound, kind, span=place.findings.at(item.alias, item))


def over_matches(node: Node) -> bool:
    """Whether the expression holds an aggregate over all matches."""
    if isinstance(node, e.Aggregate):
        return node.argument is None or not is_many(node.argument)
    return any(over_matches(child) for child in children(node))


def _per_match(node: Node) -> bool:
    """Whether the expression speaks of single matches outside its aggregates over all of them."""
    match node:
        case e.Aggregate():
            return not over_matches(node)
        case e.Attribute() | e.WholeEvent() | e.EventTime() | e.MatchProperty():
            return True
    return any(_per_match(child) for child in children(node))


def _report_duplicates(columns: list[OutputColumn], place: ExpressionScope) -> None:
    seen: dict[str, str] = {}
    for column in columns:
        key = column.name.casefold()
        if key in seen:
            message = f"two columns of the result are called `{column.name}`"
            hint = f"name one of them: AS {written(column.name + '_2')}"
            place.findings.report("NEEL2009", message, column.span, hint)
        seen[key] = column.name
