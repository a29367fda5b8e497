"""Expressions as text: what is written reads back as the same tree."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spn.expr.evaluate import Undefined, evaluate
from spn.expr.nodes import Atom, Binary, BinaryOp, Call, Conditional, Function, Node, Number, Tokens, Unary, UnaryOp, as_node, equal, tokens
from spn.expr.text import decimal, name, to_text
from spn.lang.lower import Values, lower
from spn.lang.parse import parse_constant
from spn.source import Source

PLACES = ("a", "queue", "worker 1", "in", "größe", "_x9")
a, b, c = tokens("a"), tokens("b"), tokens("c")


def read(text: str) -> Node:
    return lower(parse_constant(Source("<text>", text)), Values())


decimals = st.builds(lambda n, k: Fraction(n, 10**k), st.integers(0, 10**6), st.integers(0, 9))
leaves = st.builds(Number, decimals) | st.builds(Tokens, st.sampled_from(PLACES))


def _branches(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = {Function.MIN, Function.MAX}
    return st.one_of(
        st.builds(Binary, st.sampled_from(BinaryOp), nodes, nodes),
        st.builds(Unary, st.sampled_from(UnaryOp), nodes),
        st.builds(Conditional, nodes, nodes, nodes),
        st.builds(Call, st.sampled_from(sorted(several)), st.lists(nodes, min_size=2, max_size=4).map(tuple)),
        st.builds(Call, st.sampled_from(sorted(set(Function) - several)), nodes.map(lambda n: (n,))),
    )


trees = st.recursive(leaves, _branches, max_leaves=25)


@given(trees)
def test_the_text_of_a_tree_reads_back_as_the_tree(tree: Node) -> None:
    assert read(to_text(tree)) == tree


@given(st.fractions(-100, 100), st.integers(0, 5))
def test_constants_that_no_decimal_states_keep_their_value(value: Fraction, n: int) -> None:
    for tree in (value * a, a - value, a / (value + 1) if value != -1 else a, Number(value) ** 2, -(value + a)):
        marking = {"a": n}
        try:
            expected = evaluate(as_node(tree), marking)
        except Undefined:
            continue
        assert evaluate(read(to_text(tree)), marking) == expected


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (2 * a + 1, "2 * #a + 1"), (2 * (a + 1), "2 * (#a + 1)"), (a - (b - c), "#a - (#b - #c)"), (a - b - c, "#a - #b - #c"),
        (a / (b * c), "#a / (#b * #c)"), ((a**b) ** c, "(#a ^ #b) ^ #c"), (a ** (b**c), "#a ^ #b ^ #c"), (-(a**2), "-#a ^ 2"),
        ((-a) ** 2, "(-#a) ^ 2"), (a**-b, "#a ^ -#b"), (-(a + b), "-(#a + #b)"),
        ((a < 6) & (b > 0) | ~equal(c, 0), "#a < 6 and #b > 0 or not #c == 0"),
        ((a < 6) & ((b > 0) | (c > 0)), "#a < 6 and (#b > 0 or #c > 0)"), ((a < b) + 1, "(#a < #b) + 1"),
        (equal(equal(a, b), c), "(#a == #b) == #c"),
        (a // 2 % 3, "#a div 2 mod 3"), (Number(Fraction(1, 3)) * a, "1 / 3 * #a"), (a * Number(Fraction(1, 3)), "#a * (1 / 3)"),
        (Number(Fraction(-2)) ** 2, "(-2) ^ 2"), (tokens("worker 1") + tokens("w[3].idle"), "#`worker 1` + #w[3].idle"),
    ],
)  # fmt: skip
def test_parentheses_are_only_where_they_must_be(tree: Node, text: str) -> None:
    assert to_text(tree) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 10), "0.1"), (Fraction(3), "3"), (Fraction(-7, 4), "-1.75"), (Fraction(1, 3), "1 / 3"),
        (Fraction(42, 10**10), "4.2e-9"),
        (Fraction(10**20), "1" + 20 * "0"), (0.5, "0.5"), (1e300, "1e300"), (Fraction(1234567891, 10**9), "1.234567891"),
    ],
)  # fmt: skip
def test_constants(value: Fraction | float, text: str) -> None:
    assert decimal(value) == text


def test_names_that_are_no_plain_words_stand_in_backquotes() -> None:
    assert [name(n) for n in ("idle", "worker 1", "in", "w[2].idle", "ende", "9a")] == [
        "idle",
        "`worker 1`",
        "`in`",
        "w[2].idle",
        "ende",
        "`9a`",
    ]


def test_every_word_that_the_language_reserves_is_quoted() -> None:
    from spn.lang.words import RESERVED

    assert all(name(word) == f"`{word}`" for word in RESERVED)


def test_leaves_of_other_layers_are_written_by_their_own_function() -> None:
    class Leaf(Atom):
        __slots__ = ()

    assert to_text(2 * Leaf(), lambda _: "throughput(t)") == "2 * throughput(t)"
    with pytest.raises(TypeError):
        to_text(2 * Leaf())
