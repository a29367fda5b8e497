"""What every analysis returns: values with intervals or residuals, the method and why, and where it all came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from numbers import Real
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One measure's result in base units. ``half_width`` is that of the confidence interval at ``confidence``, None for a numeric
    method. ``unit``/``unit_factor`` say how to show it: ``value / unit_factor`` in ``unit``."""

    value: float
    half_width: float | None = None
    confidence: float | None = None
    unit: str = ""
    unit_factor: float = 1.0
    samples: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentClass:
    """A recurrent class of the chain (or an absorbing marking): the probability of ending there and the measures inside it."""

    probability: float
    size: int
    kind: str  # "recurrent", "dead" (no transition enabled) or "stuck" (enabled, but every speed is 0)
    marking: Mapping[str, int]  # a member: its non-empty places
    measures: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Whether a property of the model holds; ``holds`` is None where it is not decided. ``reason`` says why; where it fails, the
    ``firings`` lead from the initial marking to ``marking`` (its non-empty places), which shows it, by a way as short as any."""

    holds: bool | None
    claim: str
    reason: str = ""
    firings: tuple[str, ...] = ()
    marking: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What made a result, enough to repeat it."""

    version: str
    model: str
    digest: str
    parameters: Mapping[str, float]
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    """The answer of :func:`spn.solve` or :func:`spn.simulate`.

    ``measures`` maps each name to its :class:`Value`. ``method`` and ``reason`` say how and why so. ``residual`` is that of the
    numeric solution (None for an estimate); ``converged`` False means the figures are not to be trusted, and printing says so.
    ``classes`` lists the recurrent classes where there is more than one or an absorbing marking. ``details`` holds figures of the method
    (states, arcs, firings, replications, warm-up …). ``properties`` maps the name of each claim of the model to what was found."""

    method: str
    reason: str
    measures: Mapping[str, Value]
    residual: float | None = None
    converged: bool = True
    classes: tuple[RecurrentClass, ...] = ()
    properties: Mapping[str, Finding] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    provenance: Provenance | None = None

    def __repr__(self) -> str:
        from spn.show.table import result_text

        return result_text(self)

    def __getitem__(self, name: str) -> float:
        """The value of a measure in base units: ``result["steps"]``; a KeyError that names the measures where there is no such one."""
        if name not in self.measures:
            raise KeyError(f"there is no measure {name!r}; there are {', '.join(self.measures) or 'none'}")
        return self.measures[name].value

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: every measure's ``value`` and ``half_width`` in its ``unit``; nan and infinities as the strings ``"nan"``,
        ``"inf"``, ``"-inf"``."""
        data = plain(self)
        data["measures"] = {name: _shown(v) for name, v in self.measures.items()}
        for given, shown in zip(self.classes, data["classes"], strict=True):
            shown["measures"] = {n: plain_value(v / self.measures[n].unit_factor) for n, v in given.measures.items()}
        return data


def _shown(v: Value) -> dict[str, Any]:
    data = plain(v)
    factor = data.pop("unit_factor")
    data["value"] = plain_value(v.value / factor)
    data["half_width"] = None if v.half_width is None else plain_value(v.half_width / factor)
    return data


def plain(record: Any) -> dict[str, Any]:
    """A frozen record as dicts, lists, numbers and strings, fit for JSON; nan and infinities as strings."""
    data = plain_value(asdict(record))
    assert isinstance(data, dict)
    return data


def plain_value(data: object) -> Any:
    """The same for any value."""
    match data:
        case Mapping():
            return {str(k): plain_value(v) for k, v in data.items()}
        case list() | tuple():
            return [plain_value(v) for v in data]
        case bool() | int() | str() | None:
            return data
        case Real():
            number = float(data)
            return number if math.isfinite(number) else repr(number)
    return str(data)
