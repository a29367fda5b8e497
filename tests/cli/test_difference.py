"""``spn compare --difference``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spn.cli.main import main

QUEUE = """
units none
param room : count = 3
place free = room, queue
timed arrive : free -> queue ~ exp(rate = 0.8) servers 1
timed serve : queue -> free ~ {law} servers 1
measure rate = throughput(serve)
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, law in (("steady", "det(1)"), ("random", "exp(mean = 1)")):
        (tmp_path / f"{name}.spn").write_text(QUEUE.format(law=law))
    return [str(tmp_path / "steady.spn"), str(tmp_path / "random.spn")]


def test_a_row_for_each_value(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """M/D/1/k serves more than M/M/1/k; at room 1 (no queue) equally many, by Erlang's loss formula. M/M/1/2 at load 0.8 serves
    0.8 (1 - 0.64 / 2.44) a second."""
    common = ["compare", *files, "--measure", "rate", "--over", "room=1..3", "--difference", "--seed", "1", "--replications", "24"]
    assert main([*common, "--horizon", "400", "--warmup", "20"]) == 0
    out = capsys.readouterr().out
    assert "minus steady" in out and "24 replications with common random numbers, seed 1" in out and "gain" in out
    assert main([*common, "--horizon", "400", "--warmup", "20", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    rows = [p["rows"][0] for p in data["points"]]
    assert [p["at"] for p in data["points"]] == [1, 2, 3]
    assert abs(rows[0]["difference"]) < 2 * rows[0]["half_width"]
    assert rows[2]["difference"] + rows[2]["half_width"] < 0
    assert abs(rows[1]["value"] - 0.8 * (1 - 0.64 / 2.44)) < 0.02
    assert all(r["gain"] > 1 for r in rows)


def test_what_a_difference_takes(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    common = ["compare", *files, "--measure", "rate", "--over", "room=1", "--difference"]
    for wrong in ("", "--horizon 9 --csv", "--horizon 9 -o plot.svg", "--horizon 9 --warmup 10", "--horizon 9 --method ctmc"):
        assert main([*common, *wrong.split()]) == 3
        assert "error[E0705]" in capsys.readouterr().err
