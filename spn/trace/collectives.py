"""Collectives over all ranks: what the transfer took, and how long each rank waited inside it for the others.

A collective kernel runs from when its rank arrives until all are done, so its duration is waiting plus transfer. Where every rank's trace
is at hand the rank that came last waited least, and the least duration is the service time; the rest is waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spn.trace.records import Collective, Flags, Ints, Kind, Layer, Problem, Trace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collectives:
    """Per collective that all ranks took part in, in order: ``operation`` (index into the trace's), ``step`` (number of the mark, or
    -1), ``bytes`` (-1 unknown), ``service_ns`` (the least duration), and of every rank in ``ranks`` its ``duration_ns`` and ``wait_ns``
    (rows: collectives, columns: ranks). ``problems`` names what could not be matched."""

    ranks: tuple[int, ...]
    operation: Ints
    step: Ints
    bytes: Ints
    service_ns: Ints
    duration_ns: Ints
    problems: tuple[Problem, ...]

    def __len__(self) -> int:
        return len(self.service_ns)

    @property
    def wait_ns(self) -> Ints:
        return np.asarray(self.duration_ns - self.service_ns[:, None])


def collectives(trace: Trace) -> Collectives:
    """The collectives that every rank at hand took part in: the same pattern, size and place in the order of the step.

    Ranks are at hand if the trace was read from all their files. With fewer than two ranks, or where their orders differ in a step,
    nothing is matched and ``problems`` says so.
    """
    ranks = tuple(np.unique(trace.rank[trace.rank >= 0]).tolist())
    chosen = np.flatnonzero(_members(trace))
    number = np.where(trace.step >= 0, trace.mark_number[trace.step] if len(trace.mark_number) else -1, -1)
    if len(ranks) < 2 or not len(chosen):
        return _none(ranks, "collective of one rank only, of which waiting cannot be told apart", len(chosen))
    rows: list[list[int]] = []
    lost = 0
    for step in np.unique(number[chosen]).tolist():
        inside = chosen[number[chosen] == step]
        lists = [inside[trace.rank[inside] == rank] for rank in ranks]
        if len({tuple(zip(trace.collective[i].tolist(), trace.bytes[i].tolist(), strict=True)) for i in lists}) == 1:
            rows += [list(row) for row in zip(*(i.tolist() for i in lists), strict=True)]
        else:
            lost += len(inside)
    if not rows:
        return _none(ranks, "collective whose order differs between the ranks, left out", lost)
    records = np.array(rows, dtype=np.int64)
    duration = trace.duration_ns[records]
    problem = Problem(what="collective whose order differs between the ranks, left out", count=lost)
    return Collectives(
        ranks=ranks,
        operation=trace.operation[records[:, 0]],
        step=number[records[:, 0]],
        bytes=trace.bytes[records[:, 0]],
        service_ns=duration.min(axis=1),
        duration_ns=duration,
        problems=(problem,) if lost else (),
    )


def _members(trace: Trace) -> Flags:
    """Collectives as kernels of a device, else as ranges: each is told once."""
    found = (trace.kind == Kind.COMMUNICATION) & (trace.collective != Collective.NONE) & trace.timed()
    found &= (trace.collective != Collective.SEND) & (trace.collective != Collective.RECV)
    on_device = (trace.layer == Layer.DEVICE).any()
    return np.asarray(found & (trace.layer == (Layer.DEVICE if on_device else Layer.RANGE)))


def _none(ranks: tuple[int, ...], why: str, count: int) -> Collectives:
    nothing = np.zeros(0, dtype=np.int64)
    table = np.zeros((0, len(ranks)), dtype=np.int64)
    problems = (Problem(what=why, count=count),) if count else ()
    return Collectives(
        ranks=ranks, operation=nothing, step=nothing, bytes=nothing, service_ns=nothing, duration_ns=table, problems=problems
    )
