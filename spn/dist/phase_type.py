"""Phase-type laws in general."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from spn.dist import kinds
from spn.dist.family import Family, Form, Given, Parameter, Role, Shape, assign, finite, matrix, probabilities, spell, vector
from spn.dist.law import PhaseType, Style
from spn.dist.markovian import EXIT_ROUNDING, Markovian, Walk, reaches_end, walk
from spn.dist.random import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTypeLaw(Markovian):
    """The time to absorption of a chain that starts in phase i with probability ``alpha[i]`` and moves by the rates ``generator``
    (row sums at most 0; what is missing to 0 is the rate of absorption).

    Draw: random() picks the first phase; in each phase standard_exponential() / total rate, then random() picks the next phase or the end.
    """

    alpha: tuple[float, ...]
    generator: tuple[tuple[float, ...], ...]
    walk: Walk = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "ph"

    def __post_init__(self) -> None:
        alpha = probabilities("alpha", self.alpha)
        generator = tuple(tuple(finite("an entry of T", v) for v in row) for row in self.generator)
        _check(len(alpha), generator)
        chain = PhaseType(alpha=alpha, generator=generator)
        if not reaches_end(chain):
            raise ValueError("some phase of ph never leads to completion: each needs a path to a row of T that sums to less than 0")
        assign(self, alpha=alpha, generator=generator, walk=walk(chain))

    def draw(self, rng: Source) -> float:
        total, phase = 0.0, _pick(self.walk.first, rng.random())
        while phase < len(self.alpha):
            total += rng.standard_exponential() / self.walk.totals[phase]
            phase = _pick(self.walk.jumps[phase], rng.random())
        return total

    def phase_type(self) -> PhaseType:
        return PhaseType(alpha=self.alpha, generator=self.generator)

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        rows = (value for row in self.walk.jumps for value in row)
        return kinds.PHASE_TYPE, (float(len(self.alpha)), *self.walk.first, *self.walk.totals, *rows)

    def spelling(self, style: Style) -> str:
        return spell("ph", style, ("alpha", self.alpha, Role.NUMBER), ("T", self.generator, Role.RATE))


def _pick(sums: tuple[float, ...], u: float) -> int:
    """The first index with u < sums[i], or their number."""
    return next((i for i, s in enumerate(sums) if u < s), len(sums))


def _check(n: int, generator: tuple[tuple[float, ...], ...]) -> None:
    if len(generator) != n or any(len(row) != n for row in generator):
        raise ValueError(f"T must be {n} rows of {n}, as alpha has {n} phases")
    for i, row in enumerate(generator):
        if row[i] >= 0:
            raise ValueError(f"row {i + 1} of T needs a negative entry on the diagonal, not {row[i]:g}")
        if any(v < 0 for j, v in enumerate(row) if j != i):
            raise ValueError(f"row {i + 1} of T has a negative rate off the diagonal")
        if sum(row) > EXIT_ROUNDING * -row[i]:
            raise ValueError(f"row {i + 1} of T sums to {sum(row):g}; it must not be above 0 (the diagonal is minus the total rate)")


def _build(given: Given) -> PhaseTypeLaw:
    rows = tuple(tuple(finite("an entry of T", v) for v in row) for row in matrix(given, "T"))
    return PhaseTypeLaw(alpha=probabilities("alpha", vector(given, "alpha")), generator=rows)


FAMILY = Family(
    name="ph",
    law=PhaseTypeLaw,
    summary="phase-type: probabilities of the first phase and the matrix T of rates between phases, diagonal included",
    forms=(
        Form(
            parameters=(
                Parameter(name="alpha", shape=Shape.LIST, positional=True),
                Parameter(name="T", role=Role.RATE, shape=Shape.MATRIX, positional=True),
            ),
            build=_build,
        ),
    ),
)
