"""JSON of traces: what the Trace Event Format allows beyond JSON, and clear words where a file is broken."""

from __future__ import annotations

import json
from typing import Any

from spn.errors import DataError, SpnError, refuse
from spn.trace.files import Content

_DECODER = json.JSONDecoder(strict=False)  # control characters inside strings are taken as they are
SHOWN = 30  # characters shown on either side of a broken place


def parse(content: Content) -> tuple[Any, bool]:
    """The value, and whether it was cut off: an array may lack its closing bracket, and then a torn last element is left out.

    DataError E0802 with line, column and offset for anything else that is broken.
    """
    text = content.text
    try:
        value, end = _DECODER.raw_decode(text, _skip(text, 0))
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("["):
            return _open_array(content)
        raise _broken(content, error.msg, error.pos) from None
    except RecursionError:
        raise refuse(DataError, "E0802", f"{content.path} nests its values too deeply to be a trace") from None
    rest = _skip(text, end)
    if rest < len(text):
        lines = "; one value a line (JSON lines) is not a trace" if "\n" in text[end:rest] else ""
        raise _broken(content, f"something follows the end of the JSON value{lines}", rest)
    return value, False


def _open_array(content: Content) -> tuple[list[Any], bool]:
    """Elements one by one until the text ends; an element that is broken although more follows is an error."""
    text = content.text
    values: list[Any] = []
    at = _skip(text, text.index("[") + 1)
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as torn:
            if "}" in text[torn.pos :]:  # more follows: not the torn end of a file
                raise _broken(content, torn.msg, torn.pos) from None
            return values, True
        values.append(value)
        at = _skip(text, at)
        if at < len(text) and text[at] not in ",]":
            raise _broken(content, "expected a comma or the end of the array", at)
        at = _skip(text, at + 1)
    return values, False


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _broken(content: Content, message: str, at: int) -> SpnError:
    text = content.text
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    around = text[max(0, at - SHOWN) : at] + " <here> " + text[at : at + SHOWN]
    shown = " ".join(around.split())
    return refuse(
        DataError,
        "E0802",
        f"{content.path} is not valid JSON: {message}, at line {line}, column {column} (character {at} of {len(text)})",
        help="the trace was cut off or written wrongly; record it again, or mend that place",
        notes=(f"around it: {shown}",),
    )
