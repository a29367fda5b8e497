"""Files of parameters: what a calibration found, as text of the model language, and back into values for a model."""

from __future__ import annotations

import hashlib
from pathlib import Path

from spn.errors import DataError, refuse
from spn.fitting import Fit
from spn.lang import ast
from spn.lang.parse import parse
from spn.sgd.calibrate import COMPUTE, UPDATE, Calibration
from spn.source import Source


def written(found: Calibration) -> str:
    """The parameter file: one ``param`` or ``dist`` for each thing found, with where it is from and how well it fits as comments."""
    with Path(found.source).open("rb") as file:  # a trace may be larger than memory
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    lines = [f"// Parameters from {Path(found.source).name}, SHA-256 {digest}", *_law(COMPUTE, found.compute)]
    lines += _law(UPDATE, found.update) if found.update is not None else ["", "// apply: no update in the trace; the model's default stays"]
    if found.size is None:
        lines += ["", "// size: not in the trace; the model's default stays"]
    else:
        lines += ["", "// bytes sent in one direction in a step", f"param size : bytes = {found.size} B"]
    if found.link is None:
        lines += ["", "// bandwidth: no transfers between nodes in the trace; the model's default stays"]
    else:
        lines += ["", f"// from {found.link.n} phases of transfers, {found.link.outliers} of them outlying"]
        lines.append(f"param bandwidth : bytes/s = {found.link.capacity:.6g} B/s")
        if found.link.latency is not None:
            lines.append(f"param delay : time = {found.link.latency:.6g} s")
    return "\n".join(lines) + "\n"


def _law(name: str, fit: Fit) -> list[str]:
    return ["", f"// {fit.describe()}", *(f"// warning: {w}" for w in fit.warnings), f"dist {name} = {fit.literal()}"]


def settings(path: str | Path) -> dict[str, str]:
    """The values of a parameter file by name, as text for :func:`spn.load`. DataError E0801 where it cannot be read, E0802 where
    it holds anything but parameters and laws; ModelError where it is not text of the language."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise refuse(DataError, "E0801", f"{path} cannot be read: {e}") from None
    values: dict[str, str] = {}
    for s in parse(Source(str(path), text)).statements:
        match s:
            case ast.Dist(name=name, law=law):
                values[name.text] = law.span.text
            case ast.Param(name=name, default=value) if value is not None:
                values[name.text] = value.span.text
            case _:
                raise refuse(DataError, "E0802", f"{path} is no file of parameters: it holds more than param and dist with values")
    return values
