"""JSON of traces in a stream: one element of a long array at a time, what the Trace Event Format allows beyond JSON, and the place
where a file is broken.

The C scanner of the standard library reads the elements, on a window of the text that slides. That was measured against reading all
at once: as fast, and the memory is that of a window.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from spn.errors import DataError, SpnError, refuse
from spn.trace.files import HEAD, Source

SHOWN = 30  # characters shown on either side of a broken place
LARGEST = 1 << 28  # characters of one value
AHEAD = 64  # an error this near to the end of the window may be one of the window
_SCAN: Any = json.JSONDecoder(strict=False).scan_once  # type: ignore[attr-defined]  # control characters inside strings are taken as they are
try:  # twice as fast; nothing else depends on it
    from orjson import loads as _loads
except ImportError:
    _LOADS: Callable[[bytes], Any] | None = None
else:
    _LOADS = _loads
_WORTH = 1 << 12  # characters
_SPACE = re.compile(r"[ \t\r\n]*").match
_BETWEEN = re.compile(r"[ \t\r\n]*(,?)[ \t\r\n]*").match


class Item(NamedTuple):
    """A value of the file under ``key`` of the outermost object, or a run of the elements of the array under it (``elements``). The
    key is None for elements of an outermost array and for values a line."""

    key: str | None
    value: Any
    elements: bool


class Window:
    """The part of the text that is at hand; ``at`` is where reading goes on."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.chunks = source.text()
        self.text, self.at, self.ended = "", 0, False
        self.gone = self.lines = self.column = 0  # characters, line ends, and characters since the last line end that went by

    def more(self) -> bool:
        """Make the window at least as large again; whether there was more."""
        if self.ended:
            return False
        parts = [self.text[self.at :]]
        self._forget(self.text[: self.at])
        wanted = max(1, len(parts[0]))
        if wanted > LARGEST:
            raise self.broken(f"one value has more than {LARGEST >> 20} million characters")
        while wanted > 0:
            chunk = next(self.chunks, None)
            if chunk is None:
                self.ended = True
                break
            parts.append(chunk)
            wanted -= len(chunk)
        self.text, self.at = "".join(parts), 0
        return not self.ended or len(self.text) > len(parts[0])

    def _forget(self, text: str) -> None:
        self.gone += len(text)
        if (ends := text.count("\n")) > 0:
            self.lines += ends
            self.column = len(text) - text.rfind("\n") - 1
        else:
            self.column += len(text)

    def peek(self) -> str:
        """The next character that is no space, or "" at the end."""
        while True:
            self.at = _SPACE(self.text, self.at).end()  # type: ignore[union-attr]  # the pattern matches everywhere
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def value(self) -> Any:
        """The value that begins here. EOFError where the text ends within it; DataError E0802 where it is broken."""
        while True:
            try:
                value, end = _SCAN(self.text, self.at)
            except StopIteration as stop:
                message, place = "a value was expected", int(stop.value)
            except json.JSONDecodeError as error:
                message, place = error.msg, error.pos
            except RecursionError:
                raise refuse(DataError, "E0802", f"{self.source.path} nests its values too deeply to be a trace") from None
            else:
                if end < len(self.text) or self.ended or isinstance(value, dict | list | str):
                    self.at = end
                    return value
                message, place = "", end
            if "Unterminated" not in message and place < len(self.text) - AHEAD:
                raise self.broken(message, place)
            if not self.ended:
                self.more()
            elif "}" in self.text[place:]:  # more follows: not the torn end of a file
                raise self.broken(message, place)
            else:
                raise EOFError(message)

    def broken(self, message: str, place: int | None = None) -> SpnError:
        at = self.at if place is None else place
        before = self.text[:at]
        line = self.lines + before.count("\n") + 1
        column = at - before.rfind("\n") if "\n" in before else self.column + at + 1
        around = self.text[max(0, at - SHOWN) : at] + " <here> " + self.text[at : at + SHOWN]
        return refuse(
            DataError,
            "E0802",
            f"{self.source.path} is not valid JSON: {message}, at line {line}, column {column} (character {self.gone + at})",
            help="the trace was cut off or written wrongly; record it again, or mend that place",
            notes=(f"around it: {' '.join(around.split())}",),
        )


class Document:
    """The values of a file in order; ``cut`` whether the file ended within one (what was whole has been given)."""

    def __init__(self, source: Source) -> None:
        self.window = Window(source)
        self.cut = False
        self.several = False  # values a line
        self.empty = False  # an array without elements

    def items(self) -> Iterator[Item]:
        """Elements of the outermost array, values of the outermost object (elements where they are arrays), or values a line."""
        try:
            yield from self._items()
        except EOFError:
            self.cut = True

    def _items(self) -> Iterator[Item]:
        window = self.window
        first = window.peek()
        if first == "[":
            self.empty = True
            for item in self._array(None):
                self.empty = False
                yield item
        elif first == "{" and self._one_a_line():
            yield from self._lines()
            return
        elif first == "{":
            yield from self._object()
        else:
            yield Item(None, window.value(), False)
        if window.peek():
            raise window.broken("something follows the end of the JSON value")

    def _one_a_line(self) -> bool:
        """Whether a whole object ends within the first characters and another one begins after it."""
        window = self.window
        while len(window.text) - window.at < HEAD and window.more():
            pass
        text = window.text[window.at : window.at + HEAD]
        try:
            _, end = _SCAN(text, 0)
        except (StopIteration, json.JSONDecodeError, RecursionError):
            return False
        return text[_SPACE(text, end).end() :][:1] == "{"  # type: ignore[union-attr]  # the pattern matches everywhere

    def _lines(self) -> Iterator[Item]:
        self.several = True
        window = self.window
        while window.peek():
            run, window.at = _run(window.text, window.at, comma=False)
            yield Item(None, run or [window.value()], True)

    def _array(self, key: str | None) -> Iterator[Item]:
        """Elements; the bracket that closes may be missing at the end of the file, with or without a comma before it."""
        window = self.window
        window.at += 1
        while (following := window.peek()) != "]":
            if not following:
                if key is not None:
                    raise EOFError
                return
            run, window.at = _run(window.text, window.at, comma=True)
            yield Item(key, run or [window.value()], True)
            after = window.peek()
            if after == ",":
                window.at += 1
            elif after not in ("]", ""):
                raise window.broken("expected a comma or the end of the array")
        window.at += 1

    def _object(self) -> Iterator[Item]:
        window = self.window
        window.at += 1
        while (first := window.peek()) != "}":
            if not first:
                raise EOFError
            if first != '"':
                raise window.broken("a name in quotes was expected")
            key = window.value()
            if (colon := window.peek()) != ":":
                raise window.broken("a colon was expected") if colon else EOFError()
            window.at += 1
            if window.peek() == "[":
                yield Item(key, [], True)
                yield from self._array(key)
            else:
                yield Item(key, window.value(), False)
            after = window.peek()
            if after == ",":
                window.at += 1
            elif after != "}":
                raise window.broken("expected a comma or the end of the object") if after else EOFError()
        window.at += 1


def _quick_run(text: str, at: int, loads: Callable[[bytes], Any]) -> tuple[list[Any], int] | None:
    """What :func:`_run` finds, by a faster parser: elements as far as the last place that looks like the one between the first two. Where
    that place was none (it lay in a string or in an element), or the parser is stricter, the answer is None."""
    try:
        _, last = _SCAN(text, at)
    except (StopIteration, json.JSONDecodeError, RecursionError):
        return None
    indent = len(text[at:last]) - len(text[at : last - 1].rstrip()) - 1
    follows = _BETWEEN(text, last)
    between = text[last - 1 - indent : follows.end() + 1]  # type: ignore[union-attr]  # the pattern matches everywhere
    end = text.rfind(between, last) + indent + 1 if between.endswith("{") else -1
    if end <= last:
        return None
    try:
        return loads(f"[{text[at:end]}]".encode()), end
    except ValueError:
        return None


def _run(text: str, at: int, comma: bool) -> tuple[list[Any], int]:
    """The objects that lie whole in the text from ``at`` on, with a ``comma`` or else space between them, and where the last one ends.
    Whatever is odd ends the run, to be looked at again where errors are told."""
    quick = _quick_run(text, at, _LOADS) if comma and _LOADS is not None and len(text) - at > _WORTH else None
    if quick is not None and all(value.__class__ is dict for value in quick[0]):
        return quick
    values: list[Any] = []
    last = at
    try:
        while text[at] == "{":
            value, last = _SCAN(text, at)
            values.append(value)
            follows = _BETWEEN(text, last)
            at = follows.end()  # type: ignore[union-attr]  # the pattern matches everywhere
            if comma and not follows[1]:  # type: ignore[index]  # the pattern matches everywhere
                break
    except (StopIteration, json.JSONDecodeError, RecursionError, IndexError):
        pass
    return values, last


def is_json(head: bytes) -> bool:
    """Whether the first character that is no space, after a byte order mark, begins an object or an array."""
    return head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")[:1] in (b"{", b"[")
