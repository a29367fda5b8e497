"""The table of methods: what each is, whether it may, and how to call it. One line here makes a method known everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Protocol

from spn.errors import Diagnostic
from spn.model import Model
from spn.result import Result
from spn.solvers import conditioning, ctmc, forkjoin, maxplus, meanfield, mrp, phasetype, productform, schedule, semimarkov, simulation

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """``title`` says in a line what it takes; ``exact`` whether its figures are right but for rounding and a small error that it states;
    ``options`` are the names that ``compute(model, options, reason)`` takes; ``may`` gives all its refusals."""

    name: str
    title: str
    exact: bool
    options: frozenset[str]
    may: Callable[[Model], list[Diagnostic]]
    compute: Callable[[Model, Options, str], Result]


class _Optional(Protocol):
    """A solver's module whose options are a dataclass."""

    NAME: str

    def may(self, model: Model) -> list[Diagnostic]: ...
    def compute(self, model: Model, options: Any = None, *, reason: str = "") -> Result: ...


class _Plain(Protocol):
    """A solver's module without options."""

    NAME: str

    def may(self, model: Model) -> list[Diagnostic]: ...
    def compute(self, model: Model, *, reason: str = "") -> Result: ...


def _names(options: type[Any]) -> frozenset[str]:
    return frozenset(f.name for f in fields(options))


def _optional(solver: _Optional, options: type[Any], title: str, *, exact: bool = True) -> Method:
    def compute(model: Model, given: Options, reason: str) -> Result:
        return solver.compute(model, options(**given), reason=reason)

    return Method(name=solver.NAME, title=title, exact=exact, options=_names(options), may=solver.may, compute=compute)


def _plain(solver: _Plain, title: str) -> Method:
    def compute(model: Model, given: Options, reason: str) -> Result:
        return solver.compute(model, reason=reason)

    return Method(name=solver.NAME, title=title, exact=True, options=NONE, may=solver.may, compute=compute)


CHAIN_OPTIONS: Final = _names(ctmc.Options)
SIMULATION_OPTIONS: Final = frozenset(
    {
        "seed",
        "precision",
        "absolute",
        "precise_for",
        "confidence",
        "replications",
        "horizon",
        "warmup",
        "max_seconds",
        "max_firings",
        "workers",
        "progress",
        "until",
        "engine",
        "executor",
        "checkpoint",
        "estimator",
    }
)
NONE: Final[frozenset[str]] = frozenset()

METHODS: Final[Mapping[str, Method]] = {
    m.name: m
    for m in (
        _optional(ctmc, ctmc.Options, "Markov chain of the markings: exponential and phase-type laws"),
        _plain(productform, "closed networks of delays, shared links and exponential servers, of any size"),
        _plain(forkjoin, "rounds with a barrier, any laws and any number of workers"),
        _plain(maxplus, "throughputs of event graphs with constant delays, in fractions"),
        _optional(mrp, ctmc.Options, "one clock at a time that is neither exponential nor phase-type"),
        _optional(semimarkov, ctmc.Options, "any number of general clocks at once, all drawn anew at every firing"),
        _optional(conditioning, conditioning.Options, "one clock that repeats its work"),
        _optional(schedule, schedule.Options, "delays of finitely many values, whose schedule repeats itself, in fractions"),
        _optional(phasetype, phasetype.Options, "general laws replaced by phases, with an estimate of the error", exact=False),
        Method(
            name=meanfield.NAME,
            title="fluid limit of large populations, with its 1/N correction",
            exact=False,
            options=_names(meanfield.Options),
            may=meanfield.may,
            compute=lambda model, o, reason: meanfield.compute(model, meanfield.Options(**o)),  # its reason is what it found
        ),
        Method(
            name=simulation.NAME,
            title="every net; confidence intervals",
            exact=False,
            options=SIMULATION_OPTIONS,
            may=simulation.may,
            compute=lambda model, o, reason: simulation.compute(model, reason=reason, **o),
        ),
    )
}
AUTO: Final = "auto"
