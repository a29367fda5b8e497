"""The properties of a model, decided where its state space can be built."""

from __future__ import annotations

import time

from spn.model import Model, Property
from spn.provenance import provenance
from spn.reach.properties import Verdict, decide
from spn.reach.space import Limits
from spn.result import Finding, Result


def findings(model: Model, limits: Limits) -> dict[str, Finding]:
    """What is found about every property, by name."""
    verdicts = decide(model.net, model.properties, limits)
    return {p.name: _finding(model, p, v) for p, v in zip(model.properties, verdicts, strict=True)}


def _finding(model: Model, p: Property, v: Verdict) -> Finding:
    marking = None if v.marking is None else {q.name: k for q, k in zip(model.net.places, v.marking, strict=True) if k}
    return Finding(holds=v.holds, claim=p.text or p.claim, reason=v.reason, firings=v.firings, marking=marking)


def only(model: Model, limits: Limits) -> Result:
    """The result of a model that claims properties and measures nothing."""
    began = time.perf_counter()
    found = findings(model, limits)
    return Result(
        method="reachability",
        reason="properties only",
        measures={},
        properties=found,
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {}),
    )
