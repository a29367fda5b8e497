"""Steps from repetition: training does the same operations in the same order again and again.

On one thread (a stream of the device, where there is one) an operation that occurs once a step comes back after always the same number of
records. The period is the number that most operations share; of these the step begins with the one before which the thread is idle longest.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from spn.trace.records import Ints, Layer, Trace

REGULAR = 0.9  # share of the distances that have to be the usual one
LEAST = 3  # occurrences
_THREADS = 4  # the busiest are tried


def first_of_period(trace: Trace) -> str | None:
    """The operation with which each repetition begins, or None where nothing repeats regularly."""
    timed = np.flatnonzero(trace.timed())
    device = timed[trace.layer[timed] == Layer.DEVICE]
    for records in (device, timed) if len(device) else (timed,):
        counts = np.bincount(trace.thread[records], minlength=len(trace.threads))
        for thread in np.argsort(-counts, kind="stable")[:_THREADS].tolist():
            found = _first(trace, records[trace.thread[records] == thread])
            if found is not None:
                return trace.operations[found]
    return None


def _first(trace: Trace, records: Ints) -> int | None:
    operation = trace.operation[records]
    period = {int(op): _distance(np.flatnonzero(operation == op), len(records)) for op in np.unique(operation)}
    usual = Counter(distance for distance in period.values() if distance > 1).most_common(1)
    if not usual:
        return None
    idle = _idle_before(trace, records)
    once = [op for op, distance in period.items() if distance == usual[0][0]]
    return max(once, key=lambda op: float(idle[operation == op][1:].mean()))


def _distance(places: Ints, length: int) -> int:
    """The distance between two occurrences if it is almost always the same and they cover the thread, else 0."""
    if len(places) < LEAST:
        return 0
    gaps = np.diff(places)
    usual = int(np.median(gaps))
    covers = places[0] < 2 * usual and length - places[-1] <= 2 * usual
    return usual if covers and (gaps == usual).mean() >= REGULAR else 0


def _idle_before(trace: Trace, records: Ints) -> Ints:
    start = trace.start_ns[records]
    reach = np.maximum.accumulate(start + trace.duration_ns[records])
    return np.asarray(np.maximum(start - np.append(start[:1], reach[:-1]), 0))
