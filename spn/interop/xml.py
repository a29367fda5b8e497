"""XML to a small tree with the place of every element: bounded in size and depth, without document types, entities or anything fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from spn.errors import DataError, SpnError, refuse
from spn.source import Source, Span

MAX_DEPTH = 200
_DECLARED = re.compile(rb"<\?xml[^>]*\sencoding\s*=\s*[\"'](iso-8859-\d+|windows-125\d|us-ascii|latin-?1)[\"']", re.IGNORECASE)
MAX_ELEMENTS = 2_000_000


@dataclass(slots=True)
class Element:
    """``name`` is the local name, ``space`` its namespace or empty; ``text`` the characters directly inside."""

    name: str
    space: str
    attributes: dict[str, str]
    span: Span
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, name: str) -> Iterator[Element]:
        return (c for c in self.children if c.name == name)

    def first(self, name: str) -> Element | None:
        return next(self.all(name), None)


def parse(data: bytes, name: str) -> Element:
    """The root element of a document. DataError E0820 where it is not well-formed, E0821 for document types, entities, and size."""
    return _Reader(data, name).root()


class _Reader:
    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.source = Source(name, _text(data))
        self.lines = [0, *(found.end() for found in re.finditer("\n", self.source.text))]
        self.open: list[Element] = []
        self.top: Element | None = None
        self.count = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._entity
        self.parser.ExternalEntityRefHandler = self._external
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def root(self) -> Element:
        if not self.data.strip():
            raise refuse(DataError, "E0820", f"{self.source.name} is empty")
        try:
            self.parser.Parse(self.data, True)
        except expat.ExpatError as error:
            raise self._broken(error) from None
        except (ValueError, LookupError) as error:  # an encoding that nobody knows
            raise refuse(DataError, "E0820", f"{self.source.name} cannot be read as XML: {error}") from None
        assert self.top is not None
        return self.top

    def _broken(self, error: expat.ExpatError) -> SpnError:
        what = expat.errors.messages.get(error.code, "not well-formed")
        span = self._span(error.lineno, error.offset, mark=False)
        return refuse(
            DataError, "E0820", f"this is not well-formed XML: {what}", span=span, help="was the file cut off, or edited by hand?"
        )

    # --- places

    def _span(self, line: int, column: int, *, mark: bool) -> Span:
        """The tag that begins at a line and column, or a single character."""
        text = self.source.text
        start = min(self.lines[min(line, len(self.lines)) - 1] + column, max(0, len(text) - 1))
        last = text.find(">", start) if mark else start
        return Span(self.source, start, (start if last < 0 else last) + 1)

    def _here(self) -> Span:
        return self._span(self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber, mark=True)

    # --- what the parser calls

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        self.count += 1
        if len(self.open) >= MAX_DEPTH or self.count > MAX_ELEMENTS:
            limit = f"{MAX_DEPTH} elements inside each other" if len(self.open) >= MAX_DEPTH else f"{MAX_ELEMENTS:,} elements"
            raise refuse(DataError, "E0821", f"there are more than {limit}; no net needs as many", span=self._here())
        element = Element(local, space, attributes, self._here())
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.top = element
        self.open.append(element)

    def _end(self, name: str) -> None:
        self.open.pop()

    def _characters(self, text: str) -> None:
        self.open[-1].text += text

    def _doctype(self, name: str, system: str | None, public: str | None, inside: int) -> None:
        if name.lower() == "html":
            raise refuse(DataError, "E0822", "this is a web page (HTML), not a net", span=self._here(), help="was it an error page?")
        help = "remove the <!DOCTYPE …> with all it declares; a net needs none"
        raise refuse(DataError, "E0821", "document types are not read, for the entities they may declare", span=self._here(), help=help)

    def _entity(self, name: str, *_: object) -> None:
        raise refuse(DataError, "E0821", f"the entity {name} is declared; entities are not read", span=self._here())

    def _external(self, *_: object) -> int:
        raise refuse(DataError, "E0821", "this refers to another file; nothing is read from there", span=self._here())


def _text(data: bytes) -> str:
    """The text for messages: as its declaration says, with other bytes shown as such; one kind of line break."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    declared = _DECLARED.match(data[:200])
    if declared is not None:
        encoding = declared[1].decode("ascii").lower()
    try:
        text = data.decode(encoding, "backslashreplace")
    except (LookupError, ValueError):
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")
