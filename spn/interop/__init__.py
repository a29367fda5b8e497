"""Nets in the formats of other tools: one format a file, and this one table of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from spn.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """``recognises`` looks at the first bytes of a file, ``suffixes`` say what a file is meant to be that shows nothing; ``read`` takes the
    bytes, the name that messages show and a title, and raises ModelError or DataError with the place of what is wrong."""

    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[bytes], bool]
    read: Callable[[bytes, str, str], Model]


def _read_pnml(data: bytes, name: str, title: str) -> Model:
    from spn.interop.pnml import read

    return read(data, name, title)


def _is_xml(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf\xfe\xff \t\r\n\x00").startswith(b"<")


FORMATS = (Format(name="PNML", suffixes=(".pnml",), recognises=_is_xml, read=_read_pnml),)


def format_of(data: bytes, name: str) -> Format | None:
    """The format of a file by its content, else by its suffix; None for a text of the model language, which never begins with ``<``."""
    by_content = next((f for f in FORMATS if f.recognises(data[:1024])), None)
    return by_content or next((f for f in FORMATS if PurePath(name).suffix.lower() in f.suffixes), None)


def as_bytes(text: str) -> bytes:
    """A text as the file that it would be: in UTF-8, whatever encoding an XML declaration in it names."""
    return re.sub(r"\A(\s*<\?xml[^>]*?)\s+encoding\s*=\s*(\"[^\"]*\"|'[^']*')", r"\1", text).encode()
