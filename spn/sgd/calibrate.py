"""From a profiling trace of a small run to the parameters of the coarse-grained mechanism models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spn.dist.law import Law
from spn.errors import DataError, refuse
from spn.fitting import Fit, fit_file
from spn.fitting.link import LinkFit, fit_link
from spn.trace import Kind, Trace, read, steps
from spn.trace.transfers import Phases, phases

# What the models in models/sgd call the three things that a trace tells of.
COMPUTE, UPDATE, SIZE = "step", "apply", "size"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a trace says of one worker: laws of the computation and of the update of a step (``update`` None where the trace has none),
    and the bytes sent in one direction in a step (None where the trace tells no sizes)."""

    compute: Fit
    update: Fit | None
    size: int | None
    source: str
    link: LinkFit | None = None  # of the transfers between nodes, both directions alike

    def settings(self) -> dict[str, Law | int]:
        """The values for :func:`spn.load`, under the names that the mechanism models use: ``step``, ``apply``, ``size``."""
        found: dict[str, Law | int] = {COMPUTE: self.compute.law}
        if self.update is not None:
            found[UPDATE] = self.update.law
        if self.size is not None:
            found[SIZE] = self.size
        return found

    def lines(self) -> tuple[str, ...]:
        """One line for each thing found, for people."""
        update = self.update.describe() if self.update is not None else "not in the trace; the model's default stays"
        size = f"{self.size} bytes a step" if self.size is not None else "not in the trace; the model's default stays"
        return (f"{COMPUTE}: {self.compute.describe()}", f"{UPDATE}: {update}", f"{SIZE}: {size}")


def calibrate(path: str | Path, *, seed: int = 0) -> Calibration:
    """Fit the computation and the update of a step, and find the bytes sent, in a profiling trace.

    With step marks (PyTorch's ``ProfilerStep``) these are the phases of the complete steps (:func:`spn.trace.steps`); without them the
    trace must name its operations ``compute`` and, where there is one, ``update``. Bytes are the median over steps, or over the largest
    communication operation. DataError where the trace holds no computation.
    """
    trace = read(path)
    names = set(trace.operations)
    marked = bool((trace.mark_duration_ns > 0).any())
    if not marked and "compute" not in names:
        raise refuse(
            DataError,
            "E0805",
            f"{path} has neither step marks nor an operation called compute",
            help="call profiler.step() once a step when recording, or fit what it has with `spn fit` and give it with -p",
        )
    transfers = phases(trace, steps(trace)) if marked else phases(trace)
    has_update = bool(steps(trace).update.any()) if marked else "update" in names
    return Calibration(
        compute=fit_file(path, name="compute", seed=seed),
        update=fit_file(path, name="update", seed=seed) if has_update else None,
        size=_size(trace, marked, transfers),
        source=str(path),
        link=_link(transfers),
    )


def _link(transfers: Phases) -> LinkFit | None:
    """Capacity by the longer phases: those of at least half the largest bytes, since short ones are the latency of requests."""
    known = transfers.bytes > 0
    large = known & (2 * transfers.bytes >= transfers.bytes.max(initial=0)) & (transfers.length_ns > 0)
    return fit_link(transfers.bytes[large], transfers.length_ns[large] / 1e9) if large.any() else None


def _one_way(transfers: Phases) -> int | None:
    """Bytes of one direction in a step: the median over directions and steps, of those between known nodes."""
    known = transfers.bytes >= 0
    keys = np.stack([transfers.source, transfers.target, transfers.mark])[:, known & (transfers.mark >= 0) & (transfers.source >= 0)]
    if not keys.size or not known.all():
        return None
    _, index = np.unique(keys, axis=1, return_inverse=True)
    return int(np.median(np.bincount(index.ravel(), transfers.bytes[(transfers.mark >= 0) & (transfers.source >= 0)])))


def _size(trace: Trace, marked: bool, transfers: Phases) -> int | None:
    if (size := _one_way(transfers)) is not None:
        return size
    if marked:
        sent = steps(trace).bytes
        return int(np.median(sent[sent >= 0])) if (sent >= 0).any() else None
    known = trace.bytes[(trace.kind == Kind.COMMUNICATION) & (trace.bytes >= 0)]
    return int(np.median(known)) if len(known) else None
