"""`neelc lsp`: the language server protocol on standard input and output, by pygls.

Texts come whole at every change: scripts are short, and so no place can be counted wrongly.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import to_fs_path

from neelc.errors import Fix, NeelError
from neelc.source import Span
from neelc.syntax.formatter import canonical
from neelc.tools.editors.completing import CompletionOffer, complete
from neelc.tools.editors.document import CallInputs, Document
from neelc.tools.editors.hovering import Hover, hover
from neelc.tools.editors.problems import (
    ERROR,
    INFORMATION,
    WARNING,
    EditorProblem,
    StatementSymbol,
    definition,
    fixes,
    problems,
    symbols,
)

# Our answers in the words of the language server protocol.

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
    "hierarchy": lsp.SymbolKind.Enum,
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


def as_diagnostic(problem: EditorProblem, document: Document) -> lsp.Diagnostic:
    found = problem.diagnostic
    message = found.message + (f"\nhint: {found.hint}" if found.hint else "")
    severity = _SEVERITIES[problem.severity]
    return lsp.Diagnostic(as_range(found.span, document), message, severity, found.code, source="neelc")


def as_action(fix: Fix, problem: EditorProblem, uri: str, document: Document) -> lsp.CodeAction:
    edit = lsp.WorkspaceEdit({uri: [lsp.TextEdit(as_range(fix.span, document), fix.text)]})
    diagnostic = as_diagnostic(problem, document)
    return lsp.CodeAction(fix.title, lsp.CodeActionKind.QuickFix, [diagnostic], True, edit=edit)


def as_hover(found: Hover, document: Document) -> lsp.Hover:
    return lsp.Hover(_markdown(found.text), as_range(found.span, document))


def as_item(offer: CompletionOffer, place: int) -> lsp.CompletionItem:
    """`place` is that among all offers, which an editor would put into another order."""
    return lsp.CompletionItem(
        offer.label,
        kind=_OFFERED[offer.kind],
        detail=offer.detail or None,
        documentation=_markdown(offer.documentation) if offer.documentation else None,
        sort_text=f"{place:04}",
    )


def as_symbol(symbol: StatementSymbol, document: Document) -> lsp.DocumentSymbol:
    whole, name = as_range(symbol.whole, document), as_range(symbol.name_at, document)
    return lsp.DocumentSymbol(symbol.name, _SYMBOLS[symbol.kind], whole, name)


def _markdown(text: str) -> lsp.MarkupContent:
    return lsp.MarkupContent(lsp.MarkupKind.Markdown, text)


# Who types on makes an answer worthless: it is looked for after a pause of so many seconds, or of as many as
# the last answer took.
PAUSE = 0.15

MAX_MESSAGE = 128 * 2**20
"""Bytes of the longest message: a script of `MAX_SCRIPT` bytes, each of them escaped, and more."""

MAX_HEADER = 2**16
"""Bytes of the longest line of headers; a longer one comes in pieces."""

# Wherever it stands in a line: the body of a message that was left out ends without a line break.
_LENGTH = re.compile(rb"Content-Length:[ \t]*([^\r\n]*?)[ \t]*\r?\n\Z", re.IGNORECASE)


def serve(outside: CallInputs, version: str) -> None:
    """Answer until the client says that it is enough."""
    output = sys.stdout.buffer
    # What anything prints would be taken for an answer.
    sys.stdout = sys.stderr
    NeelServer(outside, version).start_io(cast(BinaryIO, ClientMessages(sys.stdin.buffer)), output)


class ClientMessages:
    """What a client sends, as pygls reads it: headers line by line, and bodies.

    pygls takes every length for true: one that no memory has ends it, and so does one that is no number of
    the machine's. A header with such a length is left out. What follows, up to the next `Content-Length`, is
    no message then, and is left out with it.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def readline(self) -> bytes:
        """The next line of headers."""
        line = self.stream.readline(MAX_HEADER)
        found = _LENGTH.search(line)
        if found is None:
            return line
        digits = found[1]
        if digits.isdigit() and len(digits) <= len(str(MAX_MESSAGE)) and int(digits) <= MAX_MESSAGE:
            return b"Content-Length: %d\r\n" % int(digits)
        logging.getLogger("neelc").warning("a message of an impossible length was left out: %r", digits[:40])
        return b"Left-Out: 1\r\n"

    def read(self, length: int) -> bytes:
        return self.stream.read(length)


class AnsweringProtocol(LanguageServerProtocol):
    """pygls leaves a request whose parameters are wrong without an answer, and its client waiting."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise


class NeelServer(LanguageServer):
    """The server, and what was found out about documents that have not changed since."""

    def __init__(self, outside: CallInputs, version: str) -> None:
        whole = lsp.TextDocumentSyncKind.Full
        super().__init__("neelc", version, whole, protocol_cls=AnsweringProtocol)
        self.outside = outside
        self.known: dict[str, Document] = {}
        self.lasted = 0.0
        for method, (answer, options) in FEATURES.items():
            self.feature(method, options)(answer)

    def document(self, uri: str) -> Document:
        """The text as it is now."""
        text = self.workspace.get_text_document(uri).source
        found = self.known.get(uri)
        if found is None or found.text != text:
            path = to_fs_path(uri) if uri.startswith("file:") else None
            # A text that is not saved has no place: its paths are relative to where the server was started.
            directory, name = (Path(path).parent, Path(path).name) if path else (Path(), "script")
            units = str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))
            found = Document(text, name, directory, self.outside, units)
            self.known[uri] = found
        return found

    def at(
        self, request: lsp.HoverParams | lsp.CompletionParams | lsp.DefinitionParams
    ) -> tuple[Document, int]:
        """The document, and the character that it is about."""
        document = self.document(request.text_document.uri)
        return document, offset(request.position, document)

    def publish(self, uri: str, version: int | None) -> None:
        """Tell the client all that is wrong with a document."""
        document = self.document(uri)
        began = time.monotonic()
        found = [as_diagnostic(problem, document) for problem in problems(document)]
        self.lasted = time.monotonic() - began
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))


def opened(server: NeelServer, notification: lsp.DidOpenTextDocumentParams) -> None:
    server.publish(notification.text_document.uri, notification.text_document.version)


async def changed(server: NeelServer, notification: lsp.DidChangeTextDocumentParams) -> None:
    changed = notification.text_document
    await asyncio.sleep(max(PAUSE, server.lasted))
    now = server.workspace.text_documents.get(changed.uri)
    if now is not None and now.version == changed.version:
        server.publish(changed.uri, changed.version)


def closed(server: NeelServer, notification: lsp.DidCloseTextDocumentParams) -> None:
    server.known.pop(notification.text_document.uri, None)
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(notification.text_document.uri, []))


def hovered(server: NeelServer, request: lsp.HoverParams) -> lsp.Hover | None:
    document, cursor = server.at(request)
    found = hover(document, cursor)
    return None if found is None else as_hover(found, document)


def completed(server: NeelServer, request: lsp.CompletionParams) -> lsp.CompletionList:
    document, cursor = server.at(request)
    found = complete(document, cursor)
    return lsp.CompletionList(False, [as_item(offer, place) for place, offer in enumerate(found)])


def defined(server: NeelServer, request: lsp.DefinitionParams) -> lsp.Location | None:
    document, cursor = server.at(request)
    span = definition(document, cursor)
    return None if span is None else lsp.Location(request.text_document.uri, as_range(span, document))


def listed(server: NeelServer, request: lsp.DocumentSymbolParams) -> Sequence[lsp.DocumentSymbol]:
    document = server.document(request.text_document.uri)
    return [as_symbol(symbol, document) for symbol in symbols(document)]


def fixed(server: NeelServer, request: lsp.CodeActionParams) -> Sequence[lsp.CodeAction]:
    uri = request.text_document.uri
    document = server.document(uri)
    start, end = (offset(place, document) for place in (request.range.start, request.range.end))
    return [as_action(fix, one, uri, document) for fix, one in fixes(document, Span(start, end))]


def formatted(server: NeelServer, request: lsp.DocumentFormattingParams) -> Sequence[lsp.TextEdit] | None:
    """The whole text anew; nothing while it is wrong, or if it would not change."""
    document = server.document(request.text_document.uri)
    try:
        text = canonical(document.source).text
    except NeelError:
        return None
    if text == document.text:
        return []
    return [lsp.TextEdit(as_range(Span(0, len(document.text)), document), text)]


FEATURES: dict[str, tuple[Callable[..., Any], Any]] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: (opened, None),
    lsp.TEXT_DOCUMENT_DID_CHANGE: (changed, None),
    lsp.TEXT_DOCUMENT_DID_CLOSE: (closed, None),
    lsp.TEXT_DOCUMENT_HOVER: (hovered, None),
    lsp.TEXT_DOCUMENT_COMPLETION: (completed, lsp.CompletionOptions(trigger_characters=[".", "[", ":"])),
    lsp.TEXT_DOCUMENT_DEFINITION: (defined, None),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (listed, None),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (fixed, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix])),
    lsp.TEXT_DOCUMENT_FORMATTING: (formatted, None),
}
