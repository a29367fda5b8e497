"""A model: a net, the questions asked of it, and the parameter values that made it."""

from __future__ import annotations

from dataclasses import dataclass, field

from spn.errors import Diagnostic
from spn.expr.dims import NUMBER, Dimension
from spn.expr.nodes import Exact
from spn.measure import Expectation, Measure
from spn.net.model import Net
from spn.source import Source, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter's value in base units; ``kind`` as declared (count, time, …); ``low``..``high`` the declared range, if any;
    ``given`` is true where the user overrode the default."""

    name: str
    kind: str
    value: Exact
    dimension: Dimension = NUMBER
    low: Exact | None = None
    high: Exact | None = None
    given: bool = False
    text: str = field(default="", compare=False)
    doc: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What a file means once parameters have values. ``unitless`` marks a ``units none`` file: results carry no units.
    ``warnings`` are the findings of the checks that do not make the model wrong; ``fits`` describes every fitted law used."""

    name: str
    net: Net
    parameters: tuple[Parameter, ...] = ()
    measures: tuple[Measure, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    unitless: bool = False
    doc: str = field(default="", compare=False)
    fits: tuple[str, ...] = field(default=(), compare=False)
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    source: Source | None = field(default=None, compare=False, repr=False)
