"""The Coxian law: stages in a row, each of which may be the last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spn.dist import kinds
from spn.dist.family import Family, Form, Given, Parameter, Role, Shape, assign, not_negative, spell, vector
from spn.dist.hyperexponential import positive_rates
from spn.dist.law import PhaseType, Style
from spn.dist.markovian import Markovian
from spn.dist.random import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Coxian(Markovian):
    """Stage i takes an exponential time of ``rates[i]`` and is the last with probability ``completion[i]``; the last entry of
    ``completion`` is 1 and may be left out. Draw: per stage standard_exponential() / rate, then, except after the last stage,
    random() < completion[i] ends it."""

    rates: tuple[float, ...]
    completion: tuple[float, ...]
    family: ClassVar[str] = "coxian"

    def __post_init__(self) -> None:
        rates = positive_rates(self.rates)
        completion = tuple(not_negative("a completion probability", c) for c in self.completion)
        if len(completion) == len(rates) - 1:
            completion += (1.0,)
        if len(completion) != len(rates):
            raise ValueError(f"completion has one probability for each of the {len(rates)} rates (the last, 1, may be left out)")
        if any(c > 1 for c in completion) or completion[-1] != 1:
            raise ValueError("completion probabilities lie in 0..1, and the last one is 1")
        assign(self, rates=rates, completion=completion)

    def draw(self, rng: Source) -> float:
        total, last = 0.0, len(self.rates) - 1
        for i, rate in enumerate(self.rates):
            total += rng.standard_exponential() / rate
            if i < last and rng.random() < self.completion[i]:
                break
        return total

    def phase_type(self) -> PhaseType:
        n, r, c = len(self.rates), self.rates, self.completion
        rows = (tuple(-r[i] if j == i else r[i] * (1 - c[i]) if j == i + 1 else 0.0 for j in range(n)) for i in range(n))
        return PhaseType(alpha=(1.0,) + (0.0,) * (n - 1), generator=tuple(rows))

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.COXIAN, self.rates + self.completion

    def spelling(self, style: Style) -> str:
        return spell("coxian", style, ("rates", self.rates, Role.RATE), ("completion", self.completion, Role.NUMBER))


def _build(given: Given) -> Coxian:
    return Coxian(
        rates=positive_rates(vector(given, "rates")),
        completion=tuple(not_negative("a completion probability", c) for c in vector(given, "completion")),
    )


FAMILY = Family(
    name="coxian",
    law=Coxian,
    summary="exponential stages in a row; after each the work is complete with a probability",
    forms=(
        Form(
            parameters=(Parameter(name="rates", role=Role.RATE, shape=Shape.LIST), Parameter(name="completion", shape=Shape.LIST)),
            build=_build,
        ),
    ),
)
