"""When an expectation passes, fails or stays open."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spn.cli.expectations import CONFIDENCE, Outcome, decide, judge
from spn.expr.nodes import Number
from spn.measure import Expectation, Throughput
from spn.model import Model
from spn.net.model import Net
from spn.result import Result, Value
from tests.cli.conftest import Run

PASS, FAIL, OPEN = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED


def expectation(op: str = "==", tolerance: float = 0.01, absolute: bool = False) -> Expectation:
    return Expectation(left=Throughput("t"), op=op, right=Number(Fraction(10)), tolerance=tolerance, absolute=absolute)


@pytest.mark.parametrize(
    ("op", "left", "right", "outcome"),
    [
        ("==", 10.099, 10, PASS), ("==", 10.101, 10, FAIL), ("==", -10.05, -10, PASS), ("==", 9.0, 10, FAIL),
        ("==", math.inf, math.inf, PASS), ("==", math.inf, 10, FAIL), ("==", math.nan, 10, FAIL), ("<=", math.nan, 10, FAIL),
        ("<=", 10, 10, PASS), ("<=", 10 + 1e-12, 10, PASS), ("<=", 10.001, 10, FAIL), (">=", 10 - 1e-12, 10, PASS), (">=", 9.999, 10, FAIL),
        ("<", 9, 10, PASS), ("<", 11, 10, FAIL), (">", 11, 10, PASS), (">", 9, 10, FAIL), (">=", math.inf, 10, PASS), ("<", 0, 0, FAIL),
    ],
)  # fmt: skip
def test_exact_values(op: str, left: float, right: float, outcome: Outcome) -> None:
    assert decide(expectation(op), left, right, None) is outcome


def test_an_absolute_tolerance_is_not_scaled() -> None:
    assert decide(expectation(tolerance=0.5, absolute=True), 1000.4, 1000, None) is PASS
    assert decide(expectation(tolerance=0.5, absolute=True), 1000.6, 1000, None) is FAIL


@pytest.mark.parametrize(
    ("op", "left", "half_width", "outcome"),
    [
        ("==", 10.0, 0.05, PASS), ("==", 10.0, 0.2, OPEN), ("==", 10.12, 0.05, PASS), ("==", 10.16, 0.05, FAIL), ("==", 12.0, 1.0, FAIL),
        ("==", 12.0, 3.0, OPEN), ("==", 10.0, math.inf, OPEN), ("<=", 9.0, 0.5, PASS), ("<=", 9.9, 0.5, OPEN), ("<=", 10.6, 0.5, FAIL),
        (">=", 11.0, 0.5, PASS), (">=", 10.1, 0.5, OPEN), (">", 9.4, 0.5, FAIL), ("<", 9.4, 0.5, PASS),
    ],
)  # fmt: skip
def test_estimates(op: str, left: float, half_width: float, outcome: Outcome) -> None:
    assert decide(expectation(op), left, 10.0, half_width) is outcome


@given(st.floats(5, 15), st.floats(0.1001, 1e6))
def test_no_equation_passes_for_being_vague(left: float, half_width: float) -> None:
    """An interval as wide as the band (0.1 each side of 10) never passes."""
    assert decide(expectation(), left, 10.0, half_width) is not PASS


@given(st.sampled_from(["<", "<=", ">", ">="]), st.floats(0, 20), st.floats(0, 10))
def test_an_order_is_decided_only_where_the_interval_lies_on_one_side(op: str, left: float, half_width: float) -> None:
    outcome = decide(expectation(op), left, 10.0, half_width)
    assert (outcome is OPEN) == (abs(left - 10) < half_width) or abs(abs(left - 10) - half_width) < 1e-9


class Estimator:
    """A method whose half-width is the precision asked for, of a value that is 10 but for a bias."""

    def __init__(self, value: float) -> None:
        self.value = value
        self.asked: list[float] = []

    def __call__(self, model: Model, *, precision: float, confidence: float, **_: Any) -> Result:
        assert confidence == CONFIDENCE
        self.asked.append(precision)
        measures = {m.name: Value(value=self.value, half_width=precision * self.value, confidence=confidence) for m in model.measures}
        return Result(method="simulate", reason="", measures=measures)


def _model(*expectations: Expectation) -> Model:
    return Model(name="m", net=Net(), expectations=expectations)


def test_a_run_goes_on_until_it_is_decided() -> None:
    close = Estimator(10.099)
    assert judge(_model(expectation()), close)[0].outcome is PASS
    assert close.asked[0] == pytest.approx(0.01 / 3) and len(close.asked) == 1
    beside = Estimator(10.1005)
    verdict = judge(_model(expectation(">=", 0.0)), beside)[0]
    assert verdict.outcome is PASS and len(beside.asked) == 1
    touching = Estimator(10.005)
    assert judge(_model(expectation(">=", 0.0)), touching)[0].outcome is PASS
    assert len(touching.asked) > 1


def test_a_run_that_cannot_decide_ends_undecided() -> None:
    vain = Estimator(10.0)
    assert judge(_model(expectation(">=", 0.0)), vain)[0].outcome is OPEN
    assert min(vain.asked) >= 1e-4


def test_only_what_is_open_is_asked_again() -> None:
    asked: list[int] = []

    def solve(model: Model, **options: Any) -> Result:
        asked.append(len(model.measures))
        return Estimator(10.0)(model, **options)

    verdicts = judge(_model(expectation(), expectation(">=", 0.0)), solve)
    assert [v.outcome for v in verdicts] == [PASS, OPEN]
    assert asked[0] == 2 and set(asked[1:]) == {1}


# --- the command ------------------------------------------------------------------------------------------------------------------


def test_a_file_that_keeps_its_word(spn: Run) -> None:
    done = spn("test", "mm1k.spn")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == "mm1k.spn: 1 passed"
    assert done.out.splitlines()[-1].split() == ["pass", "ctmc", "0.428571", "rate", "==", "3/7/s", "within", "1e-9"]


def test_an_expectation_that_fails_shows_both_sides(spn: Run) -> None:
    done = spn("test", "mm1k.spn", "-p", "room=1")
    assert done.code == 1
    assert done.out.splitlines()[0] == "mm1k.spn: 1 FAILED"
    assert "0.333333 == 0.428571" in done.out


def test_a_folder_is_summed_up_and_only_failures_are_listed(spn: Run) -> None:
    Path("more").mkdir()
    text = Path("mm1k.spn").read_text()
    Path("more/wrong.spn").write_text(text.replace("3/7", "4/7"))
    Path("more/silent.spn").write_text(text.partition("expect")[0])
    Path("more/broken.spn").write_text("place place")
    done = spn("test", ".")
    lines = done.out.splitlines()
    assert done.code == 1
    assert "mm1k.spn: 1 passed" in lines
    assert "more/silent.spn: expects nothing" in lines
    assert "more/wrong.spn: 1 FAILED" in lines
    assert any(line.startswith("more/broken.spn: ") and "error" in line for line in lines)
    assert lines[-1].startswith("4 files: 1 passed, 1 FAILED, ")
    assert "3/7" not in done.out and "4/7" in done.out
    assert "3/7" in spn("test", ".", "--verbose").out


def test_a_file_that_cannot_be_answered_is_a_failure_of_its_own_kind(spn: Run) -> None:
    Path("broken.spn").write_text("place place")
    assert spn("test", "broken.spn").code == 3


def test_verdicts_as_json(spn: Run) -> None:
    done = spn("test", "mm1k.spn", "--json")
    (record,) = json.loads(done.out)
    assert record["expectations"][0]["outcome"] == "pass"
    assert record["expectations"][0]["left"] == pytest.approx(3 / 7)
    assert record["expectations"][0]["half_width"] is None
