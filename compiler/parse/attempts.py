"""Whether a text is a statement, when nobody asks why not: reasons take longer to find than the answer."""

from __future__ import annotations

from antlr4 import PredictionMode
from antlr4.error.Errors import ParseCancellationException

from neelc.ir.script import Statement
from neelc.parse import statements
from neelc.parse.problem import Problem
from neelc.parse.syntax import attempt
from neelc.parse.tokens import limit_problem, stray_tokens, tokens_of


def statement_or_none(text: str) -> Statement | None:
    """The one statement that the text is, without a semicolon; no reasons are given for None.

    >>> print(statement_or_none("PATTERN SEQ(A a, B b)").query.pattern)
    SEQ(A a, B b)
    >>> statement_or_none("PATTERN SEQ(A a, ") is None
    True
    """
    tokens = tokens_of(text)
    visible = [token for token in tokens if token.channel == 0]
    if stray_tokens(tokens) or limit_problem(visible) is not None or not visible:
        return None
    try:
        return statements.statement(attempt(visible, "singleStatement", PredictionMode.SLL).statement())
    except (ParseCancellationException, Problem):
        return None
