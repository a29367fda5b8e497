"""Build and solve times of the Kanban net: python tests/bench/bench_kanban.py [cards ...]

Four cells in a row-and-branch, each with ``cards`` cards (Ciardo and Tilgner, ICASE report 96-35): 3 cards give 58,400 markings, 4 give
454,475, 5 give 2,546,432. The first line of a run on new kernels includes their compilation; run it twice.
"""

from __future__ import annotations

import sys
import time

from spn.markov import long_run
from spn.measure import FiringRate
from spn.net.builder import NetBuilder
from spn.net.model import Net
from spn.reach import Limits, explore

REWORK = {"redo1": 0.36, "redo2": 0.42, "redo3": 0.39, "redo4": 0.33}
ACCEPT = {"ok1": 0.84, "ok2": 0.98, "ok3": 0.91, "ok4": 0.77}
BACK = {"back1": 0.3, "back2": 0.3, "back3": 0.3, "back4": 0.3}


def kanban(cards: int) -> Net:
    """Cells 1 to 4: kanbans k, parts being worked on m, in rework b, finished o. Cell 1 feeds 2 and 3 together, both feed 4."""
    b = NetBuilder(f"kanban{cards}")
    for i in "1234":
        b.place(f"k{i}", cards)
        for place in "mbo":
            b.place(f"{place}{i}")
        b.timed(f"redo{i}", f"m{i}", f"b{i}", rate=REWORK[f"redo{i}"])
        b.timed(f"ok{i}", f"m{i}", f"o{i}", rate=ACCEPT[f"ok{i}"])
        b.timed(f"back{i}", f"b{i}", f"m{i}", rate=BACK[f"back{i}"])
    b.timed("tin", "k1", "m1", rate=1)
    b.timed("split", ["o1", "k2", "k3"], ["k1", "m2", "m3"], rate=0.4)
    b.timed("join", ["o2", "o3", "k4"], ["k2", "k3", "m4"], rate=0.5)
    b.timed("tout", "o4", "k4", rate=0.9)
    return b.build()


def main(sizes: list[int]) -> None:
    for cards in sizes:
        began = time.perf_counter()
        space = explore(kanban(cards), [FiringRate("tin"), FiringRate("tout")], Limits(states=10_000_000, memory=8e9))
        built = time.perf_counter()
        solved = long_run(space.rates, space.initial)
        done = time.perf_counter()
        flow = [float(solved.pi @ space.rewards[FiringRate(t)]) for t in ("tin", "tout")]
        print(
            f"kanban {cards}: {space.n:,} markings, {space.arcs:,} firings; build {built - began:.2f} s, solve {done - built:.2f} s"
            f" ({solved.method}); residual {solved.residual:.1e}; tin {flow[0]:.12f}, tout differs by {abs(flow[0] - flow[1]):.1e}"
        )


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [2, 3])
