"""CPU seconds of the methods for laws that are not exponential: ``python -m tests.bench.bench_general``."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction as F

from spn.dist.families import Deterministic, Lognormal, Uniform
from spn.dist.law import Law
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.result import Result
from spn.solvers import solve
from tests.solvers.nets import E, X, model


def reduce_ring(workers: int, steps: int) -> Model:
    """Workers that send to the next one and go on when they have received, step by step; one delay for every worker and step."""
    b = NetBuilder("reduce ring")
    for k in range(workers):
        for s in range(steps):
            b.place(f"ready{k}_{s}", int(s == 0))
            b.place(f"got{k}_{s}", int(s == 0))
    for k in range(workers):
        for s in range(steps):
            after = [f"ready{k}_{(s + 1) % steps}", f"got{(k + 1) % workers}_{(s + 1) % steps}"]
            b.timed(f"send{k}_{s}", [f"ready{k}_{s}", f"got{k}_{s}"], after, law=F(1000 + (k * 37 + s * 11) % 23, 1000))
    return model(b, x=X("send0_0"))


def queue(law: Law, room: int, rate: float) -> Model:
    b = NetBuilder("queue")
    b.place("free", room)
    b.place("q")
    b.timed("arrive", "free", "q", rate=rate)
    b.timed("serve", "q", "free", law=law)
    return model(b, mean=E("q"))


def repeated() -> Model:
    b = NetBuilder("repeated")
    for name, k in (("job", 1), ("up", 1), ("down", 0)):
        b.place(name, k)
    b.timed("work", "job", "job", tests="up", law=Uniform(low=0.2, high=1.2), memory="repeat")
    b.timed("fail", "up", "down", rate=1)
    b.timed("mend", "down", "up", rate=2)
    return model(b, x=X("work"))


def measured(what: str, run: Callable[[], Result]) -> None:
    began = time.process_time()
    result = run()
    print(f"{what:60s} {time.process_time() - began:8.3f} s CPU, {result.details.get('states', '-')} states")


def main() -> None:
    solve(queue(Deterministic(value=F(1)), 3, 0.8), method="phase-type")  # imports and compiled kernels
    for workers, steps in ((8, 14), (32, 62), (100, 100)):
        net = reduce_ring(workers, steps)
        measured(f"max-plus, reduce ring of {workers} x {steps} transitions", lambda net=net: solve(net, method="max-plus"))
    net = reduce_ring(8, 14)
    measured("schedule, reduce ring of 8 x 14 transitions", lambda: solve(net, method="schedule"))
    measured("phase-type, M/D/1/10 at 0.8 to 1e-6", lambda: solve(queue(Deterministic(value=F(1)), 10, 0.8), method="phase-type"))
    law = Lognormal(mu=-0.08, sigma=0.4)
    measured("phase-type, M/lognormal(cv 0.42)/1/20 at 0.3 to 1e-6", lambda: solve(queue(law, 20, 0.3), method="phase-type"))
    measured("conditioning, a repeated uniform work", lambda: solve(repeated(), method="conditioning"))


if __name__ == "__main__":
    main()
