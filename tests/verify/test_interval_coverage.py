"""Do nominal 95 % intervals hold the right value in between 93 and 97 % of the runs?

1,000 seeds each, one statistic each, with the relative-precision rule on, as users have it. The number of intervals that hold the right
value is binomial(1000, c) where c is the true coverage: for c = 95 % it falls outside of 930 to 970 with a probability of 0.4 %
(P(B < 930) = 0.0024, P(B > 970) = 0.0006), so that all cases together raise a false alarm with a probability of about 2 %; seeds are
fixed, so a run that passes passes again. A true coverage of 91 % passes with a probability of 1 %, one of 92 % with 13 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import ndtr

import spn
from spn.sim import load_kernels, simulate

SEEDS = 1000
LEAST, MOST = 930, 970  # of 1,000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model with one measure, its right value, and the relative half-width at which runs stop."""

    text: str
    right: float
    precision: float = 0.05


def barrier(workers: int, mu: float, sigma: float, update: float) -> float:
    """Rounds per second of workers that all wait for the slowest: 1 / (E[max of n lognormals] + update), by the trapezoidal rule on the
    normal scale, E[max] = integral of (1 - F(x)^n) dx with x = e^(mu + sigma z)."""
    z = np.linspace(-12.0, 14.0, 200_001)
    x = np.exp(mu + sigma * z)
    late = -np.expm1(workers * np.log(np.clip(ndtr(z), 1e-300, 1.0)))
    return 1.0 / (x[0] + float(np.trapezoid(late, x)) + update)


def twin(text: str, exponential: str) -> float:
    """The exact value of the same net with exponential works on its links: by insensitivity (Baskett, Chandy, Muntz and Palacios, JACM 22,
    1975) that of every law of the same mean, at stations that are shared equally or have a server for each token."""
    return spn.solve(spn.parse(exponential), method="ctmc", tolerance=1e-12)["answer"]


QUEUE = "units none  place q  timed arrive : -> q ~ exp(rate = 0.8)  timed serve : q -> ~ exp(rate = 1)  measure answer = E(#q)"

MD1K10 = """units none
    place free = 10  place q
    timed arrive : free -> q ~ exp(rate = 0.8)
    timed serve : q -> free ~ det(1.0)
    measure answer = E(#q)"""

SERVER = """
    param workers : count = 6  param size : bytes = 100 MB
    link down(capacity = 10 Gbit/s)  link up(capacity = 10 Gbit/s)
    place idle = workers  place fetched, computed, received
    timed pull : idle -> fetched ~ {size} over down
    timed compute : fetched -> computed ~ {step} servers inf
    timed push : computed -> received ~ {size} over up
    timed update : received -> idle ~ exp(mean = 50 ms)
    measure answer = E(#computed)"""
FIXED = SERVER.format(size="size", step="lognormal(mean = 180 ms, cv = 0.5)")
EXPONENTIAL = SERVER.format(size="exp(mean = size)", step="exp(mean = 180 ms)")

BARRIER = """units none
    place working = 16  place arrived
    timed compute : working -> arrived ~ lognormal(mu = 0, sigma = 1) servers inf
    place applying
    immediate all : 16*arrived -> applying
    timed apply : applying -> 16*working ~ det(0.5)
    measure answer = throughput(apply)"""

ON_OFF = """units none
    place on = 1  place off
    timed stop : on -> off ~ exp(mean = 1)
    timed go : off -> on ~ exp(mean = 1000)
    measure answer = P(#on == 1)"""

RATIO = """units none
    place up = 6  place down
    timed fail : up -> down ~ exp(rate = 0.2) servers inf
    timed repair : down -> up ~ erlang(3, mean = 1)
    measure answer = E(#down) / throughput(repair)"""

CASES = {
    "mm1 at load 0.8": Case(text=QUEUE, right=4.0),
    "md1k10": Case(text=MD1K10, right=2.25558023687956),
    "parameter server": Case(text=FIXED, right=math.nan),
    "barrier": Case(text=BARRIER, right=barrier(16, 0.0, 1.0, 0.5), precision=0.02),
    "on/off": Case(text=ON_OFF, right=1 / 1001),
    "ratio": Case(text=RATIO, right=math.nan),
}


def right_value(name: str) -> float:
    case = CASES[name]
    if not math.isnan(case.right):
        return case.right
    return twin(case.text, EXPONENTIAL if name == "parameter server" else case.text)


def misses(name: str, seeds: range, **options: object) -> tuple[int, int, float]:
    """How many intervals lie wholly below the right value, how many above, and the mean relative half-width."""
    load_kernels()
    case, right = CASES[name], right_value(name)
    model = spn.parse(case.text)
    model = replace(model, name=name)
    found = [
        simulate(model, seed=seed, **{"precision": case.precision, "workers": 1, "max_seconds": 900.0, **options}).measures["answer"]
        for seed in seeds
    ]
    width = float(np.mean([f.half_width / f.value for f in found if f.half_width is not None]))
    below = sum(f.value + f.half_width < right for f in found if f.half_width is not None)
    above = sum(f.value - f.half_width > right for f in found if f.half_width is not None)
    return below, above, width


@pytest.mark.parametrize("name", CASES)
def test_coverage(name: str) -> None:
    below, above, _ = misses(name, range(SEEDS))
    assert LEAST <= SEEDS - below - above <= MOST, f"{below} of {SEEDS} intervals lie below the right value, {above} above"
