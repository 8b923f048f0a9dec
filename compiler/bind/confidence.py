"""WITH CONFIDENCE: a threshold between 0 and 1."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from neelc.bind.findings import Findings
from neelc.ir.expr import Literal
from neelc.ir.script import Confidence
from neelc.ir.types import DOUBLE


def bind_confidence(confidence: Confidence | None, findings: Findings) -> Confidence | None:
    """The clause with a threshold of type DOUBLE; None, after a report, if it is no probability.

    >>> from neelc.parse import expression
    >>> from neelc.source import Source
    >>> bind_confidence(Confidence(">=", expression("0.6")), Findings(Source(""))).threshold.value
    0.6
    """
    if confidence is None:
        return None
    span = findings.at(confidence.threshold, confidence)
    match confidence.threshold:
        case Literal(int() | float() | Decimal() as value) if not isinstance(value, bool):
            if 0 <= value <= 1:
                return replace(confidence, threshold=Literal(float(value), DOUBLE, span=span))
            message = f"a confidence is a probability, from 0 to 1, and {value} is not"
        case _ if findings.knows(span):  # a parameter without a value
            return None
        case _:
            message = "the threshold of a confidence is a number from 0 to 1"
    findings.report("NEEL3029", message, span, "for example WITH CONFIDENCE >= 0.6")
    return None
