"""Programs mean what the reference evaluator says, on random expressions and markings."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.compiled import compile_net
from spn.compiled.kernels import evaluate_at
from spn.expr.evaluate import Undefined, evaluate
from spn.expr.nodes import (
    Binary,
    BinaryOp,
    Call,
    Conditional,
    Function,
    Node,
    Number,
    Tokens,
    Unary,
    UnaryOp,
    call,
    conditional,
    equal,
    tokens,
)
from spn.net.model import Net, Place

PLACES = ("a", "b", "c")
NET = Net(places=tuple(Place(name=p) for p in PLACES))
ROOTS = frozenset({Function.SQRT, Function.LN, Function.EXP})


def machine(node: Node, marking: dict[str, int]) -> float:
    compiled = compile_net(NET, [node])
    m = np.array([marking[p] for p in PLACES], dtype=np.int64)
    return float(evaluate_at(compiled.image, compiled.expressions[0], m, np.zeros(compiled.scratch, dtype=np.int64)))


def reference(node: Node, marking: dict[str, int]) -> float:
    try:
        return float(evaluate(node, marking))
    except Undefined:
        return math.nan


def numbers() -> st.SearchStrategy[Node]:
    decimals = st.integers(-40, 40).map(lambda i: Fraction(i, 10))
    return st.one_of(st.integers(-5, 12).map(Fraction), decimals, st.sampled_from([Fraction(1, 3), Fraction(2, 7)])).map(Number)


def expressions(functions: tuple[Function, ...]) -> st.SearchStrategy[Node]:
    powers = st.integers(0, 4).map(lambda i: Number(Fraction(i)))

    def extend(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        operators = st.sampled_from([op for op in BinaryOp if op is not BinaryOp.POW])
        calls = st.sampled_from(functions).flatmap(
            lambda f: st.lists(inner, min_size=1, max_size=3 if f in (Function.MIN, Function.MAX) else 1).map(lambda a: Call(f, tuple(a)))
        )
        return st.one_of(
            st.builds(Binary, operators, inner, inner),
            st.builds(Binary, st.just(BinaryOp.POW), inner, powers),
            st.builds(Unary, st.sampled_from(list(UnaryOp)), inner),
            st.builds(Conditional, inner, inner, inner),
            calls,
        )

    return st.recursive(st.one_of(numbers(), st.sampled_from(PLACES).map(Tokens)), extend, max_leaves=8)


MARKINGS = st.fixed_dictionaries({p: st.integers(0, 9) for p in PLACES})
EXACT = tuple(f for f in Function if f not in ROOTS)


@settings(max_examples=300, deadline=None)
@given(expressions(EXACT), MARKINGS)
def test_rational_expressions_give_the_rounded_exact_value(node: Node, marking: dict[str, int]) -> None:
    expected = reference(node, marking)
    assert machine(node, marking) == pytest.approx(expected, rel=1e-12, abs=1e-9, nan_ok=True)


@settings(max_examples=150, deadline=None)
@given(expressions(EXACT), MARKINGS)
def test_roots_logarithms_and_exponentials(node: Node, marking: dict[str, int]) -> None:
    """Single applications to a rational argument between -50 and 50: nested ones could straddle a comparison by rounding."""
    for f in ROOTS:
        outer = Call(f, (call("max", call("min", node, 50), -50),))
        assert machine(outer, marking) == pytest.approx(reference(outer, marking), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("a", range(12))
def test_decimal_comparisons_are_exact(a: int) -> None:
    marking = {"a": a, "b": 3, "c": 0}
    tenth = tokens("a") * 0.1
    assert machine(equal(tenth, 0.3), marking) == float(a == 3)
    assert machine(equal(tenth * 3 / 0.3, tokens("a")), marking) == 1.0
    assert machine(tokens("a") / 3 * 3 >= tokens("a"), marking) == 1.0
    assert machine(tokens("a") * 0.7, marking) == float(Fraction(7 * a, 10))


def test_undefined_is_nan_only_where_it_is_reached() -> None:
    marking = {"a": 0, "b": 1, "c": 2}
    quotient = tokens("b") / tokens("a")
    assert math.isnan(machine(quotient, marking))
    assert machine(conditional(tokens("a") > 0, quotient, 5), marking) == 5.0
    assert machine((tokens("a") > 0) & (quotient > 1), marking) == 0.0
    assert machine((tokens("b") > 0) | (quotient > 1), marking) == 1.0
    assert math.isnan(machine(equal(quotient, 1), marking))
    assert math.isnan(machine(call("sqrt", tokens("a") - 1), marking))
    assert math.isnan(machine(call("ln", tokens("a")), marking))
    assert math.isnan(machine(Number(Fraction(0)) ** (tokens("a") - 1), marking))
