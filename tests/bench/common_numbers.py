"""Firings per CPU second of runs with common random numbers, compiled (drawing the works included) and in plain Python.

Run ``python -m tests.bench.common_numbers`` from the top of the checkout.
"""

from __future__ import annotations

import math
import time

import spn
from spn.model import Model
from spn.sim import load_kernels
from spn.sim.control import Control
from spn.sim.run import questions
from spn.sim.streams import Choice
from spn.sim.synchronised import Runs, Span

CASES = {
    "basics/md1k": ({}, 20_000.0),
    "basics/mm1k": ({}, 20_000.0),
    "sgd/async_ps (workers = 16)": ({"workers": 16}, 200.0),
    "sgd/sync_ps (workers = 16)": ({"workers": 16}, 200.0),
    "sgd/async_replicas": ({}, 60.0),
}
TURNS = 5


def speed(model: Model, engine: Choice, horizon: float) -> float:
    """The best of a few replications after a first one, in which the lists of works find their lengths."""
    measures = model.measures[:1]
    span = Span(horizon=horizon, warmup=0.0, seed=1)
    control = Control(workers=1, max_seconds=math.inf, max_firings=math.inf)
    runs = Runs(model, measures, questions([m.body for m in measures], model), span, control)
    runs.crew.engine = engine
    runs.row(0)
    best = 0.0
    for k in range(1, TURNS + 1):
        before, began = runs.firings, time.process_time()
        runs.row(k)
        best = max(best, (runs.firings - before) / (time.process_time() - began))
    return best


def main() -> None:
    load_kernels()
    print("| net | compiled | plain Python |\n| --- | --- | --- |")
    for name, (parameters, horizon) in CASES.items():
        model = spn.load(f"models/{name.split()[0]}.spn", params=parameters)
        print(
            f"| {name} | {speed(model, 'compiled', horizon) / 1e6:.1f} M | {speed(model, 'python', horizon / 20) / 1e6:.3f} M |", flush=True
        )


if __name__ == "__main__":
    main()
