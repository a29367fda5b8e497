"""Sweeps, properties, `expect … where` and the pages on codes, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

MACHINE = """\
param n    : count = 2 in 1..10
param mend : time  = 1 h
place up = n, down
timed fail   : up -> down ~ exp(mean = 10 h) servers inf
timed repair : down -> up ~ exp(mean = mend) servers 1
measure mttf in h = E(time until #up == 0)
property safe  : always #up + #down == n
property never : always #down < 2
"""
SWEEP = "sweep n in 1..2, mend in [30 min, 1 h]\n"


@pytest.fixture
def machine(spn: Run) -> Run:
    Path("machine.spn").write_text(MACHINE)
    Path("swept.spn").write_text(MACHINE + SWEEP)
    return spn


def test_properties_are_printed_with_the_way_to_where_they_fail(machine: Run) -> None:
    done = machine("solve", "machine.spn")
    assert (done.code, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["mttf", "65", "h"] in lines
    assert ["safe", "always", "#up", "+", "#down", "==", "n", "holds", "by", "the", "structure:", "up", "+", "down", "=", "2"] in lines
    assert "note: never fails in marking 2*down, reached by fail, fail" in done.out


def test_properties_as_json(machine: Run) -> None:
    data = json.loads(machine("solve", "machine.spn", "--json").out)
    assert data["properties"]["safe"] == {
        "holds": True, "claim": "always #up + #down == n", "reason": "by the structure: up + down = 2", "firings": [], "marking": None
    }  # fmt: skip
    assert data["properties"]["never"]["firings"] == ["fail", "fail"]
    assert data["properties"]["never"]["marking"] == {"down": 2}


def test_a_model_of_properties_alone(machine: Run) -> None:
    text = "\n".join(line for line in MACHINE.splitlines() if not line.startswith("measure"))
    Path("claims.spn").write_text(text)
    done = machine("solve", "claims.spn")
    assert done.code == 0 and done.err == "" and "holds" in done.out


def test_a_sweep_is_a_table(machine: Run) -> None:
    done = machine("solve", "swept.spn")
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()]
    assert rows[0] == ["n", "mend", "mttf", "[h]", "safe", "never"]
    assert rows[2:6] == [
        ["1", "30", "min", "10", "holds", "holds"],
        ["1", "1", "h", "10", "holds", "holds"],
        ["2", "30", "min", "115", "holds", "FAILS"],
        ["2", "1", "h", "65", "holds", "FAILS"],
    ]
    assert rows[6] == ["note:", "4", "points,", "method", "ctmc"]


def test_a_sweep_as_json(machine: Run) -> None:
    data = json.loads(machine("solve", "swept.spn", "--json").out)
    (sweep,) = data["sweeps"]
    assert sweep["over"] == ["n", "mend"] and sweep["complete"]
    assert [(r["parameters"], r["measures"]["mttf"]["value"]) for r in sweep["rows"]][2:] == [
        ({"n": 2.0, "mend": 1800.0}, pytest.approx(115)),
        ({"n": 2.0, "mend": 3600.0}, pytest.approx(65)),
    ]


def test_parameters_that_are_set_are_not_swept(machine: Run) -> None:
    assert [line.split()[0] for line in machine("solve", "swept.spn", "-p", "n=2").out.splitlines()[:1]] == ["mend"]
    assert ["mttf", "40", "h"] in [line.split() for line in machine("solve", "swept.spn", "-p", "n=2", "-p", "mend=2 h").out.splitlines()]


def test_what_no_method_answers_points_at_its_line(machine: Run) -> None:
    Path("delay.spn").write_text(MACHINE + "measure x = E(time from fail to fail)\n")
    for command in ("solve", "simulate"):
        done = machine(command, "delay.spn")
        assert done.code == 3
        assert "delay.spn:9:13: error[E0621]" in done.err and "^^^^^^^^^^^^^" in done.err


# --- spn test -------------------------------------------------------------------------------------------------------------------------


def test_expectations_of_other_parameters(machine: Run) -> None:
    Path("where.spn").write_text(
        MACHINE
        + """
        expect mttf == 65 h within 1e-9
        expect mttf == 10 h within 1e-9 where n = 1
        expect mttf == 115 h within 1e-9 where mend = 30 min, n = 2
        expect mttf == 65 h within 1e-9 where mend = 30 min
        """
    )
    done = machine("test", "where.spn", "--json")
    (record,) = json.loads(done.out)
    assert [e["outcome"] for e in record["expectations"]] == ["pass", "pass", "pass", "fail"]
    assert record["expectations"][2]["text"] == "mttf == 115 h within 1e-9 where mend = 30 min, n = 2"
    assert [(p["name"], p["outcome"]) for p in record["properties"]] == [("safe", "pass"), ("never", "fail")]
    assert done.code == 1
    assert machine("test", "where.spn", "-p", "mend=30 min").out.splitlines()[0] == "where.spn: 3 passed, 3 FAILED"


def test_a_property_that_fails_is_a_failure_and_one_that_is_open_is_not_passed(machine: Run) -> None:
    done = machine("test", "machine.spn")
    assert done.code == 1 and done.out.splitlines()[0] == "machine.spn: 1 passed, 1 FAILED"
    assert "reached by fail, fail" in done.out
    Path("open.spn").write_text("place q timed t : -> q ~ exp(mean = 1 s) property r : reversible\n")
    done = machine("test", "open.spn")
    assert done.code == 3 and "1 undecided" in done.out and "unbounded" in done.out


def test_estimates_at_times_are_judged_by_their_intervals(machine: Run) -> None:
    """det(1 s) races uniform(0 s, 2 s): each wins half of the time. A clock beside them goes on, so that the net is not semi-Markov."""
    Path("race.spn").write_text(
        """
        place a = 1, b, c, d = 1
        timed v : d -> d ~ uniform(0 s, 1 s)
        timed t : a -> b ~ det(1 s)  timed u : a -> c ~ uniform(0 s, 2 s)
        expect P(#b == 1) at 3 s == 0.5 within 10 %
        expect P(time until #c == 1 <= 0.5 s) == 0.25 within 20 %
        expect P(#c == 1) == 0.5 within 10 %
        expect P(#a == 1) at 0.5 s >= 0.8
        """
    )
    done = machine("test", "race.spn", "--json")
    (record,) = json.loads(done.out)
    assert [e["outcome"] for e in record["expectations"]] == ["pass", "pass", "pass", "fail"]
    assert all(e["method"] == "simulate" and e["half_width"] > 0 for e in record["expectations"])


# --- the pages on codes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["E0108", "e0108", "[E0108]"])
def test_a_code_is_explained(spn: Run, text: str) -> None:
    done = spn("check", "--explain", text)
    assert done.code == 0 and done.out.startswith("# E0108: ")


@pytest.mark.parametrize(("text", "near"), [("E108", "E0108"), ("0303", "E0303"), ("W303", "W0303"), ("E0109x", "E0109")])
def test_an_unknown_code_proposes_the_nearest(spn: Run, text: str, near: str) -> None:
    done = spn("check", "--explain", text)
    assert done.code == 2 and f"did you mean {near}?" in done.err


def test_nothing_to_check_is_an_error(spn: Run) -> None:
    done = spn("check")
    assert done.code == 2 and "--explain" in done.err
