"""Sensitivities as a table: what each measure depends on, strongest first, and the bottleneck by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from spn.expr.dims import NUMBER
from spn.show.grid import Align, Column, Grid, plain
from spn.show.text import count, duration, number, quantity

if TYPE_CHECKING:
    from spn.solvers.sensitivity import Sensitivities, Sensitivity

KINDS = {"derivative": "", "difference": "for one more", "speed": "speed of the transition"}
LEAST = 1e-12  # an elasticity below is rounding
SAME = 1e-8  # relative difference below which two elasticities are one


def sensitivity_grid(found: Sensitivities, names: Sequence[str] | None = None) -> Grid:
    """A row a measure and parameter, then its transitions' speeds, strongest first."""
    dimensions = {p.name: (p.value, NUMBER if found.model.unitless else p.dimension, p.kind) for p in found.model.parameters}
    rows = []
    for measure in names or found.result.measures:
        for s in (*found.parameters, *found.speeds):
            if s.measure == measure:
                value, dimension, kind = dimensions.get(s.parameter, (1, NUMBER, ""))
                at = "" if s.kind == "speed" else quantity(value, dimension)
                what = s.note or ("for the other value" if kind == "bool" else KINDS[s.kind])
                rows.append((measure, s.parameter, at, _elasticity(s), what))
    columns = (Column("measure"), Column("depends on"), Column("at", Align.RIGHT), Column("elasticity", Align.POINT), Column("of what"))
    return Grid(columns, tuple(rows))


def _elasticity(s: Sensitivity) -> str:
    if s.elasticity != s.elasticity:
        return "-"
    return number(s.elasticity if abs(s.elasticity) > LEAST else 0.0, 5)


def sensitivity_notes(found: Sensitivities) -> Iterator[str]:
    """The bottleneck of every measure, and what must be known of the figures."""
    strongest = {(s.measure, s.parameter): s.elasticity for s in found.speeds}
    for measure, transition in found.bottleneck.items():
        elasticity = strongest[measure, transition]
        alike = [t for (m, t), e in strongest.items() if m == measure and abs(abs(e) - abs(elasticity)) <= SAME * abs(elasticity)]
        which = f"speed of {transition}" if len(alike) == 1 else f"speeds of {_some(alike)}, each alike"
        yield f"of the transitions, {measure} depends most on the {which}: 1 % faster changes it by {number(elasticity, 3)} %"
    if not found.converged:
        yield f"NOT CONVERGED: the estimated error is {number(found.residual, 2)}"
    yield from found.notes
    states = count(int(str(found.result.details.get("states", 0))), "state")
    yield f"{states}, estimated error {number(found.residual, 2)}, {duration(found.seconds)}"


def _some(names: Sequence[str], limit: int = 4) -> str:
    shown = [*names[:limit], *([f"{len(names) - limit} more"] if len(names) > limit else [])]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def sensitivity_text(found: Sensitivities) -> str:
    """The whole as plain text."""
    return "\n".join([plain(sensitivity_grid(found)), "", *sensitivity_notes(found)])
