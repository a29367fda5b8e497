"""A net in the DOT language, by the field's drawing conventions.

Places are circles holding a dot a token (from six on a number), timed transitions boxes (white: exponential, black: deterministic,
grey: any other law, blue: transfer over a link), immediate ones thin black bars. Inhibitor arcs end in a small circle, test arcs are
dashed, flush arcs have two heads; multiplicities other than 1 stand on the arcs. Links are rounded boxes, dotted to the transitions
that use them. Cycles are folded (:mod:`spn.report.fold`). The text is a function of the net alone, so equal nets give equal files.

Every node is a table whose text rows lie above and below the shape: Graphviz then keeps room for them, which it does not for ``xlabel``.
Arcs are drawn first and texts on white, so that no arc strikes a text out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Final

from spn.expr.nodes import ONE
from spn.expr.text import to_text
from spn.net.model import Arc, ArcKind, Link, Net, Place, Timed, Transition
from spn.report.fold import Node, columns
from spn.report.labels import WITH_UNITS, Units, link_lines, place_lines, transition_lines

MAX_DOTS: Final = 5
INK, NOTE, LINK = "#000000", "#404040", "#0072b2"  # Okabe and Ito's palette: told apart by every kind of colour vision
WHITE, GREY, BLUE = "#ffffff", "#b8b8b8", "#a6d0ee"
VEIL: Final = "#ffffffa0"  # under the names of places: arcs come in from all sides and must stay visible
MAX_LINK_LINES: Final = 4  # with more users the lines to a link hide the net; the labels name it anyhow

_HEADER: Final = (
    'rankdir=LR; bgcolor="#ffffff"; outputorder=edgesfirst; nodesep=0.2; ranksep=0.4; pad=0.1; forcelabels=true;',
    'node [fontname="Helvetica", fontsize=10, color="#000000"];',
    'edge [fontname="Helvetica", fontsize=9, color="#000000", arrowsize=0.7];',
)
_TABLE: Final = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">'
_DOT_ROWS: Final = {1: (1,), 2: (2,), 3: (1, 2), 4: (2, 2), 5: (2, 1, 2)}
_ARC_STYLE: Final = {
    ArcKind.INPUT: "",
    ArcKind.OUTPUT: "",
    ArcKind.TEST: "style=dashed",
    ArcKind.INHIBITOR: "arrowhead=odot",
    ArcKind.FLUSH: "arrowhead=normalnormal",
}


def to_dot(net: Net, units: Units = WITH_UNITS, title: str = "") -> str:
    """The DOT text of a net."""
    lines = [f"digraph {_quoted(title or net.name or 'net')} {{", *_HEADER]
    lines += [_place(p) for p in net.places]
    lines += [_transition(t, units) for t in net.transitions]
    lines += [_link(link, units) for link in net.links]
    column = columns(net)
    for t in net.transitions:
        lines += [_arc(t, arc, column) for arc in t.arcs]
    lines += _link_lines(net)
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _node_id(kind: str, name: str) -> str:
    """Places, transitions and links may share a name, so the kind is part of the identity; viewers show it as the tooltip."""
    return _quoted(f"{kind} {name}")


def _place(place: Place) -> str:
    notes = place_lines(place)
    rows = _rows(_label([place.name], 10, INK, VEIL), _marks(place.initial), _label(notes, 8, NOTE, VEIL) if notes else _gap(13))
    return f"{_node_id('place', place.name)} [shape=circle, fixedsize=shape, width=0.5, label=<{rows}>];"


def _rows(*cells: str) -> str:
    return _TABLE + "".join(f"<TR>{cell}</TR>" for cell in cells) + "</TABLE>"


def _gap(height: int) -> str:
    return f'<TD HEIGHT="{height}"></TD>'


def _label(lines: Sequence[str], size: int, color: str, ground: str = WHITE) -> str:
    """A cell of centred lines of text on a ground that just holds them."""
    text = "".join(f'<TR><TD><FONT POINT-SIZE="{size}" COLOR="{color}">{_escaped(line)}</FONT></TD></TR>' for line in lines)
    return f'<TD><TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" BGCOLOR="{ground}">{text}</TABLE></TD>'


def _escaped(text: str) -> str:
    return escape(text, quote=True) or " "


def _marks(tokens: int) -> str:
    inside = str(tokens) if tokens > MAX_DOTS else _dots(tokens)
    return f'<TD FIXEDSIZE="TRUE" WIDTH="36" HEIGHT="36">{inside}</TD>'


def _dots(tokens: int) -> str:
    """Dots as tiny round cells: no glyph of a font, so they look alike everywhere."""
    if not tokens:
        return ""
    rows = _DOT_ROWS[tokens]
    return _rows(*_spread([f"<TD>{_dot_row(n)}</TD>" for n in rows], lambda h: f'<TD FIXEDSIZE="TRUE" WIDTH="36" HEIGHT="{h}"></TD>'))


def _dot_row(n: int) -> str:
    dot = f'<TD FIXEDSIZE="TRUE" WIDTH="8" HEIGHT="8" BORDER="4" STYLE="ROUNDED" COLOR="{INK}" BGCOLOR="{INK}"></TD>'
    cells = _spread([dot] * n, lambda w: f'<TD FIXEDSIZE="TRUE" WIDTH="{w}" HEIGHT="8"></TD>')
    return f"{_TABLE}<TR>{''.join(cells)}</TR></TABLE>"


def _spread(dots: Sequence[str], blank: Callable[[int], str]) -> list[str]:
    """One to three pieces, each 8 points long, in the middle of 36, with blanks that fill the rest exactly."""
    gap = {1: 0, 2: 6, 3: 2}[len(dots)]
    margin = (36 - 8 * len(dots) - gap * (len(dots) - 1)) // 2
    between = [piece for dot in dots for piece in (blank(gap), dot)][1:]
    return [blank(margin), *between, blank(margin)]


def _transition(t: Transition, units: Units) -> str:
    lines = [piece for line in transition_lines(t, units) for piece in wrap(line, 30) or [line]]
    width, fill = _box(t)
    cell = f'<TD PORT="t" FIXEDSIZE="TRUE" WIDTH="{width}" HEIGHT="36" BORDER="1" COLOR="{INK}" BGCOLOR="{fill}"></TD>'
    box = f"<TD>{_TABLE}<TR>{cell}</TR></TABLE></TD>"
    rows = _rows(_label([t.name], 10, INK), _gap(2), box, _gap(1), *([_label(lines, 8, NOTE)] if lines else []))
    return f"{_node_id('transition', t.name)} [shape=plain, label=<{rows}>];"


def _box(t: Transition) -> tuple[int, str]:
    """Width in points and fill."""
    if not isinstance(t, Timed):
        return 4, INK
    if t.transfer is not None:
        return 11, BLUE
    return 11, {"exp": WHITE, "det": INK}.get(t.law.family, GREY)


def _link(link: Link, units: Units) -> str:
    text = "<BR/>".join(_escaped(line) for line in link_lines(link, units))
    box = f'shape=box, style="rounded,filled", fillcolor="{WHITE}", margin="0.06,0.03", height=0.3'
    return f'{_node_id("link", link.name)} [{box}, color="{LINK}", fontcolor="{LINK}", fontsize=9, label=<{text}>];'


def _arc(t: Transition, arc: Arc, column: Mapping[Node, int]) -> str:
    """An arc that leads to the left is written from its head to its tail, so that the layout keeps its direction."""
    place, transition = _node_id("place", arc.place), f"{_node_id('transition', t.name)}:t"
    tail, head = (transition, place) if arc.kind is ArcKind.OUTPUT else (place, transition)
    attributes = [a for a in (_ARC_STYLE[arc.kind], _multiplicity(arc)) if a]
    place_first = column["place", arc.place] < column["transition", t.name]
    if place_first == (arc.kind is ArcKind.OUTPUT):
        tail, head = head, tail
        attributes = ["dir=back", *(a.replace("arrowhead", "arrowtail") for a in attributes)]
    return f"{tail} -> {head}{' [' + ', '.join(attributes) + ']' if attributes else ''};"


def _multiplicity(arc: Arc) -> str:
    if arc.kind is ArcKind.FLUSH or arc.multiplicity == ONE:
        return ""
    return f"label={_quoted(to_text(arc.multiplicity))}"


def _link_lines(net: Net) -> Iterable[str]:
    transfers = [(t.name, t.transfer.links) for t in net.transitions if isinstance(t, Timed) and t.transfer]
    users = {link.name: [name for name, links in transfers if link.name in links] for link in net.links}
    look = f'dir=none, style=dotted, color="{LINK}", weight=0, minlen=0'
    for link, names in users.items():
        if len(names) <= MAX_LINK_LINES:
            yield from (f"{_node_id('transition', name)}:t -> {_node_id('link', link)} [{look}];" for name in names)
