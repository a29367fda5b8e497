"""``spn simulate --control`` and ``--antithetic``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spn.cli.main import main

QUEUE = """
units none
place free = 5, queue
timed arrive : free -> queue ~ exp(rate = 0.8) servers 1
timed serve : queue -> free ~ erlang(2, mean = 1) servers 1
measure n = E(#queue)
measure late = E(time until #queue == 4)
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "queue.spn").write_text(QUEUE)
    return str(tmp_path / "queue.spn")


def test_less_variance(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["simulate", file, "--horizon", "40 s", "--warmup", "4 s", "--seed", "1", "--replications", "24"]
    assert main([*common, "--control", "twin"]) == 0
    out = capsys.readouterr().out
    assert "E(#queue) of the twin" in out and "times the work, which the gain has to be divided by" in out
    assert "24 replications, seed 1" in out and "left out, as no long-run averages: late" in out
    assert main([*common, "--antithetic", "--json", "-o", str(tmp_path / "out.json")]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads((tmp_path / "out.json").read_text())
    assert (data["rows"], data["replications"], data["control"], data["antithetic"]) == (12, 24, "none", True)
    assert main([*common, "--control", "--antithetic"]) == 0
    assert "12 antithetic pairs of runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        ["--control"],
        ["--antithetic", "--horizon", "9", "--precision", "1%"],
        ["--control", "--horizon", "9", "--max-firings", "100"],
        ["--horizon", "9", "--warmup", "1"],
        ["--control", "--horizon", "9", "--warmup", "10"],
    ],
)
def test_what_it_takes(file: str, wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", file, *wrong]) == 3
    assert "error[E0705]" in capsys.readouterr().err


def test_too_short_of_time(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", file, "--control", "works", "--horizon", "1 h", "--max-seconds", "0.01"]) == 3
    assert "error[E0706]" in capsys.readouterr().err
