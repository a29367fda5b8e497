"""The stationary solution alone: python -m tests.bench.bench_stationary [NAME …]

Names: cqn37, asgd100, asgdi100 (the shared cases, where they are beside the checkout), kanbanN, ringN (a ring of 5 single servers with N
tokens, made directly), stiffN (N workers that compute, transfer and fail, rates up to 1e11 apart), each with ``:SOLVER`` to ask for one of
the methods. A line a net: time to build its chain, wall and processor seconds of the solution (the best of three), method, residual, the
error estimated, the true error where a closed form is known, and the peak memory of the process.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from spn.markov import long_run
from spn.markov.longrun import LongRun
from spn.measure import FiringRate
from spn.net.builder import NetBuilder
from spn.net.model import Net
from spn.reach import Limits, explore
from spn.reach.space import Floats, Rates
from tests.bench.bench_kanban import kanban
from tests.bench.chains import product_form, ring
from tests.cases import net_json

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "bench"
SPEEDS = (1.0, 1.5, 2.0, 2.5, 3.0)
FLOWS = {"cqn37": ("t1", 0.671041434652), "asgd100": ("tUpd", 7.87676081168), "asgdi100": ("tUpd", 7.09781040242)}
KANBAN = {3: 0.2330711660098, 4: 0.2758897531051}
REPEATS = 3


def workers(n: int, fail: float = 1e-9, repair: float = 1e-9) -> Net:
    """Workers that compute, send over one link, wait for one server, and fail while they compute."""
    b = NetBuilder(f"workers{n}")
    for place, tokens in (("computing", n), ("sending", 0), ("updating", 0), ("failed", 0)):
        b.place(place, tokens)
    b.timed("compute", "computing", "sending", rate=1, servers="inf")
    b.timed("send", "sending", "updating", rate=2)
    b.timed("update", "updating", "computing", rate=3)
    b.timed("fail", "computing", "failed", rate=fail, servers="inf")
    b.timed("mend", "failed", "computing", rate=repair, servers="inf")
    return b.build()


def chain(name: str) -> tuple[Rates, Floats, Callable[[LongRun], float] | None]:
    """The chain, the initial distribution, and what tells the relative error of a solution."""
    if name.startswith("ring"):
        rates, states = ring(int(name[4:]), SPEEDS)
        right = product_form(states, SPEEDS)
        initial = np.zeros(rates.n)
        initial[0] = 1
        return rates, initial, lambda s: float(np.abs(s.pi - right).sum())
    net, flow, right_flow = _net(name)
    space = explore(net, [FiringRate(flow)] if flow else [], Limits(states=20_000_000))
    if not flow or right_flow is None:
        return space.rates, space.initial, None
    reward = space.rewards[FiringRate(flow)]
    return space.rates, space.initial, lambda s: abs(float(s.pi @ reward) / right_flow - 1)


def _net(name: str) -> tuple[Net, str, float | None]:
    if name.startswith("kanban"):
        return kanban(int(name[6:])), "tin", KANBAN.get(int(name[6:]))
    if name.startswith("stiff"):
        return workers(int(name[5:])), "", None
    net, _ = net_json.load(SHARED / name)
    return net, *FLOWS[name]


def main(names: list[str]) -> None:
    for text in names:
        name, _, solver = text.partition(":")
        began = time.perf_counter()
        rates, initial, error = chain(name)
        built = time.perf_counter() - began
        best = None
        for _ in range(REPEATS):
            wall, cpu = time.perf_counter(), time.process_time()
            solved = long_run(rates, initial, solver=solver or "auto")
            took = time.perf_counter() - wall, time.process_time() - cpu
            best = took if best is None else min(best, took)
        assert best is not None
        true = f", true {error(solved):.1e}" if error else ""
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{text}: {rates.n:,} states, {len(rates.values):,} rates; built in {built:.2f} s; solved in {best[0]:.2f} s"
            f" ({best[1]:.2f} s CPU)"
            f" by {'; '.join(solved.reasons)}; residual {solved.residual:.1e}, error {solved.error:.1e}{true}"
            f"{'' if solved.converged else ' NOT CONVERGED'}; {memory:.2f} GB",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:] or [*(n for n in FLOWS if (SHARED / n).is_dir()), "kanban3", "kanban4", "ring40", "stiff92"])
