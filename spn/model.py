"""A model: a net, the questions asked of it, and the parameter values that made it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spn.errors import Diagnostic, ModelError
from spn.expr.dims import NUMBER, Dimension, base_unit
from spn.expr.nodes import Exact, Node
from spn.measure import Expectation, Measure, check_measures
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Model:
    """What a file means once parameters have values. ``unitless`` marks a ``units none`` file: results carry no units.
    ``warnings`` are the findings of the checks that do not make the model wrong; ``fits`` describes every fitted law used.
    ``variant`` makes the same model with other values of parameters, in base units; ``reader`` reads the text of a question about it,
    such as ``E(#q)``; a net built by hand has neither."""

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
    reader: Callable[[str], Node] | None = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        """Its size, its parameters and its measures, in a few lines; the fields hold the rest."""
        sizes = ((len(self.net.places), "place"), (len(self.net.transitions), "transition"), (len(self.net.links), "link"))
        lines = [f"model {self.name}: {', '.join(f'{n} {what}' + 's' * (n != 1) for n, what in sizes if n) or 'empty'}"]
        if self.parameters:
            lines.append(f"parameters: {', '.join(f'{p.name} = {_shown(p)}' for p in self.parameters)}")
        if self.measures:
            lines.append(f"measures: {', '.join(m.name for m in self.measures)}")
        return "\n".join([*lines, *(f"warning: {w.message}" for w in self.warnings)])


def checked(model: object) -> Model:
    """The model, once it is certain to be one whose measures can be asked of its net: a TypeError for anything else, a ModelError with
    all that is wrong with the measures."""
    if not isinstance(model, Model):
        raise TypeError(f"a Model is due, as spn.load and spn.parse make them, or spn.Model(name=…, net=…); not {type(model).__name__}")
    problems = check_measures(model.measures, model.net)
    if problems:
        raise ModelError(*problems)
    return model


def _shown(p: Parameter) -> str:
    """A parameter as it was written, or its value in base units where that was computed."""
    if re.fullmatch(r"[\d.]+ ?[A-Za-z/%]*|true|false", p.text):
        return p.text
    return f"{float(p.value):.6g} {base_unit(p.dimension)}".rstrip()
