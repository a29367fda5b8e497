"""A model: a net, the questions asked of it, and the parameter values that made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spn.errors import Diagnostic
from spn.expr.dims import NUMBER, Dimension
from spn.expr.nodes import Exact, Node
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
class Property:
    """A claim about all reachable markings. ``claim`` is always, invariant, live, bounded, deadlock_free, reversible, home or leads;
    ``conditions`` what it speaks of: none, one, or two for leads; of an invariant its two sides."""

    name: str
    claim: str
    conditions: tuple[Node, ...] = ()
    text: str = field(default="", compare=False)
    doc: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Values of parameters to go through: every one of ``points`` has a value in base units for each of ``names``."""

    names: tuple[str, ...]
    points: tuple[tuple[Exact, ...], ...]
    doc: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What a file means once parameters have values. ``unitless`` marks a ``units none`` file: results carry no units.
    ``warnings`` are the findings of the checks that do not make the model wrong; ``fits`` describes every fitted law used.
    ``variant`` makes the same model with other values of parameters, in base units; a net built by hand has none."""

    name: str
    net: Net
    parameters: tuple[Parameter, ...] = ()
    measures: tuple[Measure, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    properties: tuple[Property, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    unitless: bool = False
    doc: str = field(default="", compare=False)
    fits: tuple[str, ...] = field(default=(), compare=False)
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    source: Source | None = field(default=None, compare=False, repr=False)
    variant: Callable[[Mapping[str, Exact]], Model] | None = field(default=None, compare=False, repr=False)
