"""The exact values against the bounds that structure and mean times give: outside of them they are wrong, whatever the residual says."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from spn.errors import AnalysisError, refuse
from spn.expr.nodes import ONE, Tokens
from spn.measure import FiringRate, Primitive, TimeAverage
from spn.net.model import Net
from spn.structural.throughput import violation

SMALL = 2_000  # states; where the solution takes less time than to load the linear programming, it is checked only if that is loaded
TOLERANCE = 1e-5  # relative; the program that is solved is right to 1e-7, and the nets looked at are not stiff


def check(net: Net, known: Mapping[Primitive, float], states: int) -> None:
    """AnalysisError E0680 where long-run throughputs and mean tokens satisfy no solution of the bounds of :mod:`spn.structural.throughput`.

    Costs one linear program of a few milliseconds; nets that are large or stiff are let pass."""
    means = {p.transition: v for p, v in known.items() if isinstance(p, FiringRate) and p.value == ONE}
    tokens = {p.value.place: v for p, v in known.items() if isinstance(p, TimeAverage) and isinstance(p.value, Tokens)}
    if not (means or tokens) or (states < SMALL and "scipy.optimize" not in sys.modules):
        return
    gap = violation(net, means, tokens)
    if gap is not None and gap > TOLERANCE:
        shown = ", ".join(
            [*(f"throughput({t}) = {v:.6g}" for t, v in means.items()), *(f"E(#{p}) = {v:.6g}" for p, v in tokens.items())][:6]
        )
        raise refuse(
            AnalysisError,
            "E0680",
            f"internal error: the values found lie outside their bounds, by {gap:.1e} of their size: {shown}",
            help="this is a bug, please report it with the model; `spn bounds` shows the bounds, `spn simulate` estimates the values",
        )
