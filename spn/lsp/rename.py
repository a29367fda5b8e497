"""Giving a name to something else: everywhere it is used, and only where nothing changes its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spn.errors import ModelError, Severity, refuse
from spn.lang.units import is_unit
from spn.lang.words import RESERVED
from spn.lsp.analysis import Analysis, analyse
from spn.lsp.names import Names, Occurrence, Space, Symbol
from spn.source import Source, Span


@dataclass(frozen=True, slots=True)
class Edit:
    span: Span
    text: str


def renamable(analysis: Analysis, offset: int) -> Occurrence:
    """The name at a place in the text; a ModelError says why there is nothing to rename."""
    found = analysis.names.at(offset)
    if found is None:
        raise _refused("there is no name here that this file declares")
    if found.symbol.span.source.name != analysis.source.name:
        raise _refused(f"`{found.symbol.name}` is declared in {found.symbol.span.source.name}: rename it there")
    return found


def rename(analysis: Analysis, offset: int, name: str, base: Path) -> list[Edit]:
    """The edits that rename what stands at a place in the text; a ModelError where the name is none or would change a meaning."""
    symbol = renamable(analysis, offset).symbol
    name = name.strip().strip("`")
    if not name or "`" in name or "\n" in name:
        raise _refused("a name is letters, digits and _, or any text but backquotes")
    if any(d.severity is Severity.ERROR and d.code.startswith("E01") for d in analysis.diagnostics):
        raise _refused("the text has syntax errors: mend them first")
    if symbol.space is Space.VALUE and symbol.kind != "index" and is_unit(name):
        raise _refused(f"`{name}` is a unit: in an expression it would always mean that")
    written = name if name.isidentifier() and name not in RESERVED else f"`{name}`"
    edits = [Edit(o.span, written) for o in analysis.names.of(symbol)]
    _verify(analysis, symbol, edits, name, base)
    return edits


def _verify(analysis: Analysis, symbol: Symbol, edits: list[Edit], name: str, base: Path) -> None:
    """Every name must mean afterwards what it meant before, and no error may be new."""
    if name == symbol.name:
        return
    after = analyse(Source(analysis.source.name, applied(analysis.source.text, edits)), base)
    if _meanings(analysis.names, symbol, name) != _meanings(after.names, None, ""):
        raise _refused(f"`{name}` already names something else that is seen there")
    errors = [[d for d in a.diagnostics if d.severity is Severity.ERROR] for a in (analysis, after)]
    if len(errors[1]) > len(errors[0]):
        raise _refused(f"with that name there would be an error: {errors[1][0].message}")


def _meanings(names: Names, renamed: Symbol | None, name: str) -> list[tuple[str, str, int]]:
    """What each name of a text refers to: its kind, its name, and which of the declarations it is."""
    number: dict[Symbol, int] = {}
    found = []
    for o in names.occurrences:
        shown = name if o.symbol is renamed else o.symbol.name
        found.append((o.symbol.kind, shown, number.setdefault(o.symbol, len(number))))
    return found


def applied(text: str, edits: list[Edit]) -> str:
    """The text with all edits made."""
    for edit in sorted(edits, key=lambda e: e.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def _refused(message: str) -> Exception:
    return refuse(ModelError, "E0915", message)
