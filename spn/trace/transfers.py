"""What a link carried: phases in which at least one transfer from one node to another was under way, with their bytes and lengths.

The duration of a received tensor is no service time. Many tensors share a connection, so that each waits while others are sent, and the
receiver asks before the sender has anything. Sound is only what all of them together took: a phase begins with the first and ends with the
last of the transfers that overlap, and capacity is fitted to (bytes, length) of phases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spn.trace.records import Collective, Flags, Ints, Kind, Trace
from spn.trace.steps import MARKS, Steps, kept


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Phases:
    """Per phase of one direction within one step, in order of start; columns of one length.

    ``source`` and ``target`` are indices into the trace's nodes (-1 unknown), ``mark`` into its marks (-1: in no step). ``bytes`` is
    -1 where a transfer of unknown size took part. ``messages`` counts the transfers, ``start_ns`` and ``length_ns`` say when. Since the
    requests of a step are made at once, ``length_ns`` counts from the first request.
    """

    source: Ints
    target: Ints
    mark: Ints
    start_ns: Ints
    length_ns: Ints
    bytes: Ints
    messages: Ints

    def __len__(self) -> int:
        return len(self.start_ns)


def transfers(trace: Trace) -> Flags:
    """Which records are messages from one node to another: receptions of tensors, and pulls, pushes, sends and receptions by name."""
    between = (trace.collective == Collective.SEND) | (trace.collective == Collective.RECV)
    return np.asarray((trace.kind == Kind.COMMUNICATION) & between & trace.timed())


def phases(trace: Trace, found: Steps | None = None) -> Phases:
    """The phases of all transfers of a trace, or only of those in the steps that ``found`` kept; transfers of one direction and step that
    overlap are one phase."""
    among = transfers(trace)
    if found is not None and found.marked_by == MARKS:
        among &= np.append(kept(trace, found), False)[trace.step]
    chosen = np.flatnonzero(among)
    if not len(chosen):
        nothing = np.zeros(0, dtype=np.int64)
        return Phases(**dict.fromkeys(Phases.__slots__, nothing))
    source = _sources(trace)[chosen]
    target = trace.node()[chosen].astype(np.int64)
    mark, start = trace.step[chosen].astype(np.int64), trace.start_ns[chosen]
    end, size = start + trace.duration_ns[chosen], trace.bytes[chosen]
    keys = np.stack([source, target, mark, trace.part[chosen]])
    order = np.lexsort((start, *keys))
    keys, start, end, size = keys[:, order], start[order], end[order], size[order]
    new = _beginnings(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)), start, end)
    first = np.flatnonzero(new)
    unknown = np.logical_or.reduceat(size < 0, first)
    joined = Phases(
        source=keys[0, first],
        target=keys[1, first],
        mark=keys[2, first],
        start_ns=start[first],
        length_ns=np.maximum.reduceat(end, first) - start[first],
        bytes=np.where(unknown, -1, np.add.reduceat(np.maximum(size, 0), first)),
        messages=np.diff(np.append(first, len(order))),
    )
    by_start = np.argsort(joined.start_ns, kind="stable")
    return Phases(**{name: getattr(joined, name)[by_start] for name in Phases.__slots__})


def _beginnings(first: Flags, start: Ints, end: Ints) -> Flags:
    """Where a phase begins: with the first transfer of a direction, and with each that starts after all before it have ended."""
    new, reach = first.copy(), 0
    for i, (begins, at, until) in enumerate(zip(first.tolist(), start.tolist(), end.tolist(), strict=True)):
        new[i] = begins or at > reach
        reach = until if new[i] else max(reach, until)
    return new


def _sources(trace: Trace) -> Ints:
    """The node that a record's message came from: where the record that it waited for ran, or -1."""
    node = trace.node()
    source = np.full(len(trace), -1, dtype=np.int64)
    if len(trace.dependencies):
        after, before = trace.dependencies.T
        other = node[after] != node[before]
        source[after[other]] = node[before[other]]
    return source
