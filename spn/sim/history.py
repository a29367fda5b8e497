"""Whole trajectories: every firing, with its time and the marking after it, as arrays or row by row into a file.

The draws are those of the first replication of a simulation with the same seed, so that its path can be looked at.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spn.errors import AnalysisError, DataError, refuse
from spn.model import Model, checked
from spn.net.model import Immediate, Marking, Net
from spn.sim.control import Control, Stopped
from spn.sim.direct.reference import DirectTrajectory
from spn.sim.engine import Ending, Engine, Floats
from spn.sim.options import check_engine
from spn.sim.reference import Trajectory
from spn.sim.streams import Choice, Crew, fresh_seed

Ints = NDArray[np.int64]
LOT = 4096  # firings handed on at a time
ROWS = 65_536  # of a row group of a Parquet file
LARGE = 100  # transitions from which on calling the kernel for every firing costs less than a firing in plain Python
MOST_KNOWN = 100_000  # markings that the plain-Python trajectory remembers things of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class History:
    """One trajectory from 0 to ``time``, where it ended because of ``ending``.

    ``times`` (n), ``fired`` (n, indices into ``transitions``) and ``markings`` (n x places, after each firing) tell of the firings in
    order; ``initial`` is the first tangible marking."""

    model: str
    places: tuple[str, ...]
    transitions: tuple[str, ...]
    initial: Marking
    times: Floats
    fired: Ints
    markings: Ints
    time: float
    ending: Ending
    seed: int

    def __repr__(self) -> str:
        return f"history of {self.model}: {len(self.times):,} firings up to {self.time:g} s, seed {self.seed}"

    def tokens(self, place: str) -> tuple[Floats, Ints]:
        """The tokens of a place as a step function: instants from 0 to the end, and the tokens from each on, as
        ``plt.step(*history.tokens("queue"), where="post")`` draws them. KeyError where there is no such place."""
        if place not in self.places:
            raise KeyError(f"there is no place {place!r}; there are {', '.join(self.places)}")
        column = np.concatenate([[self.initial[self.places.index(place)]], self.markings[:, self.places.index(place)]])
        return np.concatenate([[0.0], self.times, [self.time]]), np.append(column, column[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a file holds: firings, the time reached, why it ended there, the seed."""

    path: str
    firings: int
    time: float
    ending: str
    seed: int
    interrupted: bool = False
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Lot:
    """Firings in order: times, indices of transitions, markings after."""

    times: list[float] = field(default_factory=list)
    fired: list[int] = field(default_factory=list)
    markings: list[Marking] = field(default_factory=list)


class _Follower:
    """Follows one trajectory, a lot of firings at a time.

    In plain Python while the net is small or where there are immediate transitions, which the kernel fires in one go with what comes
    before them; else by the kernel, one firing at a time."""

    def __init__(self, model: Model, horizon: float, seed: int, control: Control, engine: Choice) -> None:
        self.horizon = horizon
        self.crew = Crew(model.net, (), seed, control, engine)
        immediate = any(isinstance(t, Immediate) for t in model.net.transitions)
        wanted = engine == "compiled" or (engine == "auto" and len(model.net.transitions) > LARGE)
        kernel = wanted and not immediate and self.crew.use_kernel(2**62)
        self.engine: Engine = self.crew.trajectory(0, kernel=kernel)
        self.engine.run(0, horizon)
        self.initial = self.engine.marking
        self.ending = Ending.FIRINGS

    def lots(self, most: float) -> Iterator[_Lot]:
        """The firings up to the horizon, but no more than ``most``. Raises Stopped at a limit of the control."""
        left = most
        while left > 0 and self.ending is Ending.FIRINGS:
            lot = _Lot()
            try:
                self._follow(lot, int(min(LOT, left)))
            finally:
                if lot.times:
                    yield lot
            left -= len(lot.times)

    def _follow(self, lot: _Lot, count: int) -> None:
        if isinstance(self.engine, Trajectory | DirectTrajectory):
            self._listen(self.engine, lot, count)
            return
        before = self._counts().copy()
        for _ in range(count):
            self.ending = self.crew.run(self.engine, 1, self.horizon)
            if self.ending is not Ending.FIRINGS:
                return
            now = self._counts()
            lot.times.append(self.engine.time)
            lot.fired.append(int(np.flatnonzero(now != before)[0]))
            lot.markings.append(self.engine.marking)
            before = now.copy()

    def _counts(self) -> Ints:
        """How often each transition has fired."""
        from spn.sim.fast import CompiledTrajectory

        assert isinstance(self.engine, CompiledTrajectory)
        return self.engine.counts()

    def _listen(self, engine: Trajectory | DirectTrajectory, lot: _Lot, count: int) -> None:
        def on_firing(t: int, marking: Marking, time: float) -> None:
            lot.times.append(time)
            lot.fired.append(t)
            lot.markings.append(marking)

        engine.on_firing = on_firing
        self.ending = self.crew.run(engine, count, self.horizon)
        engine.forget(MOST_KNOWN)


def path(
    model: Model,
    horizon: float,
    *,
    seed: int | None = None,
    max_firings: float = 1e6,
    max_seconds: float = 60.0,
    engine: Choice = "auto",
) -> History:
    """Follow one trajectory from 0 to ``horizon`` (seconds; what happens at exactly that time included) and keep every firing.

    It ends at the horizon, where nothing happens any more (then the state is held to the horizon), or at ``max_firings`` or
    ``max_seconds`` of computing: ``History.time`` and ``ending`` tell. For what does not fit in memory see ``spn simulate --path``.
    AnalysisError for a horizon that is no positive time and for a seed that is no whole number from 0.
    """
    seed = _checked(checked(model), horizon, seed, engine)
    control = Control(workers=1, max_seconds=max_seconds, max_firings=max_firings)
    follower = _Follower(model, float(horizon), seed, control, engine)
    lots: list[_Lot] = []
    with suppress(Stopped, KeyboardInterrupt):
        for lot in follower.lots(max_firings):
            lots.append(lot)
    count = len(model.net.places)
    return History(
        model=model.name,
        places=tuple(p.name for p in model.net.places),
        transitions=tuple(t.name for t in model.net.transitions),
        initial=follower.initial,
        times=np.array([x for lot in lots for x in lot.times], dtype=np.float64),
        fired=np.array([t for lot in lots for t in lot.fired], dtype=np.int64),
        markings=np.array([m for lot in lots for m in lot.markings], dtype=np.int64).reshape(-1, count),
        time=follower.engine.time,
        ending=follower.ending,
        seed=seed,
    )


def _checked(model: Model, horizon: object, seed: object, engine: object) -> int:
    if isinstance(horizon, bool) or not isinstance(horizon, int | float) or not 0 < horizon < math.inf:
        raise refuse(
            AnalysisError,
            "E0705",
            f"horizon is {horizon!r}; it is a positive time in seconds",
            help="say how long to follow it (--horizon)",
        )
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise refuse(AnalysisError, "E0705", f"seed is {seed!r}; it is a whole number from 0")
    check_engine(engine)
    return fresh_seed() if seed is None else seed


# --- files ------------------------------------------------------------------------------------------------------------------------


class _Sink(Protocol):
    def put(self, lot: _Lot) -> None: ...
    def close(self) -> None: ...


class _Csv:
    """Columns time, transition and the places; the first row is the initial marking, with no transition."""

    def __init__(self, file: Path, net: Net, initial: Marking) -> None:
        self.names = [t.name for t in net.transitions]
        self.stream = file.open("w", newline="", encoding="utf-8")
        self.rows = csv.writer(self.stream, lineterminator="\n")
        self.rows.writerow(["time", "transition", *(p.name for p in net.places)])
        self.rows.writerow([0.0, "", *initial])

    def put(self, lot: _Lot) -> None:
        self.rows.writerows([time, self.names[t], *m] for time, t, m in zip(lot.times, lot.fired, lot.markings, strict=True))

    def close(self) -> None:
        self.stream.close()


class _Parquet:
    """The same columns, in row groups of ``ROWS``; transition is null in the first row."""

    def __init__(self, file: Path, net: Net, initial: Marking) -> None:
        self.arrow, parquet = _pyarrow()
        self.names = [t.name for t in net.transitions]
        fields = [("time", self.arrow.float64()), ("transition", self.arrow.string())]
        self.schema = self.arrow.schema([*fields, *((p.name, self.arrow.int64()) for p in net.places)])
        self.writer = parquet.ParquetWriter(str(file), self.schema)
        self.times: list[float] = [0.0]
        self.transitions: list[str | None] = [None]
        self.markings: list[Marking] = [initial]

    def put(self, lot: _Lot) -> None:
        self.times += lot.times
        self.transitions += [self.names[t] for t in lot.fired]
        self.markings += lot.markings
        if len(self.times) >= ROWS:
            self._flush()

    def _flush(self) -> None:
        places = np.array(self.markings, dtype=np.int64).reshape(len(self.times), -1)
        columns: list[Any] = [np.array(self.times), self.transitions, *places.T]
        arrays = [self.arrow.array(c, type=f.type) for c, f in zip(columns, self.schema, strict=True)]
        self.writer.write_table(self.arrow.Table.from_arrays(arrays, schema=self.schema))
        self.times, self.transitions, self.markings = [], [], []

    def close(self) -> None:
        if self.times:
            self._flush()
        self.writer.close()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        help = "install it (pip install 'spn[parquet]'), or write .csv"
        raise refuse(DataError, "E0916", "a Parquet file takes the package pyarrow, which is not installed", help=help) from None
    return pyarrow, pyarrow.parquet


SINKS: dict[str, Callable[[Path, Net, Marking], _Sink]] = {".csv": _Csv, ".parquet": _Parquet}


def write_path(
    model: Model,
    file: str | os.PathLike[str],
    horizon: float,
    *,
    seed: int | None = None,
    max_firings: float = math.inf,
    max_seconds: float = 60.0,
    engine: Choice = "auto",
) -> Written:
    """The same, every firing written as a row of a CSV or Parquet file (by its suffix) as it happens: memory does not grow.

    Columns: ``time`` in seconds, ``transition``, and the tokens of every place after it; the first row is the initial marking. At a limit
    or an interruption (Ctrl-C) the file holds what was done by then. DataError where the file cannot be written so.
    """
    target = Path(file)
    kind = SINKS.get(target.suffix.lower())
    if kind is None:
        raise refuse(DataError, "E0916", f"no trajectory is written to {target.name}", help="give it the suffix .csv or .parquet")
    seed = _checked(checked(model), horizon, seed, engine)
    control = Control(workers=1, max_seconds=max_seconds, max_firings=max_firings)
    follower = _Follower(model, float(horizon), seed, control, engine)
    firings, stopped = 0, ""
    try:
        sink: _Sink = kind(target, model.net, follower.initial)
        try:
            for lot in follower.lots(max_firings):
                sink.put(lot)
                firings += len(lot.times)
            stopped = control.exhausted() if follower.ending is Ending.FIRINGS else ""
        except Stopped:
            stopped = control.exhausted()
        except KeyboardInterrupt:
            control.interrupt()
        finally:
            sink.close()
    except OSError as error:
        raise refuse(DataError, "E0914", f"cannot write {target}: {error.strerror or error}", help="give another path") from None
    return Written(
        path=str(target),
        firings=firings,
        time=follower.engine.time,
        ending=follower.ending.value,
        seed=seed,
        interrupted=control.interrupted,
        notes=(stopped,) if stopped else (),
    )
