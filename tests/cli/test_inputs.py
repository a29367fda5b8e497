"""Settings, ranges, durations, shares."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spn.cli.inputs import seconds, settings, share, sweep
from spn.errors import ModelError


def test_settings_keep_their_values_as_written() -> None:
    assert settings(["workers=8", " nic = 10 Gbit/s ", "größe=a=b"]) == {"workers": "8", "nic": "10 Gbit/s", "größe": "a=b"}


@pytest.mark.parametrize("text", ["", "workers", "=8", "workers=", "8=workers"])
def test_settings_that_are_none(text: str) -> None:
    with pytest.raises(ModelError, match="name=value"):
        settings([text])


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("workers=1..4", "workers", [1, 2, 3, 4]), ("workers=3..3", "workers", [3]), ("workers=1,2,8", "workers", ["1", "2", "8"]),
        ("bw=1 Gbit/s,10 Gbit/s", "bw", ["1 Gbit/s", "10 Gbit/s"]), ("n = 1 .. 2, 8..9", "n", [1, 2, 8, 9]), ("x=-1..1", "x", [-1, 0, 1]),
        ("rho=0.5,0.9", "rho", ["0.5", "0.9"]), ("n=1,1,2", "n", ["1", "2"]),
    ],
)  # fmt: skip
def test_sweeps(text: str, name: str, values: list[int | str]) -> None:
    assert sweep(text) == (name, values)


@pytest.mark.parametrize(
    "text", ["workers", "workers=", "workers=1..", "workers=..4", "workers=4..1", "workers=1,,2", "workers=0.5..2", "n=0..999999999999"]
)
def test_sweeps_that_are_none(text: str) -> None:
    with pytest.raises(ModelError):
        sweep(text)


@given(st.integers(-1000, 1000), st.integers(0, 1000))
def test_a_range_holds_both_its_ends(first: int, length: int) -> None:
    _, values = sweep(f"n={first}..{first + length}")
    assert values == list(range(first, first + length + 1))


@pytest.mark.parametrize(("text", "value"), [("90", 90), ("1.5 s", 1.5), ("10min", 600), ("2 h", 7200), ("250 ms", 0.25), ("1e3", 1000)])
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "soon", "-1 s", "0", "5 m", "1/2 s", "1 s 2 s", "nan", "inf"])
def test_durations_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):
        seconds(text)


@pytest.mark.parametrize(("text", "value"), [("0.01", 0.01), ("1%", 0.01), ("0.5 %", 0.005), ("99.99%", 0.9999)])
def test_shares(text: str, value: float) -> None:
    assert share(text) == value


@pytest.mark.parametrize("text", ["", "0", "1", "100%", "-0.1", "nan", "much", "2", "%"])
def test_shares_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):
        share(text)


@given(st.fractions(Fraction(1, 1000), 10**6), st.sampled_from(["ms", "s", "min", "h"]))
def test_a_duration_in_any_unit(value: Fraction, unit: str) -> None:
    size = {"ms": 0.001, "s": 1, "min": 60, "h": 3600}[unit]
    assert seconds(f"{float(value):.12g} {unit}") == pytest.approx(float(value) * size, rel=1e-9)
