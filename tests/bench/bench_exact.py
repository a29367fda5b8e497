"""From net to all measures by state space and Markov chain: python -m tests.bench.bench_exact [NET ...]

Nets: cqn37, asgd100, asgdi100, kanban3, kanban4, kanban5, ring123 (default: all but ring123, which takes minutes and gigabytes). Each is
done once to load the kernels and once to be measured, in a process of its own, so that the peak of memory is that of the net: CPU seconds
to build the chain and to solve it, the largest relative error against the values in tests/cases/nets (or the product form), and bytes.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import spn
from spn.expr.nodes import Number, Tokens
from spn.measure import Average, Measure, Throughput
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.net.model import Net
from spn.reach import explore
from spn.solvers import ctmc
from tests.bench.bench_kanban import kanban

NETS = Path(__file__).parents[1] / "cases" / "nets"
SPEEDS = (1.0, 1.5, 2.0, 2.5, 3.0)


def ring(tokens: int) -> Model:
    """A closed ring of single servers: binomial(tokens + 4, 4) markings."""
    b = NetBuilder(f"ring{tokens}")
    for k in range(len(SPEEDS)):
        b.place(f"p{k}", tokens if k == 0 else 0)
        b.timed(f"t{k}", f"p{k}", f"p{(k + 1) % len(SPEEDS)}", rate=SPEEDS[k])
    net = b.build()
    return Model(name=net.name, net=net, measures=_all(net))


def _all(net: Net) -> tuple[Measure, ...]:
    """The mean tokens of every place and the throughput of every transition."""
    tokens = tuple(Measure(name=f"E {p.name}", body=Average(Tokens(p.name))) for p in net.places)
    return tokens + tuple(Measure(name=f"X {t.name}", body=Throughput(t.name)) for t in net.transitions)


def model_of(name: str) -> Model:
    if name.startswith("ring"):
        return ring(int(name.removeprefix("ring")))
    file = NETS / f"{name}.spn"
    if not file.exists():  # kanban5
        net = kanban(int(name.removeprefix("kanban")))
        return Model(name=name, net=net, measures=_all(net))
    model = spn.load(file)
    known = [(e.left, e.right) for e in model.expectations if isinstance(e.right, Number)]
    checked = tuple(Measure(name=f"right {i}", body=left) for i, (left, _) in enumerate(known))
    return replace(model, measures=(*_all(model.net), *checked))


def convolution(tokens: int) -> float:
    """The throughput of the ring by the convolution algorithm (Buzen, Comm. ACM 16 (1973) 527)."""
    g = [1.0] + [0.0] * tokens
    for speed in SPEEDS:
        for n in range(1, tokens + 1):
            g[n] += g[n - 1] / speed
    return g[tokens - 1] / g[tokens]


def error(model: Model, found: spn.Result, name: str) -> float:
    """The largest relative error of the measures whose right value is known."""
    if name.startswith("ring"):
        right = convolution(int(name.removeprefix("ring")))
        return max(abs(found[f"X t{k}"] / right - 1) for k in range(len(SPEEDS)))
    known = [float(e.right.value) for e in model.expectations if isinstance(e.right, Number)]
    return max((abs(found[f"right {i}"] / right - 1) for i, right in enumerate(known)), default=float("nan"))


def one(name: str) -> None:
    model = model_of(name)
    if not name.startswith("ring"):
        ctmc.compute(model)
    else:
        ctmc.compute(ring(20))
    began = time.process_time()
    space = explore(model.net)
    built = time.process_time() - began
    states, arcs = space.n, space.arcs
    del space
    began = time.process_time()
    found = ctmc.compute(model)
    whole = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    wrong = error(model, found, name)
    sizes = f"{states:,} | {arcs:,} | {built:.2f} | {whole:.2f}"
    print(f"| {name} | {sizes} | {found.residual:.0e} | {wrong:.0e} | {peak:.2f} GB | {found.details['solver']} |", flush=True)


def main(names: list[str]) -> None:
    print("| net | markings | arcs | build, s | build and solve, s | residual | error | peak | solver |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name in names or ["cqn37", "asgd100", "asgdi100", "kanban3", "kanban4", "kanban5"]:
        subprocess.run([sys.executable, "-m", "tests.bench.bench_exact", "--one", name], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2])
    else:
        main(sys.argv[1:])
