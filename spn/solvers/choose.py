"""The choice of a method, in one readable place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from spn.delay import with_means
from spn.errors import AnalysisError, Diagnostic, SpnError, nearest, refuse
from spn.model import Model, checked
from spn.result import Result
from spn.solvers import conditioning, ctmc, forkjoin, maxplus, mrp, productform, schedule, semimarkov, simulation
from spn.solvers.methods import AUTO, CHAIN_OPTIONS, METHODS, SIMULATION_OPTIONS, Method
from spn.solvers.properties import findings, only

AUTO_STATES = 2_000_000  # beyond, `auto` simulates rather than spend minutes and gigabytes
AUTO_REGENERATIVE = 200_000  # markings up to which `auto` solves a net with one general clock at a time
AUTO_SEMI_MARKOV = 5_000  # markings up to which `auto` solves a net whose clocks are all drawn anew at every firing
AUTO_SCHEDULE = 5_000  # states of a schedule that `auto` enumerates, fewer where a net is large:
AUTO_SCHEDULE_WORK = 1_000_000  # times places and transitions
MANY_STATES = 50_000  # from which `auto` takes a product form rather than the state space
NO_CHAIN = frozenset({"E0600", "E0602", "E0603", "E0605"})  # unbounded, too large, overflow: found while the state space is built
NO_SCHEDULE = frozenset({"E0671", "E0672"})  # no repetition soon enough, a question that a schedule does not answer
GIVES_UP = NO_CHAIN | NO_SCHEDULE | mrp.NOT_ONE | {"E0679", "E0683"}  # what shows only while a method computes: then the next is tried


def may_solve(model: Model) -> list[Diagnostic]:
    """Why the Markov chain does not apply: all refusals, each with its place in the text; empty where it does."""
    return ctmc.may(model)


def solve(model: Model, method: str = AUTO, **options: Any) -> Result:
    """The values of the model's measures, and whether its properties hold.

    ``method`` is one of :data:`spn.solvers.methods.METHODS`, which raises AnalysisError with all its refusals where it does not apply:

    - ``"ctmc"``: the Markov chain of the markings; ``"product-form"``: closed networks of any size (:mod:`spn.solvers.productform`);
      ``"fork-join"``: rounds with a barrier (:mod:`spn.solvers.forkjoin`); ``"mrp"``: one clock at a time that is neither exponential nor
      phase-type (:mod:`spn.solvers.mrp`); ``"semi-markov"``: any number of them, all drawn anew at every firing
      (:mod:`spn.solvers.semimarkov`); ``"max-plus"`` and ``"schedule"``: delays that are constant, or have finitely many values, in
      fractions; ``"conditioning"``: one clock that repeats its work. All exact;
    - ``"phase-type"``: every general law replaced by phases, with an estimate of the error (:mod:`spn.solvers.phasetype`); ``"meanfield"``:
      the fluid limit of large populations with its 1/N correction (:mod:`spn.solvers.meanfield`); ``"simulate"`` takes every model.

    ``"auto"`` takes the first exact one that applies and is quick, else simulates, and says why in ``Result.reason``. Options of the chain:
    ``tolerance``, ``max_states``, ``max_memory``, ``solver``, ``lump`` ("auto" lumps interchangeable replicas, "off" does not); of the mean
    field ``compare``, the states up to which exact values are given beside; of the simulation those of :func:`spn.sim.simulate`. ``auto``
    takes those of the chain and of the simulation and gives each method its own. Properties are decided on the state space where it can be
    built, else left undecided, with a reason. AnalysisError names the measures that no method answers.
    """
    _known(method, options)
    model = with_means(checked(model))
    if not model.properties:
        return _answered(model, method, options)
    limits = ctmc.Options(**{"max_states": AUTO_STATES, **_of(options, CHAIN_OPTIONS)}).limits()
    if not model.measures:
        return only(model, limits)
    return replace(_answered(model, method, options), properties=findings(model, limits))


def _of(options: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if k in names}


def _answered(model: Model, method: str, options: Mapping[str, Any]) -> Result:
    if method != AUTO:
        return METHODS[method].compute(model, options, "asked for")
    found = exactly(model, options)
    if isinstance(found, Result):
        return found
    return simulation.compute(model, reason=f"{_because(found)}: simulated", **_of(options, SIMULATION_OPTIONS))


def exactly(model: Model, options: Mapping[str, Any] | None = None) -> Result | Sequence[Diagnostic]:
    """The answer of the first exact method that applies and is quick, as ``auto`` takes it; or why there is none and the simulator answers.

    AnalysisError where that does not answer either."""
    model = with_means(model)
    refused = ctmc.may(model)
    why: Sequence[Diagnostic] = refused
    for name, limits in _candidates(model, chain=not refused):
        found = _tried(model, METHODS[name], {**limits, **_of(options or {}, METHODS[name].options)})
        if isinstance(found, Result):
            return found
        if name != semimarkov.NAME:  # the last resort: what the others say tells more
            why = found or why
    if refused:
        _neither(refused, model)
    elif also := simulation.may(model):
        raise AnalysisError(*(why or also))
    return why


def exact_candidates(model: Model) -> Iterator[tuple[str, dict[str, Any]]]:
    """All exact methods that apply as far as can be told before they compute, each with its limits."""
    chain = not ctmc.may(model)
    found = dict(_candidates(model, chain=chain))
    if chain:
        found |= dict(_candidates(model, chain=False))
    yield from found.items()


def _candidates(model: Model, *, chain: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The exact methods that apply as far as can be told before they compute, the quickest first, each with its limits. ``chain`` says
    that the Markov chain is one of them."""
    if (not chain or productform.markings(model) > MANY_STATES) and not productform.may(model):
        yield productform.NAME, {}
    if chain:
        yield ctmc.NAME, {"max_states": AUTO_STATES}
        return
    if not forkjoin.may(model):
        yield forkjoin.NAME, {}
    if not maxplus.may(model):
        yield maxplus.NAME, {}
    if not conditioning.may(model):
        yield conditioning.NAME, {}
    if not schedule.may(model):
        size = len(model.net.places) + len(model.net.transitions)
        yield schedule.NAME, {"max_states": max(100, min(AUTO_SCHEDULE, AUTO_SCHEDULE_WORK // size))}
    if not mrp.may(model):
        yield mrp.NAME, {"max_states": AUTO_REGENERATIVE}
    if not semimarkov.may(model):
        yield semimarkov.NAME, {"max_states": AUTO_SEMI_MARKOV}


def _tried(model: Model, method: Method, options: Mapping[str, Any]) -> Result | Sequence[Diagnostic]:
    """The answer of a method; or, where the simulator can give one instead, why it gave up."""
    try:
        result = method.compute(model, options, "")
    except AnalysisError as error:
        if error.diagnostics[0].code not in GIVES_UP or simulation.may(model):
            raise
        return error.diagnostics
    if result.converged or simulation.may(model):
        return result
    return ctmc.unsolved(result).diagnostics


def _neither(refused: list[Diagnostic], model: Model) -> None:
    """Refuse what the simulator does not answer either: what neither method takes, or else why neither takes the whole."""
    also = simulation.may(model)
    if also:
        both = [d for d in refused if any((d.code, d.span) == (a.code, a.span) for a in also)]
        raise AnalysisError(*(both or [*also, *refused]))


def _because(refused: Sequence[Diagnostic]) -> str:
    first, more = refused[0].message, len(refused) - 1
    return f"{first}{f' (and {more} more)' if more else ''}"


def _known(method: str, options: Mapping[str, Any]) -> None:
    """Unknown methods and options are errors that propose the nearest known one; so are those of the other method."""
    if method not in (*METHODS, AUTO):
        raise _unknown("method", method, [*METHODS, AUTO])
    allowed = METHODS[method].options if method in METHODS else CHAIN_OPTIONS | SIMULATION_OPTIONS
    for name in options:
        if name not in allowed:
            owners = [m.name for m in METHODS.values() if name in m.options]
            if owners:
                message = f"{name} is no option of method {method}, but of {' and '.join(owners)}"
                raise refuse(AnalysisError, "E0616", message, help=f"leave it out, or choose the method: {owners[0]}")
            raise _unknown(f"option of method {method}", name, sorted(allowed))


def one_thread(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of :func:`solve`, for one among many that are answered at a time: by one thread. The answer is the same."""
    return {**options, "workers": 1} if method in (AUTO, simulation.NAME) else dict(options)


def _unknown(what: str, name: str, known: list[str]) -> SpnError:
    near = nearest(name, known)
    proposal = f"did you mean {near}? " if near else ""
    return refuse(AnalysisError, "E0616", f"unknown {what}: {name}", help=f"{proposal}known are {', '.join(known)}")
