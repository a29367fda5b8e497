"""Writing to people: answers on stdout, diagnostics and progress on stderr, colours only on a terminal that wants them."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from dataclasses import dataclass, field
from typing import Final, TextIO

from spn.errors import Diagnostic, Severity, render
from spn.kernel_cache import simulator_is_compiled
from spn.show.grid import Grid, plain

_CODES: Final = {"bold": "1", "red": "1;31", "yellow": "1;33", "blue": "1;34", "green": "32", "dim": "2"}
_REFRESH: Final = 0.1  # seconds between two updates of a progress line


def colourful(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours; NO_COLOR (https://no-color.org) set to anything forbids them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, look: str, stream: TextIO) -> str:
    return f"\033[{_CODES[look]}m{text}\033[0m" if text and colourful(stream) else text


def say(text: str = "") -> None:
    """A line of the answer."""
    print(text)


def prose(text: str) -> None:
    """A sentence of the answer, broken between words at the edge of a terminal; one line where stdout is none."""
    if sys.stdout.isatty():
        text = textwrap.fill(text, max(40, terminal_width()), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    print(text)


def show(grid: Grid) -> None:
    """A table of the answer."""
    say(plain(grid, lambda line: paint(line, "bold", sys.stdout)))


def terminal_width() -> int:
    """Columns of the terminal, without limit where stdout is none (a file or a pipe wants whole tables)."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 10**6


def report(*diagnostics: Diagnostic) -> None:
    """Diagnostics on stderr, with the severity, the caret and the hints coloured."""
    for d in diagnostics:
        print(_coloured(d), file=sys.stderr)


def complain(message: str, help: str = "") -> None:
    """An error without a code on stderr: one line, and a hint."""
    print(f"{paint('error', 'red', sys.stderr)}: {message}", file=sys.stderr)
    if help:
        print(f"  {paint('help', 'blue', sys.stderr)}: {help}", file=sys.stderr)


def note(text: str) -> None:
    """A remark on stderr that is part of no answer."""
    print(f"{paint('note', 'blue', sys.stderr)}: {text}", file=sys.stderr)


def _coloured(diagnostic: Diagnostic) -> str:
    look = "red" if diagnostic.severity is Severity.ERROR else "yellow"
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    lines = render(diagnostic).split("\n")
    lines[0] = lines[0].replace(head, paint(head, look, sys.stderr), 1)
    return "\n".join([lines[0], *(_coloured_line(line, look) for line in lines[1:])])


def _coloured_line(line: str, look: str) -> str:
    for label in ("help", "note"):
        if line.startswith(f"  {label}: "):
            return f"  {paint(label, 'blue', sys.stderr)}{line[2 + len(label) :]}"
    gutter, bar, rest = line.partition(" | ")
    if bar and not gutter.strip() and rest.lstrip().startswith("^"):
        return gutter + bar + paint(rest, look, sys.stderr)
    return line


@dataclass(slots=True)
class Progress:
    """A line on stderr that is written over while work goes on; silent unless stderr is a terminal.

    Use it as a context: leaving it wipes the line. It begins with why the first run of all takes so long.
    """

    last: float = field(default=0.0)
    written: bool = False

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and not simulator_is_compiled():
            self.show("the simulator is compiled on its first long run, which can take half a minute, once")
        return self

    def __exit__(self, *_: object) -> None:
        if self.written:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def show(self, text: str, fraction: float | None = None) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self.last < _REFRESH:
            return
        self.last, self.written = now, True
        line = text if fraction is None else f"{_bar(fraction)} {text}"
        columns = shutil.get_terminal_size().columns
        sys.stderr.write("\r\033[K" + line[: columns - 1])
        sys.stderr.flush()


def _bar(fraction: float, cells: int = 20) -> str:
    full = round(max(0.0, min(1.0, fraction)) * cells)
    return f"[{'#' * full}{'.' * (cells - full)}] {100 * max(0.0, min(1.0, fraction)):3.0f} %"
