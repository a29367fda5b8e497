"""Time and memory of building state spaces: ``python -m tests.bench.statespace [net ...]`` from the top of the checkout.

Beside each, where ``stormpy`` is installed (``pip install -e ".[bench]"``) and the net has no immediates, Storm's sparse builder on the
same net written in PRISM's language, in the same run. Times are CPU seconds of the process, the best of some turns; bytes are those of the
arrays.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from spn.measure import FiringRate
from spn.net.builder import NetBuilder
from spn.net.model import ArcKind, Net, Timed
from spn.net.semantics import rules
from spn.reach import Limits, StateSpace, explore
from spn.reach.graph import law_rates
from tests.bench.bench_kanban import kanban

LIMITS = Limits(states=20_000_000, memory=1.6e10)


def cycle(jobs: int, rates: list[float], delays: tuple[int, ...] = ()) -> Net:
    """Stations in a ring, one server each, or (``delays``) as many as jobs."""
    b = NetBuilder(f"ring of {len(rates)}")
    for i in range(len(rates)):
        b.place(f"p{i}", jobs * (i == 0))
    for i, rate in enumerate(rates):
        b.timed(f"t{i}", f"p{i}", f"p{(i + 1) % len(rates)}", rate=rate, servers="inf" if i in delays else 1)
    return b.build()


def with_drops(jobs: int) -> Net:
    """Workers that compute and send; of ten updates that arrive one is dropped at once."""
    b = NetBuilder("asgdi")
    for place in ("down", "compute", "up", "update", "arrived"):
        b.place(place, jobs * (place == "down"))
    b.timed("fetch", "down", "compute", rate=10)
    b.timed("work", "compute", "up", rate=0.1, servers="inf")
    b.timed("send", "up", "arrived", rate=8)
    b.timed("apply", "update", "down", rate=12)
    b.immediate("accept", "arrived", "update", weight=0.9)
    b.immediate("drop", "arrived", "down", weight=0.1)
    return b.build()


NETS: dict[str, Callable[[], Net]] = {
    "cqn37": lambda: cycle(37, [0.02, 1, 1.5, 2, 2.5], (0,)),
    "asgd100": lambda: cycle(100, [10, 0.1, 8, 12], (1,)),
    "asgdi100": lambda: with_drops(100),
    "kanban3": lambda: kanban(3),
    "kanban4": lambda: kanban(4),
    "kanban5": lambda: kanban(5),
    "ring123": lambda: cycle(123, [1, 1.5, 2, 2.5, 3]),
}


def bytes_of(space: StateSpace) -> tuple[float, float]:
    """Bytes a marking of the markings, and with the matrix."""
    markings = space.markings.words.nbytes
    matrix = space.rates.indptr.nbytes + space.rates.columns.nbytes + space.rates.values.nbytes
    return markings / space.n, (markings + matrix) / space.n


def prism(net: Net) -> str:
    """A net of constant multiplicities in PRISM's language; ``net`` has no immediates."""
    law = law_rates(net)
    names = {p.name: f"v{i}" for i, p in enumerate(net.places)}
    total = sum(p.initial for p in net.places)
    lines = ["ctmc", "module net", *(f"{names[p.name]} : [0..{total}] init {p.initial};" for p in net.places)]
    for t, (rule, transition) in enumerate(zip(rules(net).transitions, net.transitions, strict=True)):
        assert isinstance(transition, Timed)
        change: dict[str, int] = {}
        for arc in transition.arcs:
            sign = {ArcKind.INPUT: -1, ArcKind.OUTPUT: 1}[arc.kind]
            change[arc.place] = change.get(arc.place, 0) + sign * int(arc.multiplicity.value)
        guard = " & ".join(f"{names[net.places[g.place].name]} >= {g.constant}" for g in rule.inputs)
        speed = transition.speed.value
        rate = f"{law[t] * float(speed)!r}"
        if transition.servers != 1:
            rate += f" * {names[net.places[rule.inputs[0].place].name]}"
        moves = " & ".join(f"({names[p]}' = {names[p]} {'+' if k > 0 else '-'} {abs(k)})" for p, k in change.items() if k)
        lines.append(f"<> {guard} -> {rate} : {moves};")
    return "\n".join([*lines, "endmodule"])


def storm(net: Net) -> tuple[float, int] | None:
    """CPU seconds and states of Storm's sparse builder; None where it is not installed or the net has immediates."""
    try:
        import stormpy
    except ImportError:
        return None
    if not all(isinstance(t, Timed) for t in net.transitions):
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.prism"
        path.write_text(prism(net))
        program = stormpy.parse_prism_program(str(path))
    began = time.process_time()
    model = stormpy.build_model(program)
    return time.process_time() - began, model.nr_states


def row(name: str, turns: int) -> str:
    net = NETS[name]()
    wanted = [FiringRate(t.name) for t in net.transitions]
    best = float("inf")
    for _ in range(turns):
        began = time.process_time()
        space = explore(net, wanted, LIMITS)
        best = min(best, time.process_time() - began)
    states, whole = bytes_of(space)
    other = storm(net)
    beside = "" if other is None else f"{other[0]:.2f} s"
    assert other is None or other[1] == space.n, "Storm finds other states"
    return (
        f"| {name} | {space.n:,} | {len(space.rates.values):,} | {best:.3f} s | {space.n / best / 1e6:.1f} M/s"
        f" | {states:.0f} B | {whole:.0f} B | {beside} |"
    )


def main(names: list[str]) -> None:
    explore(kanban(3), (), LIMITS, compiled=0)
    print("| net | markings | rates | build | markings/s | markings | with matrix | Storm |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        print(row(name, 1 if name in ("kanban5", "ring123") else 3), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(NETS))
