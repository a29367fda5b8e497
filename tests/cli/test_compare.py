"""Comparisons on the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import MM1K, Run


def throughput(room: int, rho: float = 0.5) -> float:
    """Of M/M/1/K."""
    return rho * (1 - rho**room) / (1 - rho ** (room + 1))


@pytest.fixture
def pair(spn: Run) -> list[str]:
    """Two mechanisms; the second twice as loaded."""
    Path("loaded.spn").write_text(MM1K.replace("= 0.5 in", "= 1.5 in"))
    return ["mm1k.spn", "loaded.spn"]


def test_a_table_of_both_over_the_range(spn: Run, pair: list[str]) -> None:
    done = spn("compare", *pair, "--over", "room=1..3", "--measure", "rate")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "rate [/s] over room"
    assert lines[1].split() == ["room", "mm1k", "eff.", "loaded", "eff."]
    assert lines[3].split()[:3] == ["1", "0.333333", "exact"]
    assert any(line.startswith("mm1k: saturates at room = 2") for line in lines)


def test_the_figures_as_csv(spn: Run, pair: list[str]) -> None:
    done = spn("compare", *pair, "--over", "room=1,3,2", "--measure", "rate", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(r["mechanism"], int(r["room"])) for r in rows] == [(m, k) for m in ("mm1k", "loaded") for k in (1, 2, 3)]
    for r in rows:
        rho = 0.5 if r["mechanism"] == "mm1k" else 1.5
        assert float(r["rate"]) == pytest.approx(throughput(int(r["room"]), rho), rel=1e-9)
        assert (r["half_width"], r["unit"], r["method"], r["converged"]) == ("", "1/s", "ctmc", "true")


def test_the_figures_as_json(spn: Run, pair: list[str]) -> None:
    data = json.loads(spn("compare", *pair, "--over", "room=1..3", "--measure", "rate", "--json").out)
    assert [r["value"] for r in data["rows"] if r["mechanism"] == "mm1k"] == pytest.approx([throughput(k) for k in (1, 2, 3)])
    assert data["saturation"]["mm1k"] == 2
    assert data["over"] == "room" and data["measure"] == "rate"


def test_parameters_are_set_in_all_that_have_them(spn: Run, pair: list[str]) -> None:
    data = json.loads(spn("compare", *pair, "--over", "room=1..2", "--measure", "rate", "--json", "-p", "rho=1").out)
    assert [r["value"] for r in data["rows"]] == pytest.approx([1 / 2, 2 / 3] * 2)


def test_the_plot_is_written(spn: Run, pair: list[str]) -> None:
    done = spn("compare", *pair, "--over", "room=1..2", "--measure", "rate", "-o", "plot.svg")
    assert (done.code, done.err) == (0, "note: wrote plot.svg\n")
    assert "<svg" in Path("plot.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--over", "room=1..2", "--measure", "rat"], "did you mean rate?"),
        (["--over", "rooms=1..2", "--measure", "rate"], "did you mean room?"),
        (["--over", "room=1..2", "--measure", "rate", "-p", "rhoo=1"], "did you mean rho?"),
        (["--over", "room=1..2", "--measure", "rate", "-o", "plot.gif"], "formats: svg, png, pdf"),
        (["--over", "room=0..2", "--measure", "rate"], "room"),
    ],
)
def test_mistakes(arguments: list[str], said: str, spn: Run, pair: list[str]) -> None:
    done = spn("compare", *pair, *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_narrow_terminal_gets_a_list(spn: Run, pair: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spn.cli.compare.terminal_width", lambda: 40)
    done = spn("compare", *pair, "--over", "room=1..2", "--measure", "rate")
    assert done.out.splitlines()[0].split() == ["mechanism", "room", "rate", "unit", "efficiency", "method"]
