"""How far a run has come, and how long it will take."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from spn.result import Value
from spn.show.text import count, number

TICK = 0.25  # seconds between two reports while nothing is estimated anew
WINDOW = 5.0  # seconds over which the rate of firing is measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come: firings made, seconds spent, the present estimates, and the worst relative half-width beside that wanted
    (or, unless ``relative``, how many times wider than wanted the widest is, beside 1). ``measure`` is the name of the one it is of.
    ``rate`` is firings a second of late (0: not known yet), ``share`` the part of the work that is done and ``left`` the seconds to go,
    as far as can be told from the square of the width (nan: it cannot); ``allowed`` is how many the limit leaves."""

    firings: int
    seconds: float
    measures: Mapping[str, Value]
    worst: float
    precision: float
    relative: bool = True
    measure: str = ""
    rate: float = 0.0
    share: float = math.nan
    left: float = math.nan
    allowed: float = math.inf

    def __str__(self) -> str:
        """A line for people, the most important first: terminals cut what is too long."""
        speed = f"{number(self.rate / 1e6, 2)} M/s" if self.rate >= 1e4 else f"{self.firings:.3g} firings"
        return ", ".join(part for part in (self._estimate(), self._wait(), speed) if part)

    def _wait(self) -> str:
        if not 0 < self.left < math.inf:
            return ""
        return f"{span(self.left)} to go" + (f" but stops in {span(self.allowed)}" if self.allowed < self.left else "")

    def _estimate(self) -> str:
        """The measure that is known least, beside what is wanted."""
        if not math.isfinite(self.worst) or self.measure not in self.measures:
            return ""
        v = self.measures[self.measure]
        value = f"{self.measure} {number(v.value / v.unit_factor, 4)} {v.unit}".rstrip()
        if self.relative:
            return f"{value} ±{100 * self.worst:.2g} % (wanted {100 * self.precision:.2g} %)"
        width = (v.half_width or 0.0) / v.unit_factor
        return f"{value} ±{number(width, 2)} (wanted {number(width / self.worst, 2) if self.worst else 'any'})"


def span(seconds: float) -> str:
    """A time to wait, for people: 8 s, 3 min, 2 h 10 min, 4 days."""
    if seconds < 99.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02d} min" if hours < 48 else count(round(hours / 24), "day")


@dataclass(slots=True)
class Reporter:
    """Calls ``show`` with ever newer reports. ``goal`` gives replications done and wanted, where their number is fixed."""

    show: Callable[[Progress], None] | None
    limit: float  # seconds after which the run ends anyway
    goal: Callable[[], tuple[int, int]] | None = None
    _told: Progress | None = None
    _at: float = 0.0
    _past: deque[tuple[float, int]] = field(default_factory=deque)

    def tell(self, progress: Progress) -> None:
        """New estimates, from all firings so far."""
        self._told = progress
        self._report(progress, progress.firings, progress.seconds)

    def tick(self, firings: int, seconds: float) -> None:
        """The last estimates with newer counts, if it is time for it."""
        if self.show is not None and time.monotonic() - self._at >= TICK:
            nothing = Progress(firings=0, seconds=0.0, measures={}, worst=math.inf, precision=1.0)
            self._report(self._told or nothing, firings, seconds)

    def _report(self, told: Progress, firings: int, seconds: float) -> None:
        self._at = time.monotonic()
        rate = self._rate(firings)
        share, left = self._fixed(seconds) if self.goal is not None else _wanted(told, firings, rate)
        allowed = max(0.0, self.limit - seconds)
        if self.show is not None:
            self.show(replace(told, firings=firings, seconds=seconds, rate=rate, share=share, left=left, allowed=allowed))

    def _fixed(self, seconds: float) -> tuple[float, float]:
        assert self.goal is not None
        done, wanted = self.goal()
        return done / wanted, seconds * (wanted / done - 1) if done else math.nan

    def _rate(self, firings: int) -> float:
        """Firings a second over the last seconds."""
        self._past.append((self._at, firings))
        while len(self._past) > 2 and self._at - self._past[0][0] > WINDOW:
            self._past.popleft()
        passed = self._at - self._past[0][0]
        return (firings - self._past[0][1]) / passed if passed >= TICK else 0.0


def _wanted(told: Progress, firings: int, rate: float) -> tuple[float, float]:
    """The share of the work that is done and the seconds to go: the width shrinks with the root of the firings."""
    if not math.isfinite(told.worst) or not told.firings:
        return math.nan, math.nan
    needed = told.firings * max(1.0, told.worst / told.precision) ** 2
    return min(1.0, firings / needed), max(0.0, needed - firings) / rate if rate > 0 else math.nan
