"""Where units of work are done: by an existing executor, which may be that of other machines.

Anything with the interface of :class:`concurrent.futures.Executor` will do (process pools, mpi4py's ``MPIPoolExecutor``), and a Dask
``Client``. A unit is a function of this package with plain data; it changes nothing but what it returns, so one that got lost with its
worker is simply done again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from spn.errors import AnalysisError, SpnError, refuse

LOOK = 0.25  # seconds between two looks at the clock while units are done elsewhere
TRIES = 4  # of a unit whose workers are lost
ALONE = 30.0  # seconds without any worker, after which none is waited for
REACH = 10.0  # seconds to reach a cluster in
UNKNOWN_SIZE = 8  # workers to reckon with where an executor does not tell

Function = Callable[..., Any]


class Signal(Exception):
    """What a unit raises to tell those who asked for it something; internal. All other exceptions but errors of users are failures."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A call to be made elsewhere: a function of a module, and its arguments."""

    function: Function
    arguments: tuple[Any, ...]


@dataclass(slots=True)
class Site:
    """An executor. ``workers`` says how many there are at the moment, None if it cannot; ``notes`` what went wrong without harm."""

    executor: Executor
    workers: Callable[[], int | None]
    notes: list[str] = field(default_factory=list)
    broken: bool = False

    @property
    def size(self) -> int:
        """About how many units can be done at a time: it decides how work is cut, never what comes out."""
        return max(1, self.workers() or UNKNOWN_SIZE)


class Watch(Protocol):
    """What is asked while units are done elsewhere."""

    def check(self) -> None:
        """Raises what ends the wait."""
        ...


class Patient:
    """A :class:`Watch` that waits as long as it takes."""

    def check(self) -> None:
        """Nothing ends the wait."""


def site_of(given: object) -> Site:
    """The site behind an executor or a Dask client; AnalysisError for anything else."""
    if isinstance(given, Site):
        return given
    if isinstance(given, Executor):
        return Site(given, lambda: getattr(given, "_max_workers", None))
    executor, nthreads = getattr(given, "get_executor", None), getattr(given, "nthreads", None)
    if executor is not None and nthreads is not None:
        return Site(executor(pure=False), _Counted(nthreads))
    message = f"executor is {type(given).__name__}; it is a concurrent.futures.Executor or a Dask Client"
    raise refuse(AnalysisError, "E0705", message)


@dataclass(slots=True)
class _Counted:
    """The threads of a Dask cluster, asked for now and then."""

    nthreads: Callable[[], dict[str, int]]
    known: int = 0
    asked: float = -1e9

    def __call__(self) -> int:
        if time.monotonic() - self.asked > 1.0:
            try:
                self.known = sum(self.nthreads().values())
            except Exception:
                self.known = 0  # the scheduler does not answer
            self.asked = time.monotonic()
        return self.known


def cluster(address: str) -> Any:
    """A Dask client for a scheduler's address. AnalysisError where Dask is not installed or nobody answers within ten seconds."""
    try:
        client_of: Callable[..., Any] = import_module("distributed").Client
    except ImportError:
        message = "units are sent to a cluster by Dask's distributed, which is not installed"
        raise refuse(AnalysisError, "E0724", message, help="pip install 'spn[cluster]' (or: pip install distributed)") from None
    try:
        client = client_of(address, timeout=REACH)
        client.nthreads()
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        help = "is its scheduler running there, and is it the scheduler's address, such as tcp://10.0.0.1:8786?"
        raise refuse(AnalysisError, "E0725", f"no cluster answers at {address}: {_text(error)}", help=help) from None
    return client


# --- doing units ------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Job:
    unit: Unit
    number: int
    tries: int = 1
    future: Future[Any] | None = None


def do_all(site: Site, units: Sequence[Unit], watch: Watch, take: Callable[[int, Any], Unit | None]) -> None:
    """Have all units done, in any order. ``take`` is given each one's number and result, and returns what is left of it to do.

    Units of lost workers are done again; where the executor itself breaks down the rest is done here. What a unit raises as an
    :class:`spn.errors.SpnError` is raised here; anything else is an AnalysisError. ``watch`` may end the wait by raising."""
    back: SimpleQueue[_Job] = SimpleQueue()
    open_: set[int] = set()
    jobs = [_Job(unit, k) for k, unit in enumerate(units)]

    def send(job: _Job) -> None:
        if site.broken:
            job.future = _here(job.unit)
        else:
            try:
                job.future = site.executor.submit(job.unit.function, *job.unit.arguments)
            except Exception as error:  # whatever it is, nothing can be sent any more: each kind of executor has an error of its own
                _break(site, error)
                job.future = _here(job.unit)
        open_.add(job.number)
        job.future.add_done_callback(lambda _: back.put(job))

    alone_since = time.monotonic()
    try:
        for job in jobs:
            send(job)
        while open_:
            watch.check()
            try:
                job = back.get(timeout=LOOK)
            except Empty:
                alone_since = _patience(site, alone_since)
                continue
            open_.discard(job.number)
            rest = _result(site, job, take)
            if rest is not None:
                send(rest)
    finally:
        for job in jobs:
            if job.future is not None:
                with suppress(Exception):
                    job.future.cancel()


def _result(site: Site, job: _Job, take: Callable[[int, Any], Unit | None]) -> _Job | None:
    """Take a result; what has to be done next of that unit, or again."""
    assert job.future is not None
    try:
        found = job.future.result()
    except (SpnError, Signal):
        raise
    except BrokenExecutor as error:
        _break(site, error)
        return job
    except Exception as error:
        if not _lost(error):
            message = f"a unit of work failed on a worker: {type(error).__name__}: {_text(error)}"
            raise refuse(AnalysisError, "E0727", message, help="is the same spn installed for all workers, with what it needs?") from error
        return _again(job, error)
    except CancelledError as error:  # no Exception in the standard library's sense
        return _again(job, error)
    rest = take(job.number, found)
    if rest is None:
        return None
    job.unit, job.tries = rest, 1
    return job


def _again(job: _Job, error: BaseException) -> _Job:
    if job.tries == TRIES:
        message = f"a unit of work was lost with its worker {TRIES} times: {_text(error)}"
        raise refuse(AnalysisError, "E0726", message, help="do the workers run out of memory? their logs may tell") from None
    job.tries += 1
    return job


def _lost(error: BaseException) -> bool:
    """Whether an error says that a worker or the way to it was lost, not that the unit failed."""
    lost = ("KilledWorker", "CommClosedError", "FutureCancelledError", "CancelledError")
    return any(k.__name__ in lost for k in type(error).__mro__) or isinstance(error, ConnectionError)


def _break(site: Site, error: BaseException) -> None:
    if not site.broken:
        site.broken = True
        site.notes.append(f"the executor broke down ({_text(error).rstrip('.')}); what it left was done in this process")


def _here(unit: Unit) -> Future[Any]:
    """A unit done at once, in this process."""
    done: Future[Any] = Future()
    try:
        done.set_result(unit.function(*unit.arguments))
    except Exception as error:
        done.set_exception(error)
    return done


def _patience(site: Site, since: float) -> float:
    """When a worker was there last; AnalysisError where that is too long ago."""
    if site.workers() != 0:
        return time.monotonic()
    if time.monotonic() - since > ALONE:
        raise refuse(AnalysisError, "E0726", f"the cluster has had no worker for {ALONE:g} s", help="start workers and run it again")
    return since


def _text(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
