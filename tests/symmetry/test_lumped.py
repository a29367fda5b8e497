"""Lumped and unlumped results are equal, whatever breaks the symmetry."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.errors import SpnError
from spn.loading import parse
from spn.result import Result
from spn.solvers import solve
from tests.symmetry.random_models import text

SAME = 1e-10


def solved(source: str, lump: str, **params) -> Result | str:
    try:
        return solve(parse(source, params=params), method="ctmc", lump=lump)
    except SpnError as error:
        return error.diagnostics[0].code


def assert_same(a: Result | str, b: Result | str) -> None:
    if isinstance(b, str) or isinstance(a, str):
        assert a == b
        return
    assert a.converged and b.converged
    for name, value in b.measures.items():
        assert same(a[name], value.value), (name, a[name], value.value)
    assert sum(c.probability for c in a.classes) == pytest.approx(sum(c.probability for c in b.classes), abs=1e-12)


def same(x: float, y: float) -> bool:
    return (math.isnan(x) and math.isnan(y)) or x == y or abs(x - y) <= SAME * max(1.0, abs(y))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_random_models(seed: int):
    source = text(seed)
    assert_same(solved(source, "auto"), solved(source, "off"))
