"""What lies around what: the record that a flow leaves or enters, and records that overlap without one holding the other."""

from __future__ import annotations

import numpy as np

from spn.trace.records import Flags, Ints
from spn.trace.table import NO_DEPENDENCIES, Columns

_BLOCK = 1 << 16
_BACK = 64  # records looked through for one that encloses a flow's end


def dependencies_of_flows(flows: Ints, columns: Columns) -> Ints:
    """Pairs (record, record it waited for) from rows (flow, phase 0 to 2, thread, time, enclosing).

    An end binds to the innermost record of its thread around its time; an end ``f`` without "enclosing" to the next record that begins.
    """
    if not len(flows) or not len(columns.label):
        return NO_DEPENDENCIES
    order = np.lexsort((columns.start_ns, columns.thread))
    bounds = np.searchsorted(columns.thread[order], np.arange(int(columns.thread.max()) + 2))
    last: dict[int, int] = {}
    pairs = []
    for flow, _, thread, moment, enclosing in flows[np.lexsort((flows[:, 3], flows[:, 1], flows[:, 0]))].tolist():
        if thread + 1 >= len(bounds):
            continue
        on_thread = order[bounds[thread] : bounds[thread + 1]]
        record = _around(on_thread, columns, moment) if enclosing else _next(on_thread, columns, moment)
        if record < 0:
            continue
        if flow in last and last[flow] != record:
            pairs.append((record, last[flow]))
        last[flow] = record
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _around(on_thread: Ints, columns: Columns, moment: int) -> int:
    at = int(np.searchsorted(columns.start_ns[on_thread], moment, side="right")) - 1
    for i in range(at, max(-1, at - _BACK), -1):
        record = int(on_thread[i])
        if columns.start_ns[record] + columns.duration_ns[record] >= moment:
            return record
    return -1


def _next(on_thread: Ints, columns: Columns, moment: int) -> int:
    at = int(np.searchsorted(columns.start_ns[on_thread], moment, side="left"))
    return int(on_thread[at]) if at < len(on_thread) else -1


def nesting(thread: Ints, among: Flags, start: Ints, duration: Ints, slack: int) -> int:
    """How many records of a thread overlap an earlier one by more than ``slack`` at either end, neither holding the other."""
    chosen = np.flatnonzero(among)
    order = chosen[np.lexsort((-duration[chosen], start[chosen], thread[chosen]))]
    found, current, stack = 0, -1, [0]
    for block in range(0, len(order), _BLOCK):  # lists of Python's integers are large
        part = order[block : block + _BLOCK]
        rows = zip(thread[part].tolist(), start[part].tolist(), (start[part] + duration[part]).tolist(), strict=True)
        for on, begin, end in rows:
            if on != current:
                current, stack = on, []
            while stack and stack[-1] <= begin:
                stack.pop()
            if stack and end > stack[-1] + slack and begin < stack[-1] - slack:
                found += 1
            stack.append(end)
    return found
