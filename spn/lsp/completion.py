"""What may be typed next: by the tokens of the statement before the cursor, so that it works in a text that is not finished."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spn.lang import ast
from spn.lang.scan import Tok, begins_statement, depth_after, tokens
from spn.lang.units import PERCENT
from spn.lang.words import AFTER_ARCS, RESERVED
from spn.lsp import help
from spn.lsp.analysis import Analysis
from spn.lsp.hover import declaration
from spn.lsp.names import Region, Space, Symbol

TRANSITIONS = ("timed", "immediate", "join")


@dataclass(frozen=True, slots=True)
class Proposal:
    """``kind`` is that of a symbol, or keyword, function, law, unit, type; ``detail`` is one line."""

    label: str
    kind: str
    detail: str = ""
    documentation: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """The tokens of the statement before the cursor, without the word being typed."""

    before: list[Tok]
    region: Region
    analysis: Analysis

    @property
    def keyword(self) -> str:
        return self.before[0].text if self.before else ""

    @property
    def last(self) -> Tok:
        return self.before[-1]

    @property
    def complete(self) -> bool:
        """Does the last token end a value or a name, so that an operator or a clause may follow?"""
        return (
            self.last.kind in ("name", "number", "text")
            or self.last.text in (")", "]", PERCENT)
            or (self.last.kind == "word" and self.last.text not in RESERVED | AFTER_ARCS and len(self.before) > 1)
        )

    def words(self) -> list[str]:
        return [t.text for t in self.before]

    def depth(self) -> int:
        depth = 0
        for token in self.before:
            depth = depth_after(token, depth)
        return depth


def complete(analysis: Analysis, offset: int) -> list[Proposal]:
    """Proposals for a place in the text, each word once."""
    text = analysis.source.text
    start = offset
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    before = [t for t in tokens(text[:start], 0) if t.kind != "end"]
    if before and before[-1].kind == "open":  # in a comment, a text or a name in backquotes
        return []
    line = text[text.rfind("\n", 0, start) + 1 : start]
    if "//" in line and not any(t.end > start - 1 for t in before[-1:]):
        return []
    place = _Place(_statement(before), analysis.names.region_at(offset), analysis)
    found = {p.label: p for p in reversed(_proposals(place))}
    return list(reversed(found.values()))


def _statement(before: list[Tok]) -> list[Tok]:
    """The tokens from the keyword of the last statement on; none right after a brace."""
    depth, start = 0, len(before)
    for at, token in enumerate(before):
        if token.text in "{}" and token.kind == "mark":
            start = len(before) if at == len(before) - 1 else start
            depth = 0
        elif begins_statement(token, depth):
            start = at
        depth = depth_after(token, depth)
    if before and before[-1].kind == "mark" and before[-1].text in "{}":
        return []
    return before[start:]


def _proposals(place: _Place) -> list[Proposal]:
    if not place.before:
        return _keywords(help.STATEMENTS)
    last, keyword = place.last, place.keyword
    if last.text == "." and last.kind == "mark":
        return _members(place)
    if last.kind == "number":
        return _listed(help.UNIT_HELP, "unit") + (_after(place) if place.depth() == 0 else [])
    if last.text in ("#", "?", "!") and last.kind == "mark":
        return _names(place, Space.PLACE)
    if last.text == "(" and len(place.before) > 1 and (inside := _inside_call(place, place.before[-2].text)) is not None:
        return inside
    if keyword in TRANSITIONS:
        return _of_transition(place)
    return _OTHER.get(keyword, _expression)(place)


def _of_transition(place: _Place) -> list[Proposal]:
    words, last = place.words(), place.last.text
    if ":" not in words:
        return _names(place, Space.TRANSITION) if place.keyword == "join" else []
    clause = next((w for w in reversed(words) if w in AFTER_ARCS or w in (":", "->", "~")), "")
    outermost = place.depth() == 0
    if outermost and place.complete and clause not in (":",):
        return _clauses(place, clause) + ([] if clause == "->" and place.keyword == "timed" else _keywords(help.STATEMENTS))
    match clause:
        case ":":
            flush = [] if place.complete else _keywords({"flush": help.CLAUSES["flush"]})
            return [] if place.complete else _names(place, Space.PLACE) + flush + _values(place)
        case "->":
            return _names(place, Space.PLACE) + _values(place)
        case "~" if last == "~":
            return _laws(place)
        case "~":
            return _values(place) + _laws(place)
        case "over":
            return _names(place, Space.LINK)
        case "resets":
            return _names(place, Space.TRANSITION)
        case "memory":
            return _keywords(help.MEMORIES)
        case "servers":
            return _keywords({"inf": "one clock for every enabling"}) + _values(place)
    return _values(place)


def _clauses(place: _Place, clause: str) -> list[Proposal]:
    choices = ("when", "priority", "weight", "resets")
    used = set(place.words())
    known = choices if place.keyword == "immediate" or clause == "->" else tuple(w for w in help.CLAUSES if w not in ("flush", "capacity"))
    return _keywords({w: help.CLAUSES[w] for w in known if w not in used})


def _after(place: _Place) -> list[Proposal]:
    """What may follow a complete statement or part of it."""
    if place.keyword in TRANSITIONS:
        return _of_transition(place)
    more = {"measure": ("at", "total over"), "expect": ("at", "total over", "within", "where")}.get(place.keyword, ())
    found = {w: help.WITH_QUESTIONS[w] for w in more}
    if more:
        found["over"] = help.CLAUSES["over"]
    if place.keyword == "place":
        found["capacity"] = help.CLAUSES["capacity"]
    return _keywords(found) + _keywords(help.STATEMENTS)


def _inside_call(place: _Place, function: str) -> list[Proposal] | None:
    match function:
        case "throughput":
            return _names(place, Space.TRANSITION)
        case "sojourn":
            return _names(place, Space.PLACE)
        case "utilisation":
            return _names(place, Space.TRANSITION) + _names(place, Space.LINK)
        case "P" | "E":
            waiting = {"time until": "until a condition holds for the first time", "time from": "from one transition to another"}
            return [*_keywords(waiting), *_markings(place), *_values(place)]
        case name if name in help.LAWS and place.keyword in ("dist", *TRANSITIONS):
            return _parameters_of(name) + (_laws(place) if name in ("mix", "shift", "scale") else []) + _values(place)
    return None


def _parameters_of(law: str) -> list[Proposal]:
    from spn.dist.families import FAMILIES

    forms = FAMILIES[law].forms if law in FAMILIES else ()
    named = dict.fromkeys(p.name for form in forms for p in form.parameters if not p.positional)
    return [Proposal(f"{name} = ", "parameter", f"of {law}") for name in named]


def _of_param(place: _Place) -> list[Proposal]:
    if place.last.text == ":":
        return _listed(help.TYPES, "type")
    if ":" not in place.words():
        return []
    return _after(place) if place.complete and place.depth() == 0 else _values(place)


def _of_component(place: _Place) -> list[Proposal]:
    if place.last.text == ":":
        return _listed({**help.FORMAL_TYPES, **help.TYPES}, "type")
    return _values(place) if place.last.text == "=" else []


def _of_use(place: _Place) -> list[Proposal]:
    if len(place.before) == 1:
        return _names(place, Space.COMPONENT) + _names(place, Space.LIBRARY)
    if place.depth() == 0:
        return _keywords(help.STATEMENTS) if place.last.text in (")", "]") else []
    return [*_names(place, Space.PLACE), *_names(place, Space.LINK), *_names(place, Space.TRANSITION), *_values(place)]


def _of_dist(place: _Place) -> list[Proposal]:
    if "=" not in place.words():
        return []
    if place.complete and place.depth() == 0:
        return _after(place)
    return _laws(place) + (_values(place) if place.depth() else [])


def _of_property(place: _Place) -> list[Proposal]:
    if place.last.text == ":":
        return _keywords(help.CLAIMS)
    if ":" not in place.words():
        return []
    return _after(place) if place.complete and place.depth() == 0 else [*_markings(place), *_values(place)]


def _of_sweep(place: _Place) -> list[Proposal]:
    if place.last.text in ("sweep", ",") and place.depth() == 0:
        return _names(place, Space.VALUE, "parameter")
    return _keywords({"in": "values"}) if place.complete and place.depth() == 0 else _values(place)


def _of_link(place: _Place) -> list[Proposal]:
    if place.last.text == "(":
        return _keywords({"capacity": help.CLAUSES["capacity"]})
    return _expression(place) if "(" in place.words() else []


def _of_units(place: _Place) -> list[Proposal]:
    return _keywords({"none": "bare numbers everywhere"}) if len(place.before) == 1 else _keywords(help.STATEMENTS)


def _of_question(place: _Place) -> list[Proposal]:
    words = place.words()
    if place.keyword == "measure" and "=" not in words:
        return _listed(help.UNIT_HELP, "unit") if place.last.text in ("in", "/", "*") else []
    if "where" in words:
        return _names(place, Space.VALUE, "parameter") if place.last.text in ("where", ",") else _values(place)
    if place.complete and place.depth() == 0:
        return _after(place)
    if place.depth():
        return [*_markings(place), *_values(place), *_listed(help.MEASURES, "function")]
    return [*_listed(help.MEASURES, "function"), *_values(place)]


def _expression(place: _Place) -> list[Proposal]:
    if len(place.before) == 1 and place.keyword != "if":
        return []
    return _after(place) if place.complete and place.depth() == 0 else _values(place)


_OTHER = {
    "param": _of_param,
    "component": _of_component,
    "use": _of_use,
    "dist": _of_dist,
    "property": _of_property,
    "sweep": _of_sweep,
    "link": _of_link,
    "units": _of_units,
    "measure": _of_question,
    "expect": _of_question,
    "for": _expression,
}


# --- lists ----------------------------------------------------------------------------------------------------------------------


def _keywords(words: Mapping[str, str]) -> list[Proposal]:
    return [Proposal(w, "keyword", detail) for w, detail in words.items()]


def _listed(words: Mapping[str, str], kind: str) -> list[Proposal]:
    return [Proposal(w, kind, detail) for w, detail in words.items()]


def _proposed(symbols: Iterable[Symbol], before: str = "") -> list[Proposal]:
    return [Proposal(before + bare(s.name), s.kind, declaration(s).split("\n")[0], s.doc) for s in symbols]


def bare(name: str) -> str:
    """A name as it is written, in backquotes where it must be."""
    return name if name.isidentifier() and name not in RESERVED else f"`{name}`"


def _names(place: _Place, space: Space, kind: str = "") -> list[Proposal]:
    found = [s for s in place.region.visible() if s.space is space and (not kind or s.kind == kind)]
    instances = [s for s in place.region.visible() if s.space is Space.INSTANCE and space in (Space.PLACE, Space.TRANSITION, Space.LINK)]
    return _proposed([*found, *instances])


def _markings(place: _Place) -> list[Proposal]:
    return _proposed((s for s in place.region.visible() if s.space is Space.PLACE), "#")


def _laws(place: _Place) -> list[Proposal]:
    laws = [s for s in place.region.visible() if s.space is Space.VALUE and (s.kind == "law" or _takes_law(s))]
    return _proposed(laws) + _listed(help.LAWS, "law")


def _takes_law(symbol: Symbol) -> bool:
    return isinstance(symbol.node, ast.Formal) and isinstance(symbol.node.type, ast.Name) and symbol.node.type.text == "dist"


def _values(place: _Place) -> list[Proposal]:
    questions = place.keyword in ("measure", "expect")
    kinds = ("parameter", "component parameter", "index") + (("measure",) if questions else ())
    values = [s for s in place.region.visible() if s.space is Space.VALUE and s.kind in kinds and not _takes_law(s)]
    return _proposed(values) + _listed(help.FUNCTIONS, "function")


def _members(place: _Place) -> list[Proposal]:
    """After a dot: what the component of the instance declares, or the components of a library."""
    at, depth = len(place.before) - 2, 0
    while at > 0 and (depth or place.before[at].text == "]"):
        depth += {"]": 1, "[": -1}.get(place.before[at].text, 0)
        at -= 1
    name = place.before[at].text.strip("`")
    names = place.analysis.names
    if place.keyword == "use" and name in names.libraries and at == 1:
        return _proposed(s for s in names.libraries[name].region.visible() if s.space is Space.COMPONENT)
    instance = place.region.find(Space.INSTANCE, name)
    if instance is None or not isinstance(instance.node, ast.Use):
        return []
    use = instance.node
    where = names.inside if use.library is None else names.libraries[use.library.text].inside if use.library.text in names.libraries else {}
    inside = where.get(use.component.text)
    nodes = (Space.PLACE, Space.TRANSITION, Space.LINK, Space.INSTANCE)
    return _proposed(s for s in inside.names.values() if s.space in nodes and s.kind != "component parameter") if inside is not None else []
