"""Interchangeable replicas, lumped and solved: ``python -m tests.bench.bench_lumping [workers]``.

The model is shipped: workers of four states that share a server, every worker written by name. From the text to all measures, in a process
whose kernels are compiled; beside it the mean field."""

from __future__ import annotations

import math
import sys
import time

from spn.loading import load
from spn.solvers import solve

Z, U = 0.34, 0.0015  # seconds of a worker's own round, and of the server for one gradient


def steps(n: int, u: float = U) -> float:
    """Gradients per second in closed form: a closed network with one shared server."""
    weights = [math.lgamma(n + 1) - math.lgamma(n - k + 1) + k * math.log(u / Z) for k in range(n + 1)]
    top = max(weights)
    return (1 - math.exp(weights[0] - top) / math.fsum(math.exp(w - top) for w in weights)) / u


def timed(what: str, run, *args, **options):
    cpu, wall = time.process_time(), time.perf_counter()
    found = run(*args, **options)
    print(f"{what}: {time.process_time() - cpu:.2f} s CPU, {time.perf_counter() - wall:.2f} s wall")
    return found


def main(workers: int = 200) -> None:
    file = "models/sgd/async_replicas.spn"
    solve(load(file, params={"workers": 60, "update": "1.5 ms"}), method="ctmc", max_states=10**7)  # compiles the kernels
    model = timed("read", load, file, params={"workers": workers, "update": "1.5 ms"})
    exact = timed("lumped and solved", solve, model, method="ctmc", max_states=10**7)
    print(f"{exact.details}, residual {exact.residual:.1e}, relative error {abs(exact['steps'] / steps(workers) - 1):.1e}")
    busy = load(file, params={"workers": workers})  # the server always busy: what the fluid limit is good at
    mean = timed("mean field, slow server", solve, busy, method="meanfield", compare=0)
    print(f"waiting {mean['waiting']:.6f}, in closed form {workers - steps(workers, 0.012) * Z:.6f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
