"""Nets as text: what hypothesis builds, and what the models hold, loads again as the very same net."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from spn.dist.law import Law
from spn.errors import ModelError
from spn.expr.nodes import COMPARISONS, Binary, BinaryOp, Number, Unary, UnaryOp, call, conditional, tokens
from spn.lang.format import formatted
from spn.lang.netfile import law_text, net_text
from spn.loading import load, parse
from spn.net.builder import NetBuilder
from spn.net.model import Memory, Net
from spn.source import Source

from ..dist.laws import ALL, identify
from .test_format import ROOT

PLACES = ["a", "b", "größe", "w[2].idle", "worker 1", "in", "share", "s"]

numbers = st.fractions(min_value=0, max_value=1000, max_denominator=40).map(Number)
positive = st.integers(1, 9).map(lambda n: Number(Fraction(n, 4)))
markings = st.sampled_from(PLACES).map(tokens)
arithmetic = st.recursive(
    st.one_of(numbers, markings),
    lambda below: st.one_of(
        st.builds(Binary, st.sampled_from([BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.MOD, BinaryOp.IDIV]), below, below),
        st.builds(lambda x: Unary(UnaryOp.NEGATE, x), below),
        st.builds(call, st.sampled_from(["abs", "floor", "ceil", "sqrt"]), below),
        st.builds(lambda x, y: call("max", x, y), below, below),
        st.builds(
            lambda p, x, y: conditional(Binary(BinaryOp.GT, tokens(p), Number(Fraction(1))), x, y), st.sampled_from(PLACES), below, below
        ),
    ),
    max_leaves=5,
)
conditions = st.recursive(
    st.builds(Binary, st.sampled_from(sorted(COMPARISONS)), markings, arithmetic),
    lambda below: st.one_of(
        st.builds(Binary, st.sampled_from([BinaryOp.AND, BinaryOp.OR]), below, below),
        st.builds(lambda x: Unary(UnaryOp.NOT, x), below),
    ),
    max_leaves=4,
)
arcs = st.dictionaries(
    st.sampled_from(PLACES), st.one_of(st.integers(1, 3), st.builds(lambda p: 1 + tokens(p), st.sampled_from(PLACES))), max_size=2
)
common: dict[str, st.SearchStrategy[Any]] = {
    "inputs": arcs,
    "outputs": arcs,
    "tests": arcs,
    "inhibitors": arcs,
    "flushes": st.lists(st.sampled_from(PLACES), max_size=1),
    "when": st.one_of(st.none(), conditions),
    "priority": st.integers(1, 3),
    "weight": st.one_of(st.just(1), st.builds(lambda p, w: tokens(p) + w, st.sampled_from(PLACES), positive)),
}


@st.composite
def nets(draw: Any) -> Net:
    """Nets of the builder: every kind of arc, law and clause."""
    b = NetBuilder("made")
    for p in PLACES:
        b.place(p, draw(st.integers(0, 3)), capacity=draw(st.one_of(st.none(), st.integers(3, 9))))
    b.link("up", draw(st.integers(1, 10**9)))
    b.link("over", Fraction(1, 3))
    for k in range(draw(st.integers(0, 2))):
        b.immediate(f"i{k}", **draw(st.fixed_dictionaries(common)))
    for k in range(draw(st.integers(1, 3))):
        more: dict[str, Any] = {"memory": draw(st.sampled_from(Memory)), "servers": draw(st.sampled_from([None, "inf", 1, 3]))}
        if draw(st.booleans()):
            more |= {
                "over": draw(st.sampled_from([("up",), ("up", "over")])),
                "cap": draw(st.sampled_from([None, 7])),
                "latency": Fraction(1, 8),
            }
        if draw(st.booleans()):
            more |= {"law": draw(st.sampled_from(ALL))}
        else:
            more |= {"rate": draw(st.one_of(positive, st.builds(lambda p, x: tokens(p) * x, st.sampled_from(PLACES), positive)))}
        more |= {"speed": draw(st.sampled_from([1, 2, tokens("a")])), "resets": draw(st.sampled_from([(), ("t0",)]))}
        b.timed(f"t{k}", **draw(st.fixed_dictionaries(common)), **more)
    try:
        return b.build()
    except (ModelError, ArithmeticError):
        assume(False)
        raise


@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(nets())
def test_nets_survive(net: Net) -> None:
    text = net_text(net)
    try:
        found = parse(text, name="made.spn").net
    except ModelError as error:  # the language refuses what the builder does not look at, such as a root of -1
        assume(any(d.code != "E0408" for d in error.diagnostics))
        raise
    assert found == net, text
    assert formatted(Source("made.spn", text)) == text


@pytest.mark.parametrize("law", ALL, ids=identify)
def test_laws_survive(law: Law) -> None:
    found = parse(f"units none place a = 1 timed t : a -> a ~ {law_text(law)}").net.transitions[0]
    assert getattr(found, "law", None) == law


@pytest.mark.parametrize("path", sorted(ROOT.glob("models/**/*.spn")), ids=lambda p: p.name)
def test_nets_of_models_survive(path: Path) -> None:
    net = load(path).net
    assert parse(net_text(net), name=f"{path.stem}.spn").net == net
