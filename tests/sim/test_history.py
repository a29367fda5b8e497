"""Whole trajectories: each firing follows from the one before, the averages are those of the simulation, files hold the same."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import spn
from spn.cli.main import main
from spn.errors import SpnError
from spn.net import semantics
from spn.sim import trajectory
from spn.sim.engine import Ending

QUEUE = """
units none
place free = 4, queue
timed arrive : free -> queue ~ exp(rate = 1) servers 1
timed serve : queue -> free ~ uniform(0.5, 1)
measure mean = E(#queue)
"""
CHOICE = """
units none
place a = 2, b, c, d
timed go : a -> b ~ exp(rate = 1) servers inf
immediate left : b -> c weight 1
immediate right : b -> d weight 2
timed back : c -> a ~ det(1)
timed too : d -> a ~ det(0.5)
measure mean = E(#c)
"""


@pytest.mark.parametrize("text", [QUEUE, CHOICE])
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_path_is_the_trajectory(text: str, engine: str) -> None:
    """Every marking is that of firing the transition in the marking before; the integral along the path is the simulation's."""
    model = spn.parse(text)
    found = spn.path(model, 50.0, seed=3, engine=engine)  # type: ignore[arg-type]
    same = trajectory(model, 50.0, 3)
    assert (found.ending, found.time, len(found.times)) == (Ending.HORIZON, 50.0, same.firings)
    assert tuple(found.markings[-1]) == tuple(same.marking.values())
    assert (np.diff(found.times) >= 0).all() and found.times[0] > 0 and found.times[-1] <= 50
    r = semantics.rules(model.net)
    before = found.initial
    for t, after in zip(found.fired.tolist(), found.markings.tolist(), strict=True):
        before = semantics.fire(r, t, before)
        assert before == tuple(after)
    times, tokens = found.tokens("queue" if text is QUEUE else "c")
    assert float((np.diff(times) * tokens[:-1]).sum()) / 50 == pytest.approx(same.measures["mean"], rel=1e-12)
    with pytest.raises(KeyError, match="nix"):
        found.tokens("nix")


def test_a_path_that_ends() -> None:
    """One firing, after which nothing happens; one that a limit ends; an initial marking that vanishes."""
    model = spn.parse("units none place s = 1, a, b immediate i : s -> a timed t : a -> b ~ det(2)")
    found = spn.path(model, 10.0, seed=1)
    assert (found.initial, found.ending, found.time) == ((0, 1, 0), Ending.STILL, 10.0)
    assert (found.times.tolist(), found.fired.tolist(), found.markings.tolist()) == ([2.0], [1], [[0, 0, 1]])
    cut = spn.path(spn.parse(QUEUE), 1e9, seed=1, max_firings=5000)
    assert cut.ending is Ending.FIRINGS and len(cut.times) == 5000 and cut.time == cut.times[-1]
    empty = spn.path(spn.parse("units none place a = 1, b timed t : a -> b ~ det(2)"), 1.0, seed=1)
    assert empty.markings.shape == (0, 2) and empty.ending is Ending.HORIZON


def test_csv(tmp_path: Path) -> None:
    """More firings than are handed on at a time; figures read back exactly."""
    model, file = spn.parse(QUEUE), tmp_path / "run.csv"
    written = spn.write_path(model, file, 6000.0, seed=4)
    found = spn.path(model, 6000.0, seed=4)
    assert written.firings == len(found.times) > 8192 and written.ending == "horizon"
    with file.open(newline="") as stream:
        head, first, *rows = csv.reader(stream)
    assert head == ["time", "transition", "free", "queue"] and first == ["0.0", "", "4", "0"]
    assert [float(r[0]) for r in rows] == found.times.tolist()
    assert [r[1] for r in rows] == [found.transitions[t] for t in found.fired]
    assert [[int(x) for x in r[2:]] for r in rows] == found.markings.tolist()


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    model, file = spn.parse(CHOICE), tmp_path / "run.parquet"
    written = spn.write_path(model, file, 300.0, seed=4)
    found = spn.path(model, 300.0, seed=4)
    table = parquet.read_table(file).to_pydict()
    assert list(table) == ["time", "transition", "a", "b", "c", "d"] and written.firings == len(found.times)
    assert table["time"] == [0.0, *found.times.tolist()]
    assert table["transition"] == [None, *(found.transitions[t] for t in found.fired)]
    assert table["c"] == [0, *found.markings[:, 2].tolist()]


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SpnError) as e:
        spn.write_path(spn.parse(QUEUE), tmp_path / "run.parquet", 1.0)
    assert e.value.diagnostics[0].code == "E0916" and "pip install" in e.value.diagnostics[0].help


@pytest.mark.parametrize("horizon", [0, -1, math.inf, math.nan, "1", True, None])
def test_a_horizon_is_a_positive_time(horizon: object) -> None:
    with pytest.raises(SpnError) as e:
        spn.path(spn.parse(QUEUE), horizon)  # type: ignore[arg-type]
    assert e.value.diagnostics[0].code == "E0705"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, file = tmp_path / "queue.spn", tmp_path / "run.csv"
    model.write_text(QUEUE)
    common = ["simulate", str(model), "--seed", "1", "--path"]
    assert main([*common, str(file), "--horizon", "20"]) == 0
    assert "firings up to 20 s (the horizon), seed 1" in capsys.readouterr().out
    assert main([*common, str(file), "--horizon", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["firings"] == len(file.read_text().splitlines()) - 2
    assert main([*common, str(file), "--horizon", "1000000", "--max-firings", "100"]) == 3
    assert "note: stopped after 100 firings" in capsys.readouterr().out
    assert len(file.read_text().splitlines()) == 102
    for wrong in ([str(file)], [str(tmp_path / "run.txt"), "--horizon", "1"], [str(tmp_path / "no" / "run.csv"), "--horizon", "1"]):
        assert main([*common, *wrong]) in (2, 3)
        assert "error[E0" in capsys.readouterr().err
