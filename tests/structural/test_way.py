"""The way of tokens between two transitions."""

from __future__ import annotations

import pytest

import spn
from spn.structural.way import NoWay, way

FOUND = [
    ("place f = 3, q timed a : f -> q ~ exp(rate = 1) timed s : q -> f ~ exp(rate = 1)", "a", "s", ("q",), True),
    ("place f = 3, q timed a : f -> q ~ exp(rate = 1) timed s : q -> f ~ exp(rate = 1)", "s", "a", ("f",), True),
    (
        "place f = 3, q, r place cpu = 1 timed a : f -> q ~ exp(rate = 1) timed s : q, cpu -> r, cpu ~ exp(rate = 1) "
        "timed u : r, cpu -> f, cpu ~ exp(rate = 1)",
        "a",
        "u",
        ("q", "r"),  # the processor is no part of the way
        True,
    ),
    ("place f = 3, q timed a : f -> q ~ exp(rate = 1) timed s : q -> f ~ exp(rate = 1) servers inf", "a", "s", ("q",), False),
    ("place f = 1, q timed a : f -> q ~ exp(rate = 1) timed s : q -> f ~ exp(rate = 1) servers inf", "a", "s", ("q",), True),  # one at most
    (
        "place f = 3, q, r timed a : f -> q ~ exp(rate = 1) timed s : q -> r ~ exp(rate = 1) timed l : q -> r ~ exp(rate = 1) "
        "timed u : r -> f ~ exp(rate = 1)",
        "a",
        "u",
        ("q", "r"),
        False,  # two servers in all at q
    ),
    (
        "place f = 3, b, c, d, e timed a : f -> b, c ~ exp(rate = 1) timed s : b -> d ~ exp(rate = 1) timed u : c -> e ~ exp(rate = 1) "
        "immediate j : d, e -> f",
        "a",
        "j",
        ("b", "d"),  # either branch counts the same
        True,
    ),
]


@pytest.mark.parametrize(("text", "first", "second", "places", "ordered"), FOUND)
def test_ways(text: str, first: str, second: str, places: tuple[str, ...], ordered: bool) -> None:
    found = way(spn.parse(f"units none {text}").net, first, second)
    assert found.places == places
    assert (found.overtaking == "") is ordered


LOST = "place f = 3, q, r timed a : f -> q ~ exp(rate = 1) timed s : q -> r ~ exp(rate = 1) timed u : r -> f ~ exp(rate = 1) "


@pytest.mark.parametrize(
    ("text", "first", "second", "why"),
    [
        (LOST + "timed l : q -> f ~ exp(rate = 1)", "a", "u", "come or go"),
        (LOST + "timed l : f -> r ~ exp(rate = 1)", "a", "u", "come or go"),
        (LOST + "timed l : flush r -> f ~ exp(rate = 1)", "a", "u", "depends on the marking"),
        (LOST, "a", "a", "both ends"),
        (LOST + "place x = 1, y timed l : x -> y ~ exp(rate = 1)", "a", "l", "no token goes"),
        ("place f = 3, q timed a : f -> 2*q ~ exp(rate = 1) timed s : 2*q -> f ~ exp(rate = 1)", "a", "s", "several at a time"),
    ],
)
def test_no_way(text: str, first: str, second: str, why: str) -> None:
    with pytest.raises(NoWay, match=why):
        way(spn.parse(f"units none {text}").net, first, second)
