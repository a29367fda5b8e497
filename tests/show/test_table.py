"""Tables of results and comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from spn.report.plot import plot_comparison, plot_fit
from spn.result import Provenance, RecurrentClass, Result, Value
from spn.show.grid import Align, Column, Grid, cells_wide, plain, width
from spn.show.table import (
    classes_grid,
    comparison_grid,
    comparison_list,
    comparison_text,
    figures,
    marking_text,
    measures_grid,
    result_text,
    saturation_lines,
)

RESULT = Result(
    method="simulate",
    reason="the law of train is not phase-type",
    measures={
        "steps": Value(value=8.26994, half_width=0.0123, confidence=0.95, unit="1/s"),
        "latency": Value(value=0.18123, half_width=0.00042, confidence=0.95, unit="ms", unit_factor=0.001, note="from 4 runs"),
        "busy": Value(value=0.97, half_width=0.001, confidence=0.95),
    },
    details={"firings": 123456, "replications": 1, "warmup": 12.5, "phases": {"t": 4}, "vanishing": 0},
    seconds=0.0421,
    provenance=Provenance(version="0", model="async_ps", digest="", parameters={}, seed=7),
)


def test_columns_meet_at_the_decimal_point_and_empty_ones_vanish() -> None:
    grid = Grid(
        (Column("name"), Column("value", Align.POINT), Column("unit"), Column("n", Align.RIGHT)),
        (("a", "1.25", "", "7"), ("longer", "100", "", "1,000"), ("c", "0.5", "", "")),
    )
    assert plain(grid).split("\n") == [
        "name     value      n",
        "------  ------  -----",
        "a         1.25      7",
        "longer  100     1,000",
        "c         0.5",
    ]
    assert width(grid) == 21


def test_wide_and_combining_characters_keep_columns_straight() -> None:
    assert [cells_wide(t) for t in ("abc", "漢字", "é")] == [3, 4, 1]
    lines = plain(Grid((Column("名"), Column("x")), (("漢字", "1"), ("e\u0301", "2")))).split("\n")
    assert {cells_wide(line) for line in lines} == {7}


def test_a_table_without_rows_shows_its_head() -> None:
    assert plain(Grid((Column("a"), Column("b")), ())) == "a  b\n-  -"


def test_results_show_value_half_width_and_unit() -> None:
    assert plain(measures_grid(RESULT)).split("\n") == [
        "measure     value  95 % interval  unit  note",
        "-------  --------  -------------  ----  -----------",
        "steps      8.270        ± 0.012   /s",
        "latency  181.23         ± 0.42    ms    from 4 runs",
        "busy       0.9700       ± 0.0010",
    ]


def test_exact_results_have_no_column_for_intervals() -> None:
    exact = replace(RESULT, measures={"m": Value(value=1 / 3)})
    assert plain(measures_grid(exact)).split("\n") == ["measure     value", "-------  --------", "m        0.333333"]


def test_classes_are_listed_by_probability_with_their_measures() -> None:
    two = replace(
        RESULT,
        measures={"steps": Value(value=1.0, unit="1/min", unit_factor=1 / 60)},
        classes=(
            RecurrentClass(probability=0.25, size=1, kind="dead", marking={"stuck": 2}, measures={"steps": 0.0}),
            RecurrentClass(probability=0.75, size=1771, kind="recurrent", marking={"idle": 4}, measures={"steps": 4.0}),
        ),
    )
    grid = classes_grid(two)
    assert grid is not None
    assert plain(grid).split("\n") == [
        "ends in one of 2 classes:",
        "class      probability  markings  a marking  steps [/min]",
        "---------  -----------  --------  ---------  ------------",
        "recurrent         0.75     1,771  4*idle              240",
        "dead              0.25         1  2*stuck               0",
    ]
    assert classes_grid(RESULT) is None


def test_many_classes_are_cut_short_and_said_to_be() -> None:
    one = RecurrentClass(probability=0.01, size=1, kind="dead", marking={}, measures={})
    grid = classes_grid(replace(RESULT, measures={}, classes=(one,) * 100))
    assert grid is not None
    assert len(grid.rows) == 12
    assert grid.title == "ends in one of 100 classes, the 12 most probable of which are:"


def test_markings_name_their_non_empty_places() -> None:
    assert marking_text({"idle": 2, "busy": 1, "empty": 0}) == "2*idle + busy"
    assert marking_text({}) == "(empty)"
    assert marking_text({f"p{i}": 1 for i in range(8)}) == "p0 + p1 + p2 + p3 + p4 + 3 more"


def test_figures_of_the_method_leave_out_noughts_and_tables() -> None:
    assert figures(RESULT) == "123,456 firings, 1 replication, warmup 12.5, seed 7, 42 ms"


def test_a_result_that_did_not_converge_says_so() -> None:
    text = result_text(replace(RESULT, converged=False, notes=("look here",)))
    assert "NOT CONVERGED" in text and "note: look here" in text
    assert "NOT CONVERGED" not in result_text(RESULT)
    assert RESULT.provenance is not None
    tight = replace(RESULT, converged=False, provenance=replace(RESULT.provenance, options={"precision": 0.0014}))
    assert "NOT CONVERGED: steps, latency did not reach" in result_text(tight)


def test_a_measure_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    assert RESULT["busy"] == 0.97
    with pytest.raises(KeyError, match="no measure 'bsy'; there are steps, latency, busy"):
        RESULT["bsy"]
    assert result_text(RESULT).startswith("async_ps, simulate: the law of train is not phase-type\n")


# --- comparisons ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    mechanism: str
    at: float
    value: float
    half_width: float | None = None
    unit: str = "1/s"
    unit_factor: float = 1.0
    method: str = "ctmc"
    efficiency: float | None = None
    converged: bool = True
    seconds: float = 0.1
    confidence: float | None = 0.95


@dataclass(frozen=True)
class Comparison:
    rows: tuple[Row, ...]
    saturation: dict[str, float | None]
    over: str = "workers"
    measure: str = "steps"
    unit: str = "1/s"
    over_unit: str = ""
    over_factor: float = 1.0
    scaling: bool = True
    notes: tuple[str, ...] = ()
    complete: bool = True
    seconds: float = 1.0
    parameters: dict[str, str] = field(default_factory=dict)


COMPARISON = Comparison(
    rows=(
        Row("ring", 1, 2.5, efficiency=1.0),
        Row("ring", 2, 4.75, efficiency=0.95),
        Row("async", 1, 2.512, 0.025, method="simulate", efficiency=1.0),
        Row("async", 2, 2.9, 0.029, method="simulate", efficiency=0.577, converged=False),
    ),
    saturation={"ring": None, "async": 1.0},
)


def test_a_comparison_has_a_row_a_point_and_columns_a_mechanism() -> None:
    assert plain(comparison_grid(COMPARISON)).split("\n") == [
        "steps [/s] over workers",
        "workers  ring        eff.  async            eff.",
        "-------  ---- ----- -----  ----- --------- -----",
        "      1  2.5  exact 100 %  2.512 ± 0.025   100 %",
        "      2  4.75 exact  95 %  2.900 ± 0.029 !  58 %",
    ]


def test_the_same_comparison_as_a_list() -> None:
    lines = plain(comparison_list(COMPARISON)).split("\n")
    assert len(lines) == 2 + 4
    assert lines[2].split() == ["ring", "1", "2.5", "exact", "/s", "100", "%", "ctmc"]


def test_saturation_is_told_with_the_best_point() -> None:
    assert saturation_lines(COMPARISON) == (
        "ring: does not saturate in this range; most at workers = 2: 4.75/s",
        "async: saturates at workers = 1; most at workers = 2: 2.900 ± 0.029/s",
    )


def test_a_comparison_that_was_interrupted_says_so() -> None:
    assert "interrupted" in comparison_text(replace(COMPARISON, complete=False))
    assert "interrupted" not in comparison_text(COMPARISON)


@pytest.mark.parametrize(("suffix", "magic"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_plots_are_written_in_every_format_and_repeat_to_the_byte(suffix: str, magic: bytes, tmp_path: Path) -> None:
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    plot_comparison(COMPARISON, first)
    plot_comparison(COMPARISON, second)
    assert first.read_bytes().startswith(magic)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    "rows",
    [
        (Row("only", 4, 1.0),),
        (Row("a", 0, 0.0), Row("a", 1, 0.0)),
        (Row("a", 1, math.nan), Row("a", 2, 1.0, math.inf)),
        tuple(Row(f"m{i}", 1, float(i)) for i in range(12)),
    ],
)
def test_odd_comparisons_can_be_plotted(rows: tuple[Row, ...], tmp_path: Path) -> None:
    odd = Comparison(rows=rows, saturation={r.mechanism: r.at for r in rows})
    plot_comparison(odd, tmp_path / "odd.svg")
    assert (tmp_path / "odd.svg").stat().st_size > 1000
    assert comparison_text(odd)


def test_a_plot_shows_every_mechanism_and_the_axes_with_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from spn.report import plot

    monkeypatch.setitem(plot._STYLE, "svg.fonttype", "none")
    plot_comparison(COMPARISON, tmp_path / "p.svg")
    svg = (tmp_path / "p.svg").read_text()
    for text in ("ring", "async", "ideal scaling", "workers", "steps [1/s]", "exact", "simulated, 95 % interval", "saturation"):
        assert f">{text}</text>" in svg


def test_a_fit_is_plotted_against_its_data(tmp_path: Path) -> None:
    from spn.dist.families import Exponential

    law = Exponential(rate=10.0)
    for data in ([0.1, 0.2, 0.05, 0.3], [0.1], [0.1, 0.1]):
        plot_fit(data, law.cdf, law.quantile, tmp_path / "fit.svg", title="a law")
        assert (tmp_path / "fit.svg").stat().st_size > 1000
