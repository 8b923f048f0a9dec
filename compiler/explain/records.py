"""An explanation as plain values, for JSON. Keys are a promise: docs/reference/explain.md lists them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict

from neelc.cost.estimate import Estimate
from neelc.explain.explanation import Explanation, PlanNode, Report
from neelc.explain.network import NetworkExplanation

Record = dict[str, object]


def as_json(report: Report, mode: str) -> str:
    """The report as one JSON object; a mode leaves out what belongs to others."""
    return json.dumps(report_record(report, mode), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def report_record(report: Report, mode: str) -> Record:
    return {
        "file": report.file,
        "queries": [_query(explanation, mode) for explanation in report.queries],
        "networks": [_network(network) for network in report.networks],
        "sharing": [asdict(group) for group in report.sharing],
        "notes": list(report.notes),
    }


def _network(network: NetworkExplanation) -> Record:
    return {**asdict(network), "plan": plan_record(network.plan)}


def _query(explanation: Explanation, mode: str) -> Record:
    record: Record = {"name": explanation.name, "text": explanation.text, "chosen": explanation.chosen}
    for name, part in PARTS.items():
        if mode in ("all", name):
            record.update(part(explanation))
    return record


def _simple(explanation: Explanation) -> Record:
    return {
        "why": explanation.why,
        "plan": plan_record(explanation.plan),
        "bounds": asdict(explanation.bounds),
        "execution": asdict(explanation.execution),
        "held": explanation.held,
        "hopeless": explanation.hopeless,
        "lints": [
            {"code": lint.code, "message": lint.message, "hint": lint.hint} for lint in explanation.lints
        ],
    }


def plan_record(node: PlanNode) -> Record:
    return {
        "kind": node.kind,
        "title": node.title,
        "details": [{"label": label, "text": text} for label, text in node.details],
        "rows": node.rows,
        "is_assumed": node.is_assumed,
        "inputs": [plan_record(source) for source in node.inputs],
    }


def _rewriting(explanation: Explanation) -> Record:
    return {
        "steps": [asdict(step) for step in explanation.steps],
        "refusals": [asdict(refusal) for refusal in explanation.refusals],
        "shortcuts": [asdict(shortcut) for shortcut in explanation.shortcuts],
    }


def _cost(explanation: Explanation) -> Record:
    alternatives = [
        {
            "name": alternative.name,
            "chosen": alternative.chosen,
            "baseline": alternative.baseline,
            "ratio": alternative.ratio,
            "query": alternative.query,
            "estimate": _estimate(alternative.estimate),
        }
        for alternative in explanation.alternatives
    ]
    return {"alternatives": alternatives, "facts": [asdict(fact) for fact in explanation.facts]}


def _estimate(estimate: Estimate) -> Record:
    return {
        "work": estimate.work,
        "rows_scanned": estimate.rows_scanned,
        "bytes_shuffled": estimate.bytes_shuffled,
        "rows_sorted": estimate.rows_sorted,
        "partial_matches": estimate.partial_matches,
        "held": estimate.held,
        "rows_produced": estimate.rows_produced,
        "items": [{"what": item.what, "work": item.work} for item in estimate.items],
        "steps": [asdict(step) for step in estimate.steps],
    }


def _automaton(explanation: Explanation) -> Record:
    return {"automaton": asdict(explanation.automaton)}


PARTS: Mapping[str, Callable[[Explanation], Record]] = {
    "simple": _simple,
    "rewrite": _rewriting,
    "cost": _cost,
    "nfa": _automaton,
}
