"""Firings per CPU second of the simulator beside SimPy's events per CPU second, on the same M/M/1/10.

Run ``python -m tests.bench.simulation`` from the top of the checkout (needs the ``bench`` extra). Both take turns, and the best of many
short turns counts, since the load of a shared machine only ever slows a turn down.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

import numpy as np

from spn.expr.nodes import tokens
from spn.measure import FiringRate, TimeAverage
from spn.net.model import Net, Place, Timed
from spn.sim.fast import CompiledTrajectory
from spn.sim.setup import prepare
from tests.sim.nets import exp, gives, takes

ARRIVAL, SERVICE, ROOM = 0.9, 1.0, 10
WANTED = 30  # times SimPy
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


def mm1k() -> CompiledTrajectory:
    net = Net(
        places=(Place(name="q", capacity=ROOM),),
        transitions=(
            Timed(name="arrive", law=exp(ARRIVAL), arcs=(gives("q"),)),
            Timed(name="serve", law=exp(SERVICE), arcs=(takes("q"),)),
        ),
    )
    primitives = (TimeAverage(tokens("q")), FiringRate("serve"))
    return CompiledTrajectory(prepare(net, primitives), primitives, np.random.default_rng(1))


def best(turn: Callable[[], float]) -> float:
    return max(turn() for _ in range(TURNS // 4))


def main() -> int:
    engine = mm1k()
    kernel_turn(engine, 1000)
    rounds = [(best(lambda: kernel_turn(engine, 200_000)), best(lambda: simpy_turn(5_000))) for _ in range(4)]
    ours, theirs = max(r[0] for r in rounds), max(r[1] for r in rounds)
    print(f"kernel {ours / 1e6:.1f} M firings/s, SimPy {theirs / 1e6:.3f} M events/s: {ours / theirs:.0f} times (wanted {WANTED})")
    return 0 if ours >= WANTED * theirs else 1


if __name__ == "__main__":
    sys.exit(main())
