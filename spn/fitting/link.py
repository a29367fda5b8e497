"""Links from pairs of bytes and seconds: capacity and latency by a regression that outliers do not move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spn.dist.law import Floats
from spn.errors import DataError, refuse

ROUNDS = 50
TUNING = 1.345  # of Huber's weights: 95 % efficient for normal residuals


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFit:
    """``capacity`` in bytes/s, ``latency`` in seconds (None where the sizes are too alike to tell it), ``n`` pairs, and ``outliers``:
    pairs more than five robust deviations off."""

    capacity: float
    latency: float | None
    n: int
    outliers: int


def fit_link(sizes: Sequence[float] | Floats, seconds: Sequence[float] | Floats) -> LinkFit:
    """seconds = latency + bytes / capacity, by iteratively reweighted least squares with Huber's weights of the relative residuals.

    Sizes within a tenth of each other cannot tell latency from capacity: capacity is then the median of bytes over seconds, latency
    None. A latency that comes out negative is taken as 0. Source: Huber and Ronchetti, Robust Statistics (2009), chapter 7.
    DataError E0810 without pairs; E0813 for values that are not positive, or times that do not grow with sizes.
    """
    x, y = np.asarray(sizes, dtype=float), np.asarray(seconds, dtype=float)
    if len(x) != len(y) or not len(x):
        raise refuse(DataError, "E0810", f"a link needs pairs of bytes and seconds, not {len(x)} and {len(y)} values")
    if not (np.all(np.isfinite(x) & (x > 0)) and np.all(np.isfinite(y) & (y > 0))):
        raise refuse(DataError, "E0813", "bytes and seconds of a link must be positive")
    if len(x) < 3 or x.max() < 1.1 * x.min():
        slope = float(np.median(y / x))
        return LinkFit(capacity=1 / slope, latency=None, n=len(x), outliers=_outliers(y / (slope * x) - 1))
    latency, slope = _line(x, y)
    if latency < 0:
        latency, slope = 0.0, float(np.median(y / x))
    if slope <= 0:
        raise refuse(DataError, "E0813", "the times do not grow with the bytes, so that no capacity can be told")
    return LinkFit(capacity=1 / slope, latency=latency, n=len(x), outliers=_outliers(y / (latency + slope * x) - 1))


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    """Intercept and slope; columns over the times, so that residuals are relative."""
    columns = np.stack([np.ones_like(x), x / x.max()], axis=1) / y[:, None]
    weight = np.ones_like(x)
    for _ in range(ROUNDS):
        found = np.linalg.lstsq(columns * weight[:, None], weight, rcond=None)[0]
        residual = np.abs(1 - columns @ found)
        scale = max(1.4826 * float(np.median(residual)), 1e-12)
        weight = np.sqrt(np.minimum(1.0, TUNING * scale / np.maximum(residual, 1e-300)))
    return float(found[0]), float(found[1] / x.max())


def _outliers(relative: Floats) -> int:
    centred = np.abs(relative - np.median(relative))
    return int((centred > 5 * max(1.4826 * float(np.median(centred)), 1e-9)).sum())
