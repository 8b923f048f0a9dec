"""Our answers in the words of the language server protocol."""

from __future__ import annotations

from lsprotocol import types as lsp

from neelc.editors.document import Document
from neelc.editors.fixes import Fix
from neelc.editors.hovering import Hover
from neelc.editors.offers import Offer
from neelc.editors.problems import ERROR, INFORMATION, WARNING, Problem
from neelc.editors.symbols import Symbol
from neelc.source import Span

_SEVERITIES = {
    ERROR: lsp.DiagnosticSeverity.Error,
    WARNING: lsp.DiagnosticSeverity.Warning,
    INFORMATION: lsp.DiagnosticSeverity.Information,
}
_OFFERED = {
    "attribute": lsp.CompletionItemKind.Field,
    "function": lsp.CompletionItemKind.Function,
    "keyword": lsp.CompletionItemKind.Keyword,
    "stream": lsp.CompletionItemKind.Module,
    "type": lsp.CompletionItemKind.Class,
    "variable": lsp.CompletionItemKind.Variable,
}
_SYMBOLS = {
    "query": lsp.SymbolKind.Function,
    "relation": lsp.SymbolKind.Struct,
    "stream": lsp.SymbolKind.Class,
    "type": lsp.SymbolKind.Enum,
}


def offset(position: lsp.Position, document: Document) -> int:
    return document.places.offset(position.line, position.character)


def as_range(span: Span, document: Document) -> lsp.Range:
    """
    >>> found = as_range(Span(2, 4), Document("a\\nbc d"))
    >>> (found.start.line, found.start.character), (found.end.line, found.end.character)
    ((1, 0), (1, 2))
    """
    ends = (document.places.place(span.start), document.places.place(max(span.start, span.end)))
    start, end = (lsp.Position(line, unit) for line, unit in ends)
    return lsp.Range(start, end)


def as_diagnostic(problem: Problem, document: Document) -> lsp.Diagnostic:
    found = problem.diagnostic
    message = found.message + (f"\nhint: {found.hint}" if found.hint else "")
    severity = _SEVERITIES[problem.severity]
    return lsp.Diagnostic(as_range(found.span, document), message, severity, found.code, source="neelc")


def as_action(fix: Fix, uri: str, document: Document) -> lsp.CodeAction:
    edit = lsp.WorkspaceEdit({uri: [lsp.TextEdit(as_range(fix.span, document), fix.text)]})
    diagnostic = as_diagnostic(fix.problem, document)
    return lsp.CodeAction(fix.title, lsp.CodeActionKind.QuickFix, [diagnostic], True, edit=edit)


def as_hover(found: Hover, document: Document) -> lsp.Hover:
    return lsp.Hover(_markdown(found.text), as_range(found.span, document))


def as_item(offer: Offer, place: int) -> lsp.CompletionItem:
    """`place` is that among all offers, which an editor would put into another order."""
    return lsp.CompletionItem(
        offer.label,
        kind=_OFFERED[offer.kind],
        detail=offer.detail or None,
        documentation=_markdown(offer.documentation) if offer.documentation else None,
        sort_text=f"{place:04}",
    )


def as_symbol(symbol: Symbol, document: Document) -> lsp.DocumentSymbol:
    whole, name = as_range(symbol.whole, document), as_range(symbol.name_at, document)
    return lsp.DocumentSymbol(symbol.name, _SYMBOLS[symbol.kind], whole, name)


def _markdown(text: str) -> lsp.MarkupContent:
    return lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
