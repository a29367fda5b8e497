"""Digits and units."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spn.expr.dims import BANDWIDTH, DATA, NUMBER, RATE, TIME, Dimension
from spn.show.text import common_unit, count, duration, estimate, is_short, number, percent, quantity, with_unit

UNITS = {
    TIME: {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400},
    RATE: {"/s": 1, "/min": 1 / 60, "/h": 1 / 3600, "/d": 1 / 86400},
    DATA: {"B": 1, **{f"{p}B": 1000**k for k, p in enumerate("kMGT", 1)}, **{f"{p}iB": 1024**k for k, p in enumerate("KMGT", 1)}},
}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8.269941234, "8.26994"), (0, "0"), (1e-9, "1e-9"), (123456789.2, "123456789"), (1234567890, "1.23457e9"), (-3.5, "-3.5"),
        (0.00012345678, "0.000123457"), (999999.9999, "1000000"), (100, "100"), (math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"),
    ],
)  # fmt: skip
def test_numbers_have_six_significant_digits_and_no_trailing_noughts(value: float, text: str) -> None:
    assert number(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300).filter(lambda x: x == 0 or abs(x) > 1e-290))
def test_a_number_reads_back_to_six_digits(value: float) -> None:
    assert float(number(value)) == pytest.approx(value, rel=5.1e-6)


@pytest.mark.parametrize(
    ("value", "half_width", "texts"),
    [
        (8.2699, 0.0123, ("8.270", "0.012")), (1234.5, 12.3, ("1234", "12")), (12345.6, 123, ("12346", "123")), (1, 0, ("1", "0")),
        (0.00012, 1e-6, ("0.0001200", "0.0000010")), (3, math.inf, ("3", "inf")), (math.nan, 1, ("nan", "1")), (2.5, None, ("2.5", "")),
        (1e-12, 1e-14, ("1e-12", "1e-14")), (0.0999, 0.00999, ("0.0999", "0.0100")),
    ],
)  # fmt: skip
def test_an_estimate_has_the_digits_that_its_interval_supports(value: float, half_width: float | None, texts: tuple[str, str]) -> None:
    assert estimate(value, half_width) == texts


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e3))
def test_rounding_moves_an_estimate_by_less_than_a_tenth_of_its_half_width(value: float, half_width: float) -> None:
    shown, half = estimate(value, half_width)
    assert abs(float(shown) - value) <= 0.1 * half_width
    assert float(half) == pytest.approx(half_width, rel=0.051)


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (Fraction(18, 100), TIME, "180 ms"), (90, TIME, "90 s"), (3600, TIME, "1 h"),
        (60, TIME, "1 min"), (600, TIME, "10 min"), (5400, TIME, "90 min"), (59294, TIME, "16.4706 h"), (100, TIME, "100 s"),
        (0, TIME, "0 s"),
        (Fraction(1, 3), TIME, "333.333 ms"),
        (0.012000000000000002, TIME, "12 ms"), (0.9, RATE, "0.9/s"), (1000, RATE, "1000/s"), (Fraction(1, 7200), RATE, "12/d"),
        (Fraction(975, 10) * 2**20, DATA, "97.5 MiB"), (10**6, DATA, "1 MB"), (1024, DATA, "1 KiB"), (8, DATA, "8 B"),
        (Fraction(10**10, 8), BANDWIDTH, "10 Gbit/s"), (math.inf, TIME, "inf s"), (Fraction(1, 4), NUMBER, "0.25"), (2.0, NUMBER, "2"),
        (Fraction(1, 3), NUMBER, "1 / 3"), (Fraction(1000001, 3), NUMBER, "333334"),
        (2.5, Dimension(time=Fraction(2)), "2.5 s^2"),
    ],
)  # fmt: skip
def test_inputs_get_the_unit_in_which_they_are_shortest(value: Fraction | float, dimension: Dimension, text: str) -> None:
    assert quantity(value, dimension) == text


@given(st.sampled_from(sorted(UNITS, key=str)), st.fractions(Fraction(1, 10**9), 10**12, max_denominator=10**9))
def test_a_quantity_reads_back(dimension: Dimension, value: Fraction) -> None:
    text = quantity(value, dimension)
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/ ")
    assert float(digits) * UNITS[dimension][text[len(digits) :].strip()] == pytest.approx(float(value), rel=6e-6)


@given(st.integers(1, 999), st.sampled_from(["ms", "s", "us"]))
def test_short_quantities_are_exact(n: int, unit: str) -> None:
    value = n * Fraction(str(UNITS[TIME][unit]))
    assert is_short(value, TIME)
    assert not is_short(value * (1 + Fraction(1, 3 * 10**8)), TIME)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0.4 ms"), (0.5, "500 ms"), (0.9997, "1.0 s"), (3, "3.0 s"), (59.96, "1 min 0 s"), (65, "1 min 5 s"), (4000, "1 h 6 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_words_around_numbers() -> None:
    assert (count(1, "place"), count(1771, "marking"), count(2, "class", "classes")) == ("1 place", "1,771 markings", "2 classes")
    assert (percent(0.745), percent(0.745, 2)) == ("74.5 %", "74 %")
    assert [with_unit("4", u) for u in ("1/s", "/s", "ms", "")] == ["4/s", "4/s", "4 ms", "4"]


@pytest.mark.parametrize(
    ("values", "dimension", "unit", "size"),
    [
        ([60, 300, 1200], TIME, "min", 60), ([0.001, 0.5], TIME, "ms", 0.001), ([1.25e8, 1.25e9], BANDWIDTH, "Gbit/s", 1.25e8),
        ([2, 4], RATE, "1/s", 1), ([1, 2], NUMBER, "", 1), ([0], TIME, "s", 1), ([math.inf], TIME, "s", 1),
        ([2.5], Dimension(time=Fraction(2)), "s^2", 1),
    ],
)  # fmt: skip
def test_values_of_a_sweep_share_a_unit(values: list[float], dimension: Dimension, unit: str, size: float) -> None:
    assert common_unit(values, dimension) == (unit, pytest.approx(size))
