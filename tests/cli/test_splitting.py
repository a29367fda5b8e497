"""``spn simulate --splitting`` and ``spn sensitivity --method simulate`` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

RARE = """
units none
place q capacity 8
timed arrive : -> q ~ exp(rate = 0.5)
timed serve : q -> ~ exp(rate = 1)
measure full = P(#q == 8)
"""
EXACT = 0.5**8 * 0.5 / (1 - 0.5**9)


@pytest.fixture
def rare(spn: Run, tmp_path: Path) -> str:
    path = tmp_path / "rare.spn"
    path.write_text(RARE)
    return str(path)


def test_a_rare_event_with_its_thresholds(spn: Run, rare: str) -> None:
    done = spn("simulate", rare, "--splitting", "#q", "--seed", "1", "--precision", "20%")
    assert done.code == 0 and "importance: #q, as given" in " ".join(done.out.split())
    assert "split into" in done.out and "roots" in done.out


def test_a_rare_event_as_json_at_thresholds_that_are_given(spn: Run, rare: str) -> None:
    done = spn("simulate", rare, "--splitting", "--levels", "-6,-4,-2", "--seed", "1", "--precision", "20%", "--json")
    data = json.loads(done.out)
    assert done.code == 0 and [row["importance"] for row in data["details"]["levels"]] == [-6, -4, -2]
    assert data["measures"]["full"]["value"] == pytest.approx(EXACT, rel=0.4)


def test_options_that_splitting_does_not_have_and_lists_that_are_none(spn: Run, rare: str) -> None:
    assert "no option of splitting" in spn("simulate", rare, "--splitting", "--horizon", "3").err
    assert "no option of splitting" in spn("simulate", rare, "--splitting", "--checkpoint", "x").err
    assert "not a list of numbers" in spn("simulate", rare, "--splitting", "--levels", "2,x").err


def test_derivatives_by_simulation(spn: Run, rare: str) -> None:
    done = spn("sensitivity", rare, "--method", "simulate", "--seed", "1", "--precision", "60%")
    assert done.code == 0 and "likelihood ratios over regenerative cycles" in done.out and "speed of the transition" in done.out
    data = json.loads(spn("sensitivity", rare, "--method", "simulate", "--seed", "1", "--precision", "60%", "--json").out)
    assert {row["parameter"] for row in data["rows"]} == {"arrive", "serve"}
