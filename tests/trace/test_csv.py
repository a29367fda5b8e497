"""CSV of durations: units from the header, options where it tells none, and the line of a bad cell."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spn.errors import DataError
from spn.trace import Trace, read


def table(folder: Path, text: str) -> Path:
    path = folder / "times.csv"
    path.write_text(text, encoding="utf-8")
    return path


def nanoseconds(trace: Trace) -> list[int]:
    values: list[int] = trace.duration_ns.tolist()
    return values


@pytest.mark.parametrize(
    ("header", "scale"),
    [
        ("duration_us", 1_000),
        ("duration[ms]", 1_000_000),
        ("duration [ms]", 1_000_000),
        ("step (s)", 1_000_000_000),
        ("seconds", 1_000_000_000),
        ("Time_NS", 1),
        ("latency.µs", 1_000),
        ("run min", 60_000_000_000),
    ],
)
def test_the_unit_is_in_the_header(tmp_path: Path, header: str, scale: int) -> None:
    assert nanoseconds(read(table(tmp_path, f"{header}\n2\n1.5\n"))) == [2 * scale, max(2, round(1.5 * scale))]


@pytest.mark.parametrize(
    "text", ["a;duration_ms\nx;1\n", "a\tduration_ms\nx\t1\n", "# note\na,duration_ms\n\nx,1\n", "\ufeffa,duration_ms\r\nx,1\r\n"]
)
def test_separators_comments_and_line_ends(tmp_path: Path, text: str) -> None:
    assert nanoseconds(read(table(tmp_path, text))) == [1_000_000]


def test_columns_fill_the_table(tmp_path: Path) -> None:
    trace = read(table(tmp_path, "worker,step,op,size_bytes,duration_ms\n1,4,push,2000,3\n2,5,compute,,10\n"))
    assert trace.operations == ("push", "compute")
    assert trace.rank.tolist() == [1, 2]
    assert trace.mark_number[trace.step].tolist() == [4, 5]
    assert trace.mark_duration_ns.tolist() == [-1, -1]  # no starts, so nobody knows how long a step took
    assert trace.bytes.tolist() == [2000, -1]
    assert trace.origin.format == "CSV"


def test_start_and_end_columns_give_the_difference(tmp_path: Path) -> None:
    trace = read(table(tmp_path, "worker,start_s,end_s\n0,10.5,12\n0,13,13.25\n"))
    assert nanoseconds(trace) == [1_500_000_000, 250_000_000]
    assert trace.start_ns.tolist() == [10_500_000_000, 13_000_000_000]
    assert trace.operations == ("duration",)


def test_options_settle_what_the_file_leaves_open(tmp_path: Path) -> None:
    several = table(tmp_path, "op,sampled_s,slept_s\nf,1,2\n")
    assert nanoseconds(read(several, column="slept_s")) == nanoseconds(read(several, column="slept")) == [2_000_000_000]
    assert nanoseconds(read(table(tmp_path, "3\n4\n"), unit="ms")) == [3_000_000, 4_000_000]
    assert nanoseconds(read(table(tmp_path, "duration\n3\n"), unit="us")) == [3_000]


def test_odd_durations_are_counted(tmp_path: Path) -> None:
    trace = read(table(tmp_path, "ms\n1\n0\n-1\nnan\ninf\n"))
    assert nanoseconds(trace) == [1_000_000]
    assert {p.what: p.count for p in trace.problems} == {"duration of 0": 1, "negative duration": 1, "duration that is not finite": 2}


def test_gzipped_tables(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(b"ms\n7\n"))
    assert nanoseconds(read(path)) == [7_000_000]


@pytest.mark.parametrize(
    ("text", "options", "expected", "message"),
    [
        ("1\n2\n", {}, "E0806", "in which unit"),
        ("duration\n1\n", {}, "E0806", "names no unit"),
        ("1,2\n3,4\n", {}, "E0806", "2 columns and no header"),
        ("a_ms,b_ms\n1,2\n", {}, "E0806", "one of: a_ms, b_ms"),
        ("a,b\n1,2\n", {}, "E0806", "which column"),
        ("duration_ms\n1\n", {"column": "duration_us"}, "E0806", "did you mean duration_ms"),
        ("duration_ms\n1\n", {"unit": "fortnight"}, "E0806", "no unit of time"),
        ("duration_ms\n1\nfast\n", {}, "E0807", "line 3: 'fast' in column duration_ms"),
        ("x;duration_ms\na;1,5\n", {}, "E0807", "written with a point"),
        ("x,duration_ms\na\n", {}, "E0807", "line 2: ''"),
        ("# only\n# comments\n", {}, "E0803", "nothing but comments"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, text: str, options: dict[str, str], expected: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        read(table(tmp_path, text), **options)
    assert error.value.diagnostics[0].code == expected
