"""Sensitivities, and the choice of a solver, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

ELASTICITY = 16 / 21  # of r (1 + r) / (1 + r + r^2) at r = 1/2: 1 + r / (1 + r) - r (1 + 2 r) / (1 + r + r^2)


def test_a_ranking_with_the_bottleneck(spn: Run) -> None:
    done = spn("sensitivity", "mm1k.spn", "--measure", "rate")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split() == ["measure", "depends", "on", "at", "elasticity", "of", "what"]
    assert [line.split()[:3] for line in lines[2:4]] == [["rate", "rho", "0.5"], ["rate", "room", "2"]]
    assert lines[2].split()[3] == "0.7619"
    assert "of the transitions, rate depends most on the speed of arrive: 1 % faster changes it by 0.762 %" in done.out


def test_all_measures_as_json(spn: Run) -> None:
    data = json.loads(spn("sensitivity", "mm1k.spn", "--json").out)
    assert {r["measure"] for r in data["parameters"]} == {"rate", "delay", "mean"}
    (rho,) = (r for r in data["parameters"] if (r["measure"], r["parameter"]) == ("rate", "rho"))
    assert rho["elasticity"] == pytest.approx(ELASTICITY, rel=1e-10)
    assert rho["derivative"] == pytest.approx(ELASTICITY * (3 / 7) / 0.5, rel=1e-10)
    assert (rho["kind"], data["converged"]) == ("derivative", True)
    (room,) = (r for r in data["parameters"] if (r["measure"], r["parameter"]) == ("rate", "room"))
    assert (room["kind"], room["derivative"]) == ("difference", pytest.approx(7 / 15 - 3 / 7, rel=1e-10))
    assert data["bottleneck"]["rate"] == "arrive"


def test_a_model_without_measures_is_asked_the_usual_ones(spn: Run) -> None:
    Path("bare.spn").write_text("place a = 1\nplace b\ntimed t : a -> b ~ exp(mean = 1 s)\ntimed u : b -> a ~ exp(mean = 2 s)\n")
    done = spn("sensitivity", "bare.spn")
    assert done.code == 0 and "throughput(t)" in done.out


@pytest.mark.parametrize(("arguments", "says"), [(["--measure", "lots"], "there is no measure lots"), (["-p", "rho=0"], "rate")])
def test_what_cannot_be_asked(spn: Run, arguments: list[str], says: str) -> None:
    done = spn("sensitivity", "mm1k.spn", *arguments)
    assert done.code in (2, 3) and says in done.err


def test_a_solver_by_name(spn: Run) -> None:
    for solver in ("gth", "sor", "power"):
        data = json.loads(spn("solve", "mm1k.spn", "--json", "--solver", solver).out)
        assert data["measures"]["rate"]["value"] == pytest.approx(3 / 7, rel=1e-9)
        assert data["details"]["choice"][0].split(": ")[1] == "asked for"
    assert spn("solve", "mm1k.spn", "--solver", "magic").code == 2
