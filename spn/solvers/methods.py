"""The table of methods: what each is, whether it may, and how to call it. One line here makes a method known everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

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


def _names(options: type[Any]) -> frozenset[str]:
    return frozenset(f.name for f in fields(options))


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
        Method(
            name=ctmc.NAME,
            title="Markov chain of the markings: exponential and phase-type laws",
            exact=True,
            options=CHAIN_OPTIONS,
            may=ctmc.may,
            compute=lambda model, o, reason: ctmc.compute(model, ctmc.Options(**o), reason=reason),
        ),
        Method(
            name=productform.NAME,
            title="closed networks of delays, shared links and exponential servers, of any size",
            exact=True,
            options=NONE,
            may=productform.may,
            compute=lambda model, o, reason: productform.compute(model, reason=reason),
        ),
        Method(
            name=forkjoin.NAME,
            title="rounds with a barrier, any laws and any number of workers",
            exact=True,
            options=NONE,
            may=forkjoin.may,
            compute=lambda model, o, reason: forkjoin.compute(model, reason=reason),
        ),
        Method(
            name=maxplus.NAME,
            title="throughputs of event graphs with constant delays, in fractions",
            exact=True,
            options=NONE,
            may=maxplus.may,
            compute=lambda model, o, reason: maxplus.compute(model, reason=reason),
        ),
        Method(
            name=mrp.NAME,
            title="one clock at a time that is neither exponential nor phase-type",
            exact=True,
            options=CHAIN_OPTIONS,
            may=mrp.may,
            compute=lambda model, o, reason: mrp.compute(model, ctmc.Options(**o), reason=reason),
        ),
        Method(
            name=semimarkov.NAME,
            title="any number of general clocks at once, all drawn anew at every firing",
            exact=True,
            options=CHAIN_OPTIONS,
            may=semimarkov.may,
            compute=lambda model, o, reason: semimarkov.compute(model, ctmc.Options(**o), reason=reason),
        ),
        Method(
            name=conditioning.NAME,
            title="one clock that repeats its work",
            exact=True,
            options=_names(conditioning.Options),
            may=conditioning.may,
            compute=lambda model, o, reason: conditioning.compute(model, conditioning.Options(**o), reason=reason),
        ),
        Method(
            name=schedule.NAME,
            title="delays of finitely many values, whose schedule repeats itself, in fractions",
            exact=True,
            options=_names(schedule.Options),
            may=schedule.may,
            compute=lambda model, o, reason: schedule.compute(model, schedule.Options(**o), reason=reason),
        ),
        Method(
            name=phasetype.NAME,
            title="general laws replaced by phases, with an estimate of the error",
            exact=False,
            options=_names(phasetype.Options),
            may=phasetype.may,
            compute=lambda model, o, reason: phasetype.compute(model, phasetype.Options(**o), reason=reason),
        ),
        Method(
            name=meanfield.NAME,
            title="fluid limit of large populations, with its 1/N correction",
            exact=False,
            options=_names(meanfield.Options),
            may=meanfield.may,
            compute=lambda model, o, reason: meanfield.compute(model, meanfield.Options(**o)),  # says what it found instead
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
