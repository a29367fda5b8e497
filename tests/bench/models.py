"""Firings per CPU second of the compiled simulator, by the method that it chooses, on shipped models.

Run ``python -m tests.bench.models`` from the top of the checkout.
"""

from __future__ import annotations

import time

from spn.loading import load
from spn.measure import primitives
from spn.sim.control import Control
from spn.sim.streams import Crew

TURNS = 12
FIRINGS = 200_000
MODELS: tuple[tuple[str, dict[str, int]], ...] = (
    ("basics/mm1k", {}),
    ("basics/machine_repairman", {}),
    ("basics/epidemic", {}),
    ("basics/alternating_renewal", {}),
    ("sgd/async_ps", {"workers": 16}),
    ("sgd/async_ps", {"workers": 64}),
    ("sgd/sync_ps", {"workers": 16}),
    ("sgd/ring", {"workers": 16}),
)


def speed(name: str, parameters: dict[str, int]) -> float:
    """The best of several turns, since the load of a shared machine only ever slows one down."""
    model = load(f"{name}.spn", params=dict(parameters))
    wanted = primitives(model.measures[0].body, model.net)
    crew = Crew(model.net, wanted, 1, Control(workers=1, max_seconds=3600, max_firings=1e12))
    engine = crew.trajectory(0, kernel=True)
    engine.run(1000, float("inf"))
    best = 0.0
    for _ in range(TURNS):
        began = time.process_time()
        engine.run(FIRINGS, float("inf"))
        best = max(best, FIRINGS / (time.process_time() - began))
    return best


def main() -> None:
    for name, parameters in MODELS:
        shown = ", ".join(f"{k} = {v}" for k, v in parameters.items())
        print(f"| {name}{f' ({shown})' if shown else ''} | {speed(name, parameters) / 1e6:.1f} M |")


if __name__ == "__main__":
    main()
