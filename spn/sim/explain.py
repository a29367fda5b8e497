"""From a kernel's bare "something is wrong here" to the message: the definition is asked again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spn.errors import AnalysisError, SpnError, refuse
from spn.measure import FiringRate, Primitive, TimeAverage
from spn.net import semantics
from spn.net.model import Marking, Net
from spn.sim.meter import measured


def explain(net: Net, m: Marking, t: int, primitives: Sequence[Primitive]) -> SpnError:
    """The error that the definition raises in a marking in which the kernel gave up; ``t`` is the transition concerned, if known."""
    r = semantics.rules(net)
    try:
        for _ in _everything(r, m, t):
            pass
        for p in primitives:
            if isinstance(p, TimeAverage | FiringRate):
                measured(r, p.value, m)
    except SpnError as error:
        return error
    return refuse(
        AnalysisError,
        "E0703",
        f"a quantity left the range of double precision in marking {semantics.marking_text(net, m)}",
        help="the net may be unbounded, or a multiplicity grows without limit",
    )


def _everything(r: semantics.Rules, m: Marking, t: int) -> Iterator[object]:
    yield semantics.enabled_immediates(r, m)
    running = {k: n for k in r.timed if (n := semantics.running_clocks(r, k, m)) > 0}
    yield semantics.clock_rates(r, m)
    for k in running:
        yield semantics.scale(r, k, m)
    if len(running) > 1:
        yield semantics.positive_weights(r, sorted(running), m)
    if t >= 0:
        yield semantics.fire(r, t, m)
