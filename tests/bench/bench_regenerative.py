"""From net to all measures with one general clock at a time: python -m tests.bench.bench_regenerative [SIZE ...]

A tandem of two queues of at most SIZE customers (default 50, 150, 315), constant service of 1 s in the first: (SIZE + 1)^2 markings, a
start of the clock possible in nearly all. And M/D/1/50. Each is done once to load the kernels and once to be measured: seconds, residual,
estimated error, applications of the embedded chain.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

from spn.dist.families import Deterministic
from spn.expr.nodes import tokens
from spn.measure import Average, Measure, Throughput
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.solvers import mrp

ONE = Deterministic(value=Fraction(1))


def tandem(size: int) -> Model:
    """Poisson arrivals at 0.9 per second, lost where the first queue is full; the second serves at 1.05, and blocks the first."""
    b = NetBuilder(f"tandem{size}")
    for p in ("first", "second"):
        b.place(p, 0, capacity=size)
    b.timed("arrive", (), "first", rate=0.9)
    b.timed("move", "first", "second", law=ONE)
    b.timed("leave", "second", (), rate=1.05)
    asked = {"x": Throughput("leave"), "l1": Average(tokens("first")), "l2": Average(tokens("second"))}
    return Model(name=f"tandem{size}", net=b.build(), measures=tuple(Measure(name=n, body=q) for n, q in asked.items()), unitless=True)


def queue(size: int) -> Model:
    b = NetBuilder(f"md1_{size}")
    b.place("q", 0, capacity=size)
    b.timed("arrive", (), "q", rate=0.8)
    b.timed("serve", "q", (), law=ONE)
    return Model(name=f"md1_{size}", net=b.build(), measures=(Measure(name="l", body=Average(tokens("q"))),), unitless=True)


def main(sizes: list[int]) -> None:
    for m in (queue(50), *map(tandem, sizes)):
        mrp.compute(m)
        began = time.perf_counter()
        r = mrp.compute(m)
        took = time.perf_counter() - began
        d = r.details
        figures = f"residual {r.residual:.1e}  error {d['estimated_error']:.1e}  {d['solver']}"
        print(f"{m.name:12} {d['states']:>8,} markings  {took:7.3f} s  {figures}")


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [50, 150, 315])
