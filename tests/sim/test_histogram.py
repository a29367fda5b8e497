"""Histograms against closed forms; which bins there are; what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import spn
from spn.cli.main import main
from spn.errors import SpnError

POOL = """
units none
place up = 3, down
timed fail : up -> down ~ exp(rate = 1) servers inf
timed fix : down -> up ~ exp(rate = 2) servers inf
"""
QUEUE = """
units none
place q
timed arrive : -> q ~ exp(rate = 0.5)
timed serve : q -> ~ exp(rate = 1) servers 1
"""


def test_a_binomial_pool() -> None:
    """Three independent machines, each up 2/3 of the time; and of the failures, those that leave k up: in proportion to k P(k)."""
    model = spn.parse(POOL)
    right = [math.comb(3, k) * 2**k / 27 for k in range(4)]
    for of, weights in (("#up", right), ("#up | fail", [k * p / 2 for k, p in enumerate(right)])):
        found = spn.histogram(model, of, seed=1, precision=0.005)
        assert found.converged and math.fsum(b.share for b in found.bins) == pytest.approx(1)
        for b in found.bins:
            assert b.single and b.low == b.high
            assert abs(b.share - weights[int(b.low)]) < 2 * b.half_width <= 0.01  # false alarms below 1e-4 a bin
        assert [b.low for b in found.bins] == ([0, 1, 2, 3] if of == "#up" else [1, 2, 3])


def test_an_unbounded_queue_in_bins() -> None:
    """P(q >= k) = 2^-k; edges that are given, and a bin for what is beyond."""
    found = spn.histogram(spn.parse(QUEUE), "#q", seed=2, bins=[0, 2, 5], precision=0.005)
    assert [(b.low, b.high) for b in found.bins] == [(0, 2), (2, 5), (5, math.inf)]
    for b, right in zip(found.bins, (3 / 4, 1 / 4 - 1 / 32, 1 / 32), strict=True):
        assert abs(b.share - right) < 2 * b.half_width
    wide = spn.histogram(spn.parse(QUEUE), "#q", seed=2, bins=3, precision=0.01)
    assert math.fsum(b.share for b in wide.bins) == pytest.approx(1) and math.isinf(wide.bins[-1].high) and wide.bins[0].low == 0


def test_trees_and_a_horizon() -> None:
    """det(3) of a horizon of 10: 0.3 of the time 2 tokens, then none."""
    net = spn.NetBuilder()
    net.place("a", 2)
    net.timed("t", inputs={"a": 2}, law=spn.law("det", 3.0))
    model = spn.Model(name="fall", net=net.build())
    found = spn.histogram(model, spn.tokens("a") * 0.5, horizon=10.0, seed=1)
    assert [(b.low, b.share, b.half_width) for b in found.bins] == [(0, pytest.approx(0.7), 0), (1, pytest.approx(0.3), 0)]
    with pytest.raises(SpnError) as e:
        spn.histogram(model, "#a")
    assert e.value.diagnostics[0].code == "E0705"


@pytest.mark.parametrize(
    ("of", "code"),
    [("#qq", "E0201"), ("#q +", "E0101"), ("#q) measure z = E(#q", "E0101"), ("#q) + E(#q", "E0705"), ("#q | nix", "E0201")],
)
def test_what_is_no_expression(of: str, code: str) -> None:
    with pytest.raises(SpnError) as e:
        spn.histogram(spn.parse(QUEUE), of)
    assert e.value.diagnostics[0].code == code


@pytest.mark.parametrize("bins", [0, [], [1, 1], "ab", [math.inf]])
def test_bins_are_edges_or_a_number(bins: object) -> None:
    with pytest.raises(SpnError) as e:
        spn.histogram(spn.parse(QUEUE), "#q", bins=bins)  # type: ignore[arg-type]
    assert e.value.diagnostics[0].code == "E0705"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pool.spn"
    file.write_text(POOL)
    arguments = ["simulate", str(file), "--seed", "1", "--histogram", "#up", "--absolute", "0.01"]
    assert main(arguments) == 0
    assert "█" in (text := capsys.readouterr().out) and "of time" in text
    assert main([*arguments, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [b["low"] for b in data["bins"]] == [0, 1, 2, 3] and data["provenance"]["seed"] == 1
