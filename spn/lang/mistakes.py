from __future__ import annotations
from spn.errors import Diagnostic
from spn.source import Source, Span
def explain(source: Source, begin: int, at: int, expected: frozenset[str]) -> tuple[Diagnostic, int | None]:
    return Diagnostic(code="E0101", message=f"unexpected `{source.text[at:at+10]}`, expected {sorted(expected)}", span=Span(source, at, at+1)), None
