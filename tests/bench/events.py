"""Firings per CPU second of the event queue on large nets of general laws, beside the same algorithm in plain C.

Run ``python -m tests.bench.events`` from the top of the checkout (C where there is a compiler). All take turns, and the best of many
short turns counts, since the load of a shared machine only ever slows a turn down. C and Python also have to agree on a mean and a rate.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from spn.dist.gamma import Gamma
from spn.dist.law import Law
from spn.dist.lognormal import Lognormal
from spn.expr.nodes import tokens
from spn.measure import FiringRate, TimeAverage
from spn.net.model import Immediate, Link, Net, Place, Timed, Transfer
from spn.sim.fast import CompiledTrajectory
from spn.sim.setup import prepare
from tests.bench import events_in_c
from tests.sim.nets import gives, takes

WANTED = {"64 workers, two links": 5.0, "fine-grained training": 3.0, "1,000 workers, one lock": 1.0}  # million firings per CPU second
TO_C = 0.7
TURNS = 15
FIRINGS = 300_000
CLOSE = 0.05  # relative difference between C and Python, which draw differently


def lognormal(mean: float, cv: float) -> Lognormal:
    sigma = math.sqrt(math.log1p(cv * cv))
    return Lognormal(mu=math.log(mean) - sigma * sigma / 2, sigma=sigma)


def gamma(mean: float, cv: float) -> Gamma:
    return Gamma(shape=1 / cv**2, scale=mean * cv**2)


def cluster(workers: int) -> Net:
    """Workers that pull, load, go forward and backward, compress, and push. All pulls share one link, all pushes another."""
    stages: tuple[tuple[str, Law, str], ...] = (
        ("pull", gamma(1.0, 0.3), "down"),
        ("load", lognormal(20.0, 0.5), ""),
        ("forward", gamma(30.0, 0.2), ""),
        ("backward", lognormal(60.0, 0.2), ""),
        ("compress", gamma(10.0, 0.7), ""),
        ("push", gamma(1.0, 0.3), "up"),
    )
    names = [f"{stage}{w}" for w in range(workers) for stage, _, _ in stages]
    following = {name: names[k + 1 - (len(stages) if k % len(stages) == len(stages) - 1 else 0)] for k, name in enumerate(names)}
    return Net(
        places=tuple(Place(name=f"at_{n}", initial=int(n.startswith("pull"))) for n in names),
        transitions=tuple(
            Timed(
                name=f"{stage}{w}",
                law=law,
                arcs=(takes(f"at_{stage}{w}"), gives(f"at_{following[f'{stage}{w}']}")),
                transfer=Transfer(links=(link,)) if link else None,
            )
            for w in range(workers)
            for stage, law, link in stages
        ),
        links=(Link(name="down", capacity=1), Link(name="up", capacity=1)),
    )


def layers(workers: int, depth: int) -> Net:
    """Each worker goes through all layers forward and back; a layer is updated once all have its gradient, and gone through again with the
    update only."""
    places, transitions = [], []
    for w in range(workers):
        steps = [f"f{w}_{k}" for k in range(depth)] + [f"b{w}_{k}" for k in reversed(range(depth))]
        places += [Place(name=f"at_{s}", initial=int(s == f"f{w}_0")) for s in steps]
        places += [Place(name=f"p{w}_{k}", initial=1) for k in range(depth)]
        for here, after in zip(steps, [*steps[1:], steps[0]], strict=True):
            layer = here.split("_")[1]
            forward = here.startswith("f")
            other = takes(f"p{w}_{layer}") if forward else gives(f"g_{layer}")
            law: Law = lognormal(1.0, 0.2) if forward else gamma(2.0, 0.3)
            transitions.append(Timed(name=here, law=law, arcs=(takes(f"at_{here}"), other, gives(f"at_{after}"))))
    for k in range(depth):
        places.append(Place(name=f"g_{k}"))
        arcs = (takes(f"g_{k}", workers), *(gives(f"p{w}_{k}") for w in range(workers)))
        transitions.append(Timed(name=f"update_{k}", law=gamma(0.5, 0.5), arcs=arcs))
    return Net(places=tuple(places), transitions=tuple(transitions))


def locked(workers: int, load: float) -> Net:
    """Workers that compute, take the one lock, and hold it; ``load``: the lock's, were there no waiting."""
    hold = load / workers
    places, transitions = [Place(name="lock", initial=1)], []
    for w in range(workers):
        places += [Place(name=f"idle{w}", initial=1), Place(name=f"ready{w}"), Place(name=f"holding{w}")]
        transitions += [
            Timed(name=f"compute{w}", law=lognormal(1.0, 0.4), arcs=(takes(f"idle{w}"), gives(f"ready{w}"))),
            Immediate(name=f"acquire{w}", arcs=(takes(f"ready{w}"), takes("lock"), gives(f"holding{w}"))),
            Timed(name=f"update{w}", law=gamma(hold, 0.5), arcs=(takes(f"holding{w}"), gives(f"idle{w}"), gives("lock"))),
        ]
    return Net(places=tuple(places), transitions=tuple(transitions))


NETS = {
    "64 workers, two links": (cluster(64), "at_pull0", "push0"),
    "fine-grained training": (layers(31, 80), "g_0", "update_0"),
    "1,000 workers, one lock": (locked(1000, 0.7), "lock", "update0"),
    "1,000 workers, saturated lock": (locked(1000, 1.5), "ready0", "update0"),
}


def engine_of(net: Net, place: str, transition: str) -> CompiledTrajectory:
    primitives = (TimeAverage(tokens(place)), FiringRate(transition))
    return CompiledTrajectory(prepare(net, primitives), primitives, np.random.default_rng(1))


def turn(engine: CompiledTrajectory, firings: int) -> float:
    began = time.process_time()
    engine.run(firings, math.inf)
    return firings / (time.process_time() - began)


def close(a: float, b: float) -> bool:
    return abs(a - b) <= CLOSE * abs(b)


def main() -> int:
    wrong = []
    for name, watched in NETS.items():
        engine = engine_of(*watched)
        turn(engine, FIRINGS)
        ours = max(turn(engine, FIRINGS) for _ in range(TURNS)) / 1e6
        wanted = WANTED.get(name, 0.0)
        found = events_in_c.best(*watched, firings=TURNS * FIRINGS)
        beside = "no C compiler"
        if found is not None:
            (mean, rate), theirs = engine.totals() / engine.time, found[2] / 1e6
            beside = f"C {theirs:.2f} M: ratio {ours / theirs:.2f}; mean {mean:.4g} and {found[0]:.4g}, rate {rate:.4g} and {found[1]:.4g}"
            wrong += [] if close(mean, found[0]) and close(rate, found[1]) and ours >= TO_C * theirs else [name]
        print(f"{name} ({len(watched[0].transitions)} transitions): {ours:.2f} M firings/s (wanted {wanted:g}); {beside}", flush=True)
        wrong += [name] if ours < wanted else []
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
