"""The language server: requests of an editor in, answers out. The only module that knows pygls.

Diagnostics are computed PAUSE after the last key, in a thread, so that typing never waits for them; other requests analyse the text as
it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from spn import __version__
from spn.errors import Diagnostic, Severity, SpnError
from spn.lang.format import formatted
from spn.lsp import completion, hover, outline, rename
from spn.lsp.analysis import Analysis, analyse
from spn.lsp.text import Lines, lines
from spn.source import Source, Span

PAUSE = 0.05  # seconds without a key before diagnostics

_SYMBOLS = {
    "parameter": lsp.SymbolKind.Constant,
    "law": lsp.SymbolKind.Function,
    "measure": lsp.SymbolKind.Variable,
    "place": lsp.SymbolKind.Field,
    "timed transition": lsp.SymbolKind.Event,
    "immediate transition": lsp.SymbolKind.Event,
    "link": lsp.SymbolKind.Interface,
    "component": lsp.SymbolKind.Class,
    "instance": lsp.SymbolKind.Object,
    "library": lsp.SymbolKind.Module,
    "property": lsp.SymbolKind.Property,
}
_ITEMS = {
    "keyword": lsp.CompletionItemKind.Keyword,
    "function": lsp.CompletionItemKind.Function,
    "law": lsp.CompletionItemKind.Function,
    "unit": lsp.CompletionItemKind.Unit,
    "type": lsp.CompletionItemKind.TypeParameter,
    "parameter": lsp.CompletionItemKind.Constant,
    "component parameter": lsp.CompletionItemKind.Constant,
    "index": lsp.CompletionItemKind.Variable,
    "measure": lsp.CompletionItemKind.Variable,
    "place": lsp.CompletionItemKind.Field,
    "timed transition": lsp.CompletionItemKind.Event,
    "immediate transition": lsp.CompletionItemKind.Event,
    "link": lsp.CompletionItemKind.Interface,
    "component": lsp.CompletionItemKind.Class,
    "instance": lsp.CompletionItemKind.Struct,
    "library": lsp.CompletionItemKind.Module,
}


@dataclass(slots=True)
class Desk:
    """What is remembered of the open texts: the last analysis of each, and the diagnostics that wait for the typist to pause."""

    known: dict[str, tuple[str, Analysis]] = field(default_factory=dict)
    waiting: dict[str, asyncio.Task[None]] = field(default_factory=dict)


def make_server() -> LanguageServer:
    """A server with all features."""
    server = LanguageServer("spn", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
    _Features(server, Desk()).register()
    return server


def serve() -> None:
    """Serve one editor over stdin and stdout until it says goodbye."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    make_server().start_io()


def folder_of(uri: str) -> Path:
    """The folder of a document; the current one for a text that is no file."""
    parts = urlparse(uri)
    return Path(url2pathname(unquote(parts.path))).parent if parts.scheme == "file" else Path()


def _name_of(uri: str) -> str:
    parts = urlparse(uri)
    return str(Path(url2pathname(unquote(parts.path)))) if parts.scheme == "file" else uri


@dataclass(frozen=True, slots=True)
class _Features:
    server: LanguageServer
    desk: Desk

    def register(self) -> None:
        """Offer every feature to the editor."""
        completing = lsp.CompletionOptions(trigger_characters=["#", "?", "!", ".", "~", ":", "(", " "])
        features: list[tuple[str, Callable[[Any], Any], Any]] = [
            (lsp.TEXT_DOCUMENT_DID_OPEN, self.opened, None),
            (lsp.TEXT_DOCUMENT_DID_CHANGE, self.changed, None),
            (lsp.TEXT_DOCUMENT_DID_CLOSE, self.closed, None),
            (lsp.TEXT_DOCUMENT_DEFINITION, self.definition, None),
            (lsp.TEXT_DOCUMENT_REFERENCES, self.references, None),
            (lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, self.highlight, None),
            (lsp.TEXT_DOCUMENT_HOVER, self.hover, None),
            (lsp.TEXT_DOCUMENT_COMPLETION, self.completion, completing),
            (lsp.TEXT_DOCUMENT_PREPARE_RENAME, self.prepare_rename, None),
            (lsp.TEXT_DOCUMENT_RENAME, self.rename, lsp.RenameOptions(prepare_provider=True)),
            (lsp.TEXT_DOCUMENT_FORMATTING, self.formatting, None),
            (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, self.symbols, None),
        ]
        for name, answer, options in features:
            self.server.feature(name, options)(_function(answer))

    # --- texts

    def _analysis(self, uri: str) -> tuple[Analysis, Lines]:
        """The analysis of a text as it is now."""
        text = self.server.workspace.get_text_document(uri).source.replace("\r\n", "\n").replace("\r", "\n")
        known = self.desk.known.get(uri)
        if known is None or known[0] != text:
            known = (text, analyse(Source(_name_of(uri), text), folder_of(uri)))
            self.desk.known[uri] = known
        return known[1], lines(text)

    async def opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        await self._publish(params.text_document.uri)

    async def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        if (task := self.desk.waiting.pop(uri, None)) is not None:
            task.cancel()
        self.desk.waiting[uri] = asyncio.create_task(self._later(uri))

    async def _later(self, uri: str) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(PAUSE)
            await self._publish(uri)

    async def _publish(self, uri: str) -> None:
        document = self.server.workspace.get_text_document(uri)
        version = document.version
        analysis, where = await asyncio.to_thread(self._analysis, uri)
        if self.server.workspace.get_text_document(uri).version != version:
            return  # typed on meanwhile; the next pause reports
        found = [_diagnostic(d, where) for d in analysis.diagnostics]
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version))

    def closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        self.desk.known.pop(uri, None)
        if (task := self.desk.waiting.pop(uri, None)) is not None:
            task.cancel()
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    # --- names

    def definition(self, params: lsp.DefinitionParams) -> lsp.Location | None:
        analysis, where = self._analysis(params.text_document.uri)
        found = analysis.names.at(_offset(params.position, where))
        if found is None:
            return None
        span = found.symbol.span
        if span.source.name == analysis.source.name:
            return lsp.Location(params.text_document.uri, _range(span, where))
        return lsp.Location(Path(span.source.name).resolve().as_uri(), _range(span, lines(span.source.text)))

    def references(self, params: lsp.ReferenceParams) -> list[lsp.Location]:
        analysis, where = self._analysis(params.text_document.uri)
        found = analysis.names.at(_offset(params.position, where))
        uses = analysis.names.of(found.symbol) if found is not None else ()
        kept = [o for o in uses if params.context.include_declaration or not o.declares]
        return [lsp.Location(params.text_document.uri, _range(o.span, where)) for o in kept]

    def highlight(self, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        analysis, where = self._analysis(params.text_document.uri)
        found = analysis.names.at(_offset(params.position, where))
        uses = analysis.names.of(found.symbol) if found is not None else ()
        kinds = {True: lsp.DocumentHighlightKind.Write, False: lsp.DocumentHighlightKind.Read}
        return [lsp.DocumentHighlight(_range(o.span, where), kinds[o.declares]) for o in uses]

    def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        analysis, where = self._analysis(params.text_document.uri)
        found = hover.hover(analysis, _offset(params.position, where))
        if found is None:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found.markdown), _range(found.span, where))

    def completion(self, params: lsp.CompletionParams) -> lsp.CompletionList:
        analysis, where = self._analysis(params.text_document.uri)
        found = completion.complete(analysis, _offset(params.position, where))
        return lsp.CompletionList(is_incomplete=False, items=[_item(p, number) for number, p in enumerate(found)])

    def prepare_rename(self, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder:
        analysis, where = self._analysis(params.text_document.uri)
        with _refusals():
            found = rename.renamable(analysis, _offset(params.position, where))
        return lsp.PrepareRenamePlaceholder(_range(found.span, where), found.symbol.name)

    def rename(self, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        uri = params.text_document.uri
        analysis, where = self._analysis(uri)
        with _refusals():
            edits = rename.rename(analysis, _offset(params.position, where), params.new_name, folder_of(uri))
        return lsp.WorkspaceEdit(changes={uri: [lsp.TextEdit(_range(e.span, where), e.text) for e in edits]})

    # --- the whole text

    def formatting(self, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        document = self.server.workspace.get_text_document(params.text_document.uri)
        text = document.source.replace("\r\n", "\n").replace("\r", "\n")
        try:
            after = formatted(Source(_name_of(document.uri), text))
        except SpnError:
            return None  # the diagnostics say why
        if after == document.source:
            return []
        end = lines(text).position(len(text))
        return [lsp.TextEdit(lsp.Range(lsp.Position(0, 0), lsp.Position(end[0] + 1, 0)), after)]

    def symbols(self, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        analysis, where = self._analysis(params.text_document.uri)
        return _symbols(outline.outline(analysis.names), where)


def _function(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A method as a plain function, which is what pygls can mark as a feature."""
    if asyncio.iscoroutinefunction(method):

        async def answer_later(params: Any) -> Any:
            return await method(params)

        return answer_later

    def answer(params: Any) -> Any:
        return method(params)

    return answer


# --- to the protocol's types ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _refusals() -> Any:
    """Refusals as the errors of the protocol, which editors show."""
    try:
        yield
    except SpnError as error:
        raise JsonRpcInvalidParams(error.diagnostics[0].message) from None


def _offset(position: lsp.Position, where: Lines) -> int:
    return where.offset(position.line, position.character)


def _range(span: Span, where: Lines) -> lsp.Range:
    start, end = where.position(span.start), where.position(span.end)
    return lsp.Range(lsp.Position(*start), lsp.Position(*end))


def _diagnostic(d: Diagnostic, where: Lines) -> lsp.Diagnostic:
    severity = lsp.DiagnosticSeverity.Error if d.severity is Severity.ERROR else lsp.DiagnosticSeverity.Warning
    parts = [d.message, f"help: {d.help}" if d.help else "", *(f"note: {n}" for n in d.notes)]
    span = _range(d.span, where) if d.span is not None else lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    return lsp.Diagnostic(span, "\n".join(p for p in parts if p), severity, d.code, source="spn")


def _item(p: completion.Proposal, number: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=p.label,
        kind=_ITEMS.get(p.kind, lsp.CompletionItemKind.Text),
        detail=p.detail or None,
        documentation=p.documentation or None,
        sort_text=f"{number:04}",
    )


def _symbols(entries: Iterable[outline.Entry], where: Lines) -> list[lsp.DocumentSymbol]:
    return [
        lsp.DocumentSymbol(
            name=e.name or "?",
            kind=_SYMBOLS[e.kind],
            range=_range(e.span, where),
            selection_range=_range(e.name_span, where),
            detail=e.detail or None,
            children=_symbols(e.inside, where),
        )
        for e in entries
    ]
