"""The distance to a condition, and the importance that is derived from it."""

from __future__ import annotations

from itertools import product

import pytest

import spn
from spn.errors import AnalysisError
from spn.expr.evaluate import evaluate
from spn.expr.nodes import Node, tokens
from spn.sim.splitting.importance import deficit, derived

NET = """
units none
place a = 5
place b capacity 9
place c
timed move : a -> b ~ exp(rate = 1)
timed back : b -> a ~ exp(rate = 1)
immediate spill : 3*b, ?a -> c when #c < 2
timed lose : c, !4*a -> ~ exp(rate = 1)
"""


def condition(text: str) -> Node:
    model = spn.parse(NET + f"measure m = P({text})")
    return model.measures[0].body.value  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    ["#a >= 3", "#a > 3", "#a <= 2", "#a < 2", "#a == 4", "#a != 4", "not (#a >= 3)", "#a >= 3 and #b <= 1",
     "#a >= 3 or #b > 2 and #c == 1", "not (#a > 1 and #b == 2)", "2 * #a >= #b + 3", "not not (#a == #b)"],
)  # fmt: skip
def test_a_distance_is_0_exactly_where_the_condition_holds_and_else_positive(text: str) -> None:
    node = condition(text)
    distance = deficit(node)
    assert distance is not None
    for a, b, c in product(range(6), range(5), range(3)):
        m = {"a": a, "b": b, "c": c}
        d = evaluate(distance, m)
        assert d >= 0 and (d == 0) == (evaluate(node, m) != 0)


def test_a_distance_counts_the_tokens_that_are_missing() -> None:
    d = deficit(condition("#a >= 7 and #b <= 1"))
    assert d is not None and evaluate(d, {"a": 4, "b": 6, "c": 0}) == 3 + 5
    d = deficit(condition("#a >= 7 or #b <= 1"))
    assert d is not None and evaluate(d, {"a": 4, "b": 6, "c": 0}) == 3


def test_a_number_is_no_condition() -> None:
    assert deficit(tokens("a")) is None


@pytest.mark.parametrize(
    ("measure", "marking", "expected"),
    [
        ("throughput(spill)", {"a": 0, "b": 1, "c": 2}, -(2 + 1 + 1)),
        ("throughput(lose)", {"a": 5, "b": 0, "c": 0}, -(1 + 2)),
        ("throughput(lose) / throughput(move)", {"a": 5, "b": 0, "c": 0}, -3),
        ("P(time until #b == 4 <= 3)", {"a": 5, "b": 1, "c": 0}, -3),
        ("P(#b >= 4) at 3", {"a": 5, "b": 1, "c": 0}, -3),
    ],
)
def test_an_importance_is_minus_the_distance_of_what_is_asked(measure: str, marking: dict[str, int], expected: int) -> None:
    model = spn.parse(NET + f"measure m = {measure}")
    found = derived(model.measures[0], model.net)
    assert evaluate(found.node, marking) == expected and "derived from m" in found.how


def test_of_a_mean_none_is_derived() -> None:
    model = spn.parse(NET + "measure m = E(#a)")
    with pytest.raises(AnalysisError) as refused:
        derived(model.measures[0], model.net)
    assert refused.value.diagnostics[0].code == "E0731"
