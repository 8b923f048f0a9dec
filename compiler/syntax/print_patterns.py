r"""The text of event patterns and windows.

>>> from neelc.ir.expressions import Literal
>>> from neelc.ir.patterns import Event, Not, Repeat, Seq, Window
>>> from neelc.ir.types import INT
>>> print(Seq((Event("A", "a"), Not(Event("B", "b")), Repeat(Event("C"), 1, None, "c"))))
SEQ(A a, !B b, C+ c[])
>>> print(Repeat(Seq((Event("A", "a"),), within=Window(Literal(5, INT), "SECOND")), 1, None, "k"))
(SEQ(A a) WITHIN 5 SECONDS)+ k[]

The text of row patterns, temporal patterns and of the clauses they stand in.

>>> from neelc.ir.row_patterns import RowAlternation, RowRepeat, RowSequence, RowVariable
>>> a, b = RowVariable("A"), RowVariable("B")
>>> print(RowSequence((a, RowRepeat(RowAlternation((a, b)), 1, None, reluctant=True), b)))
A (A | B)+? B
>>> from neelc.ir.row_patterns import AbsentSymbol, Instants, TemporalPattern
>>> from neelc.ir.row_patterns import TemporalRelation, TemporalRelations
>>> met = TemporalRelation((Instants(("A",)), Instants(("A", "B")), Instants(("B",))))
>>> print(TemporalPattern((TemporalRelations((met, met)), AbsentSymbol("C"))))
(AA.BB;AA.BB), !C

The text of types and of scalar expressions, with no more parentheses than it needs to be read back.

>>> from neelc.ir.expressions import Binary, Literal, Name
>>> from neelc.ir.types import INT
>>> a, one = Name(("a",)), Literal(1, INT)
>>> print(Binary("*", Binary("+", a, one), a), Binary("-", a, Binary("-", a, one)), sep=";  ")
(a + 1) * a;  a - (a - 1)

The text of constants.

>>> import decimal
>>> from neelc.ir import types as t
>>> print(Literal(5, t.BIGINT), Literal(1.5, t.DOUBLE), Literal(decimal.Decimal("1.50"), t.Decimal(3, 2)))
5L 1.5D 1.50
>>> print(Literal("it's", t.STRING), Literal(b"\x1f", t.BINARY), Literal("2020-01-01", t.DATE))
'it''s' X'1F' DATE '2020-01-01'

The text of what MEASURES and DEFINE say about rows, as they could be written.

>>> from neelc.ir.expressions import AtRow, Attribute, OverRows, Variable
>>> from neelc.ir.types import BIGINT, INT
>>> price = Attribute(Variable("row"), "price", INT)
>>> print(AtRow(INT, price), AtRow(INT, price, ("A",), "FIRST", 2, -1, final=True), sep="; ")
price; PREV(FINAL FIRST(A.price, 2), 1)
>>> print(OverRows(BIGINT, "count", None, ("A",)), OverRows(INT, "sum", price), sep="; ")
count(A.*); sum(price)
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir import row_patterns as r
from neelc.ir import row_patterns as temporal
from neelc.ir import types as t
from neelc.ir.expressions import (
    ROW,
    AtRow,
    Attribute,
    Classifier,
    ConstantRowValue,
    Expr,
    Literal,
    MatchNumber,
    Name,
    OverRows,
    RowValue,
    Variable,
)
from neelc.ir.names import written
from neelc.ir.node import Node, transform
from neelc.ir.patterns import Window
from neelc.ir.script import FromStream
from neelc.ir.types import SimpleType
from neelc.runtime.late_dataclass import dataclass

# The text of types and of scalar expressions, with no more parentheses than it needs to be read back.

# The text of constants.

_INTEGER_SUFFIX = {"TINYINT": "Y", "SMALLINT": "S", "BIGINT": "L"}


def quoted(text: str) -> str:
    """A string literal. Backslashes stand for themselves.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def show_literal(node: Literal) -> str:
    name = node.type.name if isinstance(node.type, SimpleType) else ""
    match node.value:
        case None:
            return "NULL"
        case bool(value):
            return "TRUE" if value else "FALSE"
        case int(value):
            return f"{value}{_INTEGER_SUFFIX.get(name, '')}"
        case float(value):
            return _show_float(value, name)
        case decimal.Decimal() as value:
            text = format(value, "f")
            return text if "." in text else f"{text}BD"
        case bytes(value):
            return f"X'{value.hex().upper()}'"
        case str(value):
            return quoted(value) if name == "STRING" else f"{name} {quoted(value)}"


def _show_float(value: float, name: str) -> str:
    if not math.isfinite(value):  # there is no literal for these; the binder may have folded one
        word = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{word}' AS {name})"
    mantissa, mark, exponent = repr(value).partition("e")
    text = f"{mantissa}E{int(exponent)}" if mark else mantissa
    if name == "FLOAT":
        return f"{text}F"
    return text if mark else f"{text}D"


# The text of what MEASURES and DEFINE say about rows, as they could be written.


def show_row_value(node: RowValue) -> str:
    match node:
        case AtRow():
            return _at_row(node)
        case ConstantRowValue(_, argument):
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


# How tightly each form binds; an operand that binds less tightly than its place asks for gets parentheses.
ANY, OR, AND, NOT, PREDICATE, BIT_OR, BIT_XOR, BIT_AND, ADD, MULTIPLY, UNARY, ATOM, POSTFIX = range(13)

_OPERATORS = {
    **dict.fromkeys(e.COMPARISONS, PREDICATE),
    "|": BIT_OR,
    "^": BIT_XOR,
    "&": BIT_AND,
    **dict.fromkeys(("+", "-", "||"), ADD),
    **dict.fromkeys(("*", "/", "%", "DIV"), MULTIPLY),
}
_BINDING: dict[type[e.Expr], int] = {
    e.Disjunction: OR,
    e.Conjunction: AND,
    e.Negation: NOT,
    **dict.fromkeys((e.Between, e.InList, e.InQuery, e.Like, e.IsNull, e.IsTruth, e.IsDistinct), PREDICATE),
    **dict.fromkeys((e.AllenRelation, e.RelatedEvents), PREDICATE),
    e.Unary: UNARY,
    # These stand on their own, but `5.x` or `INTERVAL '1' DAY[0]` would be read as something else.
    **dict.fromkeys((e.Literal, e.Interval, e.Case, e.RunningFinal, e.FilteredCall, e.NestedQuery), ATOM),
    **dict.fromkeys((e.SameAttributes, e.SameLevels, e.Star, e.Parameter), ATOM),
}


def binding(node: e.Expr) -> int:
    """How tightly the text of `node` holds together."""
    match node:
        case e.Binary(op):
            return _OPERATORS[op]
        case e.Cast(operand, implicit=True):
            return binding(operand)
        case e.Literal() if show_literal(node).startswith("-"):
            return UNARY  # only the binder makes these: in a text, -5 is the negation of 5
        case _:
            return _BINDING.get(type(node), POSTFIX)


def show_expr(node: e.Expr, place: int = ANY) -> str:
    """The text of `node`, in parentheses if it binds less tightly than `place`."""
    text = _show(node)
    return f"({text})" if binding(node) < place else text


def _show(node: e.Expr) -> str:
    match node:
        case e.Literal():
            return show_literal(node)
        case e.Interval(parts):
            return "INTERVAL " + " ".join(map(show_interval_part, parts))
        case e.Parameter(name):
            return f":{name}"
        case e.Star(qualifier):
            return f"{qualifier}.*" if qualifier else "*"
        case e.SameAttributes(attributes):
            return f"[{', '.join(attributes)}]"
        case e.SameLevels(items):
            return f"[{', '.join(map(str, items))}]"
        case e.Unary(op, operand):
            text = show_expr(operand, UNARY)
            # Two minus signs would begin a comment.
            return f"{op}({text})" if op == "-" and text.startswith("-") else op + text
        case e.Binary(op, left, right):
            return _binary(op, left, right)
        case e.AllenRelation(left, relation, right):
            return f"{show_expr(left, BIT_OR)} {relation} {show_expr(right, BIT_OR)}"
        case e.RelatedEvents(_, left, relation, right):
            return f"{show_event(left)} {relation} {show_event(right)}"
        case e.Conjunction(operands):
            return " AND ".join(show_expr(o, NOT) for o in operands)
        case e.Disjunction(operands):
            return " OR ".join(show_expr(o, AND) for o in operands)
        case e.Negation(operand):
            return f"NOT {show_expr(operand, NOT)}"
        case e.Between() | e.InList() | e.InQuery() | e.Like() | e.IsNull() | e.IsTruth() | e.IsDistinct():
            return _predicate(node)
        case (
            e.Case()
            | e.Cast()
            | e.Extract()
            | e.Call()
            | e.Lambda()
            | e.LambdaParameter()
            | e.RunningFinal()
            | e.FilteredCall()
            | e.Aggregate()
        ):
            return _function(node)
        case e.NestedQuery(text, exists):
            return f"{'EXISTS ' if exists else ''}({text})"
        case _:
            return _reference(node)


def show_level_name(node: e.LevelName) -> str:
    return f"{node.hierarchy}.{node.level}"


def show_shared_level(node: e.SharedLevel) -> str:
    """
    >>> print(e.SharedLevel("home", e.LevelName("Place", "city"), e.LevelName("Place", "street")))
    level(home, Place.street, Place.city)
    """
    levels = [show_level_name(one) for one in (node.of, node.target) if one is not None]
    return f"level({', '.join((node.attribute, *levels))})"


def _binary(op: str, left: e.Expr, right: e.Expr) -> str:
    place = _OPERATORS[op]
    # Comparisons do not associate; everything else does, to the left.
    return f"{show_expr(left, place + (place == PREDICATE))} {op} {show_expr(right, place + 1)}"


def _predicate(node: e.Expr) -> str:
    match node:
        case e.Between(operand, low, high, negated):
            test = f"BETWEEN {show_expr(low, BIT_OR)} AND {show_expr(high, BIT_OR)}"
        case e.InList(operand, items, negated):
            test = f"IN ({', '.join(map(show_expr, items))})"
        case e.InQuery(operand, query, negated, others=others) if others:
            several = ", ".join(map(show_expr, (operand, *others)))
            return f"({several}) {'NOT ' if negated else ''}IN ({query.text})"
        case e.InQuery(operand, query, negated):
            test = f"IN ({query.text})"
        case e.Like(operand, pattern, kind, escape, negated):
            ending = "" if escape is None else f" ESCAPE {quoted(escape)}"
            test = f"{kind} {show_expr(pattern, BIT_OR)}{ending}"
        case e.IsNull(operand, negated):
            test = "NULL"
        case e.IsTruth(operand, value, negated):
            test = {True: "TRUE", False: "FALSE", None: "UNKNOWN"}[value]
        case e.IsDistinct(operand, right, negated):
            test = f"DISTINCT FROM {show_expr(right, BIT_OR)}"
        case _:
            raise AssertionError(f"{type(node).__name__} is not a predicate")
    verb = "IS " if isinstance(node, e.IsNull | e.IsTruth | e.IsDistinct) else ""
    return f"{show_expr(operand, BIT_OR)} {verb}{'NOT ' if negated else ''}{test}"


def _function(node: e.Expr) -> str:
    match node:
        case e.Case(subject, whens, otherwise):
            words = ["CASE", *([show_expr(subject)] if subject else []), *map(show_when, whens)]
            return " ".join([*words, *([f"ELSE {show_expr(otherwise)}"] if otherwise else []), "END"])
        case e.Cast(operand, implicit=True):
            return _show(operand)
        case e.Cast(operand, target, safe):
            return f"{'TRY_CAST' if safe else 'CAST'}({show_expr(operand)} AS {show_type(target)})"
        case e.Extract(field, operand):
            return f"EXTRACT({field} FROM {show_expr(operand)})"
        case e.LambdaParameter(name):
            return written(name)
        case e.Lambda((name,), body):
            return f"{written(name)} -> {show_expr(body)}"
        case e.Lambda(names, body):
            return f"({', '.join(map(written, names))}) -> {show_expr(body)}"
        case e.Call(name, (e.Literal(str(unit)), *rest)) if name.lower() in e.WITH_UNITS and unit.isalpha():
            return f"{name}({', '.join([unit, *map(show_expr, rest)])})"
        case e.Call(name, arguments, distinct):
            return f"{name}({'DISTINCT ' if distinct else ''}{', '.join(map(show_expr, arguments))})"
        case e.RunningFinal(kind, operand):
            return f"{kind} {_show(operand)}"
        case e.FilteredCall(call, condition):
            return f"{_show(call)} FILTER (WHERE {show_expr(condition)})"
        case e.Aggregate(name, argument, distinct=distinct):
            return f"{name}({'DISTINCT ' if distinct else ''}{show_expr(argument) if argument else '*'})"
        case _:
            raise AssertionError(f"{type(node).__name__} is not written like a function")


def _reference(node: e.Expr) -> str:
    match node:
        case e.Name(parts):
            return ".".join(parts)
        case e.MemberAccess(base, name) | e.Field(base, name):
            return f"{show_expr(base, POSTFIX)}.{name}"
        case e.Subscript(base, index) | e.ElementAccess(base, index):
            return f"{show_expr(base, POSTFIX)}[{_show_subscript(index)}]"
        case e.Slice(base, upper):
            return f"{show_expr(base, POSTFIX)}[{f'..{_show_subscript(upper)}' if upper else ''}]"
        case e.Attribute(event, name) | e.EventTime(event, name):
            return f"{show_event(event)}.{name}"
        case e.WholeEvent(event):
            return show_event(event)
        case e.MatchProperty(name):
            return name
        case e.RowValue():
            return show_row_value(node)
        case _:
            raise AssertionError(f"{type(node).__name__} has no text")


def _show_subscript(index: e.Expr) -> str:
    """Places in a list are written tight, as the papers do: `b[i-1]`."""
    match index:
        case e.Binary("+" | "-" as op, e.Name((name,)), e.Literal() as offset) if binding(offset) == ATOM:
            return f"{name}{op}{show_expr(offset)}"
    return show_expr(index)


def show_event(ref: e.EventRef) -> str:
    """
    >>> before = e.ListElement(e.Variable("k"), e.Index("CURRENT", -1))
    >>> print(e.InnerVariable(before, "a"), e.EveryElement(e.Variable("b")))
    k[i-1].a b[]
    """
    match ref:
        case e.Variable(name):
            return name
        case e.ListElement(base, index):
            return f"{show_event(base)}[{show_index(index)}]"
        case e.EveryElement(base, upper):
            return f"{show_event(base)}[{f'..{show_index(upper)}' if upper else ''}]"
        case e.InnerVariable(base, name):
            return f"{show_event(base)}.{name}"
    raise AssertionError(f"{type(ref).__name__} has no text")


def show_index(index: e.Index) -> str:
    """
    >>> print(e.Index("FIRST"), e.Index("LAST", -1), e.Index("CURRENT"))
    1 last-1 i
    """
    if index.anchor == "FIRST":
        return str(index.offset + 1)
    return {"LAST": "last", "CURRENT": "i"}[index.anchor] + (f"{index.offset:+d}" if index.offset else "")


def show_when(when: e.CaseBranch) -> str:
    return f"WHEN {show_expr(when.condition)} THEN {show_expr(when.result)}"


def show_interval_part(part: e.IntervalPart) -> str:
    return f"{quoted(part.quantity)} {part.unit}" + (f" TO {part.to}" if part.to else "")


def show_type(node: t.DataType | t.StructField) -> str:
    """
    >>> print(t.Map(t.STRING, t.Array(t.Decimal(5, 2))))
    MAP<STRING, ARRAY<DECIMAL(5, 2)>>
    """
    match node:
        case t.SimpleType(name):
            return name
        case t.FormattedTimestamp():
            return "TIMESTAMP"
        case t.Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case t.Array(element):
            return f"ARRAY<{show_type(element)}>"
        case t.Map(key, value):
            return f"MAP<{show_type(key)}, {show_type(value)}>"
        case t.Struct(fields):
            return f"STRUCT<{', '.join(map(show_type, fields))}>"
        case t.StructField(name, inner):
            return f"{name}: {show_type(inner)}"
    raise AssertionError(f"{type(node).__name__} has no text")


# Text that is written on one line where it fits, and broken at its joints where it does not.
#
# Lines are made here and never cut again: a string literal may hold a newline of its own.

WIDTH = 100
INDENT = "  "


@dataclass(frozen=True)
class TextBlock:
    """`head`, the parts with a space between them, `tail`; broken, each part stands on its own line.

    Parts are indented under the head, if there is one. A tail that begins with `)` gets its own line when
    the block is broken. `always` blocks are broken even where they fit.
    """

    head: Doc
    parts: tuple[Doc, ...]
    tail: str = ""
    always: bool = False


Doc = str | TextBlock


def wrap(before: str, doc: Doc, after: str = "") -> Doc:
    """The same joints, with more text around them.

    >>> print(flat(wrap("!", TextBlock("SEQ(", ("A a,", "B b"), ")"), "+")))
    !SEQ(A a, B b)+
    """
    if isinstance(doc, str):
        return before + doc + after
    return replace(doc, head=wrap(before, doc.head), tail=doc.tail + after)


def commas(docs: Sequence[Doc]) -> tuple[Doc, ...]:
    """
    >>> commas(["a", "b", "c"])
    ('a,', 'b,', 'c')
    """
    return (*(wrap("", doc, ",") for doc in docs[:-1]), *docs[-1:])


def clause(keyword: str, docs: Sequence[Doc]) -> Doc:
    """`keyword a, b, c`.

    >>> print(flat(clause("RETURN", ["a.x", "b.y"])))
    RETURN a.x, b.y
    """
    if len(docs) == 1:
        return wrap(f"{keyword} ", docs[0])
    return TextBlock(f"{keyword} ", commas(docs))


def flat(doc: Doc) -> str:
    """The text on one line."""
    if isinstance(doc, str):
        return doc
    return flat(doc.head) + " ".join(map(flat, doc.parts)) + doc.tail


def render(doc: Doc, indent: str = "") -> str:
    """The text, broken where it must be or would be wider than `WIDTH`; the first line is not indented.

    >>> inner = TextBlock("SEQ(", ("B b,", "C c" * 40), ")+ k[],")
    >>> print(render(TextBlock("PATTERN SEQ(", ("A a,", inner, "D d"), ")")))  # doctest: +ELLIPSIS
    PATTERN SEQ(
      A a,
      SEQ(
        B b,
        C cC c...
      )+ k[],
      D d
    )
    """
    if isinstance(doc, str):
        return doc
    if not _must_break(doc) and len(indent) + len(line := flat(doc)) <= WIDTH:
        return line
    inner = indent + INDENT if doc.head else indent
    lines = [inner + render(part, inner) for part in doc.parts]
    if doc.head:
        lines.insert(0, render(doc.head, indent).rstrip())
    else:
        lines[0] = lines[0][len(inner) :]
    if doc.tail.startswith(")"):
        lines.append(indent + doc.tail)
    else:
        lines[-1] += doc.tail
    return "\n".join(lines)


def _must_break(doc: Doc) -> bool:
    return isinstance(doc, TextBlock) and (doc.always or any(map(_must_break, doc.parts)))


_SIGNS: dict[tuple[int, int | None], str] = {(1, None): "+", (0, None): "*"}


def show_pattern(node: p.Pattern) -> str:
    return flat(pattern_doc(node))


def as_written(part: p.Pattern) -> p.Pattern:
    """A bound part in which a component whose only name is its type's has no name again.

    >>> print(as_written(p.Seq((p.Event("A", "A"), p.Event("A", "A_2")))))
    SEQ(A, A A_2)
    """

    def change(node: Node) -> Node | None:
        match node:
            case p.Event(type, variable) if variable == type:
                return replace(node, variable=None)
        return None

    changed = transform(part, change)
    assert isinstance(changed, p.Pattern)
    return changed


def show_window(window: p.Window) -> str:
    """
    >>> from neelc.ir.types import INT
    >>> one, fifty = Literal(1, INT), Literal(50, INT)
    >>> print(p.Window(one, "SECOND"), p.Window(fifty, "EVENT"), p.Window(fifty))
    1 SECOND 50 EVENTS 50
    """
    count = show_expr(window.count)
    if window.unit is None:
        return count
    one = isinstance(window.count, Literal) and window.count.value == 1
    return f"{count} {window.unit}{'' if one else 'S'}"


def root_doc(node: p.Pattern) -> Doc:
    """A whole pattern. Its own window goes into parentheses, because the query's WITHIN may follow."""
    doc = pattern_doc(node)
    return wrap("(", doc, ")") if node.within else doc


def show_follow(word: p.FollowWord) -> str:
    """
    >>> show_follow(p.FollowWord(p.FollowKind.STRICT, ("A", "B")))
    'STRICT AMONG (A, B)'
    """
    return f"{word.kind} AMONG ({', '.join(word.among)})" if word.among else str(word.kind)


def pattern_doc(node: p.Pattern) -> Doc:
    """A part of a list: with the word before it, its condition and its window."""
    word = node.follow or _word_of_first(node)
    if word is not None:
        return wrap(f"{show_follow(word)} ", pattern_doc(_without_word(node)))
    doc = _with_condition(node)
    if node.within is None:
        return doc
    if isinstance(node, p.Not | p.Exists) and node.where is None:
        doc = wrap("(", doc, ")")  # else the window would belong to their part
    return wrap("", doc, f" WITHIN {show_window(node.within)}")


# A bound pattern has negations in the place of words; they are printed as the words.


def _word_of_first(node: p.Pattern) -> p.FollowWord | None:
    """The word that a bound part stands for: `SEQ(!B b_2, B b)` is `NEXT B b`."""
    match node:
        case p.Repeat(gaps=gaps):
            return next((gap.means for gap in gaps if gap.reach == p.GapReach.FIRST), None)
        case p.Seq((p.Not(means=p.FollowWord() as word), *_), where=None, within=None):
            return word if _is_one_part(node) else None
        case p.Not(p.Seq() as part, means=None, where=None, within=None):  # `STRICT !B b`
            return _word_of_first(part)
    return None


def _is_one_part(node: p.Seq) -> bool:
    *negations, last = node.parts
    return not isinstance(last, p.Not) and all(isinstance(one, p.Not) and one.means for one in negations)


def _without_word(node: p.Pattern) -> p.Pattern:
    if node.follow is not None:
        return replace(node, follow=None)
    if isinstance(node, p.Repeat):
        gaps = tuple(gap for gap in node.gaps if gap.means is None or gap.reach != p.GapReach.FIRST)
        return replace(node, gaps=gaps)
    if isinstance(node, p.Not):
        return replace(node, part=_without_word(node.part))
    return node.parts[-1] if isinstance(node, p.Seq) else node


def _with_words(parts: Sequence[p.Pattern]) -> Iterator[Doc]:
    """The parts of a list; negations that mean a word of the part after them are that word."""
    word: p.FollowWord | None = None
    for place, part in enumerate(parts):
        means = part.means if isinstance(part, p.Not) else None
        rest = (one for one in parts[place + 1 :] if not (isinstance(one, p.Not) and one.means == means))
        if means is not None and not isinstance(next(rest, part), p.Not):
            word = means
            continue
        yield pattern_doc(part) if word is None else wrap(f"{show_follow(word)} ", pattern_doc(part))
        word = None


def _with_condition(node: p.Pattern) -> Doc:
    match node:
        case p.Listing(parts):
            condition = () if node.where is None else (f"WHERE {show_expr(node.where)}",)
            return TextBlock(
                f"{p.KEYWORD_OF[type(node)]}(", (*commas([*_with_words(parts)]), *condition), ")"
            )
    doc = _without_condition(node)
    return doc if node.where is None else wrap("(", doc, f" : {show_expr(node.where)})")


def _without_condition(node: p.Pattern) -> Doc:
    match node:
        case p.Event(kind, variable):
            return f"{kind} {variable}" if variable else kind
        case p.Not(part):
            return wrap("!", _grouped(part) if part.within else pattern_doc(part))
        case p.Exists(variables, part):
            doc = _grouped(part) if part.within else pattern_doc(part)
            return wrap(f"EXISTS {', '.join(variables)} : ", doc)
        case p.Optional(p.Event(kind, str() as variable, where=None, within=None, follow=None)):
            return f"{kind}? {variable}"
        case p.Optional(part):
            return wrap("", _operand(part), "?")
        case p.Repeat(part, least, most, variable):
            name = f" {variable}[]" if variable else ""
            clauses = "".join(f" {clause}" for clause in _closure_clauses(node))
            return wrap("", _operand(part), show_quantifier(least, most) + name + clauses)
        case p.ClosureGap(part, reach):
            closed = part.where is not None and not isinstance(part, p.Listing) and part.within is None
            return f"{reach} {flat(pattern_doc(part) if closed else _grouped(part))}"
    raise AssertionError(f"{type(node).__name__} has no text")


def _closure_clauses(node: p.Repeat) -> Iterator[str]:
    if node.each is not None:
        yield f"EACH {show_follow(node.each)}"
    if node.each_within is not None:
        yield f"EACH WITHIN {show_window(node.each_within)}"
    words = (f"EACH {show_follow(gap.means)}" for gap in node.gaps if gap.means is not None)
    yield from dict.fromkeys(words)
    for gap in node.gaps:
        if gap.means is None:
            yield flat(_without_condition(gap))


def _operand(part: p.Pattern) -> Doc:
    """What a quantifier may follow: a type, an operator's list, or anything in parentheses."""
    closed = part.where is not None or isinstance(part, p.Listing)
    bare = isinstance(part, p.Event) and part.variable is None
    plain = part.within is None and part.follow is None
    return pattern_doc(part) if (closed or bare) and plain else _grouped(part)


def _grouped(part: p.Pattern) -> Doc:
    return wrap("(", pattern_doc(part), ")")


def show_quantifier(least: int, most: int | None) -> str:
    """
    >>> show_quantifier(1, None), show_quantifier(0, None), show_quantifier(2, 2), show_quantifier(0, 5)
    ('+', '*', '{2}', '{0,5}')
    """
    if sign := _SIGNS.get((least, most)):
        return sign
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


# The text of row patterns, temporal patterns and of the clauses they stand in.

_SEQUENCE, _TERM, _PRIMARY = 1, 2, 3


def show_row_pattern(node: r.RowPattern, place: int = 0) -> str:
    """The text of `node`, in parentheses if it binds less tightly than `place`."""
    match node:
        case r.RowAlternation(parts):
            binding, text = 0, " | ".join(show_row_pattern(part, _SEQUENCE) for part in parts)
        case r.RowSequence(parts):
            binding, text = _SEQUENCE, " ".join(show_row_pattern(part, _TERM) for part in parts)
        case r.RowRepeat(part, least, most, reluctant):
            sign = "?" if (least, most) == (0, 1) else show_quantifier(least, most)
            binding, text = _TERM, show_row_pattern(part, _PRIMARY) + sign + ("?" if reluctant else "")
        case r.RowVariable(name):
            binding, text = _PRIMARY, name
        case r.RowPermute(parts):
            binding, text = _PRIMARY, f"PERMUTE({', '.join(map(show_row_pattern, parts))})"
        case r.RowExclusion(part):
            binding, text = _PRIMARY, f"{{- {show_row_pattern(part)} -}}"
        case r.RowAnchor(kind):
            binding, text = _PRIMARY, kind
        case r.RowEmpty():
            binding, text = _PRIMARY, "()"
        case r.RowConjunction(parts):
            binding, text = _PRIMARY, f"({', '.join(map(show_row_pattern, parts))})"
        case r.RowNegation(part):
            binding, text = _PRIMARY, f"!{show_row_pattern(part, _PRIMARY)}"
        case _:
            raise AssertionError(f"{type(node).__name__} has no text")
    return f"({text})" if binding < place else text


def show_temporal(
    node: temporal.TemporalPattern
    | temporal.TemporalPart
    | temporal.TemporalRelation
    | temporal.NamedRelation
    | temporal.Instants,
) -> str:
    match node:
        case temporal.Instants(symbols):
            return ".".join(symbols)
        case temporal.TemporalRelation(steps):
            return "".join(map(show_temporal, steps))
        case temporal.TemporalRelations((choice,)):
            return show_temporal(choice)
        case temporal.TemporalRelations(choices):
            return f"({';'.join(map(show_temporal, choices))})"
        case temporal.NamedRelation(left, name, right):
            return f"{left} {name} {right}"
        case temporal.PresentSymbol(symbol):
            return symbol
        case temporal.AbsentSymbol(symbol):
            return f"!{symbol}"
        case temporal.TemporalPattern(parts):
            return ", ".join(map(show_temporal, parts))


def show_temporal_patterns(patterns: Sequence[temporal.TemporalPattern]) -> str:
    """A TPL: several patterns stand in parentheses, one alone does not."""
    texts = list(map(show_temporal, patterns))
    return texts[0] if len(texts) == 1 else "; ".join(f"({text})" for text in texts)


def show_output(output: r.Output) -> str:
    return show_expr(output.expression) + (f" AS {output.alias}" if output.alias else "")


def show_sort_item(item: r.SortItem) -> str:
    words = [show_expr(item.expression), *(["DESC"] if item.descending else [])]
    return " ".join([*words, *([f"NULLS {item.nulls}"] if item.nulls else [])])


def show_definition(definition: r.Definition) -> str:
    length = f" {show_duration(definition.duration)}" if definition.duration else ""
    return f"{definition.name} AS {show_expr(definition.condition)}{length}"


def show_duration(duration: r.SymbolDuration) -> str:
    match duration:
        case r.SymbolDuration(None, Window() as most):
            return f"DURATION AT MOST {show_window(most)}"
        case r.SymbolDuration(Window() as least, None):
            return f"DURATION AT LEAST {show_window(least)}"
        case r.SymbolDuration(Window() as least, Window() as most):
            return f"DURATION BETWEEN {show_window(least)} AND {show_window(most)}"
    return ""


def show_subset(subset: r.Subset) -> str:
    return f"{subset.name} = ({', '.join(subset.members)})"


def show_skip(skip: r.Skip) -> str:
    return f"AFTER MATCH SKIP {skip.kind}" + (f" {skip.variable}" if skip.variable else "")


def matcher_doc(node: r.MatchRecognize | r.MatchSequential | temporal.MatchTemporal) -> Doc:
    """`MATCH_RECOGNIZE (...)` and JEPC's two kinds of it."""
    partition = _clauses("PARTITION BY", list(map(show_expr, node.partition_by)))
    measures = _clauses("MEASURES", list(map(show_output, node.measures)))
    define = _clauses("DEFINE", list(map(show_definition, node.definitions)))
    within = _within(node.within)
    match node:
        case r.MatchRecognize():
            keyword, sort = "MATCH_RECOGNIZE", _clauses("ORDER BY", list(map(show_sort_item, node.order_by)))
            skip = [show_skip(node.skip)] if node.skip else []
            text = "" if node.pattern == r.RowEmpty() else show_row_pattern(node.pattern)
            subset = _clauses("SUBSET", list(map(show_subset, node.subsets)))
            measures = [*sort, *measures, *([node.rows] if node.rows else []), *skip]
            pattern = [f"PATTERN ({text})", *within, *subset]
        case r.MatchSequential():
            text = show_row_pattern(node.pattern)
            using: list[Doc] = [f"USING {show_following(node.following)}"] if node.following else []
            keyword, pattern = "MATCH_RECOGNIZE_SEQUENTIAL", [f"PATTERN {text}", *using, *within]
            streams = [one for one in node.streams if isinstance(one, FromStream)]
            partition = [*_clauses("FROM", list(map(_further_stream, streams))), *partition]
            measures += [show_skip(node.skip)] if node.skip else []
        case temporal.MatchTemporal(patterns):
            text = show_temporal_patterns(patterns)
            keyword, pattern = "MATCH_RECOGNIZE_TEMPORAL", [f"PATTERN {text}", *within]
            streams = [one for one in node.streams if isinstance(one, FromStream)]
            partition = [*_clauses("FROM", list(map(_further_stream, streams))), *partition]
    return TextBlock(f"{keyword} (", (*partition, *measures, *pattern, *define), ")", always=True)


def _further_stream(node: FromStream) -> str:
    return f"{node.name} AS {node.alias}" if node.alias else node.name


def show_following(node: r.Following) -> str:
    """
    >>> show_following(r.Following()), show_following(r.Following(eventually=True))
    ('DIRECTLY FOLLOWED BY', 'EVENTUALLY FOLLOWED BY')
    """
    if node.within is not None:
        return f"FOLLOWED BY WITHIN {show_window(node.within)}"
    return f"{'EVENTUALLY' if node.eventually else 'DIRECTLY'} FOLLOWED BY"


def _clauses(keyword: str, items: Sequence[str]) -> list[Doc]:
    return [clause(keyword, items)] if items else []


def _within(window: Window | None) -> list[Doc]:
    return [f"WITHIN {show_window(window)}"] if window else []
