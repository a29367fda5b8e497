"""Loading files and texts, with parameters, fits and broken files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest

from spn.dist.families import Empirical, Exponential, Lognormal
from spn.errors import DataError, ModelError, refuse
from spn.expr.dims import BANDWIDTH, NUMBER, TIME
from spn.expr.nodes import Exact
from spn.lang.elaborate import elaborate
from spn.lang.laws import Fitted
from spn.lang.parse import parse as parse_tree
from spn.loading import load, load_parameters, parse
from spn.model import Model
from spn.net.model import Timed
from spn.source import Source

TEXT = """
param workers : count = 4 in 1..64
param nic : bytes/s = 10 Gbit/s in 1 Mbit/s..100 Gbit/s   /// not a doc
param half : time = 1 s / workers
param on : bool = true
param p : probability = 0.5
place a = if(on, workers, 0)
link up(capacity = nic)
timed t : a -> a ~ mix(p: 1 MB, 1 - p: exp(mean = 2 MB)) over up latency half
"""
TEXT = TEXT.replace("1 MB,", "det(1 MB),")


def _value(model: Model, name: str) -> Exact:
    return next(p.value for p in model.parameters if p.name == name)


# --- parameters -----------------------------------------------------------------------------------------------------------------------


def test_defaults() -> None:
    model = parse(TEXT)
    assert [_value(model, n) for n in ("workers", "nic", "half", "on", "p")] == [4, Fraction(10**10, 8), Fraction(1, 4), 1, Fraction(1, 2)]
    assert [p.kind for p in model.parameters] == ["count", "bytes/s", "time", "bool", "probability"]
    assert [p.dimension for p in model.parameters] == [NUMBER, BANDWIDTH, TIME, NUMBER, NUMBER]
    assert not any(p.given for p in model.parameters)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("workers", 8, 8),
        ("workers", "8", 8),
        ("workers", "2 * 4", 8),
        ("workers", 8.0, 8),
        ("workers", Fraction(8), 8),
        ("nic", "25 Gbit/s", Fraction(25 * 10**9, 8)),
        ("nic", 1.25e9, 1250000000),
        ("half", "250 ms", Fraction(1, 4)),
        ("half", 0.1, Fraction(1, 10)),
        ("on", "false", 0),
        ("on", False, 0),
        ("on", "1 > 2", 0),
        ("p", "30 %", Fraction(3, 10)),
        ("p", 0.3, Fraction(3, 10)),
    ],
)
def test_given_values(name: str, given: int | float | str, expected: Fraction) -> None:
    model = parse(TEXT, params={name: given})
    assert _value(model, name) == expected
    (p,) = [p for p in model.parameters if p.given]
    assert (p.name, p.text) == (name, str(given))


def test_given_values_reach_what_depends_on_them() -> None:
    model = parse(TEXT, workers=8)
    assert _value(model, "half") == Fraction(1, 8) and model.net.places[0].initial == 8


def test_numbers_of_numpy_can_be_given() -> None:
    numpy = pytest.importorskip("numpy")
    model = parse(TEXT, workers=numpy.int64(8), p=numpy.float64(0.3))
    assert _value(model, "workers") == 8 and _value(model, "p") == Fraction(3, 10)


@pytest.mark.parametrize(
    ("name", "given", "code", "says"),
    [
        ("workes", 8, "E0212", "did you mean workers?"),
        ("zzz", 8, "E0212", "there are workers, nic, half, on, p"),
        ("workers", 65, "E0401", "parameter workers = 65 is outside its range 1..64"),
        ("workers", "65", "E0401", "outside its range"),
        ("workers", -1, "E0401", "no count"),
        ("workers", 2.5, "E0401", "no count"),
        ("workers", float("nan"), "E0401", "not finite"),
        ("workers", float("inf"), "E0401", "not finite"),
        ("workers", "4 s", "E0303", "a plain number is due, found a time"),
        ("workers", "four", "E0201", "four is not declared"),
        ("workers", "4 +", "E0118", "expected an expression"),
        ("workers", "", "E0101", "expected an expression"),
        ("workers", "4; place b", "E0101", "`;`"),
        ("workers", "1/0", "E0408", "division by zero"),
        ("workers", "1e999999", "E0102", "out of range"),
        ("workers", "#a", "E0206", "cannot depend on the marking"),
        ("workers", [4], "E0212", "is given a list"),
        ("nic", "10", "E0301", "write 10 bytes/s"),
        ("nic", "10 MB", "E0303", "bytes/s is due, found a size"),
        ("nic", "1 kbit/s", "E0401", "outside its range 1 Mbit/s..100 Gbit/s"),
        ("on", "3", "E0305", "a condition is due"),
        ("on", 3, "E0401", "no bool"),
        ("p", 1.5, "E0401", "no probability"),
    ],
)
def test_wrong_values_are_refused(name: str, given: int, code: str, says: str) -> None:
    with pytest.raises(ModelError) as e:
        parse(TEXT, params={name: given})
    assert [d.code for d in e.value.diagnostics] == [code]
    assert says in str(e.value)


def test_a_parameter_without_default_must_be_given() -> None:
    text = "param n : count\nplace a = n\nimmediate t : a ->"
    assert parse(text, n=3).net.places[0].initial == 3
    with pytest.raises(ModelError, match="n has no default"):
        parse(text)


def test_parameters_named_like_the_arguments_of_parse() -> None:
    text = "param name : count = 1 param base : count = 1 param params : count = 1 place a = name + base + params immediate t : a ->"
    assert parse(text, params={"name": 2, "base": 3, "params": 4}).net.places[0].initial == 9


def test_load_parameters_lists_without_elaborating(tmp_path: Path) -> None:
    file = tmp_path / "m.spn"
    file.write_text(
        "/// The file.\n\n/// Of the ring.\nparam n : count = 4 in 1..64\nparam x : 1/s = n / 2 s\nparam y : bool\n"
        'timed t : nowhere -> ~ fit("missing.csv")\n'
    )
    n, x, y = load_parameters(file)
    assert (n.name, n.kind, n.default, n.low, n.high, n.text, n.doc) == ("n", "count", 4, 1, 64, "4", "Of the ring.")
    assert (x.kind, x.default, x.low) == ("1/s", 2, None)
    assert (y.kind, y.default) == ("bool", None)


def test_load_parameters_reports_wrong_ones(tmp_path: Path) -> None:
    file = tmp_path / "m.spn"
    file.write_text("param n : count = 4 s\nparam m : cuont = 3\n")
    with pytest.raises(ModelError) as e:
        load_parameters(file)
    assert [d.code for d in e.value.diagnostics] == ["E0303", "E0208"]


# --- files ----------------------------------------------------------------------------------------------------------------------------


def test_a_file_is_named_after_itself(tmp_path: Path) -> None:
    file = tmp_path / "ring.spn"
    file.write_text("place a = 1 immediate t : a ->")
    model = load(file)
    assert model.name == model.net.name == "ring"
    assert model.source is not None and model.source.name == str(file)


@pytest.mark.parametrize("breaks", ["\n", "\r\n", "\r"])
def test_line_breaks_of_every_system(tmp_path: Path, breaks: str) -> None:
    file = tmp_path / "m.spn"
    file.write_bytes(breaks.join(["// first", "place a = 1 // tokens", "timed t : a -> b ~ det(1 s)"]).encode())
    with pytest.raises(ModelError, match=r"m\.spn:3:16"):
        load(file)


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "m.spn"
    file.write_text("place a = 1 immediate t : a ->", encoding="utf-8-sig")
    assert load(file).net.places[0].initial == 1


def test_an_empty_file_is_an_empty_net(tmp_path: Path) -> None:
    file = tmp_path / "m.spn"
    file.write_text("")
    assert load(file).net.places == ()


def test_missing_files_name_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "async_ps.spn").write_text("")
    with pytest.raises(DataError, match=r"did you mean .*async_ps\.spn"):
        load(tmp_path / "asyncps.spn")
    with pytest.raises(DataError, match="no folder"):
        load(tmp_path / "nowhere" / "m.spn")


def test_folders_devices_and_other_encodings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder"):
        load(tmp_path)
    (tmp_path / "latin.spn").write_bytes("place a\nplace größe".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8 text: byte 0xf6 in line 2"):
        load(tmp_path / "latin.spn")
    if os.path.exists("/dev/zero"):
        with pytest.raises(DataError, match="is a device"):
            load("/dev/zero")
    with pytest.raises(DataError, match="cannot be read"):
        load("with a nul \0 in it")


def test_files_out_of_reach(tmp_path: Path) -> None:
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("permissions do not bind this user")
    file = tmp_path / "m.spn"
    file.write_text("place a")
    file.chmod(0)
    with pytest.raises(DataError, match="cannot be read"):
        load(file)


# --- laws from files ------------------------------------------------------------------------------------------------------------------


class FakeFiles:
    """Answers instead of reading."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    def fit(self, file: str, options: Mapping[str, str]) -> Fitted:
        self.asked.append(("fit", file, dict(options)))
        if file == "missing.csv":
            raise refuse(DataError, "E0801", "there is no file missing.csv")
        return Fitted(law=Exponential(rate=2.0), description="exp from 10 durations", warnings=("few durations",))

    def samples(self, file: str, options: Mapping[str, str]) -> tuple[Exact, ...]:
        self.asked.append(("samples", file, dict(options)))
        return (Fraction(1), Fraction(2))


def _elaborated(text: str, files: FakeFiles) -> Model:
    return elaborate(parse_tree(Source("m.spn", text)), name="m", given={}, resolver=files)


def test_fits_and_samples_are_asked_of_the_resolver() -> None:
    files = FakeFiles()
    model = _elaborated(
        'dist step = fit("t.json.gz", name = "aten::mm", family = auto, criterion = bic)\n'
        'place a = 1\ntimed t : a -> a ~ step\ntimed u : a -> a ~ empirical("d.csv", column = "took", unit = ms)',
        files,
    )
    t, u = model.net.transitions
    assert isinstance(t, Timed) and isinstance(u, Timed)
    assert t.law == Exponential(rate=2.0) and u.law == Empirical(values=(Fraction(1), Fraction(2)))
    assert files.asked == [
        ("fit", "t.json.gz", {"name": "aten::mm", "family": "auto", "criterion": "bic"}),
        ("samples", "d.csv", {"column": "took", "unit": "ms"}),
    ]
    assert model.fits == ("exp from 10 durations",)
    assert [(w.code, w.message) for w in model.warnings] == [("W0402", "few durations")]


def test_a_file_that_cannot_be_read_is_reported_where_it_is_named() -> None:
    with pytest.raises(ModelError) as e:
        _elaborated('place a = 1 timed t : a -> a ~ fit("missing.csv") timed u : b -> a ~ det(1 s)', FakeFiles())
    first, second = e.value.diagnostics
    assert first.code == "E0801" and first.span is not None and first.span.text == 'fit("missing.csv")'
    assert second.code == "E0201"


def test_fit_reads_files_beside_the_model(tmp_path: Path) -> None:
    pytest.importorskip("spn.fitting")
    (tmp_path / "d.csv").write_text("step_ms\n" + "".join(f"{10 + (7 * i) % 11}\n" for i in range(60)))
    file = tmp_path / "m.spn"
    file.write_text('place a = 1\ntimed t : a -> a ~ fit("d.csv", family = lognormal)\ntimed u : a -> a ~ empirical("d.csv")')
    model = load(file)
    t, u = model.net.transitions
    assert isinstance(t, Timed) and isinstance(t.law, Lognormal) and 0.010 < t.law.mean() < 0.020
    assert isinstance(u, Timed) and isinstance(u.law, Empirical)
    assert set(u.law.values) == {Fraction(10 + k, 1000) for k in range(11)}
    assert len(model.fits) == 1 and "d.csv" in model.fits[0]
