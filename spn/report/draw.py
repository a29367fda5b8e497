"""Diagrams of nets: DOT by :mod:`spn.report.dot`, laid out by a Graphviz engine, written as SVG, PNG, PDF or DOT."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast

from spn.errors import DataError, ModelError, nearest, refuse
from spn.model import Model
from spn.net.model import Net
from spn.report.dot import to_dot
from spn.report.labels import UNITLESS, WITH_UNITS

Format = Literal["svg", "png", "pdf", "dot"]
FORMATS: Final = ("svg", "png", "pdf", "dot")
_ALIASES: Final = {"gv": "dot"}


@dataclass(frozen=True, slots=True)
class Drawing:
    """A net in DOT, ready to be rendered; shows itself as a picture in notebooks."""

    dot: str

    def render(self, form: Format = "svg") -> bytes:
        """The bytes of a file of that format; an AnalysisError where no Graphviz engine is to be had."""
        from spn.report.graphviz import render

        match form:
            case "dot":
                return self.dot.encode()
            case "pdf":
                from spn.report.pdf import to_pdf

                return to_pdf(render(self.dot, "json"))
            case _:
                return render(self.dot, form)

    def _repr_svg_(self) -> str:
        return self.render("svg").decode()


def draw(subject: Net | Model, path: str | os.PathLike[str] | None = None, *, form: str | None = None) -> Drawing:
    """A diagram of a net or of a model's net; written to ``path`` if one is given.

    The format is ``form`` or else the suffix of the path, one of svg, png, pdf, dot; an unknown one is a ModelError. A file that cannot
    be written is a DataError, a machine without Graphviz an AnalysisError.
    """
    drawing = Drawing(_dot(subject))
    if path is not None:
        write(drawing.render(chosen_format(path, form)), path)
    return drawing


def _dot(subject: Net | Model) -> str:
    if isinstance(subject, Model):
        return to_dot(subject.net, UNITLESS if subject.unitless else WITH_UNITS, subject.name)
    if not isinstance(subject, Net):
        raise TypeError(f"a Model or a Net can be drawn, not {type(subject).__name__}; spn.load(path) makes a model of a file")
    return to_dot(subject)


def chosen_format(path: str | os.PathLike[str], form: str | None = None, formats: tuple[str, ...] = FORMATS) -> Format:
    """The format asked for, or that of the path's suffix."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    wanted = (form or suffix).lower()
    wanted = _ALIASES.get(wanted, wanted)
    if wanted in formats:
        return cast(Format, wanted)
    near = nearest(wanted, formats)
    what = f"cannot write pictures as {wanted!r}" if wanted else f"the name {os.fspath(path)!r} has no suffix that says the format"
    raise refuse(ModelError, "E0913", what, help=(f"did you mean {near}? " if near else "") + f"formats: {', '.join(formats)}")


def writable(path: str | os.PathLike[str]) -> None:
    """A DataError where a file can never be written there: better before long work than after it. Nothing is created."""
    target = Path(path)
    reason = ""
    if target.is_dir():
        reason = "it is a folder"
    elif not target.parent.is_dir():
        reason = f"there is no folder {target.parent}"
    elif not os.access(target if target.exists() else target.parent, os.W_OK):
        reason = "permission denied"
    if reason:
        raise refuse(DataError, "E0914", f"cannot write {os.fspath(path)}: {reason}", help="give another path with -o")


def write(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file; a DataError that names it where that fails."""
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise refuse(DataError, "E0914", f"cannot write {os.fspath(path)}: {error.strerror}", help="give another path with -o") from None
