"""``spn structure``, ``spn bounds``, and nets in PNML on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

PNML = """<pnml><net id="ring" type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="g">
<place id="a"><name><text>first &lt;b&gt;</text></name><initialMarking><text>3</text></initialMarking></place><place id="b"/>
<transition id="t"/><transition id="u"/>
<arc id="1" source="a" target="t"/><arc id="2" source="t" target="b"/>
<arc id="3" source="b" target="u"/><arc id="4" source="u" target="a"/>
</page></net></pnml>
"""


@pytest.fixture
def pnml(spn: Run) -> Run:
    Path("ring.pnml").write_text(PNML)
    return spn


def test_structure(spn: Run) -> None:
    done = spn("structure", "mm1k.spn")
    assert (done.code, done.err) == (0, "")
    lines = [line.strip() for line in done.out.splitlines()]
    assert lines[0].startswith("mm1k: 2 places, 2 transitions, incidence of rank 1; ordinary,")
    assert "queue + free = 2" in lines and "arrive + serve" in lines and "{queue, free}" in lines
    assert "live (free choice: live exactly where the condition holds)" in lines
    assert ["free", "2", "2"] in [line.split() for line in lines]


def test_structure_as_json(spn: Run) -> None:
    data = json.loads(spn("structure", "mm1k.spn", "--json", "-p", "room=7").out)
    assert data["invariants"] == [{"weights": {"queue": 1, "free": 1}, "total": 7}]
    assert data["bounds"] == {"queue": 7, "free": 7} and data["rank"] == 1
    assert data["commoner"]["live"] is True and data["product_form"]["found"] is True
    assert data["t_flows"]["minimal"] == [{"arrive": 1, "serve": 1}]


def test_limits_are_checked(spn: Run) -> None:
    assert spn("structure", "mm1k.spn", "--most", "0").code == 2
    assert spn("structure", "mm1k.spn", "--seconds", "never").code == 2
    found = spn("structure", "mm1k.spn", "--most", "1")
    assert found.code == 0


def test_bounds(spn: Run) -> None:
    done = spn("bounds", "mm1k.spn", "-t", "serve")
    assert done.code == 0
    (row,) = [line.split() for line in done.out.splitlines() if line.startswith("serve")]
    assert row[:4] == ["serve", "0.333333", "0.5", "/s"] and " ".join(row[4:]) == "the servers of arrive"
    data = json.loads(spn("bounds", "mm1k.spn", "--json").out)
    assert [b["transition"] for b in data["bounds"]] == ["arrive", "serve"]
    wrong = spn("bounds", "mm1k.spn", "-t", "servee")
    assert wrong.code == 3 and "did you mean serve?" in wrong.err


@pytest.mark.parametrize("command", ["check", "solve", "simulate", "structure", "bounds", "draw", "test"])
def test_every_command_takes_pnml(pnml: Run, command: str) -> None:
    more = {"simulate": ["--seed", "1", "--precision", "20%"], "draw": ["-o", "ring.svg"]}.get(command, [])
    done = pnml(command, "ring.pnml", *more)
    assert done.code == 0 and "Traceback" not in done.err


def test_a_solved_pnml_net_says_that_it_has_no_times(pnml: Run) -> None:
    assert "1 warning" in pnml("solve", "ring.pnml").err
    assert "W0501" in pnml("check", "ring.pnml").err
    values = {line.split()[0]: line.split()[-1] for line in pnml("solve", "ring.pnml").out.splitlines() if line.startswith("throughput")}
    assert values == {"throughput(t)": "0.75", "throughput(u)": "0.75"}  # 3 jobs in a ring of two equal servers: 3/(3 + 1)


def test_markup_in_names_is_escaped(pnml: Run) -> None:
    assert pnml("draw", "ring.pnml", "-o", "ring.svg").code == 0
    assert "<b>" not in Path("ring.svg").read_text()


def test_format_and_parameters_refuse_pnml(pnml: Run) -> None:
    assert "E0829" in pnml("format", "ring.pnml").err
    assert "E0828" in pnml("solve", "ring.pnml", "-p", "n=3").err
