"""The choice of a method, in one readable place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from spn.errors import AnalysisError, Diagnostic, SpnError, nearest, refuse
from spn.model import Model, checked
from spn.result import Result
from spn.solvers import ctmc, meanfield, simulation
from spn.solvers.properties import findings, only

AUTO_STATES = 2_000_000  # beyond, `auto` simulates rather than spend minutes and gigabytes
EXACT_OPTIONS = frozenset(f.name for f in fields(ctmc.Options))
SIMULATION_OPTIONS = frozenset(
    {
        "seed",
        "precision",
        "absolute",
        "precise_for",
        "confidence",
        "executor",
        "checkpoint",
        "replications",
        "horizon",
        "warmup",
        "max_seconds",
        "max_firings",
        "workers",
        "progress",
        "until",
        "engine",
        "estimator",
    }
)
FLUID_OPTIONS = frozenset(f.name for f in fields(meanfield.Options))
METHODS = (ctmc.NAME, simulation.NAME, meanfield.NAME)
NO_CHAIN = frozenset({"E0600", "E0602", "E0603", "E0605"})  # unbounded, too large, overflow: found while the state space is built


def may_solve(model: Model) -> list[Diagnostic]:
    """Why the exact method does not apply: all refusals, each with its place in the text; empty where it does."""
    return ctmc.may(model)


def solve(model: Model, method: str = "auto", **options: Any) -> Result:
    """The values of the model's measures, and whether its properties hold.

    ``method``: ``"ctmc"`` is exact and raises AnalysisError with all refusals where it does not apply; ``"simulate"`` takes every model;
    ``"meanfield"`` is the fluid limit of large populations with its 1/N correction (:mod:`spn.solvers.meanfield`); ``"auto"`` is exact
    where that is possible, else simulates, and says why in ``Result.reason``. Options of the exact method: ``tolerance``, ``max_states``,
    ``max_memory``, ``lump`` ("auto" lumps interchangeable replicas, "off" does not); of the mean field ``compare``, the states up to which
    exact values are given beside; of the simulation those of :func:`spn.sim.simulate`. ``auto`` takes those of the exact method and of the
    simulation and gives each its own. Properties are decided on the state space where it can be built, else left undecided, with a reason.
    AnalysisError names the measures that no method answers.
    """
    _known(method, options)
    checked(model)
    exact = {k: v for k, v in options.items() if k in EXACT_OPTIONS}
    drawn = {k: v for k, v in options.items() if k in SIMULATION_OPTIONS}
    if method == meanfield.NAME:
        return _fluid(model, meanfield.Options(**options))
    if not model.properties:
        return _answered(model, method, exact, drawn)
    limits = ctmc.Options(**{"max_states": AUTO_STATES, **exact}).limits()
    if not model.measures:
        return only(model, limits)
    return replace(_answered(model, method, exact, drawn), properties=findings(model, limits))


def _fluid(model: Model, options: meanfield.Options) -> Result:
    result = meanfield.compute(model, options, reason="")
    return replace(result, properties=findings(model, ctmc.Options(max_states=AUTO_STATES).limits())) if model.properties else result


def _answered(model: Model, method: str, exact: dict[str, Any], drawn: dict[str, Any]) -> Result:
    if method == ctmc.NAME:
        return ctmc.compute(model, ctmc.Options(**exact), reason="asked for")
    if method == simulation.NAME:
        return simulation.compute(model, reason="asked for", **drawn)
    return _auto(model, exact, drawn)


def _auto(model: Model, exact: dict[str, Any], drawn: dict[str, Any]) -> Result:
    refused = ctmc.may(model)
    if refused:
        _neither(refused, model)
        return simulation.compute(model, reason=_because(refused), **drawn)
    try:
        result = ctmc.compute(model, ctmc.Options(**{"max_states": AUTO_STATES, **exact}))
    except AnalysisError as error:
        if error.diagnostics[0].code not in NO_CHAIN or simulation.may(model):
            raise
        return simulation.compute(model, reason=_because(error.diagnostics), **drawn)
    if result.converged or simulation.may(model):
        return result
    return simulation.compute(model, reason=f"{ctmc.unsolved(result).diagnostics[0].message}: simulated", **drawn)


def _neither(refused: list[Diagnostic], model: Model) -> None:
    """Refuse what the simulator does not answer either: what neither method takes, or else why neither takes the whole."""
    also = simulation.may(model)
    if also:
        both = [d for d in refused if any((d.code, d.span) == (a.code, a.span) for a in also)]
        raise AnalysisError(*(both or [*also, *refused]))


def _because(refused: list[Diagnostic] | tuple[Diagnostic, ...]) -> str:
    first, more = refused[0].message, len(refused) - 1
    return f"{first}{f' (and {more} more)' if more else ''}: simulated"


def _known(method: str, options: dict[str, Any]) -> None:
    """Unknown methods and options are errors that propose the nearest known one; so are those of the other method."""
    if method not in (*METHODS, "auto"):
        raise _unknown("method", method, [*METHODS, "auto"])
    own = {ctmc.NAME: EXACT_OPTIONS, simulation.NAME: SIMULATION_OPTIONS, meanfield.NAME: FLUID_OPTIONS}
    allowed = own.get(method, EXACT_OPTIONS | SIMULATION_OPTIONS)
    for name in options:
        if name not in allowed:
            raise _unknown(f"option of method {method}", name, sorted(allowed))


def one_thread(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of :func:`solve`, for one among many that are answered at a time: by one thread. The answer is the same."""
    return {**options, "workers": 1} if method in ("auto", simulation.NAME) else dict(options)


def _unknown(what: str, name: str, known: list[str]) -> SpnError:
    near = nearest(name, known)
    proposal = f"did you mean {near}? " if near else ""
    return refuse(AnalysisError, "E0616", f"unknown {what}: {name}", help=f"{proposal}known are {', '.join(known)}")
