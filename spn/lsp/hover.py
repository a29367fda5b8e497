"""What an editor shows about the name under the pointer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spn.lang import ast
from spn.lang.write import decimal, write
from spn.lsp import help
from spn.lsp.analysis import Analysis
from spn.lsp.names import Symbol
from spn.model import Model
from spn.net.model import ArcKind, Place, Timed, Transition
from spn.show.text import count
from spn.source import Span
from spn.structural.bounds import bounds

MOST_PLACES = 300  # of a net whose invariants are sought while the reader waits
MOST_LINES = 12
_WORD = re.compile(r"[^\W\d]\w*|%")


@dataclass(frozen=True, slots=True)
class Hover:
    markdown: str
    span: Span


def hover(analysis: Analysis, offset: int) -> Hover | None:
    """About the name, unit or keyword at a place in the text; None where there is none."""
    found = analysis.names.at(offset)
    if found is not None:
        return Hover(_about(found.symbol, analysis), found.span)
    for match in _WORD.finditer(analysis.source.text, max(0, offset - 60), offset + 60):
        if match.start() <= offset <= match.end():
            text = _word(match.group())
            return Hover(text, Span(analysis.source, match.start(), match.end())) if text else None
    return None


def _word(word: str) -> str:
    if word in help.UNIT_HELP:
        return f"unit `{word}` = {help.UNIT_HELP[word]}"
    return f"`{word}`: {help.EVERYTHING[word]}" if word in help.EVERYTHING else ""


def _about(symbol: Symbol, analysis: Analysis) -> str:
    own = symbol.span.source.name == analysis.source.name
    facts = _facts(symbol, analysis.model) if own and analysis.model is not None and not symbol.of else []
    where = "" if own else f" of {symbol.span.source.name}"
    inside = f" of component {symbol.of}" if symbol.of else ""
    parts = [f"{symbol.kind} **{symbol.name}**{inside}{where}", f"```spn\n{declaration(symbol)}\n```", *facts]
    if symbol.doc:
        parts.append(symbol.doc)
    return "\n\n".join(parts)


def declaration(symbol: Symbol) -> str:
    """The text that declares a symbol; of a component its head."""
    node = symbol.node
    text = getattr(node, "span", symbol.span).text
    if isinstance(node, ast.Component):
        return text[: text.index("{")].rstrip()
    if isinstance(node, ast.Place):
        text = f"place {text}"
    if isinstance(node, ast.Link | ast.Use) and text.count("(") > text.count(")"):
        text += ")"  # the span of such a statement ends before it
    lines = text.split("\n")
    return "\n".join(lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], "…"])


def _facts(symbol: Symbol, model: Model) -> list[str]:
    match symbol.kind:
        case "parameter":
            return [f"value: {write(ast.Value(p.value, p.dimension, symbol.span))}" for p in model.parameters if p.name == symbol.name]
        case "measure":
            found = [m for m in model.measures if m.name == symbol.name]
            return [f"unit: {m.unit or ('none' if model.unitless else m.dimension)}" for m in found]
        case "place":
            return _place(symbol.name, model)
        case "timed transition" | "immediate transition":
            return _transition(symbol.name, model)
        case "link":
            found_links = [x for x in model.net.links if _is(x.name, symbol.name)]
            return [f"capacity: {decimal(x.capacity)}{'' if model.unitless else ' bytes/s'}" for x in found_links[:1]]
    return []


def _is(flat: str, name: str) -> bool:
    """Is this the node of that name, or one of an array of that name?"""
    return flat == name or (flat.startswith(f"{name}[") and flat.endswith("]") and "." not in flat)


def _place(name: str, model: Model) -> list[str]:
    found = [p for p in model.net.places if _is(p.name, name)]
    if not found:
        return []
    if len(found) > 1:
        return [f"{count(len(found), 'place')}, initially {count(sum(p.initial for p in found), 'token')} in all"]
    (place,) = found
    facts = [f"initially {count(place.initial, 'token')}" + ("" if place.capacity is None else f", capacity {place.capacity}")]
    for word, kinds in (
        ("filled by", (ArcKind.OUTPUT,)),
        ("emptied by", (ArcKind.INPUT, ArcKind.FLUSH)),
        ("read by", (ArcKind.TEST, ArcKind.INHIBITOR)),
    ):
        names = [t.name for t in model.net.transitions if any(a.place == place.name and a.kind in kinds for a in t.arcs)]
        if names:
            facts.append(f"{word} {_some(names)}")
    return ["  \n".join(facts + _invariants(place, model))]


def _invariants(place: Place, model: Model) -> list[str]:
    """The weighted sums of tokens that bound the place."""
    if len(model.net.places) > MOST_PLACES:
        return []
    known = bounds(model.net)
    sums = []
    for flow in known.flows:
        if place.name in flow.weights:
            terms = [f"{'' if w == 1 else f'{w}*'}#{p}" for p, w in flow.weights.items()]
            sums.append(f"{' + '.join(terms[:8])}{' + …' if len(terms) > 8 else ''} ≤ {flow.total}")
    most = known.most.get(place.name)
    return ([f"never more than {count(most, 'token')}"] if most is not None else []) + [f"`{s}`" for s in sums[:3]]


def _transition(name: str, model: Model) -> list[str]:
    found: list[Transition] = [t for t in model.net.transitions if _is(t.name, name)]
    if not found:
        return []
    many = f"{count(len(found), 'transition')}; of the first: " if len(found) > 1 else ""
    first = found[0]
    if not isinstance(first, Timed):
        return [f"{many}priority {first.priority}"]
    unit = " s" if first.transfer is None and not model.unitless else " bytes" if first.transfer and not model.unitless else ""
    over = f" over {', '.join(first.transfer.links)}" if first.transfer else ""
    law = f"law: {first.law.describe()}, mean {first.law.mean():.6g}{unit}{over}"
    return [f"{many}{law}  \nservers: {first.servers}, memory: {first.memory}"]


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
