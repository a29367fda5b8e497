"""Linear programs (scipy's HiGHS) whose answers are made exact: a floating-point solution is turned into fractions and then verified.

What a program finds is only a proposal; a certificate that verifies in whole numbers is a proof, and where none does, nothing is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from spn.structural.algebra import product
from spn.structural.incidence import Vector

DENOMINATORS = (1, 60, 2520, 10**6)  # tried in this order when a number is made a fraction
MOST_VARIABLES = 20_000
SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Solution:
    """``x`` is None where there is none; ``status`` is optimal, infeasible, unbounded or failed; ``duals`` of the rows of
    ``at_most``, ``prices`` of those of ``equal``."""

    status: str
    x: tuple[float, ...] | None = None
    value: float = math.nan
    duals: tuple[float, ...] = ()
    prices: tuple[float, ...] = ()


Rows = Sequence[Mapping[int, float]]


def minimum(
    cost: Mapping[int, float],
    n: int,
    *,
    at_most: Rows = (),
    limits: Sequence[float] = (),
    equal: Rows = (),
    values: Sequence[float] = (),
    low: float | Sequence[float] = 0.0,
    high: float | Sequence[float] = math.inf,
) -> Solution:
    """Minimise cost . x over ``at_most`` x <= limits, ``equal`` x = values, low <= x <= high; rows map variables to coefficients."""
    import numpy as np
    from scipy.optimize import linprog

    if n > MOST_VARIABLES:
        return Solution("failed")
    if n == 0:
        solved = all(v >= 0 for v in limits) and not any(values)
        return Solution("optimal", (), 0.0) if solved else Solution("infeasible")
    objective = np.zeros(n)
    for k, v in cost.items():
        objective[k] = v
    bounds = list(zip(np.broadcast_to(low, n).tolist(), np.broadcast_to(high, n).tolist(), strict=True))
    found: Any = linprog(
        objective,
        A_ub=_sparse(at_most, n),
        b_ub=np.asarray(limits, dtype=float) if at_most else None,
        A_eq=_sparse(equal, n),
        b_eq=np.asarray(values, dtype=float) if equal else None,
        bounds=bounds,
        method="highs",
        options={"time_limit": SECONDS, "presolve": True},
    )
    status = {0: "optimal", 2: "infeasible", 3: "unbounded"}.get(found.status, "failed")
    if status != "optimal":
        return Solution(status)
    duals, prices = (tuple(part.marginals.tolist()) for part in (found.ineqlin, found.eqlin))
    return Solution(status, tuple(found.x.tolist()), float(found.fun), duals, prices)


def _sparse(rows: Rows, n: int) -> Any:
    from scipy.sparse import csr_array

    if not rows:
        return None
    starts, columns, data = [0], [], []
    for row in rows:
        columns += list(row)
        data += [float(v) for v in row.values()]
        starts.append(len(columns))
    return csr_array((data, columns, starts), shape=(len(rows), n))


def whole(x: Iterable[float]) -> Iterable[dict[int, int]]:
    """Whole vectors in the direction of a floating-point one, simplest first; which is right is for the caller to verify."""
    given = list(x)
    for denominator in DENOMINATORS:
        fractions = {k: f for k, v in enumerate(given) if (f := Fraction(v).limit_denominator(denominator))}
        scale = math.lcm(*(f.denominator for f in fractions.values()))
        divisor = math.gcd(*(int(f * scale) for f in fractions.values())) or 1
        yield {k: int(f * scale) // divisor for k, f in fractions.items()}


def positive_certificate(equations: Sequence[Vector], n: int, *, rising: int = 0) -> dict[int, int] | None:
    """A whole vector v >= 1 with every equation . v = 0 (``rising`` 0), >= 0 (1) or <= 0 (-1), verified; None where none was found."""
    if n == 0:
        return {}
    if rising:
        found = minimum(
            dict.fromkeys(range(n), 1.0), n, at_most=[_times(e, -rising) for e in equations], limits=[0.0] * len(equations), low=1.0
        )
    else:
        found = minimum(dict.fromkeys(range(n), 1.0), n, equal=[dict(e) for e in equations], values=[0.0] * len(equations), low=1.0)
    for v in whole(found.x) if found.x is not None else ():
        values = [product(e, v) for e in equations]
        right = all(x == 0 for x in values) if rising == 0 else all(rising * x >= 0 for x in values)
        if right and len(v) == n and min(v.values()) > 0:
            return v
    return None


def moving_certificate(equations: Sequence[Vector], n: int, *, rising: int, signed: bool) -> dict[int, int] | None:
    """A whole vector v (``signed``, or >= 0) with ``rising`` * equation . v >= 0 for all and not 0 for all, verified; None where none was
    found. It is what excludes a :func:`positive_certificate` of the transposed system (theorems of the alternative of Stiemke and Gale)."""
    total: dict[int, float] = {}
    for e in equations:
        for k, x in e.items():
            total[k] = total.get(k, 0.0) - rising * x
    found = minimum(
        total, n, at_most=[_times(e, -rising) for e in equations], limits=[0.0] * len(equations), low=-1.0 if signed else 0.0, high=1.0
    )
    for v in whole(found.x) if found.x is not None and found.value < -1e-9 else ():
        values = [rising * product(e, v) for e in equations]
        if all(x >= 0 for x in values) and any(values) and (signed or all(x > 0 for x in v.values())):
            return v
    return None


def _times(e: Vector, factor: int) -> dict[int, float]:
    return {k: float(factor * v) for k, v in e.items()}
