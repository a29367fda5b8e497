"""The stream of JSON against the parser of the standard library, however the text is laid out and cut into chunks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.errors import DataError
from spn.trace import jsonstream
from spn.trace.files import Source
from spn.trace.jsonstream import Document

KEYS = st.text(alphabet='ab"{}[],:\\ \n', max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.lists(st.dictionaries(KEYS, VALUES, max_size=3), max_size=8)


def source(text: str, size: int) -> Source:
    data = text.encode("utf-8", errors="surrogatepass")
    pieces: Iterator[bytes] = iter([data[i : i + size] for i in range(0, len(data), size)])
    return Source(path="x", chunks=pieces, digest=hashlib.sha256())


def elements(text: str, size: int) -> tuple[list[Any], dict[str, Any], bool]:
    """The elements of the long array, the other values, and whether the text was cut."""
    document = Document(source(text, size))
    found, other = [], {}
    for key, value, run in document.items():
        if run:
            found += value
        elif key is not None:
            other[key] = value
    return found, other, document.cut


@settings(max_examples=200, deadline=None)
@given(OBJECTS, st.dictionaries(st.sampled_from("xyz"), VALUES.filter(lambda v: not isinstance(v, list)), max_size=3), st.data())
def test_elements_are_those_of_the_standard_parser(objects: list[Any], other: dict[str, Any], data: st.DataObject) -> None:
    indent, size = data.draw(st.sampled_from([None, 1, 3])), data.draw(st.integers(1, 200))
    for text in (json.dumps({"a": 1, "traceEvents": objects, **other}, indent=indent), json.dumps(objects, indent=indent)):
        found, told, cut = elements(text, size)
        assert (found, cut) == (objects, False)
        assert text.startswith("[") or told == {"a": 1, **other}


@settings(max_examples=150, deadline=None)
@given(OBJECTS.filter(bool), st.data())
def test_a_text_cut_anywhere_gives_whole_elements_only(objects: list[Any], data: st.DataObject) -> None:
    """A prefix of the elements, or an error where what follows looks like more than a torn end; never another element."""
    text = json.dumps({"traceEvents": objects})
    cut = data.draw(st.integers(20, len(text) - 1))
    try:
        found, _, was_cut = elements(text[:cut], 50)
    except DataError:
        return
    assert found == objects[: len(found)]
    assert was_cut


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_lines_of_values(size: int) -> None:
    objects = [{"ph": "X", "n": i, "s": "\n{"} for i in range(40)]
    assert elements("\n".join(json.dumps(o) for o in objects), size)[0] == objects


def test_both_parsers_agree_on_a_long_array(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = [{"name": f'f<"{i}">, {{', "args": [{"deep": [{}]}, {"deep": {"x": "}, {"}}], "ts": i / 7} for i in range(500)]
    text = json.dumps({"traceEvents": objects}, indent=2)
    assert elements(text, 5000)[0] == objects
    monkeypatch.setattr(jsonstream, "_LOADS", None)
    assert elements(text, 5000)[0] == objects


@pytest.mark.parametrize(("text", "line", "column"), [('{"a": [\n {"b": 1},\n {"b" 2}]}', 3, 7), ('{"a": 1,\n\n "b" 2}', 3, 6)])
def test_errors_tell_line_and_column_whatever_the_chunks(text: str, line: int, column: int) -> None:
    for size in (1, 5, 1000):
        with pytest.raises(DataError, match=f"line {line}, column {column}"):
            elements(text, size)
