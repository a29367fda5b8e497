"""The answer is the same whoever does the work, and when workers are lost."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spn
from spn.cli.main import main
from spn.errors import AnalysisError, SemanticsError
from spn.result import Result
from spn.sgd.compare import compare
from spn.sim import remote, streams
from spn.sim.executors import Patient, Unit, do_all, site_of
from spn.solvers.sweep import sweep

ROOT = Path(__file__).parents[2]

LOOP = """
place a = 1
place b
place c
timed go : a -> b ~ exp(rate = 1/s)
immediate back : b -> c
immediate forth : c -> b
measure m = E(#a)
"""

SWEPT = """
param arrivals : 1/s = 0.8/s
place free = 10
place queue
timed arrive : free  -> queue ~ exp(rate = arrivals)
timed serve  : queue -> free  ~ det(1 s)
measure mean = E(#queue)
sweep arrivals in [0.2/s, 0.5/s]
"""

BY_MPI = """
import json
import spn
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        found = spn.simulate(spn.load("basics/md1k.spn"), seed=3, engine="compiled", horizon=300.0, precision=0.02, executor=pool)
    print(json.dumps(found.to_dict()["measures"]))
"""

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "batches": ("basics/mm1k.spn", {"precision": 0.08}),
    "clocks": ("basics/shared_link.spn", {"precision": 0.01}),
    "classes": ("basics/initial_choice.spn", {"precision": 0.01}),
    "replications": ("basics/md1k.spn", {"horizon": 300.0, "precision": 0.02}),
    "fixed number": ("basics/mm1k.spn", {"replications": 40}),
}


def told(result: Result) -> dict[str, Any]:
    """All of a result but what may differ: the time that it took, and the number of threads."""
    data = result.to_dict()
    del data["seconds"], data["details"]["workers"]
    return data


def answer(case: str, **options: Any) -> dict[str, Any]:
    name, own = CASES[case]
    return told(spn.simulate(spn.load(name), seed=3, engine="compiled", **own, **options))


@pytest.fixture(scope="module")
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(3) as pool:
        yield pool


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes of a Dask cluster on the loopback device."""
    distributed = pytest.importorskip("distributed", reason="Dask's distributed is not installed: pip install 'spn[cluster]'")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["threads", "processes", "client"])
def test_equal_to_the_local_answer(kind: str, case: str, request: pytest.FixtureRequest) -> None:
    assert answer(case, executor=request.getfixturevalue(kind)) == answer(case)


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_equal_for_any_number_of_threads(workers: int) -> None:
    assert answer("batches", workers=workers) == answer("batches")


def test_units_of_a_moment(threads: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Units so short that long runs are cut in the middle of batches."""
    monkeypatch.setattr(remote, "LONGEST", 0.002)
    monkeypatch.setattr(streams, "CHUNK", 300)
    assert answer("batches", executor=threads) == answer("batches")


def test_a_worker_killed_in_mid_run(client: Any) -> None:
    model = spn.load("basics/mm1k.spn")
    options: dict[str, Any] = {"seed": 8, "replications": 60, "horizon": 100_000.0, "engine": "compiled", "max_seconds": 300}
    killed: list[int] = []

    def kill(_: object) -> None:
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    lost = told(spn.simulate(model, executor=client, progress=kill, **options))
    assert killed
    assert lost == told(spn.simulate(model, **options))
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize("kind", ["threads", "processes", "client"])
def test_a_zero_time_loop_is_the_error_that_it_is_here(kind: str, request: pytest.FixtureRequest) -> None:
    model = spn.parse(LOOP)
    with pytest.raises(SemanticsError) as here:
        spn.simulate(model, seed=1, engine="compiled", replications=10)
    with pytest.raises(SemanticsError) as there:
        spn.simulate(model, seed=1, engine="compiled", replications=10, executor=request.getfixturevalue(kind))
    assert there.value.diagnostics[0].code == here.value.diagnostics[0].code == "E0701"


def test_errors_can_be_pickled() -> None:
    with pytest.raises(SemanticsError) as here:
        spn.simulate(spn.parse(LOOP), seed=1)
    again = pickle.loads(pickle.dumps(here.value))
    assert again.diagnostics == here.value.diagnostics and str(again) == str(here.value)


@pytest.mark.parametrize("kind", ["processes", "client"])
def test_sweeps_and_comparisons(kind: str, request: pytest.FixtureRequest) -> None:
    executor = request.getfixturevalue(kind)
    swept = spn.parse(SWEPT)
    options: dict[str, Any] = {"seed": 2, "precision": 0.1}
    here, there = sweep(swept, "simulate", **options), sweep(swept, "simulate", executor=executor, **options)
    assert [told(r.result) for t in there for r in t.rows] == [told(r.result) for t in here for r in t.rows]
    assert [r.parameters for t in there for r in t.rows] == [r.parameters for t in here for r in t.rows]
    files = [ROOT / "models/basics/mm1k.spn", ROOT / "models/basics/md1k.spn"]
    asked: dict[str, Any] = {"measure": "mean", "seed": 2, "precision": 0.1, "method": "simulate"}
    rows = [compare(files, ("arrivals", ["0.5/s"]), **asked, **by).rows for by in ({}, {"executor": executor})]
    assert [replace(r, seconds=0.0) for r in rows[0]] == [replace(r, seconds=0.0) for r in rows[1]]


def test_on_the_command_line(client: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def asked(*more: str) -> dict[str, Any]:
        model = str(ROOT / "models/basics/md1k.spn")
        assert main(["simulate", model, "--seed", "3", "--horizon", "2000", "--precision", "2%", "--json", *more]) == 0
        data = json.loads(capsys.readouterr().out)
        del data["seconds"]
        return data

    there = asked("--cluster", client.scheduler.address, "--checkpoint", str(tmp_path / "run.ckpt"))
    assert there == asked() == asked("--checkpoint", str(tmp_path / "run.ckpt"))


def test_an_mpi_pool(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    script = tmp_path / "by_mpi.py"
    script.write_text(BY_MPI)
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT)})
    name, options = CASES["replications"]
    here = spn.simulate(spn.load(name), seed=3, engine="compiled", **options).to_dict()["measures"]
    assert json.loads(done.stdout) == json.loads(json.dumps(here)), done.stderr


# --- what goes wrong --------------------------------------------------------------------------------------------------------------


class Breaking(Executor):
    """Does a few units and then breaks down, as a pool of processes does when one is killed."""

    def __init__(self, good: int) -> None:
        self.good = good

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        self.good -= 1
        if self.good >= 0:
            done.set_result(fn(*args, **kwargs))
        elif self.good > -3:
            done.set_exception(BrokenExecutor("a process was terminated abruptly"))
        else:
            raise OSError("the client is closed")
        return done


@pytest.mark.parametrize("good", [0, 3, 5])
def test_a_broken_executor_is_done_without(good: int) -> None:
    result = answer("replications", executor=Breaking(good))
    notes = result.pop("notes")
    alone = answer("replications")
    assert [n for n in notes if "the executor broke down" in n]
    assert result == {k: v for k, v in alone.items() if k != "notes"}


class Forgetful(Executor):
    """Loses every unit so many times, as a cluster does whose workers die."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.asked: dict[tuple[Any, ...], int] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        self.asked[args] = self.asked.get(args, 0) + 1
        if self.asked[args] <= self.times:
            done.set_exception(ConnectionResetError("the worker is gone"))
        else:
            done.set_result(fn(*args, **kwargs))
        return done


def double(x: int) -> int:
    return 2 * x


def test_lost_units_are_done_again_and_counted_once() -> None:
    taken: list[tuple[int, int]] = []
    do_all(site_of(Forgetful(2)), [Unit(double, (x,)) for x in range(9)], Patient(), lambda k, y: taken.append((k, y)))
    assert sorted(taken) == [(k, 2 * k) for k in range(9)]


def test_what_is_lost_again_and_again_is_given_up() -> None:
    with pytest.raises(AnalysisError, match=r"E0726.*lost with its worker 4 times"):
        do_all(site_of(Forgetful(99)), [Unit(double, (1,))], Patient(), lambda _k, _y: None)


def fails(x: int) -> int:
    raise ModuleNotFoundError("No module named 'spn'")


def test_a_unit_that_fails() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(AnalysisError, match=r"E0727.*No module named 'spn'"):
        do_all(site_of(pool), [Unit(fails, (1,))], Patient(), lambda _k, _y: None)


def test_no_executor() -> None:
    with pytest.raises(AnalysisError, match=r"E0705.*executor is int"):
        answer("batches", executor=7)


def test_an_interruption_keeps_what_is_done(threads: Executor) -> None:
    seen: list[int] = []

    def interrupt(progress: Any) -> None:
        seen.append(progress.firings)
        if len(seen) > 3:
            raise KeyboardInterrupt

    result = spn.simulate(spn.load("basics/mm1k.spn"), seed=1, precision=1e-6, engine="compiled", executor=threads, progress=interrupt)
    assert result.details["interrupted"] and not result.converged
    assert result.measures["mean"].value == pytest.approx(2.97, rel=0.2)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x"])
def test_nobody_there(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="Dask's distributed is not installed: pip install 'spn[cluster]'")
    from spn.sim import executors

    monkeypatch.setattr(executors, "REACH", 1.0)
    with pytest.raises(AnalysisError, match="E0725"):
        executors.cluster(address)


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    from spn.sim import executors

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(AnalysisError, match=r"(?s)E0724.*pip install 'spn\[cluster\]'"):
        executors.cluster("tcp://127.0.0.1:8786")
