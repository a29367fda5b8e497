"""Firings per CPU second of the simulator on exponential nets, beside the direct method in plain C, and SimPy on the same M/M/1/10.

Run ``python -m tests.bench.simulation`` from the top of the checkout (needs the ``bench`` extra; C where there is a compiler). All take
turns, and the best of many short turns counts, since the load of a shared machine only ever slows a turn down.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from spn.expr.nodes import tokens
from spn.measure import FiringRate, TimeAverage
from spn.net.model import INFINITE, Net, Place, Timed
from spn.sim.direct.fast import CompiledDirect
from spn.sim.direct.plan import plan
from spn.sim.fast import CompiledTrajectory
from spn.sim.setup import prepare
from tests.bench.bench_kanban import kanban
from tests.bench.in_c import best as best_in_c
from tests.sim.nets import exp, gives, takes

ARRIVAL, SERVICE, ROOM = 0.9, 1.0, 10
WANTED = {"M/M/1/10": 25.0, "asgd100": 20.0, "kanban5": 12.0}  # million firings per CPU second by the direct method
TO_C = 0.7  # of the same method in plain C
TURNS = 60


def simpy_turn(events: int) -> float:
    """Arrivals that find the room full are lost, as in M/M/1/K; an event is an arrival or the end of a service."""
    import simpy

    env = simpy.Environment()
    queue = simpy.Store(env)
    done = [0, 0.0, 0.0]  # events, integral of the number in the system, time of its last change

    def change() -> None:
        done[0] += 1
        done[1] += system[0] * (env.now - done[2])
        done[2] = env.now

    system = [0]

    def arrivals() -> object:
        while True:
            yield env.timeout(random.expovariate(ARRIVAL))
            change()
            if system[0] < ROOM:
                system[0] += 1
                queue.put(None)

    def server() -> object:
        while True:
            yield queue.get()
            yield env.timeout(random.expovariate(SERVICE))
            change()
            system[0] -= 1

    env.process(arrivals())
    env.process(server())
    began = time.process_time()
    while done[0] < events:
        env.run(until=env.now + 100)
    return float(done[0] / (time.process_time() - began))


def kernel_turn(engine: CompiledTrajectory, firings: int) -> float:
    began = time.process_time()
    engine.run(firings, float("inf"))
    return firings / (time.process_time() - began)


def mm1k() -> Net:
    return Net(
        places=(Place(name="q", capacity=ROOM),),
        transitions=(
            Timed(name="arrive", law=exp(ARRIVAL), arcs=(gives("q"),)),
            Timed(name="serve", law=exp(SERVICE), arcs=(takes("q"),)),
        ),
    )


def asgd(workers: int) -> Net:
    """A closed loop: workers fetch, compute (all at once), send and are applied, one at a time each."""
    stages = (("Down", 10.0), ("Comp", 0.1), ("Up", 8.0), ("Upd", 12.0))
    following = dict(zip((name for name, _ in stages), ("Comp", "Up", "Upd", "Down"), strict=True))
    return Net(
        places=tuple(Place(name=name, initial=workers if name == "Down" else 0) for name, _ in stages),
        transitions=tuple(
            Timed(name=f"t{n}", law=exp(rate), arcs=(takes(n), gives(following[n])), servers=INFINITE if n == "Comp" else 1)
            for n, rate in stages
        ),
    )


NETS = {"M/M/1/10": (mm1k(), "q", "serve"), "asgd100": (asgd(100), "Up", "tUpd"), "kanban5": (kanban(5), "m1", "tout")}


def engines(net: Net, place: str, transition: str) -> tuple[CompiledDirect, CompiledTrajectory]:
    """The net by the direct method, and by clocks; measured are the tokens of a place and the firings of a transition."""
    primitives = (TimeAverage(tokens(place)), FiringRate(transition))
    compiled = prepare(net, primitives)
    direct = CompiledDirect(compiled, primitives, plan(compiled), np.random.default_rng(1))
    return direct, CompiledTrajectory(compiled, primitives, np.random.default_rng(1))


def best(turn: Callable[[], float]) -> float:
    return max(turn() for _ in range(TURNS // 4))


def main() -> int:
    slow = []
    for name, watched in NETS.items():
        pair = engines(*watched)
        for engine in pair:
            kernel_turn(engine, 1000)
        turns = [partial(kernel_turn, engine, 200_000) for engine in pair]
        rounds = [[best(turn) for turn in turns] for _ in range(3)]
        ours, before = (max(r[k] for r in rounds) / 1e6 for k in range(2))
        in_c = best_in_c(*watched)
        beside = "no C compiler" if in_c is None else f"C {in_c / 1e6:.1f} M: ratio {ours * 1e6 / in_c:.2f} (wanted {TO_C})"
        print(f"{name}: direct {ours:.1f} M firings/s (wanted {WANTED[name]:g}), clocks {before:.1f} M; {beside}")
        slow += [name] if ours < WANTED[name] or ours * 1e6 < TO_C * (in_c or 0) else []
    theirs = max(best(lambda: simpy_turn(5_000)) for _ in range(3))
    print(f"M/M/1/10: SimPy {theirs / 1e6:.3f} M events/s")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
