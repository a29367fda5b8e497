"""What made a result: the version, a stable digest of the net and its questions, parameter values, options and library versions.

The digest covers what takes part in the model's meaning (the compared fields of net, measures and unit mode), not documentation or
positions in the text, so reformatting a file or moving it leaves the digest alone.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from spn.model import Model
from spn.result import Provenance

LIBRARIES = ("numpy", "scipy", "numba")


def provenance(model: Model, options: Mapping[str, Any], seed: int | None = None) -> Provenance:
    """The provenance of an analysis of ``model`` under ``options``; ``seed`` of a simulation."""
    return Provenance(
        version=str(getattr(sys.modules["spn"], "__version__", "unknown")),
        model=model.name or model.net.name,
        digest=digest(model),
        parameters={p.name: float(p.value) for p in model.parameters},
        options=dict(options),
        seed=seed,
        versions={"python": platform.python_version(), **{name: _version(name) for name in LIBRARIES}},
    )


def digest(model: Model) -> str:
    """The SHA-256 (hexadecimal) of :func:`canonical` text of net, measures and unit mode."""
    text = canonical((model.net, model.measures, model.unitless))
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(value: object) -> str:
    """One text for one meaning: equal values have equal texts, on every platform and in every run."""
    pieces: list[str] = []
    _write(value, pieces)
    return "".join(pieces)


def _write(value: object, pieces: list[str]) -> None:
    """Append the text of a value, piece by piece: large nets have a million of them."""
    names = _compared(type(value))
    if names is not None:
        pieces.append(type(value).__name__)
        pieces.append("(")
        for name in names:
            pieces.append(f"({name!r},")
            _write(getattr(value, name), pieces)
            pieces.append(",),")
        pieces.append(")")
        return
    match value:
        case Enum():
            pieces.append(str(value.value))
        case bool() | int() | str() | None:
            pieces.append(repr(value))
        case Fraction():
            pieces.append(f"{value.numerator}/{value.denominator}")
        case Mapping():
            _group("{", [(k, value[k]) for k in sorted(value, key=repr)], "}", pieces)
        case tuple() | list():
            _group("(", value, ")", pieces)
        case _:
            pieces.append(_number(value))


_COMPARED: dict[type, tuple[str, ...] | None] = {}


def _compared(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass that count for equality; None for other types."""
    if kind not in _COMPARED:
        plain = is_dataclass(kind) and not issubclass(kind, Enum)
        _COMPARED[kind] = tuple(f.name for f in fields(kind) if f.compare) if plain else None
    return _COMPARED[kind]


def _group(opening: str, parts: Iterable[object], closing: str, pieces: list[str]) -> None:
    pieces.append(opening)
    for part in parts:
        _write(part, pieces)
        pieces.append(",")
    pieces.append(closing)


def _number(value: object) -> str:
    """Floats by their shortest exact text; arrays as tuples of them."""
    listed = getattr(value, "tolist", None)
    if listed is not None and not isinstance(value, float):
        return canonical(tuple(listed()) if isinstance(listed(), list) else listed())
    return repr(value)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
