"""``spn states``: what is printed, as text and as JSON, and the errors."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

NET = """\
param n : count = 2 in 1..10
place up = n, down, broken
timed fail   : up -> down ~ exp(mean = 10 h) servers inf
timed repair : down -> up ~ exp(mean = 1 h) servers 1
timed lose   : down -> broken ~ exp(mean = 100 h)
immediate scrap : 2*broken -> broken
"""


def test_a_table_of_what_is_reached(spn: Run) -> None:
    Path("net.spn").write_text(NET)
    done = spn("states", "net.spn", "--list", "2")
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert done.out.startswith("net: 7 markings (6 tangible, 1 vanishing), 9 timed firings, 1 immediate one\n")
    assert ["dead", "1", "broken", "fail,", "fail,", "lose,", "lose,", "scrap"] in lines
    assert ["up", "0", "2"] in lines and ["broken", "0", "2"] in lines
    assert ["1", "up", "+", "down"] in lines
    assert "note: 1 home marking: reached from everywhere; the initial one is none of them" in done.out
    assert "note: 2 markings of 7 listed" in done.out


def test_json_and_parameters(spn: Run) -> None:
    Path("net.spn").write_text(NET)
    done = spn("states", "net.spn", "-p", "n=1", "--json", "--list")
    data = json.loads(done.out)
    assert (data["markings"], data["tangible"], data["dead"], data["live"], data["never"]) == (3, 3, 1, False, ["scrap"])
    assert data["list"] == [{"up": 1}, {"down": 1}, {"broken": 1}]


def test_a_net_without_an_end_to_it_and_one_too_large(spn: Run) -> None:
    Path("queue.spn").write_text("place q\ntimed arrive : -> q ~ exp(rate = 1/s)\n")
    done = spn("states", "queue.spn")
    assert (done.code, done.out) == (3, "") and "E0600" in done.err and "arrive can be repeated for ever" in done.err
    Path("net.spn").write_text(NET)
    done = spn("states", "net.spn", "-p", "n=10", "--max-states", "20")
    assert done.code == 3 and "E0602" in done.err and "the limit of 20 states" in done.err
