"""All methods for one model: which apply, what refuses the others, what each would cost; and a second method to check a result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spn.errors import AnalysisError, Diagnostic, SpnError
from spn.model import Model, checked
from spn.reach.states import states
from spn.result import Result, plain
from spn.solvers import ctmc, mrp, phasetype, productform, simulation
from spn.solvers.choose import exact_candidates
from spn.solvers.methods import METHODS
from spn.structural.stations import Network, stations

LOOK = 20_000  # markings that are explored to tell what a chain would cost
SURE = 0.9999  # confidence of a simulation that checks another method
ROUNDING = 1e-7  # relative, of exact figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A method: whether it applies as far as can be told before it computes (``refusals`` is empty), and what it would cost."""

    name: str
    title: str
    exact: bool
    refusals: tuple[Diagnostic, ...]
    cost: str

    @property
    def applies(self) -> bool:
        return not self.refusals


def methods(model: Model) -> tuple[Offer, ...]:
    """What every method says to a model, in the order in which they are listed everywhere; a few thousand markings at most are explored.

    Raises what is wrong with the model itself (SemanticsError, ModelError)."""
    checked(model)
    return tuple(
        Offer(
            name=m.name,
            title=m.title,
            exact=m.exact,
            refusals=(refusals := tuple(m.may(model))),
            cost="" if refusals else _cost(m.name, model),
        )
        for m in METHODS.values()
    )


def _cost(name: str, model: Model) -> str:
    if name in (ctmc.NAME, mrp.NAME):
        return _markings(model)
    if name == productform.NAME:
        found = stations(model.net)
        assert isinstance(found, Network)
        return f"{productform.markings(model):.3g} markings, none of them built; {len(found.stations)} stations"
    return "1/ε² firings for a relative half-width of ε" if name == simulation.NAME else ""


def _markings(model: Model) -> str:
    """How many markings there are, without phases and ages, if they are few."""
    try:
        return f"{states(model, max_states=LOOK).tangible:,} markings"
    except AnalysisError as error:
        return f"more than {LOOK:,} markings" if error.diagnostics[0].code in ("E0602", "E0603") else error.diagnostics[0].message


# --- a second opinion


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One measure by two methods: the values, and by how much they may differ for all that both say of their errors."""

    first: float
    second: float
    allowed: float

    @property
    def agrees(self) -> bool:
        same = self.first == self.second or (math.isnan(self.first) and math.isnan(self.second))
        return same or abs(self.first - self.second) <= self.allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """A result beside that of an independent ``method``. ``agrees`` is None where no other method answered."""

    method: str
    reason: str
    checks: Mapping[str, Check]

    @property
    def agrees(self) -> bool | None:
        return all(c.agrees for c in self.checks.values()) if self.checks else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        found = plain(self)
        for name, c in self.checks.items():
            found["checks"][name]["agrees"] = c.agrees
        return {**found, "agrees": self.agrees}


def verify(model: Model, result: Result, *, seed: int | None = None, max_seconds: float = 60.0) -> Verification:
    """Ask a second, independent method and compare every measure, each within the errors that both state: rounding of exact figures
    (1e-7), the error estimated for phases, the half-width of a simulation (at 99.99 %).

    Another exact method where one applies, else phases in place of general laws, else a simulation; a simulated result is checked by
    another simulation with other random numbers if there is nothing else."""
    why = "no other method applies"
    for name, options in _others(model, result, seed, max_seconds):
        try:
            second = METHODS[name].compute(model, options, "asked for")
        except SpnError as error:
            if not isinstance(error, AnalysisError):
                raise
            why = error.diagnostics[0].message
            continue
        if second.converged or name == simulation.NAME:  # whose intervals hold, however wide they are still
            return Verification(method=name, reason=second.reason, checks=_compared(result, second))
        why = f"{name} did not converge"
    return Verification(method="", reason=why, checks={})


def _others(model: Model, result: Result, seed: int | None, max_seconds: float) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, limits in exact_candidates(model):
        if name != result.method:
            yield name, limits
    if result.method != phasetype.NAME and ctmc.may(model) and not phasetype.may(model):
        yield phasetype.NAME, {}
    if not simulation.may(model):
        other = None if seed is None else seed + 1
        yield simulation.NAME, {"confidence": SURE, "max_seconds": max_seconds, "seed": other}


def _compared(first: Result, second: Result) -> dict[str, Check]:
    found = {}
    for name, a in first.measures.items():
        b = second.measures[name]
        widths = [v.half_width if v.half_width is not None else ROUNDING * abs(v.value) for v in (a, b)]
        found[name] = Check(first=a.value, second=b.value, allowed=math.fsum(widths))
    return found
