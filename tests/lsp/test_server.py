"""The language server in a process of its own, spoken to by a client over stdio."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server's package is not installed: pip install 'spn[lsp]'")
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

TEXT = "param n : count = 3\nplace 𝔞 = n, b\ntimed t : 𝔞 -> b ~ det(1 s)  servers 1\ntimed u : b -> 𝔞 ~ exp(mean = 1 s)  servers 1\n"
PATIENCE = 30.0


class Session:
    """A client with one open text, and the diagnostics that came in."""

    def __init__(self, client: LanguageClient, uri: str) -> None:
        self.client, self.uri, self.version = client, uri, 0
        self.found: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.id = lsp.TextDocumentIdentifier(uri)

    def open(self, text: str) -> None:
        self.version = 1
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(self.uri, "spn", 1, text)))

    def type(self, line: int, column: int, text: str, end: tuple[int, int] | None = None) -> None:
        self.version += 1
        start = lsp.Position(line, column)
        change = lsp.TextDocumentContentChangePartial(range=lsp.Range(start, lsp.Position(*end) if end else start), text=text)
        identifier = lsp.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))

    async def diagnostics(self) -> list[lsp.Diagnostic]:
        """The next ones for the present version."""
        while True:
            found = await asyncio.wait_for(self.found.get(), PATIENCE)
            if found.version == self.version:
                return list(found.diagnostics)


@asynccontextmanager
async def session(folder: Path, text: str = TEXT) -> AsyncIterator[Session]:
    client = LanguageClient("tests", "1")
    one = Session(client, (folder / "m.spn").as_uri())

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params: lsp.PublishDiagnosticsParams) -> None:
        one.found.put_nowait(params)

    await client.start_io(sys.executable, "-m", "spn.cli", "lsp", "--stdio")
    try:
        await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
        client.initialized(lsp.InitializedParams())
        one.open(text)
        yield one
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


def talk(folder: Path, conversation: Callable[[Session], Awaitable[None]], text: str = TEXT) -> None:
    async def run() -> None:
        async with session(folder, text) as one:
            await conversation(one)

    asyncio.run(asyncio.wait_for(run(), 2 * PATIENCE))


def test_diagnostics_follow_the_typing(tmp_path: Path) -> None:
    async def conversation(s: Session) -> None:
        assert await s.diagnostics() == []
        s.type(1, 12, " capacity q")
        (error,) = await s.diagnostics()
        assert error.severity is lsp.DiagnosticSeverity.Error and error.code == "E0201" and error.source == "spn"
        assert error.range == lsp.Range(lsp.Position(1, 22), lsp.Position(1, 23))
        s.type(1, 22, "9", (1, 23))
        assert await s.diagnostics() == []
        for k, letter in enumerate("place c ="):  # typed fast: the last version is what counts
            s.type(4, k, letter)
        (error,) = await s.diagnostics()
        assert error.code.startswith("E01") if isinstance(error.code, str) else False
        s.type(4, 0, "", (4, 9))
        assert await s.diagnostics() == []

    talk(tmp_path, conversation)


def test_warnings_carry_the_proposed_fix(tmp_path: Path) -> None:
    async def conversation(s: Session) -> None:
        (warning,) = await s.diagnostics()
        assert warning.severity is lsp.DiagnosticSeverity.Warning and str(warning.code).startswith("W")

    talk(tmp_path, conversation, TEXT + "param unused : count = 1\n")


def test_navigation_and_hovering(tmp_path: Path) -> None:
    async def conversation(s: Session) -> None:
        spot = lsp.Position(2, 10)  # the place 𝔞, two UTF-16 units wide
        there = await s.client.text_document_definition_async(lsp.DefinitionParams(s.id, spot))
        assert isinstance(there, lsp.Location) and there.uri == s.uri
        assert there.range == lsp.Range(lsp.Position(1, 6), lsp.Position(1, 8))
        context = lsp.ReferenceContext(include_declaration=True)
        found = await s.client.text_document_references_async(lsp.ReferenceParams(context, s.id, spot))
        assert [r.range.start.line for r in found or []] == [1, 2, 3]
        without = lsp.ReferenceContext(include_declaration=False)
        found = await s.client.text_document_references_async(lsp.ReferenceParams(without, s.id, spot))
        assert [r.range.start.line for r in found or []] == [2, 3]
        shown = await s.client.text_document_hover_async(lsp.HoverParams(s.id, spot))
        assert shown is not None and isinstance(shown.contents, lsp.MarkupContent)
        assert "initially 3 tokens" in shown.contents.value and shown.range is not None and shown.range.start == spot
        marks = await s.client.text_document_document_highlight_async(lsp.DocumentHighlightParams(s.id, spot))
        assert [m.kind for m in marks or []] == [lsp.DocumentHighlightKind.Write, *[lsp.DocumentHighlightKind.Read] * 2]
        nothing = lsp.Position(0, 0)
        assert await s.client.text_document_definition_async(lsp.DefinitionParams(s.id, lsp.Position(99, 99))) is None
        assert await s.client.text_document_definition_async(lsp.DefinitionParams(s.id, nothing)) is None

    talk(tmp_path, conversation)


def test_completion_in_an_unfinished_text(tmp_path: Path) -> None:
    async def conversation(s: Session) -> None:
        s.type(4, 0, "timed v : b -> b ~ ")
        found = await s.client.text_document_completion_async(lsp.CompletionParams(s.id, lsp.Position(4, 19)))
        assert isinstance(found, lsp.CompletionList)
        by_label = {i.label: i for i in found.items}
        assert by_label["erlang"].detail is not None and "erlang(k, mean=)" in by_label["erlang"].detail
        assert by_label["erlang"].kind == lsp.CompletionItemKind.Function

    talk(tmp_path, conversation)


def test_renaming(tmp_path: Path) -> None:
    async def conversation(s: Session) -> None:
        spot = lsp.Position(2, 10)
        ready = await s.client.text_document_prepare_rename_async(lsp.PrepareRenameParams(s.id, spot))
        assert isinstance(ready, lsp.PrepareRenamePlaceholder) and ready.placeholder == "𝔞"
        edit = await s.client.text_document_rename_async(lsp.RenameParams(text_document=s.id, position=spot, new_name="queue 1"))
        assert edit is not None and edit.changes is not None
        assert [(e.range.start.line, e.new_text) for e in edit.changes[s.uri]] == [(k, "`queue 1`") for k in (1, 2, 3)]
        with pytest.raises(JsonRpcException, match="already names something else"):
            await s.client.text_document_rename_async(lsp.RenameParams(text_document=s.id, position=spot, new_name="b"))

    talk(tmp_path, conversation)


def test_formatting_and_symbols(tmp_path: Path) -> None:
    async def conversation(s: Session) -> None:
        options = lsp.FormattingOptions(tab_size=2, insert_spaces=True)
        (edit,) = await s.client.text_document_formatting_async(lsp.DocumentFormattingParams(s.id, options)) or []
        assert edit.new_text == "place a = 1, b\ntimed t : a -> b ~ det(1 s)  servers 1\n"
        assert edit.range.start == lsp.Position(0, 0) and edit.range.end.line >= 2
        found: Any = await s.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(s.id))
        assert [(x.name, x.kind) for x in found] == [
            ("a", lsp.SymbolKind.Field),
            ("b", lsp.SymbolKind.Field),
            ("t", lsp.SymbolKind.Event),
        ]
        s.type(0, 0, "place (")
        broken = lsp.DocumentFormattingParams(s.id, options)
        assert not await s.client.text_document_formatting_async(broken)

    talk(tmp_path, conversation, "place a=1 , b\r\ntimed t:a->b~det(1 s)servers 1\r\n")


def test_without_the_package_the_command_says_what_to_install() -> None:
    program = "import sys; sys.modules['pygls'] = None; from spn.cli.main import main; raise SystemExit(main(['lsp']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "pip install 'spn[lsp]'" in done.stderr and "Traceback" not in done.stderr
