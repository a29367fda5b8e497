"""Control variates: estimates corrected by how far quantities of known mean, from the same runs, came out from it.

The correction is by linear regression, whose coefficients are estimated from the same rows: with jointly normal rows the interval from the
residuals is exact, and what the estimation of q coefficients from n rows costs in variance is the factor (n - 2) / (n - q - 2) (Lavenberg
and Welch, A perspective on the use of control variables to increase the efficiency of Monte Carlo simulations, Management Science 27(3),
1981, doi:10.1287/mnsc.27.3.322). Which controls are used is chosen on rows of their own, so that the choice does not bias the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spn.sim.engine import Floats
from spn.sim.estimate import Function, averages, student

MOST = 4  # controls of one measure
ROUNDING = 1e-13  # of the value: a standard error that is none
WORTHWHILE = 0.9  # of the variance: what one more control has to make of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with the variance of the estimate and its degrees of freedom."""

    value: float
    variance: float
    freedom: float

    def half_width(self, confidence: float) -> float:
        return student(confidence, self.freedom) * math.sqrt(self.variance)


def pseudo_values(rows: Floats, function: Function) -> Floats:
    """The jackknife's pseudo-values of a function of the averages of the rows: of a mean the rows' own values, of a ratio such whose mean
    has less bias than the ratio of the averages, which matters where the variance is small."""
    n, total = len(rows), rows.sum(axis=0)
    without = np.array([function((total - row)[1:] / (total - row)[0]) for row in rows])
    return np.asarray(n * function(averages(rows)) - (n - 1) * without)


def regressed(values: Floats, controls: Floats) -> Estimate:
    """The mean of ``values`` (n) corrected by ``controls`` (n, q) of mean 0, q <= n - 2: where the regression on them is at their mean."""
    n, q = controls.shape
    design, solution, squares = _fitted(values, controls)
    variance = squares / (n - q - 1) * float(np.linalg.pinv(design.T @ design)[0, 0])
    value = float(solution[0])
    return Estimate(value=value, variance=variance if math.sqrt(variance) > ROUNDING * abs(value) else 0.0, freedom=n - q - 1)


def residual_variance(values: Floats, controls: Floats, planned: int) -> float:
    """The variance of a row that is left after regression, with what estimating the coefficients from ``planned`` rows costs."""
    n, q = controls.shape
    if planned - q - 2 <= 0 or n - q - 1 <= 0:
        return math.inf
    *_, squares = _fitted(values, controls)
    loss = (planned - 2) / (planned - q - 2) if q else 1.0
    return float(squares / (n - q - 1) * loss)


def _fitted(values: Floats, controls: Floats) -> tuple[Floats, Floats, float]:
    """Least squares with a constant: the design (n, 1 + q), the coefficients, and the sum of the squared residuals."""
    design: Floats = np.column_stack([np.ones(len(values)), controls])
    solution, *_ = np.linalg.lstsq(design, values, rcond=None)
    rest = values - design @ solution
    return design, np.asarray(solution), float(rest @ rest)


def chosen(values: Floats, controls: Floats, planned: int) -> tuple[Sequence[int], float]:
    """Which controls to use for ``planned`` further rows, the most useful first, and the variance of a row that then is left: one is
    added as long as it takes a tenth off that (forward selection), at most four, and no more than a quarter of the rows here."""
    kept: list[int] = []
    best = residual_variance(values, controls[:, []], planned)
    open_ = {k for k in range(controls.shape[1]) if np.ptp(controls[:, k]) > 0}
    while open_ and best > 0 and len(kept) < min(MOST, len(values) // 4):
        left = {k: residual_variance(values, controls[:, [*kept, k]], planned) for k in sorted(open_)}
        k = min(left, key=lambda k: left[k])
        if not left[k] < WORTHWHILE * best:
            break
        kept.append(k)
        open_.remove(k)
        best = left[k]
    return kept, best
