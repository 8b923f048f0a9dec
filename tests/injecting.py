"""Queries with odd names, texts and parameters, and the outline of what they are compiled to.

The outline of a source is its syntax tree without the texts in it; of a text that Spark reads as SQL, the
kinds of its tokens stay. So a name that breaks out of its quotes, in Python or in SQL, changes the outline.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

import sqlglot

from neelc.arguments import ExecutionStrategy, Options
from neelc.engines.spark.compiled import CompiledScript
from neelc.ir.names import quote
from neelc.ir.program import Program
from neelc.pipeline import compile_program
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import read

PLAIN = "a plain name"
BREAKING = "'); import os; os.system('touch pwned')#"
ODD = (
    "it's", 'say "x"', "a`b", "``", "back\\slash", "ends with \\", "\\'", "new\nline", "\r", "\t", "\x0c",
    '"""', "'''", "'", '"', "#", "# x\nimport os", "\n# coding: utf-7\n+AGE-", "--", "/*", "*/", ";", ")",
    "%s", "{}", "{title}", "%(x)s", "${env:HOME}", "${spark.app.name}", "$\\{x}", "$", "\0", "\u2028",
    "\x85", "\x1b[2J", "\u202e", "名前", "\U0001f600", BREAKING, "`) AS x, (SELECT 1)", "' or '1' = '1",
    "a.b", "*",
)  # fmt: skip

# All that emitted source calls: methods of DataFrames and readers, and what a kernel's program is made of.
METHODS = frozenset(
    "agg alias cast columns distinct expr format groupBy join load mapInArrow option repartition schema "
    "selectExpr sortWithinPartitions unionByName where withMetadata".split()
)
# Methods whose texts Spark reads as SQL.
OF_SQL = frozenset({"where", "selectExpr", "expr"})


def keyed(odd: str) -> str:
    """A query with a key, a negation, conditions between events, nested fields and a parameter; every name
    in it ends in `odd`, and every text is `odd`."""
    names = {key: quote(f"{key} {odd}") for key in "STUVabckpnfoxy"}
    text = "'" + odd.replace("'", "''") + "'"
    return """
    CREATE STREAM {S} (ts BIGINT, {k} STRING, {p} STRING, {n} STRUCT<{f}: STRING>)
      TIMESTAMP BY ts TYPE BY {k} FROM {text} OPTIONS ({o} {text});
    PATTERN SEQ({T} {a}, !{U} {b}, {V} {c})
    WHERE {a}.{p} = :p AND {a}.{n}.{f} = {c}.{n}.{f} AND {b}.{p} <> {c}.{p} AND {c}.{p} || {text} <> {text}
    WITHIN 10
    RETURN {a}.{p} AS {o}, {c}.{n}.{f} AS {x}, {c}, {text} AS {y}
    """.format(text=text, **names)


def chosen(odd: str) -> str:
    """A query of two streams with an OR, and groups."""
    names = {key: quote(f"{key} {odd}") for key in "RSTVabcdkpoq"}
    return """
    CREATE STREAM {S} (ts BIGINT, {k} STRING, {p} INT) TIMESTAMP BY ts TYPE BY {k};
    CREATE STREAM {R} (ts BIGINT, {p} INT) TIMESTAMP BY ts;
    CREATE QUERY {q} AS PATTERN SEQ({T} {a}, OR({V} {b}, {R} {c})) WITHIN 10 RETURN {a}.{p} AS {p}, {b}, {c};
    PATTERN {q} {d} RETURN {d}.{p} AS {o}, {d}.{b}.{p} AS {k}
    """.format(**names)


def alone(odd: str) -> str:
    """A single event and what must not be near it: window functions can do that."""
    names = {key: quote(f"{key} {odd}") for key in "STUabkpo"}
    return """
    CREATE STREAM {S} (ts BIGINT, {k} STRING, {p} STRING) TIMESTAMP BY ts TYPE BY {k};
    PATTERN SEQ({T} {a}, !{U} {b}) WHERE {b}.{p} = 'x' WITHIN 10 RETURN {a}.{p} AS {o}
    """.format(**names)


QUERIES = {
    ("kernel", "keyed"): keyed,
    ("join", "keyed"): keyed,
    ("kernel", "chosen"): chosen,
    ("join", "chosen"): chosen,
    ("window", "alone"): alone,
}


def bound(text: str, parameter: str) -> Program:
    source = Source(text)
    arguments = {"p": parameter} if ":p" in text else {}
    return bind(read(source), source, (), arguments)


def compiled(query: tuple[str, str], odd: str) -> CompiledScript:
    """One of `QUERIES`, with odd names."""
    program = bound(QUERIES[query](odd), odd)
    return compile_program(program, -1, Options(ExecutionStrategy(query[0])))


def outline(source: str) -> str:
    """What is left of a source if all that users write is taken away. It is read from bytes, as from a file:
    a line that names another encoding would count."""
    tree = _Outline().visit(ast.parse(source.encode()))
    return ast.dump(tree)


class _Outline(ast.NodeTransformer):
    """Texts become nothing, or the kinds of their tokens; names of variables become numbers."""

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.known: dict[str, str] = {}
        self.of_sql: set[ast.Constant] = set()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr in OF_SQL:
            for argument in node.args:
                if isinstance(argument, ast.Constant):
                    self.of_sql.add(argument)
                    argument.value = " ".join(kinds(str(argument.value)))
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and node not in self.of_sql:
            node.value = ""
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.known:
            self.known[node.id] = f"name_{next(self.numbers)}"
        node.id = self.known[node.id]
        return node


def kinds(text: str) -> tuple[str, ...]:
    """The kinds of the tokens of Spark SQL; a name is a name, quoted or not.

    >>> kinds("r.`a b` = 'x'") == kinds("r.a = 'it\\\\'s'") == kinds("r['$\\\\{x}'] = '--'")
    True
    """
    found = [token.token_type.name for token in sqlglot.tokenize(text, dialect="spark")]
    texts = [token.text for token in sqlglot.tokenize(text, dialect="spark")]
    return tuple(_named(found, texts))


def _named(found: list[str], texts: list[str]) -> Iterator[str]:
    """Names that must not stand between backticks are written `IDENTIFIER('...')`, fields `['...']`."""
    at = 0
    while at < len(found):
        if texts[at] == "IDENTIFIER" and found[at + 1 : at + 4] == ["L_PAREN", "STRING", "R_PAREN"]:
            yield "NAME"
            at += 4
        elif found[at : at + 3] == ["L_BRACKET", "STRING", "R_BRACKET"]:
            yield from ("DOT", "NAME")
            at += 3
        else:
            yield "NAME" if found[at] in ("VAR", "IDENTIFIER") else found[at]
            at += 1


def calls(source: str) -> Iterator[str]:
    """What a source calls: functions by name, methods with a dot before it."""
    for node in ast.walk(ast.parse(source.encode())):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name):
                    yield name
                case ast.Attribute(attr=name):
                    yield f".{name}"
                case _:
                    yield ast.unparse(node.func)


def texts(source: str) -> set[str]:
    """All texts in a source."""
    nodes = ast.walk(ast.parse(source.encode()))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
