"""Fits from trace files: what ``fit("trace.json.gz", name="compute")`` in a model and ``spn fit FILE`` call."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from spn.dist.law import Floats
from spn.errors import DataError, refuse
from spn.fitting.goodness import SAMPLES
from spn.fitting.model import Fit
from spn.fitting.select import fit
from spn.trace.readers import read
from spn.trace.records import Trace
from spn.trace.steps import PHASES, steps, unknown_operation

RESOLUTION = 4e-9  # seconds: a record is whole nanoseconds, and a phase is cut at the rounded edges of several


def fit_file(
    path: str | Path,
    name: str | None = None,
    family: str = "auto",
    criterion: str = "aicc",
    *,
    mark: str | None = None,
    seed: int = 0,
    samples: int = SAMPLES,
    **options: str,
) -> Fit:
    """Fit a law, in seconds, to one operation or phase of a trace file.

    ``name``: an operation exactly as the trace calls it, or else a phase of the training steps: step, compute, communication, exposed
    (communication that neither compute nor update hides), update, local (step without exposed); see :class:`spn.trace.steps.Steps`.
    An operation comes before a phase of that name. Without a name: the only operation there is, or else the step.
    ``mark``: the operation with which every step begins, where the profiler left no marks. ``options`` go to the reader (CSV: column,
    unit). The rest as in :func:`spn.fitting.fit`. The same file is not read or fitted twice in one process.

    Raises DataError: those of :func:`spn.trace.read` and :func:`spn.fitting.fit`;
    E0803 nothing recorded; E0804 no such operation; E0805 no step marks.
    """
    where = Path(path)
    return _cached(where, _version(where), name, family, criterion, mark, seed, samples, tuple(sorted(options.items())))


def durations(trace: Trace, name: str | None = None, mark: str | None = None) -> tuple[Floats, str]:
    """Seconds of an operation or phase of a trace in their order, and what they are called; see :func:`fit_file`."""
    if len(trace) == 0 and len(trace.mark_number) == 0:
        raise refuse(DataError, "E0803", f"{trace.origin.path} holds no durations", help=_problems(trace))
    if name is None:
        name = trace.operations[0] if len(trace.operations) == 1 else "step"
    chosen = trace.select(name)
    if chosen.any():
        return np.asarray(trace.duration_ns[chosen] / 1e9), name
    if name not in PHASES:
        raise unknown_operation(trace, name)
    found = steps(trace, mark)
    values = found.phase(name)
    if not values.any():
        raise refuse(DataError, "E0804", f"no step of {trace.origin.path} holds any {name}", help=repr(found))
    return np.asarray(values / 1e9), "step" if name == "step" else f"{name} per step"


def _version(path: Path) -> tuple[int, int]:
    """What changes when the file does; zeros where there is none (the reader tells)."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=256)
def _cached(
    path: Path,
    version: tuple[int, int],
    name: str | None,
    family: str,
    criterion: str,
    mark: str | None,
    seed: int,
    samples: int,
    options: tuple[tuple[str, str], ...],
) -> Fit:
    trace = _read(path, version, options)
    values, label = durations(trace, name, mark)
    return fit(values, family, criterion, seed=seed, samples=samples, resolution=RESOLUTION, source=f"{label} in {path.name}")


@lru_cache(maxsize=4)
def _read(path: Path, version: tuple[int, int], options: tuple[tuple[str, str], ...]) -> Trace:
    return read(path, **dict(options))


def _problems(trace: Trace) -> str:
    return "; ".join(str(p) for p in trace.problems)
