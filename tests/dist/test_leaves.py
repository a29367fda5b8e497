"""Flattening to affine leaves, exact atoms, and compiled draws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.dist.families import Deterministic, Empirical, Exponential, Mixture, Scaled, Shifted, Uniform
from spn.dist.law import Floats, Law
from spn.dist.leaves import draw, encode, leaves
from spn.dist.random import Random, seeded

from .laws import ALL, CONTINUOUS, DISCRETE, MADE, identify

F = Fraction


def nested_laws(base: st.SearchStrategy[Law]) -> st.SearchStrategy[Law]:
    amounts = st.fractions(min_value=F(1, 100), max_value=100, max_denominator=100)

    def larger(inner: st.SearchStrategy[Law]) -> st.SearchStrategy[Law]:
        return st.one_of(
            st.builds(lambda law, by: Shifted(law=law, by=by), inner, amounts),
            st.builds(lambda law, by: Scaled(law=law, by=by), inner, amounts),
            st.builds(lambda a, b, p: Mixture(parts=((p, a), (1 - p, b))), inner, inner, st.floats(0, 1)),
        )

    return st.recursive(base, larger, max_leaves=6)


CONSTANTS = st.builds(lambda v: Deterministic(value=v), st.fractions(min_value=0, max_value=10, max_denominator=50))
MIXED = st.one_of(CONSTANTS, st.sampled_from([Exponential(rate=2.0), Uniform(low=0.5, high=1.5), Empirical(values=(F(1, 3), F(2)))]))


@settings(max_examples=150, deadline=None)
@given(nested_laws(MIXED))
def test_leaves_are_the_law(law: Law) -> None:
    flat = leaves(law)
    assert math.fsum(leaf.prob for leaf in flat) == pytest.approx(1)
    mean = math.fsum(leaf.prob * (float(leaf.shift) + float(leaf.scale) * leaf.law.mean()) for leaf in flat)
    assert law.mean() == pytest.approx(mean, rel=1e-12, abs=1e-12)
    x = law.mean() * np.array([0.5, 0.99, 1.01, 2.0])
    separate = sum(leaf.prob * leaf.law.cdf((x - float(leaf.shift)) / float(leaf.scale)) for leaf in flat)
    assert law.cdf(x) == pytest.approx(separate, abs=1e-6)
    assert all(leaf.law.components() is None for leaf in flat)


@settings(max_examples=150, deadline=None)
@given(nested_laws(CONSTANTS))
def test_atoms_stay_exact_through_every_combination(law: Law) -> None:
    atoms = law.atoms()
    assert atoms is not None
    assert all(isinstance(value, Fraction) for value, _ in atoms)
    assert math.fsum(p for _, p in atoms) == pytest.approx(1)
    assert len({value for value, _ in atoms}) == len(atoms)
    constants = {leaf.law.value for leaf in leaves(law) if isinstance(leaf.law, Deterministic)}
    assert {value for value, p in atoms if p > 0} <= constants | {v for v, p in atoms if p == 0}
    assert math.fsum(float(v) * p for v, p in atoms) == pytest.approx(law.mean(), rel=1e-12, abs=1e-12)


def test_three_tenths_meet_exactly() -> None:
    tenth = Deterministic(value=F("0.1"))
    assert Scaled(law=tenth, by=F(3)).atoms() == Deterministic(value=F("0.3")).atoms() == Shifted(law=tenth, by=F("0.2")).atoms()


def test_a_continuous_part_leaves_no_atoms() -> None:
    assert Mixture(parts=((0.5, Deterministic(value=F(1))), (0.5, Exponential(rate=1)))).atoms() is None


def test_equal_values_of_an_empirical_law_are_one() -> None:
    law = Empirical(values=(F(2), F(1), F(2), F(5)), weights=(1, 1, 1, 0))
    assert law.values == (F(1), F(2))
    assert law.weights == pytest.approx((1 / 3, 2 / 3))
    assert law.quantile(np.array([0, 1 / 4, 0.99, 1.0])).tolist() == [1, 1, 2, 2]
    assert law.cdf(np.array([0.5, 1, 1.5, 2])) == pytest.approx([0, 1 / 3, 1 / 3, 1])


def test_a_single_alternative_takes_no_draw_for_the_choice() -> None:
    rng, plain = np.random.default_rng(7), np.random.default_rng(7)
    law = Shifted(law=Scaled(law=Exponential(rate=4.0), by=F(2)), by=F(1))
    assert law.draw(rng) == 1.0 + 2.0 * (plain.standard_exponential() / 4.0)
    assert rng.bit_generator.state == plain.bit_generator.state


def test_a_choice_takes_one_draw_and_a_constant_none() -> None:
    rng, plain = np.random.default_rng(7), np.random.default_rng(7)
    law = Mixture(parts=((0.25, Deterministic(value=F(1))), (0.75, Deterministic(value=F(2)))))
    drawn = [law.draw(rng) for _ in range(20)]
    assert drawn == [1.0 if plain.random() < 0.25 else 2.0 for _ in range(20)]
    assert rng.bit_generator.state == plain.bit_generator.state
    Deterministic(value=F(1)).draw(rng)
    assert rng.bit_generator.state == plain.bit_generator.state


def compiled_draws(law: Law, n: int, stream: Random) -> Floats:
    """Draws by the kernel, the choice between leaves made as :func:`spn.dist.leaves.draw` says."""
    from spn.dist.kernels import draws_of

    coded = [(kind, np.array(numbers)) for kind, numbers in map(encode, leaves(law))]
    sums = np.cumsum([leaf.prob for leaf in leaves(law)])
    sums[-1] = 1.0
    one = np.empty(1)
    out = np.empty(n)
    for i in range(n):
        kind, numbers = coded[int(np.searchsorted(sums, stream.random(), side="right")) if len(coded) > 1 else 0]
        words = np.array(stream.words, dtype=np.uint64).view(np.int64)
        draws_of(kind, numbers, words, one)
        a, b, c, d = words.view(np.uint64).tolist()
        stream.words, out[i] = (a, b, c, d), one[0]
    return out


@pytest.mark.parametrize("law", ALL, ids=identify)
def test_compiled_draws_are_those_of_the_law(law: Law) -> None:
    """Bit for bit, or to a few units in the last place (powers and logarithms), with the same state of the stream afterwards."""
    n = 2000
    plain, compiled = (Random(seeded(np.random.SeedSequence(11))) for _ in range(2))
    expected = np.array([law.draw(plain) for _ in range(n)])
    found = compiled_draws(law, n, compiled)
    assert np.all(np.abs(found - expected) <= 4 * np.spacing(expected))
    assert compiled.words == plain.words


def test_laws_made_of_others_have_no_encoding() -> None:
    for law in MADE:
        with pytest.raises(NotImplementedError, match="encode its leaves"):
            law.encoded()
        assert draw(leaves(law), np.random.default_rng(1)) == law.draw(np.random.default_rng(1))
