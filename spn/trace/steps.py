"""Training steps: what each spent on compute, communication and update, and how many bytes it sent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spn.errors import DataError, SpnError, nearest, refuse
from spn.trace.intervals import Intervals, beyond, clip, merge, union, without
from spn.trace.records import Flags, Ints, Kind, Layer, Problem, Trace

PHASES = ("step", "compute", "communication", "exposed", "update", "local")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """Per complete step, in nanoseconds; columns of one length.

    ``step`` the marked duration; ``compute`` the time in which at least one compute operation ran (kernels where there is a device, else
    operators, else ranges named so), update left out; ``communication`` likewise for collectives; ``exposed`` the part of
    it in which neither compute nor update ran; ``update`` the time in the optimizer; ``local`` step minus exposed: what the step would
    take with free communication, update included. ``bytes`` sent in collectives, -1 where none tells a size. ``on_device`` whether
    compute and communication are those of a device. ``problems`` name the steps left out.
    """

    number: Ints
    step: Ints
    compute: Ints
    communication: Ints
    exposed: Ints
    update: Ints
    local: Ints
    bytes: Ints
    on_device: bool
    problems: tuple[Problem, ...]

    def __len__(self) -> int:
        return len(self.number)

    def phase(self, name: str) -> Ints:
        """The column of a phase by name, one of :data:`PHASES`."""
        column: Ints = getattr(self, name)
        return column

    def __repr__(self) -> str:
        if not len(self):
            return "Steps(none complete)"
        means = ", ".join(f"{name} {self.phase(name).mean() / 1e6:.6g} ms" for name in PHASES if self.phase(name).any())
        sent = f", {int(np.median(self.bytes))} bytes" if (self.bytes >= 0).any() else ""
        return f"Steps({len(self)} on the {'device' if self.on_device else 'host'}; means: {means}{sent})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """Unions of time by kind."""

    compute: Intervals
    communication: Intervals
    update: Intervals

    def exposed(self) -> int:
        return beyond(self.communication, merge(self.compute, self.update))


def steps(trace: Trace, mark: str | None = None) -> Steps:
    """The complete steps of a trace.

    ``mark`` names an operation each of whose records begins a step (a step then lasts until the next one begins); without it the
    profiler's own marks (ProfilerStep#N) are used. A last step that holds less than half of the usual records and of the usual time was
    cut off by the end of the recording: it is left out and reported. DataError E0805 where there are no marks.
    """
    number, start, duration, index = _marks(trace, mark)
    keep, problems = _complete(trace, index, duration)
    on_device = bool((trace.layer == Layer.DEVICE).any())
    rows = [_step(trace, index == i, int(start[i]), int(duration[i]), on_device) for i in np.flatnonzero(keep)]
    compute, communication, exposed, update, sent = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    return Steps(
        number=number[keep],
        step=duration[keep],
        compute=compute,
        communication=communication,
        exposed=exposed,
        update=update,
        local=duration[keep] - exposed,
        bytes=sent,
        on_device=on_device,
        problems=problems,
    )


def busy(trace: Trace, among: Flags | None = None) -> Busy:
    """Unions of compute, communication and update over the whole trace, or over some of its records."""
    on_device = bool((trace.layer == Layer.DEVICE).any())
    every = np.ones(len(trace), dtype=bool) if among is None else among

    def covered(flags: Flags) -> Intervals:
        return union(trace.start_ns[flags], (trace.start_ns + trace.duration_ns)[flags])

    update = covered(_update(trace, every, on_device))
    compute = covered(_compute(trace, every, on_device))
    communication = covered(_communication(trace, every, on_device))
    return Busy(compute=without(compute, update), communication=communication, update=update)


def _compute(trace: Trace, among: Flags, on_device: bool) -> Flags:
    """Kernels on a device; else operators of the host; else ranges that are named compute, forward, backward …"""
    kind = _of(trace, Kind.COMPUTE, among)
    layer = Layer.DEVICE if on_device else Layer.HOST
    found = np.asarray(kind & (trace.layer == layer))
    return found if on_device or found.any() else kind


def _communication(trace: Trace, among: Flags, on_device: bool) -> Flags:
    """Collective kernels on a device; else the ranges of the collectives themselves, for what the host's operators show is the call."""
    kind = _of(trace, Kind.COMMUNICATION, among)
    layer = Layer.DEVICE if on_device else Layer.RANGE
    found = np.asarray(kind & (trace.layer == layer))
    return found if on_device or found.any() else kind


def _update(trace: Trace, among: Flags, on_device: bool) -> Flags:
    """Kernels launched by the optimizer on a device, else its ranges on the host."""
    return np.asarray(_of(trace, Kind.UPDATE, among) & ((trace.layer == Layer.DEVICE) == on_device))


def _of(trace: Trace, kind: Kind, among: Flags) -> Flags:
    return np.asarray(among & (trace.kind == kind))


def _step(trace: Trace, inside: Flags, start: int, duration: int, on_device: bool) -> tuple[int, int, int, int, int]:
    found = busy(trace, inside)
    if not on_device:
        end = start + duration
        found = Busy(**{name: clip(getattr(found, name), start, end) for name in ("compute", "communication", "update")})
    sent = _bytes(trace, inside)
    return found.compute.length(), found.communication.length(), found.exposed(), found.update.length(), sent


def _bytes(trace: Trace, inside: Flags) -> int:
    """Bytes of the collectives of a step, from one layer only, since each tells of the same transfer: kernels, ranges or operators."""
    told = _of(trace, Kind.COMMUNICATION, inside) & (trace.bytes >= 0)
    for layer in (Layer.DEVICE, Layer.RANGE, Layer.HOST):
        at = told & (trace.layer == layer)
        if at.any():
            return int(trace.bytes[at].sum())
    return -1


def _marks(trace: Trace, mark: str | None) -> tuple[Ints, Ints, Ints, Ints]:
    """Number, start and duration of the steps, and which step each record belongs to."""
    if mark is not None:
        return _from_operation(trace, mark)
    if len(trace.mark_number) == 0:
        raise refuse(
            DataError,
            "E0805",
            f"{trace.origin.path} has no step marks (ProfilerStep#N)",
            help="call profiler.step() once a step when recording, or give mark=, an operation with which every step begins",
        )
    return trace.mark_number, trace.mark_start_ns, trace.mark_duration_ns, trace.step


def _from_operation(trace: Trace, mark: str) -> tuple[Ints, Ints, Ints, Ints]:
    start = trace.start_ns[trace.select(mark)]
    if len(start) == 0:
        raise unknown_operation(trace, mark)
    end = np.append(start[1:], (trace.start_ns + trace.duration_ns).max())
    index = np.searchsorted(start, trace.start_ns, side="right") - 1
    return np.arange(len(start)), start, end - start, index


def _complete(trace: Trace, index: Ints, duration: Ints) -> tuple[Flags, tuple[Problem, ...]]:
    keep = np.ones(len(duration), dtype=bool)
    if len(duration) > 1:
        records = np.bincount(index[index >= 0], minlength=len(duration))
        usual_records, usual_time = np.median(records[:-1]), np.median(duration[:-1])
        keep[-1] = not (records[-1] < usual_records / 2 and duration[-1] < usual_time / 2)
    if keep.all():
        return keep, ()
    example = f"the last, of {duration[-1] / 1000:g} us"
    return keep, (Problem(what="step cut off by the end of the recording, left out", count=1, example=example),)


def unknown_operation(trace: Trace, name: str) -> SpnError:
    """The DataError for a name that the trace does not hold: the nearest name, and what there is."""
    counts = trace.counts()
    near = nearest(name, counts)
    listed = ", ".join(f"{op} ({n})" for op, n in list(counts.items())[:8]) or "nothing"
    more = f" and {len(counts) - 8} more" if len(counts) > 8 else ""
    help = f"did you mean {near} ({counts[near]})? " if near else ""
    return refuse(DataError, "E0804", f"{trace.origin.path} has no operation {name!r}", help=f"{help}operations: {listed}{more}")
