"""Stochastic Petri nets: a language, exact solvers, a simulator, and models of distributed training.

The names below are loaded on first use, so that ``import spn`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spn.dist.make import law
    from spn.errors import AnalysisError, DataError, ModelError, SemanticsError, SpnError
    from spn.expr.nodes import call, conditional, equal, tokens
    from spn.fitting import fit, fit_file
    from spn.loading import load, parse
    from spn.measure import Average, Measure, Sojourn, Throughput, Utilisation
    from spn.model import Model
    from spn.net.builder import NetBuilder
    from spn.net.model import Net
    from spn.reach.states import States, states
    from spn.report.draw import draw
    from spn.result import Result
    from spn.sgd.compare import Comparison, compare
    from spn.sim import simulate
    from spn.sim.histogram import Histogram, histogram
    from spn.sim.history import History, path, write_path
    from spn.sim.paired import Differences, difference
    from spn.solvers import solve
    from spn.solvers.sensitivity import sensitivity
    from spn.solvers.sweep import sweep
    from spn.structural.analysis import Structure, bounds, structure
    from spn.trace.readers import read_trace
    from spn.trace.records import Trace

__version__ = "0.1.0"

_WHERE = {
    "AnalysisError": "spn.errors",
    "Average": "spn.measure",
    "Comparison": "spn.sgd.compare",
    "DataError": "spn.errors",
    "Histogram": "spn.sim.histogram",
    "History": "spn.sim.history",
    "Differences": "spn.sim.paired",
    "Measure": "spn.measure",
    "Model": "spn.model",
    "ModelError": "spn.errors",
    "Net": "spn.net.model",
    "NetBuilder": "spn.net.builder",
    "Result": "spn.result",
    "SemanticsError": "spn.errors",
    "Sojourn": "spn.measure",
    "SpnError": "spn.errors",
    "Structure": "spn.structural.analysis",
    "States": "spn.reach.states",
    "Throughput": "spn.measure",
    "Trace": "spn.trace.records",
    "Utilisation": "spn.measure",
    "bounds": "spn.structural.analysis",
    "call": "spn.expr.nodes",
    "compare": "spn.sgd.compare",
    "conditional": "spn.expr.nodes",
    "difference": "spn.sim.paired",
    "draw": "spn.report.draw",
    "equal": "spn.expr.nodes",
    "fit": "spn.fitting",
    "fit_file": "spn.fitting",
    "histogram": "spn.sim.histogram",
    "law": "spn.dist.make",
    "load": "spn.loading",
    "parse": "spn.loading",
    "path": "spn.sim.history",
    "read_trace": "spn.trace.readers",
    "sensitivity": "spn.solvers.sensitivity",
    "simulate": "spn.sim",
    "solve": "spn.solvers",
    "structure": "spn.structural.analysis",
    "states": "spn.reach.states",
    "sweep": "spn.solvers.sweep",
    "tokens": "spn.expr.nodes",
    "write_path": "spn.sim.history",
}

__all__ = [
    "AnalysisError",
    "Average",
    "Comparison",
    "DataError",
    "Differences",
    "Histogram",
    "History",
    "Measure",
    "Model",
    "ModelError",
    "Net",
    "NetBuilder",
    "Result",
    "SemanticsError",
    "Sojourn",
    "SpnError",
    "States",
    "Structure",
    "Throughput",
    "Trace",
    "Utilisation",
    "__version__",
    "bounds",
    "call",
    "compare",
    "conditional",
    "difference",
    "draw",
    "equal",
    "fit",
    "fit_file",
    "histogram",
    "law",
    "load",
    "parse",
    "path",
    "read_trace",
    "sensitivity",
    "simulate",
    "solve",
    "states",
    "structure",
    "sweep",
    "tokens",
    "write_path",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'spn' has no attribute {name!r}")
    found = getattr(import_module(_WHERE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
