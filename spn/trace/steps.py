"""Training steps: what each spent on compute, communication, update and waiting, and how many bytes it sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from spn.errors import DataError, SpnError, nearest, refuse
from spn.trace.intervals import Intervals, beyond, clip, merge, union, without
from spn.trace.records import NO_TIME, Flags, Ints, Kind, Layer, Problem, Trace
from spn.trace.structure import first_of_period

PHASES = ("step", "compute", "communication", "exposed", "update", "local", "wait")
MARKS = "marks"
FEW = 5  # steps: with fewer none is left out for its bytes
ALIKE = 0.8  # share of the steps that send exactly as many bytes, which makes them the usual number
SLOW_START = 2.0  # times the median of the steps that follow: a first step that took longer was a warm-up


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """Per complete step, times in nanoseconds; columns of one length.

    ``step`` the marked duration; ``compute`` the time in which at least one compute operation ran (kernels where there is a device, else
    operators, else ranges named so), update left out; ``communication`` likewise for collectives; ``exposed`` the part of
    it in which neither compute nor update ran; ``update`` the time in the optimizer; ``local`` step minus exposed: what the step would
    take with free communication, update included; ``wait`` the time in ranges that wait while nothing else ran (inside a collective of
    one rank waiting and transfer cannot be told apart, see :func:`spn.trace.collectives`). ``bytes`` sent in collectives, -1 where none
    tells a size. ``start`` is when the host began the step; ``device_start`` and ``device_end`` when the first record that it launched
    began on the device and the last one ended (:data:`NO_TIME` without a device): a host that runs ahead has other steps than its
    device. ``on_device`` whether compute and communication are those of a device. ``marked_by`` says what told the steps, and
    ``problems`` name the steps left out.
    """

    number: Ints
    rank: Ints
    part: Ints
    start: Ints
    step: Ints
    compute: Ints
    communication: Ints
    exposed: Ints
    update: Ints
    local: Ints
    wait: Ints
    bytes: Ints
    device_start: Ints
    device_end: Ints
    on_device: bool
    marked_by: str
    problems: tuple[Problem, ...]

    def __len__(self) -> int:
        return len(self.number)

    def phase(self, name: str) -> Ints:
        """The column of a phase by name, one of :data:`PHASES`."""
        column: Ints = getattr(self, name)
        return column

    def device_periods(self) -> Ints:
        """From the end of a step on the device to the end of the next one of the same file; empty without a device."""
        known = np.flatnonzero(self.device_end != NO_TIME)
        same = self.part[known][1:] == self.part[known][:-1]
        return np.asarray(np.diff(self.device_end[known])[same])

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
    wait: Intervals

    def exposed(self) -> int:
        return beyond(self.communication, merge(self.compute, self.update))

    def only_waiting(self) -> int:
        return beyond(self.wait, merge(merge(self.compute, self.update), self.communication))


class _View(NamedTuple):
    """Columns of some timed records."""

    kind: Ints
    layer: Ints
    start: Ints
    end: Ints
    size: Ints


class _Marked(NamedTuple):
    """Steps before any is left out, and which of them each record belongs to."""

    number: Ints
    start: Ints
    duration: Ints
    part: Ints
    step_of: Ints
    by: str


def steps(trace: Trace, mark: str | None = None) -> Steps:
    """The complete steps of a trace.

    ``mark`` names an operation each of whose records begins a step (a step then lasts until the next one begins); without it the
    profiler's own marks (ProfilerStep#N, one file a step, a column of steps) are used, and where there are none the repetition of the
    same operations. A last step that holds less than half of the usual records and of the usual time was cut off by the end of the
    recording; a first one that took more than twice the usual time, and longer than any other, was a warm-up; and where at least four
    fifths of the steps send exactly the same number of bytes, one that sends fewer lacks transfers: all these are left out and reported.

    DataError E0805 where nothing tells the steps.
    """
    marked = _marks(trace, mark)
    ranks = _ranks(trace, marked)
    keep, problems = _complete(marked, ranks)
    on_device = bool((trace.layer == Layer.DEVICE).any())
    at = np.flatnonzero(keep)
    views = _views(trace, marked.step_of, len(marked.number))
    rows = np.array(
        [_step(views[i], int(marked.start[i]), int(marked.duration[i]), on_device) for i in at.tolist()], dtype=np.int64
    ).reshape(-1, 8)
    whole, short = _whole(rows[:, 5], marked.number[at])
    at, rows, problems = at[whole], rows[whole], problems + short
    compute, communication, exposed, update, wait, sent, device_start, device_end = rows.T
    return Steps(
        number=marked.number[at],
        rank=ranks[at],
        part=marked.part[at],
        start=marked.start[at],
        step=marked.duration[at],
        compute=compute,
        communication=communication,
        exposed=exposed,
        update=update,
        local=marked.duration[at] - exposed,
        wait=wait,
        bytes=sent,
        device_start=device_start,
        device_end=device_end,
        on_device=on_device,
        marked_by=marked.by,
        problems=problems,
    )


def kept(trace: Trace, found: Steps) -> Flags:
    """Which of the trace's own marks are of steps that ``found`` kept."""
    starts = set(zip(found.part.tolist(), found.start.tolist(), strict=True))
    return np.array([(p, s) in starts for p, s in zip(trace.mark_part.tolist(), trace.mark_start_ns.tolist(), strict=True)], dtype=bool)


def busy(trace: Trace, among: Flags | None = None) -> Busy:
    """Unions of compute, communication, update and waiting over the whole trace, or over some of its records."""
    timed = trace.timed()
    chosen = np.flatnonzero(timed if among is None else timed & among)
    return _busy(_view(trace, chosen), bool((trace.layer == Layer.DEVICE).any()))


def _view(trace: Trace, chosen: Ints) -> _View:
    start = trace.start_ns[chosen]
    return _View(trace.kind[chosen], trace.layer[chosen], start, start + trace.duration_ns[chosen], trace.bytes[chosen])


def _views(trace: Trace, index: Ints, steps: int) -> list[_View]:
    """The records of every step."""
    chosen = np.flatnonzero(trace.timed() & (index >= 0))
    chosen = chosen[np.argsort(index[chosen], kind="stable")]
    bounds = np.searchsorted(index[chosen], np.arange(steps + 1))
    return [_view(trace, chosen[a:b]) for a, b in pairwise(bounds.tolist())]


def _busy(view: _View, on_device: bool) -> Busy:
    def covered(flags: Flags) -> Intervals:
        return union(view.start[flags], view.end[flags])

    update = covered((view.kind == Kind.UPDATE) & ((view.layer == Layer.DEVICE) == on_device))
    compute = covered(_of_layer(view, Kind.COMPUTE, Layer.HOST, on_device))
    communication = covered(_of_layer(view, Kind.COMMUNICATION, Layer.RANGE, on_device))
    wait = covered((view.kind == Kind.WAIT) & (view.layer == Layer.RANGE))
    return Busy(compute=without(compute, update), communication=communication, update=update, wait=wait)


def _of_layer(view: _View, kind: Kind, layer: Layer, on_device: bool) -> Flags:
    """Records of a kind on the device; without one those of a layer, else of any: operators compute, ranges named compute or forward do
    where there are none; and a collective is its range, for what the host's operator shows is the call."""
    of_kind = view.kind == kind
    found = np.asarray(of_kind & (view.layer == (Layer.DEVICE if on_device else layer)))
    return found if on_device or found.any() else of_kind


def _step(view: _View, start: int, duration: int, on_device: bool) -> tuple[int, ...]:
    found = _busy(view, on_device)
    if not on_device:
        end = start + duration
        found = Busy(**{name: clip(getattr(found, name), start, end) for name in ("compute", "communication", "update", "wait")})
    device = view.layer == Layer.DEVICE
    first, last = (int(view.start[device].min()), int(view.end[device].max())) if device.any() else (NO_TIME, NO_TIME)
    times = found.compute.length(), found.communication.length(), found.exposed(), found.update.length(), found.only_waiting()
    return (*times, _bytes(view), first, last)


def _bytes(view: _View) -> int:
    """Bytes of the collectives of a step, from one layer only, since each tells of the same transfer: kernels, ranges or operators."""
    told = (view.kind == Kind.COMMUNICATION) & (view.size >= 0)
    for layer in (Layer.DEVICE, Layer.RANGE, Layer.HOST):
        at = told & (view.layer == layer)
        if at.any():
            return int(view.size[at].sum())
    return -1


# --- where steps begin and end ------------------------------------------------------------------------------------------------------


def _marks(trace: Trace, mark: str | None) -> _Marked:
    if mark is not None:
        return _from_operation(trace, mark, f"the operation {mark}")
    if (trace.mark_duration_ns > 0).any():
        return _Marked(trace.mark_number, trace.mark_start_ns, trace.mark_duration_ns, trace.mark_part, trace.step, MARKS)
    found = first_of_period(trace)
    if found is None:
        raise refuse(
            DataError,
            "E0805",
            f"{trace.origin.path} has no step marks (ProfilerStep#N) with a time, and its operations do not repeat regularly",
            help="call profiler.step() once a step when recording, or give mark=, an operation with which every step begins",
        )
    return _from_operation(trace, found, f"repeated structure, each beginning with {found}")


def _from_operation(trace: Trace, mark: str, by: str) -> _Marked:
    """Steps that begin with a record of an operation; per file and rank, and the last lasts to the end of it."""
    chosen = trace.named(mark) & trace.timed()
    if not chosen.any():
        raise unknown_operation(trace, mark)
    index = np.full(len(trace), -1, dtype=np.int64)
    starts, ends, parts = [], [], []
    count = 0
    for part, own in _processes(trace):
        start = trace.start_ns[own & chosen]
        if not len(start):
            continue
        last = int((trace.start_ns + trace.duration_ns)[own & trace.timed()].max())
        at = np.searchsorted(start, trace.start_ns[own], side="right") - 1
        index[own] = np.where(at >= 0, at + count, -1)
        starts.append(start)
        ends.append(np.append(start[1:], last))
        parts.append(np.full(len(start), part))
        count += len(start)
    start = np.concatenate(starts)
    number = np.concatenate([np.arange(len(s)) for s in starts])
    return _Marked(number, start, np.concatenate(ends) - start, np.concatenate(parts), index, by)


def _processes(trace: Trace) -> Iterator[tuple[int, Flags]]:
    """Each file, and in it each rank."""
    for part in range(len(trace.parts)):
        in_part = trace.part == part
        for rank in np.unique(trace.rank[in_part]).tolist():
            yield part, np.asarray(in_part & (trace.rank == rank))


def _ranks(trace: Trace, marked: _Marked) -> Ints:
    """The rank whose records a step holds, -1 where it holds those of several or of none."""
    lowest, highest = np.full(len(marked.number), 2**31), np.full(len(marked.number), -1)
    inside = marked.step_of >= 0
    np.minimum.at(lowest, marked.step_of[inside], trace.rank[inside])
    np.maximum.at(highest, marked.step_of[inside], trace.rank[inside])
    return np.where(lowest == highest, highest, -1)


def _complete(marked: _Marked, ranks: Ints) -> tuple[Flags, tuple[Problem, ...]]:
    """Which steps are kept: of every file and rank all but a warm-up and a step that was cut off."""
    keep = marked.duration > 0
    records = np.bincount(marked.step_of[marked.step_of >= 0], minlength=len(marked.number))
    warm, cut = [], []
    first = np.flatnonzero(np.append(True, (marked.part[1:] != marked.part[:-1]) | (ranks[1:] != ranks[:-1])))
    for a, b in zip(first.tolist(), [*first[1:].tolist(), len(keep)], strict=True):
        duration = marked.duration[a:b]
        if b - a > 1 and records[b - 1] < np.median(records[a : b - 1]) / 2 and duration[-1] < np.median(duration[:-1]) / 2:
            cut.append(b - 1)
            duration = duration[:-1]
        for i in range(max(0, len(duration) - 3)):
            rest = duration[i + 1 :]
            if not (duration[i] > SLOW_START * np.median(rest) and duration[i] > rest.max()):
                break
            warm.append(a + i)
    keep[warm + cut] = False
    problems = []
    if warm:
        example = f"step {int(marked.number[warm[0]])}, of {marked.duration[warm[0]] / 1000:g} us"
        problems.append(Problem(what="warm-up step, left out", count=len(warm), example=example))
    if cut:
        example = f"the last, of {marked.duration[cut[0]] / 1000:g} us"
        problems.append(Problem(what="step cut off by the end of the recording, left out", count=len(cut), example=example))
    return keep, tuple(problems)


def _whole(sent: Ints, number: Ints) -> tuple[Flags, tuple[Problem, ...]]:
    """Which steps sent what nearly all send, to the byte, or more; the others lack transfers that were under way when recording ended."""
    every = np.ones(len(sent), dtype=bool)
    values, counts = np.unique(sent, return_counts=True)
    if len(sent) < FEW or counts.max() < ALIKE * len(sent) or values[counts.argmax()] <= 0:
        return every, ()
    usual = int(values[counts.argmax()])
    less = sent < usual
    if not less.any():
        return every, ()
    example = f"step {int(number[less][0])}, {int(sent[less][0])} of {usual} bytes"
    return ~less, (Problem(what="step that lacks transfers, left out", count=int(less.sum()), example=example),)


def unknown_operation(trace: Trace, name: str) -> SpnError:
    """The DataError for a name that the trace does not hold: the nearest name, and what there is."""
    counts = trace.counts()
    if name in counts:
        help = "graphs of execution tell what ran and in which order, not for how long"
        return refuse(DataError, "E0804", f"{trace.origin.path} tells no duration of {name!r}", help=help)
    near = nearest(name, counts)
    listed = ", ".join(f"{op} ({n})" for op, n in list(counts.items())[:8]) or "nothing"
    more = f" and {len(counts) - 8} more" if len(counts) > 8 else ""
    help = f"did you mean {near} ({counts[near]})? " if near else ""
    return refuse(DataError, "E0804", f"{trace.origin.path} has no operation {name!r}", help=f"{help}operations: {listed}{more}")
