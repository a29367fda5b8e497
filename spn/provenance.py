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
    return "".join(_pieces(value))


def _pieces(value: object) -> Iterable[str]:
    match value:
        case Enum():
            yield str(value.value)
        case bool() | int() | str() | None:
            yield repr(value)
        case Fraction():
            yield f"{value.numerator}/{value.denominator}"
        case Mapping():
            yield from _group("{", [(k, value[k]) for k in sorted(value, key=repr)], "}")
        case tuple() | list():
            yield from _group("(", value, ")")
        case _ if is_dataclass(value):
            yield type(value).__name__
            yield from _group("(", [(f.name, getattr(value, f.name)) for f in fields(value) if f.compare], ")")
        case _:
            yield _number(value)


def _group(opening: str, parts: Iterable[object], closing: str) -> Iterable[str]:
    yield opening
    for part in parts:
        yield from _pieces(part)
        yield ","
    yield closing


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
