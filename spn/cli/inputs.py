"""What people type: files, ``name=value`` settings, ranges and durations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Final

from spn.errors import DataError, ModelError, SpnError, nearest, refuse

_SETTING: Final = re.compile(r"\s*([^\W\d][\w.\[\]]*)\s*=\s*(.*\S)\s*\Z")
_RANGE: Final = re.compile(r"([+-]?\d+)\s*\.\.\s*([+-]?\d+)\Z")
_DURATION: Final = re.compile(r"([0-9.eE+-]+)\s*(ns|us|ms|s|min|h|d)?\Z")
_SECONDS: Final[dict[str, Fraction | int]] = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": 1,
    "min": 60,
    "h": 3600,
    "d": 86400,
}
MAX_POINTS: Final = 100_000


def existing_file(text: str) -> Path:
    """The path of a file that exists, or a DataError with the nearest one beside it that does."""
    path = Path(text)
    if path.is_dir():
        raise refuse(DataError, "E0902", f"{text} is a folder, not a file", help="name a file in it")
    if path.exists():  # pipes too: `spn check <(make-a-model)`
        return path
    near = _nearest_of(path.name, _files(path.parent.glob("*")))
    raise refuse(DataError, "E0901", f"there is no file {text}", help=f"did you mean {near}?" if near else _folder_hint(path))


def model_file(text: str) -> Path:
    """The same for a model file, which may be a shipped one; the nearest is also sought below its folder and among the shipped."""
    from spn.loading import find

    path = find(text)
    if path.exists():
        return existing_file(str(path))
    near = nearest_model(path)
    raise refuse(DataError, "E0901", f"there is no file {text}", help=f"did you mean {near}?" if near else _folder_hint(path))


def _folder_hint(path: Path) -> str:
    return "" if path.parent.is_dir() else f"there is no folder {path.parent} either"


def nearest_model(path: Path) -> str | None:
    """A model with a like name: beside the one asked for, below its folder or the working one, or among the shipped models."""
    beside = path.parent if path.parent.is_dir() else Path()
    candidates = (_files(beside.glob("*.spn")), _files(beside.glob("*/*.spn")), _shipped())
    return next((near for files in candidates if (near := _nearest_of(path.name, files))), None)


def _files(paths: Iterable[Path]) -> list[Path]:
    return sorted(p for p in paths if p.is_file())


def _nearest_of(wanted: str, files: Iterable[Path]) -> str | None:
    named = {f.name.removesuffix(".spn"): f for f in files}  # or all would be alike in their ends
    found = nearest(wanted.removesuffix(".spn"), named)
    return _short(named[found]) if found else None


def _short(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _shipped() -> list[Path]:
    from spn.resources import folder

    try:
        return _files(folder("models").rglob("*.spn"))
    except SpnError:
        return []


def model_files(texts: Iterable[str]) -> list[Path]:
    """The model files named, those of a folder (all below it) in the order of their names."""
    found: list[Path] = []
    for text in texts:
        path = Path(text)
        inside = sorted(path.rglob("*.spn")) if path.is_dir() else [model_file(text)]
        if not inside:
            raise refuse(DataError, "E0902", f"there is no .spn file in {text}")
        found += inside
    return list(dict.fromkeys(found))


def settings(texts: Iterable[str]) -> dict[str, str]:
    """``-p name=value``, each name once, values as the language writes them (``10 Gbit/s``)."""
    chosen: dict[str, str] = {}
    for text in texts:
        found = _SETTING.match(text)
        if not found:
            raise refuse(ModelError, "E0903", f"cannot read the setting {text!r}", help="write it as name=value, for instance -p workers=8")
        name, value = found.groups()
        if name in chosen:
            raise refuse(ModelError, "E0903", f"the parameter {name} is set twice", help="set every parameter once")
        chosen[name] = value
    return chosen


def sweep(text: str) -> tuple[str, list[int | str]]:
    """``--over``: a name and the values it takes, from ``workers=1..16``, ``workers=1,2,4`` or ``bandwidth=1 Gbit/s,10 Gbit/s``."""
    found = _SETTING.match(text)
    if not found:
        help = "write it as name=1..16 or name=1,2,4,8, values with units where they have one"
        raise refuse(ModelError, "E0904", f"cannot read the range {text!r}", help=help)
    name, values = found.groups()
    points = [v for part in values.split(",") for v in _points(part.strip(), text)]
    if len(points) > MAX_POINTS:
        raise refuse(ModelError, "E0904", f"{text!r} has {len(points):,} points; at most {MAX_POINTS:,} are compared")
    return name, list(dict.fromkeys(points))


def _points(part: str, whole: str) -> list[int | str]:
    found = _RANGE.match(part)
    if not found:
        if not part or ".." in part:
            help = "a range is first..last in whole numbers; list other values: name=0.5,1,2"
            raise refuse(ModelError, "E0904", f"cannot read {part!r} in {whole!r}", help=help)
        return [part]
    first, last = int(found[1]), int(found[2])
    if last < first:
        raise refuse(ModelError, "E0904", f"the range {part} is empty", help=f"write {last}..{first}")
    return list(range(first, min(last, first + MAX_POINTS) + 1))


def interval(text: str) -> tuple[str, str, str]:
    """``--crossing``: a name and the two ends of its range, as they are written: ``bandwidth=1 Gbit/s..10 Gbit/s``."""
    found = _SETTING.match(text)
    ends = [end.strip() for end in found[2].split("..")] if found else []
    if not found or len(ends) != 2 or not all(ends):
        raise refuse(
            ModelError, "E0904", f"cannot read the range {text!r}", help="write it as name=first..last, with units where it has one"
        )
    return found[1], ends[0], ends[1]


def seconds(text: str) -> float:
    """A duration in seconds from ``90``, ``90 s``, ``10min``; ValueError where it is none, or not positive."""
    found = _DURATION.match(text.strip())
    if not found:
        raise ValueError(f"{text!r} is no duration; write for instance 90 s or 10 min")
    value = float(Fraction(found[1]) * _SECONDS[found[2] or "s"])
    if not value > 0:
        raise ValueError(f"{text!r} is not longer than nothing")
    return value


def share(text: str) -> float:
    """A number strictly between 0 and 1, from ``0.01`` or ``1%``; ValueError otherwise."""
    stripped = text.strip()
    value = float(Fraction(stripped[:-1].strip()) / 100 if stripped.endswith("%") else Fraction(stripped))
    if not 0 < value < 1:
        raise ValueError(f"{text!r} does not lie between 0 and 1")
    return value


def positive(text: str) -> float:
    """A number above 0; ValueError otherwise."""
    value = float(Fraction(text.strip()))
    if not value > 0:
        raise ValueError(f"{text!r} is not above 0")
    return value
