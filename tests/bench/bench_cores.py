"""How much faster two threads are than one on long runs.

Two ways: the firings a second of both, in turn, for a machine that does nothing else; and, for a busy one, from the CPU time that each
thread spends: in every part of the run that threads share, two cores take as long as the busier of the two, all else is done by one.

    python -m tests.bench.bench_cores [seconds]
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import spn
from spn.sim import load_kernels
from spn.sim.streams import Crew

NETS = {"async_ps, 16 workers": ("models/sgd/async_ps.spn", {"workers": 16}), "mm1k": ("models/basics/mm1k.spn", {})}
ROUNDS = 3


def speed(path: str, parameters: dict[str, int], workers: int, seconds: float) -> float:
    model = spn.load(path, **parameters)
    found = spn.simulate(
        model, seed=1, precision=1e-9, max_seconds=seconds, max_firings=1e15, workers=workers, engine="compiled", estimator="batches"
    )
    return float(found.details["firings"]) / found.seconds


def by_cpu(path: str, parameters: dict[str, int], seconds: float) -> float:
    """The CPU time of a run by two threads, over that of its longest way."""
    each, shared, longest = Crew.each, [0.0], [0.0]

    def measured(self: Crew, work: Callable[[int], Any], items: Sequence[int], *, kernel: bool) -> list[Any]:
        spent: defaultdict[int, float] = defaultdict(float)

        def timed(i: int) -> Any:
            began = time.thread_time()
            try:
                return work(i)
            finally:
                spent[threading.get_ident()] += time.thread_time() - began

        try:
            return each(self, timed, items, kernel=kernel)
        finally:
            shared[0] += sum(spent.values())
            longest[0] += max(spent.values(), default=0.0)

    Crew.each = measured  # type: ignore[method-assign]
    try:
        began = time.process_time()
        speed(path, parameters, 2, seconds)
        total = time.process_time() - began
    finally:
        Crew.each = each  # type: ignore[method-assign]
    return total / (total - shared[0] + longest[0])


def main(seconds: float = 10.0) -> None:
    load_kernels()
    for name, (path, parameters) in NETS.items():
        speed(path, parameters, 1, 3.0)  # what is made once
        print(f"{name}: by CPU time {by_cpu(path, parameters, seconds):.2f}")
        pairs = [(speed(path, parameters, 1, seconds), speed(path, parameters, 2, seconds)) for _ in range(ROUNDS)]
        one, two = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = statistics.median(b / a for a, b in pairs)
        print(f"{name}: one thread {one / 1e6:.2f} M firings/s, two {two / 1e6:.2f}; ratio {ratio:.2f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
