"""Place/transition nets in PNML, the interchange format of Petri nets (ISO/IEC 15909-2), in its grammar of 2009 and the older ones.

Read are places, transitions and arcs on pages, with references to nodes of other pages; names, initial markings, inscriptions, capacities,
and the kinds of arcs that tools add (inhibitor, test or read, reset). What is inside ``toolspecific`` and the graphics is passed over.
A net of this kind says nothing of time: every transition becomes an exponential one of rate 1 with a single server, and a warning says
so. Where transitions carry PIPE's labels (``timed``, ``rate``, ``infiniteServer``, ``priority``) these are read: a rate, or for an
immediate transition its weight and priority. Coloured (high-level) and timed-arc nets are refused.

A node is called by its name where it has one, else by its id; where several places (or several transitions) have one name, the id is
added: ``buffer (p2)``. ``doc`` tells the id wherever it is not the name.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from spn.dist.exponential import Exponential
from spn.errors import DataError, Diagnostic, ModelError, Severity, SpnError, nearest, refuse
from spn.expr.nodes import Number
from spn.interop.xml import Element, parse
from spn.model import Model
from spn.net.check import check
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Net, Place, Servers, Timed, Transition
from spn.show.text import count

MOST_TOKENS = 2**63 - 1
KINDS = {
    "normal": ArcKind.INPUT,
    "inhibitor": ArcKind.INHIBITOR,
    "test": ArcKind.TEST,
    "read": ArcKind.TEST,
    "reset": ArcKind.FLUSH,
    "flush": ArcKind.FLUSH,
}
HIGH_LEVEL = ("symmetric", "highlevel", "high-level", "hlpng", "hlcore", "coloured", "colored")
NODES = ("place", "transition", "referencePlace", "referenceTransition")
UNLIMITED = ("0", "inf", "infinity", "omega")  # as a capacity: PIPE writes 0


def read(data: bytes, name: str, title: str) -> Model:
    """The model in a PNML file; ``name`` is what messages show, ``title`` the name of a net that has none.

    DataError where the file is not PNML, ModelError with the line for what is wrong in it."""
    root = parse(data, name)
    if root.name != "pnml":
        raise refuse(
            DataError, "E0822", f"the file begins with <{root.name}>, not with <pnml>", span=root.span, help="is it a net in PNML?"
        )
    return _Net(_single(root), title).model()


def _single(root: Element) -> Element:
    """The one net of a document."""
    nets = list(root.all("net"))
    if not nets:
        raise refuse(DataError, "E0822", "there is no <net> in this file", span=root.span)
    if len(nets) > 1:
        help = "keep one of them in a file"
        raise refuse(DataError, "E0822", f"there are {len(nets)} nets in this file; which one is meant?", span=nets[1].span, help=help)
    kind = nets[0].attributes.get("type", "")
    if any(word in kind.lower() for word in HIGH_LEVEL):
        help = "unfold it into a place/transition net first"
        raise refuse(ModelError, "E0823", f"this net is of type {kind}; only place/transition nets are read", span=nets[0].span, help=help)
    return nets[0]


class _Net:
    """The nodes of one net by id, and what becomes of them."""

    def __init__(self, net: Element, title: str) -> None:
        self.net, self.title = net, title
        self.nodes: dict[str, Element] = {}
        self.arcs: list[Element] = []
        self.seen: dict[str, Element] = {}
        for element in _members(net):
            self._enter(element)
        self.names = {**self._named("place"), **self._named("transition")}

    def _enter(self, element: Element) -> None:
        identity = element.attributes.get("id", "").strip()
        if element.name in NODES:
            if not identity:
                raise _wrong("E0824", f"a {element.name} has no id", element, 'write <place id="…">; arcs name it')
            if identity in self.seen:
                raise _wrong("E0824", f"the id {identity} is used twice", element, "ids are unique in a file")
            self.nodes[identity] = element
        if identity:
            self.seen.setdefault(identity, element)
        if element.name == "arc":
            self.arcs.append(element)

    def _named(self, kind: str) -> dict[str, str]:
        """The names of the places or of the transitions, by id, made unique."""
        wanted = {i: _label(e, "name") or i for i, e in self.nodes.items() if e.name == kind}
        wanted = {i: " ".join(unicodedata.normalize("NFC", n).replace("`", "'").split()) or i for i, n in wanted.items()}
        times = Counter(wanted.values())
        unique = {i: n if times[n] == 1 else f"{n} ({i})" for i, n in wanted.items()}
        again = Counter(unique.values())
        return {i: n if again[n] == 1 else i for i, n in unique.items()}

    def model(self) -> Model:
        arcs: dict[str, list[Arc]] = {i: [] for i, e in self.nodes.items() if e.name == "transition"}
        for element in self.arcs:
            transition, arc = self._arc(element)
            arcs[transition].append(arc)
        places = tuple(self._place(i, e) for i, e in self.nodes.items() if e.name == "place")
        transitions = tuple(self._transition(i, e, tuple(arcs[i])) for i, e in self.nodes.items() if e.name == "transition")
        name = _label(self.net, "name") or self.net.attributes.get("id") or self.title
        net = Net(name=name, places=places, transitions=transitions, span=self.net.span)
        problems = check(net)
        if problems:
            raise ModelError(*problems)
        bare = sum(not _has_times(e) for e in self.nodes.values() if e.name == "transition")
        return Model(name=name, net=net, unitless=True, warnings=tuple(self._warnings(bare)), source=self.net.span.source)

    def _place(self, identity: str, e: Element) -> Place:
        name = self.names[identity]
        tokens = _number(e, "initialMarking", f"the initial marking of place {name}", 0)
        capacity = (
            None if (_label(e, "capacity") or "0").lower() in UNLIMITED else _number(e, "capacity", f"the capacity of place {name}", 0)
        )
        return Place(name=name, initial=tokens, capacity=capacity, doc=self._doc(identity), span=e.span)

    def _transition(self, identity: str, e: Element, arcs: tuple[Arc, ...]) -> Transition:
        name, doc = self.names[identity], self._doc(identity)
        rate = _rate(e, name)
        if _flag(e, "timed") is False:
            priority = _number(e, "priority", f"the priority of {name}", 1)
            return Immediate(name=name, arcs=arcs, weight=Number(rate), priority=max(1, priority), doc=doc, span=e.span)
        servers: Servers = INFINITE if _flag(e, "infiniteServer") else 1
        return Timed(name=name, law=Exponential(rate=float(rate)), servers=servers, arcs=arcs, doc=doc, span=e.span)

    def _doc(self, identity: str) -> str:
        return "" if self.names[identity] == identity else f"id {identity}"

    def _warnings(self, bare: int) -> Iterator[Diagnostic]:
        if bare:
            yield Diagnostic(
                code="W0501",
                message=f"the file gives no times for {count(bare, 'transition')}: taken to be exponential of rate 1 with a single server",
                span=self.net.span,
                help="what depends on time (throughput, mean tokens) is that of this assumption; the structure and the markings are not",
                severity=Severity.WARNING,
            )
        renamed = sorted(n for i, n in self.names.items() if n == f"{_label(self.nodes[i], 'name')} ({i})")
        if renamed:
            shown = ", ".join(renamed[:3]) + (f" and {len(renamed) - 3} more" if len(renamed) > 3 else "")
            yield Diagnostic(
                code="W0502",
                message=f"several nodes have one name; their ids tell them apart: {shown}",
                span=self.net.span,
                severity=Severity.WARNING,
            )

    # --- arcs

    def _arc(self, e: Element) -> tuple[str, Arc]:
        """The transition that holds an arc, by id, and the arc."""
        ends = [self._end(e, side) for side in ("source", "target")]
        kinds = [self.nodes[i].name for i in ends]
        if sorted(kinds) != ["place", "transition"]:
            raise _wrong("E0826", f"an arc joins two {kinds[0]}s; it joins a place and a transition", e)
        to_transition = kinds[0] == "place"
        place, transition = ends if to_transition else reversed(ends)
        kind = self._kind(e, to_transition)
        what = f"the weight of the arc between {self.names[place]} and {self.names[transition]}"
        weight = Number(Fraction(_number(e, "inscription", what, 1)))
        return transition, Arc(kind=kind, place=self.names[place], multiplicity=weight, span=e.span)

    def _kind(self, e: Element, to_transition: bool) -> ArcKind:
        written = e.attributes.get("type") or _kind_text(e) or "normal"
        kind = KINDS.get(written.strip().lower())
        if kind is None:
            raise _wrong("E0827", f"arcs of the kind {written!r} are not read", e, f"known are {', '.join(sorted(set(KINDS)))}")
        if kind is ArcKind.INPUT:
            return kind if to_transition else ArcKind.OUTPUT
        if not to_transition:
            raise _wrong("E0826", f"the {written} arc goes from a transition to a place; it goes the other way", e)
        return kind

    def _end(self, e: Element, side: str) -> str:
        """The id of the node at one end, references followed."""
        identity = e.attributes.get(side, "").strip()
        if not identity:
            raise _wrong("E0824", f"an arc has no {side}", e)
        passed: set[str] = set()
        while True:
            node = self.nodes.get(identity)
            if node is None:
                near = nearest(identity, self.nodes)
                raise _wrong("E0824", f"there is no node {identity}, the {side} of this arc", e, f"did you mean {near}?" if near else "")
            if node.name in ("place", "transition"):
                return identity
            if identity in passed:
                raise _wrong("E0826", f"the references {' -> '.join([*sorted(passed), identity])} go round in a circle", node)
            passed.add(identity)
            identity = node.attributes.get("ref", "").strip()


def _members(net: Element) -> Iterator[Element]:
    """Nodes and arcs on all pages, in the order of the file; nothing of a foreign namespace or inside ``toolspecific``."""
    stack = [net]
    while stack:
        top = stack.pop()
        if top.name not in ("net", "page"):
            yield top
            continue
        stack.extend(reversed([c for c in top.children if c.space in ("", net.space) and c.name in (*NODES, "arc", "page")]))


def _label(e: Element, name: str) -> str | None:
    """The text of a label: ``<name><text>…</text></name>``, or ``<value>`` in older files."""
    label = e.first(name)
    if label is None:
        return None
    inside = label.first("text") or label.first("value")
    return (inside.text if inside is not None else label.text).strip()


def _kind_text(e: Element) -> str | None:
    """``<type value="inhibitor"/>`` (PIPE) or ``<arctype><text>inhibitor</text></arctype>``."""
    label = e.first("type")
    if label is not None:
        return label.attributes.get("value") or label.text.strip()
    return _label(e, "arctype")


def _number(e: Element, label: str, what: str, default: int) -> int:
    """A whole number that is not negative; PIPE writes ``Default,3`` for three tokens of its one colour."""
    text = _label(e, label)
    if not text:
        return default
    digits = text.removeprefix("Default,").strip()
    at = e.first(label) or e
    if len(digits) > 40 or not digits.removeprefix("-").removeprefix("+").isdecimal():
        shown = digits if len(digits) <= 40 else f"{digits[:37]}…"
        raise _wrong("E0825", f"{what} is {shown!r}, not a whole number", at, _why_no_number(digits))
    number = int(digits)
    if not 0 <= number <= MOST_TOKENS:
        limit = "a count is never negative" if number < 0 else "at most 2^63 - 1 is counted"
        raise _wrong("E0825", f"{what} is {number}; {limit}", at)
    return number


def _why_no_number(text: str) -> str:
    if "inf" in text or text.startswith("["):
        return "time intervals on arcs (timed-arc nets) are not read"
    return "" if not any(c.isalpha() for c in text) else "expressions and colours are not read"


def _has_times(e: Element) -> bool:
    return e.first("rate") is not None or e.first("timed") is not None


def _flag(e: Element, label: str) -> bool | None:
    """``<timed><value>true</value></timed>``; None where it is not there."""
    text = _label(e, label)
    if text is None:
        return None
    if text.lower() not in ("true", "false"):
        raise _wrong("E0825", f"{label} is {text!r}; it is true or false", e.first(label) or e)
    return text.lower() == "true"


def _rate(e: Element, name: str) -> Fraction:
    """The rate of a timed transition, the weight of an immediate one; 1 where there is none."""
    text = _label(e, "rate")
    if not text:
        return Fraction(1)
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if len(text) > 40 or not 0 < size < math.inf:  # an exponent beyond floats is never made a fraction
        raise _wrong("E0825", f"the rate of {name} is {text[:40]!r}; it is a positive number", e.first("rate") or e)
    return Fraction(text)


def _wrong(code: str, message: str, e: Element, help: str = "") -> SpnError:
    return refuse(ModelError, code, message, span=e.span, help=help)
