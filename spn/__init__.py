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
    from spn.sim.derivatives.run import Slopes
    from spn.sim.histogram import Histogram, histogram
    from spn.sim.history import History, path, write_path
    from spn.sim.paired import Differences, difference
    from spn.sim.selection import Selection, select_best
    from spn.sim.splitting import splitting
    from spn.solvers import solve
    from spn.solvers.crossing import Crossings, crossing
    from spn.solvers.reduced import VarianceReduced, variance_reduced
    from spn.solvers.sensitivity import sensitivity
    from spn.solvers.survey import Verification, methods, verify
    from spn.solvers.sweep import sweep
    from spn.structural.analysis import Structure, bounds, structure
    from spn.trace.readers import read_trace
    from spn.trace.records import Trace

__version__ = "0.1.0"

_WHERE = {
    "AnalysisError": "spn.errors",
    "Average": "spn.measure",
    "Comparison": "spn.sgd.compare",
    "Crossings": "spn.solvers.crossing",
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
    "Selection": "spn.sim.selection",
    "SemanticsError": "spn.errors",
    "Slopes": "spn.sim.derivatives.run",
    "Sojourn": "spn.measure",
    "SpnError": "spn.errors",
    "Structure": "spn.structural.analysis",
    "States": "spn.reach.states",
    "Throughput": "spn.measure",
    "Trace": "spn.trace.records",
    "Utilisation": "spn.measure",
    "VarianceReduced": "spn.solvers.reduced",
    "Verification": "spn.solvers.survey",
    "bounds": "spn.structural.analysis",
    "call": "spn.expr.nodes",
    "compare": "spn.sgd.compare",
    "conditional": "spn.expr.nodes",
    "crossing": "spn.solvers.crossing",
    "difference": "spn.sim.paired",
    "draw": "spn.report.draw",
    "equal": "spn.expr.nodes",
    "fit": "spn.fitting",
    "fit_file": "spn.fitting",
    "histogram": "spn.sim.histogram",
    "law": "spn.dist.make",
    "load": "spn.loading",
    "methods": "spn.solvers.survey",
    "parse": "spn.loading",
    "path": "spn.sim.history",
    "select_best": "spn.sim.selection",
    "read_trace": "spn.trace.readers",
    "sensitivity": "spn.solvers.sensitivity",
    "simulate": "spn.sim",
    "solve": "spn.solvers",
    "splitting": "spn.sim.splitting",
    "structure": "spn.structural.analysis",
    "states": "spn.reach.states",
    "sweep": "spn.solvers.sweep",
    "tokens": "spn.expr.nodes",
    "variance_reduced": "spn.solvers.reduced",
    "verify": "spn.solvers.survey",
    "write_path": "spn.sim.history",
}

__all__ = [
    "AnalysisError",
    "Average",
    "Comparison",
    "Crossings",
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
    "Selection",
    "SemanticsError",
    "Slopes",
    "Sojourn",
    "SpnError",
    "States",
    "Structure",
    "Throughput",
    "Trace",
    "Utilisation",
    "VarianceReduced",
    "Verification",
    "__version__",
    "bounds",
    "call",
    "compare",
    "conditional",
    "crossing",
    "difference",
    "draw",
    "equal",
    "fit",
    "fit_file",
    "histogram",
    "law",
    "load",
    "methods",
    "parse",
    "path",
    "read_trace",
    "select_best",
    "sensitivity",
    "simulate",
    "solve",
    "splitting",
    "states",
    "structure",
    "sweep",
    "tokens",
    "variance_reduced",
    "verify",
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
