"""``spn compare --crossing`` and ``--best``."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from spn.cli.main import main

QUEUE = """
param load : 1/s = 0.5/s
place free = 40, queue
timed arrive : free -> queue ~ exp(rate = load) servers 1
timed serve : queue -> free ~ exp(rate = {rate}/s) servers {servers}
measure n = E(#queue)
measure wait in ms = sojourn(queue)
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, servers, rate in (("fast", 1, 1.6), ("two", 2, 1.0), ("slow", 1, 1.5)):
        (tmp_path / f"{name}.spn").write_text(QUEUE.format(servers=servers, rate=rate))
    return [str(tmp_path / f"{name}.spn") for name in ("fast", "two", "slow")]


def test_a_crossing(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """M/M/1 of rate 1.6 and M/M/2 of rates 1 hold equally many at the load 2 - 2 sqrt(0.4); the ends are written with their units."""
    common = ["compare", *files[:2], "--measure", "wait", "--crossing", "load=6/min..1.2/s"]
    assert main(common) == 0
    out = capsys.readouterr().out
    assert "the curves of wait cross once" in out and "load = 0.7350889359/s (exact): two is larger before, fast after" in out
    assert main([*common, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["crossings"]
    assert found["at"] == pytest.approx(2 - 2 * math.sqrt(0.4), rel=1e-9)
    options = ["--method", "simulate", "--horizon", "50", "--replications", "8", "--seed", "1"]
    assert main([*common, *options]) == 0
    out = capsys.readouterr().out
    assert "all of this holds together with 95 %" in out and "8 replications at each value with common random numbers, seed 1" in out


def test_the_best(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    common = ["compare", *files, "--measure", "wait", "--best", "min", "--indifference", "80", "--horizon", "100", "--seed", "2"]
    assert main([*common, "-p", "load=1.2/s"]) == 0
    out = capsys.readouterr().out
    assert "two has the smallest wait" in out and "at least 95 % if the best is better than every other by 80 ms or more" in out
    assert main([*common, "--over", "load=0.2/s,1.2/s", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["best"] == "fast at load = 0.2/s" and len(data["candidates"]) == 6 and data["goal"] == "min"
    assert main([*common[:-6], "--indifference", "1e-6", "--horizon", "100", "--max-seconds", "0.3"]) == 3
    assert "undecided: the smallest wait is that of one of" in capsys.readouterr().out


def test_what_they_take(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    crossing = ["--measure", "n", "--crossing", "load=0.1/s..1/s"]
    best = ["--measure", "n", "--best", "max", "--horizon", "9"]
    for wrong, code, error in (
        ([*files, *crossing], 3, "E0705"),
        ([*files[:2], *crossing, "--over", "load=1/s"], 3, "E0705"),
        ([*files[:2], *crossing, "--csv"], 3, "E0705"),
        ([*files[:2], *crossing, "--method", "simulate"], 3, "E0705"),
        ([*files[:2], "--measure", "n", "--crossing", "load=1/s"], 2, "E0904"),
        ([*files[:2], "--measure", "n", "--crossing", "lod=1/s..2/s"], 2, "E0201"),
        ([*files, *best], 3, "E0705"),
        ([*files, *best[:4], "--indifference", "1"], 3, "E0705"),
        ([files[0], *best, "--indifference", "1"], 3, "E0705"),
        ([*files, "--measure", "n"], 2, "E0904"),
    ):
        assert main(["compare", *wrong]) == code, wrong
        assert f"error[{error}]" in capsys.readouterr().err
