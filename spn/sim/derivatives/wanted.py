"""Which measures have derivatives."""

from __future__ import annotations

from collections.abc import Sequence

from spn.errors import AnalysisError, nearest, refuse
from spn.measure import Measure, Special, primitives
from spn.model import Model
from spn.net.model import Net


def long_run_measures(model: Model, names: Sequence[str] | None) -> tuple[Measure, ...]:
    """The measures of these names, all long-run ones if there are none; AnalysisError E0642 where one is no long-run value."""
    known = {m.name: m for m in model.measures}
    for name in names or ():
        if name not in known:
            near = nearest(name, list(known))
            help = f"did you mean {near}?" if near else f"there are {', '.join(known) or 'none'}"
            raise refuse(AnalysisError, "E0642", f"there is no measure {name}", help=help)
    lasting = [m for m in model.measures if not _special(m, model.net)]
    wanted = [known[name] for name in names] if names is not None else lasting
    for m in wanted:
        if _special(m, model.net):
            help = "sensitivities are of long-run values; vary the parameter with a sweep instead"
            raise refuse(AnalysisError, "E0642", f"{m.name} is no long-run value", span=m.span, help=help)
    if not wanted:
        raise refuse(AnalysisError, "E0642", "there is no long-run measure to differentiate", help="add one: measure x = throughput(…)")
    return tuple(wanted)


def _special(m: Measure, net: Net) -> bool:
    return any(isinstance(p, Special) for p in primitives(m.body, net))
