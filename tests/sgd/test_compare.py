"""Comparisons: exact points against mean value analysis, bookkeeping, errors, interruption."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

import spn.sgd.compare as module
from spn.errors import AnalysisError, SpnError
from spn.sgd.compare import Row, compare, saturation

ROOT = Path(__file__).resolve().parents[2]
CENTRAL = ROOT / "models/basics/central_server.spn"
SHARED_LINK = ROOT / "models/basics/shared_link.spn"


def mva(customers: int, think: float, service: float) -> float:
    """Throughput of a delay and one single-server station (Reiser and Lavenberg's recursion)."""
    queue = rate = 0.0
    for n in range(1, customers + 1):
        response = service * (1 + queue)
        rate = n / (think + response)
        queue = rate * response
    return rate


def test_exact_points_equal_mean_value_analysis():
    found = compare([CENTRAL], ("customers", range(1, 9)), measure="rate")
    assert [r.at for r in found.rows] == list(range(1, 9))
    for r in found.rows:
        right = mva(int(r.at), 1, 0.5)
        assert r.method == "ctmc" and r.half_width is None
        assert r.value == pytest.approx(right, rel=1e-9)
        assert r.efficiency == pytest.approx(right / r.at / mva(1, 1, 0.5), rel=1e-9)


def test_simulated_points_are_the_same_for_any_number_of_threads():
    one, two = (
        compare([SHARED_LINK], ("jobs", [1, 2, 3]), measure="rate", method="simulate", seed=7, precision=0.05, workers=w) for w in (1, 2)
    )
    assert [r.value for r in one.rows] == [r.value for r in two.rows]
    assert {r.method for r in one.rows} == {"simulate"}
    assert all(r.half_width is not None and r.half_width <= 0.05 * r.value for r in one.rows)


def test_a_seed_is_reported_even_when_none_was_given():
    first = compare([SHARED_LINK], ("jobs", [2]), measure="rate", method="simulate", precision=0.05)
    again = compare([SHARED_LINK], ("jobs", [2]), measure="rate", method="simulate", precision=0.05, seed=first.seed)
    assert first.rows[0].value == again.rows[0].value


def test_a_parameter_goes_to_the_models_that_have_it(tmp_path: Path):
    other = tmp_path / "other.spn"
    text = CENTRAL.read_text().replace("param customers", "param think_time : number = 1\nparam customers")
    other.write_text(text.replace("exp(mean = 1)", "exp(mean = think_time)"))
    found = compare([CENTRAL, other], ("customers", [4]), measure="rate", parameters={"think_time": 3})
    assert [r.value for r in found.rows] == pytest.approx([mva(4, 1, 0.5), mva(4, 3, 0.5)], rel=1e-9)


def test_files_of_one_name_are_told_apart():
    found = compare([CENTRAL, CENTRAL], ("customers", [1]), measure="rate")
    assert len(set(found.mechanisms)) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"over": ("custmers", [1])}, "did you mean customers"),
        ({"measure": "rat"}, "did you mean rate"),
        ({"parameters": {"customer": 1}}, "did you mean customers"),
        ({"over": ("customers", [])}, "no value"),
        ({"over": ("customers", [0.5])}, "whole"),
    ],
)
def test_wrong_requests_say_what_is_wrong(arguments, message):
    with pytest.raises(SpnError, match=message):
        compare([CENTRAL], **{"over": ("customers", [1, 2]), "measure": "rate", **arguments})


def test_no_models_is_an_error():
    with pytest.raises(SpnError, match="no model"):
        compare([], ("customers", [1]))


def test_an_interruption_keeps_what_was_done(monkeypatch: pytest.MonkeyPatch):
    calls = []
    solve = module.solve

    def interrupted(model, **options):
        calls.append(model)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return solve(model, **options)

    monkeypatch.setattr(module, "solve", interrupted)
    found = compare([CENTRAL], ("customers", range(1, 9)), measure="rate", workers=1)
    assert not found.complete
    assert 1 <= len(found.rows) < 8
    assert all(r.value == pytest.approx(mva(int(r.at), 1, 0.5)) for r in found.rows)


def test_an_interruption_before_the_first_point_is_an_error(monkeypatch: pytest.MonkeyPatch):
    def interrupted(model, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "solve", interrupted)
    with pytest.raises(AnalysisError, match="interrupted"):
        compare([CENTRAL], ("customers", [1]), measure="rate", workers=1)


def test_an_interruption_does_not_wait_for_an_exact_solution(monkeypatch: pytest.MonkeyPatch):
    """One job is interrupted while another, which cannot be stopped, goes on for as long as it is let."""
    begun, released = Event(), Event()

    def solve(model, **options):
        if not begun.is_set():
            begun.set()
            released.wait(30)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "solve", solve)
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    try:
        with pytest.raises(AnalysisError, match="interrupted"):
            compare([CENTRAL], ("customers", [1, 2]), measure="rate", workers=2)
        assert not released.is_set()
    finally:
        released.set()


@pytest.mark.parametrize(
    ("models", "over"),
    [(CENTRAL, ("customers", [1])), ([CENTRAL], "customers"), ([CENTRAL], ("customers", 3)), ([CENTRAL], {"customers": [1]})],
)
def test_arguments_of_a_wrong_kind_are_named(models, over):
    with pytest.raises(TypeError, match=r"models|over"):
        compare(models, over, measure="rate")


def rows(values: dict[float, float]) -> list[Row]:
    return [
        Row(mechanism="m", at=at, value=v, half_width=None, confidence=None, unit="", unit_factor=1.0, method="ctmc", reason="")
        for at, v in values.items()
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({1: 10, 2: 20, 3: 30, 4: 40}, None),
        ({1: 10, 2: 20, 3: 30, 4: 31, 5: 31.5}, 3),
        ({1: 10, 2: 19, 4: 23, 8: 24}, 2),  # gains of 9, 2 and 0.25 a worker: below 2.5 from 2 on
        ({2: 20, 4: 40, 8: 41}, 4),
        ({1: 10, 2: 20, 3: 21.9, 4: 31, 5: 40}, None),  # a dip of noise is no bend
        ({1: 10}, None),
        ({0: 0, 1: 10}, None),
    ],
)
def test_saturation(values, expected):
    assert saturation(rows(values)) == expected


REPAIR = """
param machines : count = 2 in 1..8
param pause : time = 1 min
place up = machines
place down
timed fail   : up -> down ~ exp(mean = pause) servers inf
timed repair : down -> up ~ exp(mean = 1 min)
measure repairs in 1/h = throughput(repair)
measure outage = sojourn(down)
"""


def test_a_parameter_with_a_unit_is_shown_in_it_and_has_no_efficiency(tmp_path: Path):
    (tmp_path / "repair.spn").write_text(REPAIR)
    found = compare([tmp_path / "repair.spn"], ("pause", ["1 min", "90 s", "10 min"]), measure="repairs")
    assert (found.over_unit, found.over_factor, found.scaling) == ("min", 60, False)
    assert {r.efficiency for r in found.rows} == {None} and not found.saturation
    lines = repr(found).splitlines()
    assert lines[1].split() == ["pause", "[min]", "repair"]
    assert [line.split()[0] for line in lines[3:6]] == ["1", "1.5", "10"]
    assert lines[-1].startswith("repair: most at pause = 1 min: ")


@pytest.mark.parametrize(("over", "measure", "scaling"), [("machines", "repairs", True), ("machines", "outage", False)])
def test_efficiency_is_one_of_rates_over_amounts(over: str, measure: str, scaling: bool, tmp_path: Path):
    (tmp_path / "repair.spn").write_text(REPAIR)
    assert compare([tmp_path / "repair.spn"], (over, [1, 2]), measure=measure).scaling is scaling


def test_the_model_that_lacks_the_parameter_is_named(tmp_path: Path):
    (tmp_path / "repair.spn").write_text(REPAIR)
    with pytest.raises(SpnError, match="central_server has no parameter machines"):
        compare([tmp_path / "repair.spn", CENTRAL], ("machines", [1]), measure="repairs")


def test_json_gives_values_in_the_units_it_names(tmp_path: Path):
    file = tmp_path / "m.spn"
    file.write_text(
        "param think : time = 1 min\nplace a = 1\ntimed t : a -> a ~ exp(mean = think)\nmeasure cycle in ms = 1 / throughput(t)\n"
    )
    found = compare([file], ("think", ["1 min", "2 min"]), measure="cycle")
    data = found.to_dict()
    assert data["unit"] == "ms" and data["over_unit"] == "min"
    assert [r["at"] for r in data["rows"]] == [1, 2]
    assert [r["value"] for r in data["rows"]] == pytest.approx([60_000, 120_000], rel=1e-9)
    assert "unit_factor" not in data["rows"][0]
