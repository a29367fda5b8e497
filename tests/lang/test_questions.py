"""Questions beyond long-run averages: what the text means, as model data."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from spn.errors import ModelError
from spn.expr.nodes import Binary, BinaryOp, Number, Tokens
from spn.loading import load, parse
from spn.measure import Average, Delay, Horizon, Passage, Quantile, Throughput
from spn.model import Model

NET = """
param k : count = 2 in 1..9  param half : count = k div 2  param pace : time = 1 s  param fast : bool = false
place a = k, b
timed t : a -> b ~ exp(mean = pace) servers inf  timed u : b -> a ~ exp(mean = if(fast, 1, 2) * pace) servers 1
"""


def body(text: str) -> object:
    return parse(f"{NET} measure x = {text}").measures[0].body


def codes(text: str) -> list[str]:
    with pytest.raises(ModelError) as e:
        parse(NET + text)
    return [d.code for d in e.value.diagnostics]


A, B = Average(Tokens("a")), Average(Binary(BinaryOp.GT, Tokens("b"), Number(Fraction(0))))


@pytest.mark.parametrize(
    ("text", "atom"),
    [
        ("P(#b > 0) at 10 s", Horizon(B, None, Fraction(10))),
        ("P(#b > 0) at pace", Horizon(B, None, Fraction(1))),
        ("P(#b > 0) at (2 * pace)", Horizon(B, None, Fraction(2))),
        ("E(#a) over 0 s..1 min", Horizon(A, Fraction(0), Fraction(60))),
        ("E(#a) total over pace..(3 s)", Horizon(A, Fraction(1), Fraction(3), True)),
        ("throughput(t) total over 0 s..1 s", Horizon(Throughput("t"), Fraction(0), Fraction(1), True)),
        ("E(time until #b > 0)", Passage(B.value)),
        ("P(time until #b > 0 <= 5 s)", Passage(B.value, within=Fraction(5))),
        ("P(time until (#b > 0) <= 5 s)", Passage(B.value, within=Fraction(5))),
        ("quantile(0.99, time until #b > 0)", Passage(B.value, quantile=Fraction(99, 100))),
        ("quantile(0.9, #a | t)", Quantile(Fraction(9, 10), Tokens("a"), "t")),
        ("quantile(0.9, #a)", Quantile(Fraction(9, 10), Tokens("a"))),
        ("E(time from t to u)", Delay("t", "u")),
        ("quantile(0.5, time from t to u)", Delay("t", "u", Fraction(1, 2))),
    ],
)
def test_what_is_asked(text: str, atom: object) -> None:
    assert body(text) == atom


def test_longer_than_is_the_complement() -> None:
    shorter = Passage(B.value, within=Fraction(5))
    assert body("P(time until #b > 0 > 5 s)") == Binary(BinaryOp.SUB, Number(Fraction(1)), shorter)


def test_a_time_binds_to_the_measure_before_it() -> None:
    found = body("1 - P(#b > 0) at 10 s / 2")
    assert found == 1 - Horizon(B, None, Fraction(10)) / 2


def test_words_of_times_are_names_elsewhere() -> None:
    text = """
    param at : time = 1 s  param over : time = 2 s  param time : time = 3 s  param where : number = 1  param total : number = 1
    place until = 1, to, always, invariant  link up(capacity = 1 MB/s)
    timed from : until, to -> always ~ min(1, 2) * 1 MB over up
    timed P : always -> until ~ exp(mean = at + over + time) servers 1
    measure x = P(#until > 0) at at + total
    measure y = E(#to) over at..over * where
    measure z = throughput(P) over time .. (4 s)
    expect x > where where total = where
    """
    model = parse(text)
    assert [m.name for m in model.measures] == ["x", "y", "z"]
    assert model.expectations[0].where == (("total", Fraction(1)),)
    assert model.net.transitions[0].transfer is not None


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("P(#b > 0) at 1 s", "number"),
        ("E(#a) total over 0 s..1 s", "s"),
        ("throughput(t) over 0 s..1 s", "1/s"),
        ("throughput(t) total over 0 s..1 s", "number"),
        ("E(time until #b > 0)", "s"),
        ("quantile(0.5, #a)", "number"),
        ("E(time from t to u)", "s"),
    ],
)
def test_dimensions(text: str, dimension: str) -> None:
    assert str(parse(f"{NET} measure x = {text}").measures[0].dimension) == dimension


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("measure x = P(#b > 0) at 10", "E0301"),
        ("measure x = P(#b > 0) at 10 MB", "E0303"),
        ("measure x = P(#b > 0) at #a * 1 s", "E0122"),
        ("measure x = P(#b > 0) at (#a * 1 s)", "E0206"),
        ("measure x = P(#b > 0 | t) at 10 s", "E0220"),
        ("measure x = P(time until #b > 0)", "E0220"),
        ("measure x = P(time until #b > 0 < 5 s)", "E0220"),
        ("measure x = E(time until #b > 0 <= 5 s)", "E0220"),
        ("measure x = E(time until #b)", "E0305"),
        ("measure x = E(time until #c > 0)", "E0201"),
        ("measure x = E(time from t to v)", "E0201"),
        ("measure x = E(time until #b > 0) at 5 s", "E0220"),
        ("measure x = sojourn(time until #b > 0)", "E0207"),
        ("measure x = quantile(#a)", "E0207"),
        ("measure x = quantile(1.5, #a)", "E0420"),
        ("measure x = quantile(1 s, #a)", "E0303"),
        ("measure x = P(#b > 0) over 3 s..1 s", "E0420"),
        ("measure x = P(#b > 0) at (0 s - 1 s)", "E0420"),
        ("measure x = P(#b > 0) at (1 s / 0)", "E0408"),
        ("param y : number = P(#b > 0) at 10 s", "E0220"),
        ("property p : always #a", "E0305"),
        ("property p : always #c > 0", "E0201"),
        ("property p : invariant #a + #b", "E0221"),
        ("property p : home(#a > 1, #b > 1)", "E0221"),
        ("property p : live(1)", "E0221"),
        ("property p : livee", "E0221"),
        ("property p : live property p : bounded", "E0202"),
        ("property p : always P(#a > 0) > 0.5", "E0204"),
        ("sweep n in 1..3", "E0222"),
        ("sweep a in 1..3", "E0222"),
        ("sweep k in 3", "E0222"),
        ("sweep k in 1..3, k in 1..3", "E0222"),
        ("sweep pace in 1 s..3 s", "E0222"),
        ("sweep pace in [1, 2 s]", "E0301"),
        ("sweep k in 1..30", "E0401"),
        ("sweep k in [1.5]", "E0401"),
        ("sweep k in 3..1", "E0421"),
        ("sweep k in 1..10^12", "E0421"),
        ("param p2 : number = 1 sweep p2 in 1..1000, k in 1..9, half in 1..100", "E0421"),
        ("expect throughput(t) < 1/s where n = 3", "E0222"),
        ("expect throughput(t) < 1/s where k = 3, k = 4", "E0222"),
        ("expect throughput(t) < 1/s where k = 3 s", "E0303"),
        ("expect throughput(t) < 1/s where k = 30", "E0401"),
        ("expect throughput(t) < 1/s where t = 3", "E0222"),
    ],
)
def test_what_is_refused(text: str, code: str) -> None:
    assert code in codes(text)


# --- properties and sweeps ------------------------------------------------------------------------------------------------------------


def test_properties() -> None:
    text = """
    /// What must hold.
    property safe : always not (#a > k)
    property token : invariant #a + #b == k  property l : live
    property q : leads(#a == 1, #b == 1)
    """
    found = {p.name: p for p in parse(NET + text).properties}
    assert found["safe"].doc == "What must hold." and found["safe"].text == "always not (#a > k)"
    assert found["token"].conditions == (Tokens("a") + Tokens("b"), Number(Fraction(2)))
    assert (found["l"].claim, found["l"].conditions) == ("live", ())
    assert len(found["q"].conditions) == 2


def points(text: str, **given: object) -> list[tuple[float, ...]]:
    (sweep,) = parse(NET + text, params=given).sweeps  # type: ignore[arg-type]
    return [tuple(float(v) for v in p) for p in sweep.points]


def test_a_sweep_is_the_product_and_its_last_axis_changes_fastest() -> None:
    assert points("sweep k in 1..2, pace in [1 s, 1 min]") == [(1, 1), (1, 60), (2, 1), (2, 60)]
    assert points("sweep fast in [true, false]") == [(1,), (0,)]


def test_an_axis_may_depend_on_those_before_it() -> None:
    assert points("sweep k in [2, 4], half in 1..half") == [(2, 1), (4, 1), (4, 2)]
    assert points("sweep k in 1..3, half in [k, 2 * k]") == [(1, 1), (1, 2), (2, 2), (2, 4), (3, 3), (3, 6)]
    assert points("sweep k in [2, 4], half in 1..half", half=3) == [(2, 1), (2, 2), (2, 3), (4, 1), (4, 2), (4, 3)]


def test_to_be_swept_is_no_use() -> None:
    model = parse(f"{NET} param idle : count = 1 sweep idle in 1..3")
    assert "idle" in [w.span.text for w in model.warnings if w.code == "W0202" and w.span]


# --- variants -------------------------------------------------------------------------------------------------------------------------


def test_a_variant_is_the_model_with_other_values(tmp_path: Path) -> None:
    path = tmp_path / "net.spn"
    path.write_text(NET)
    for model in (load(path, pace="3 s"), parse(NET, pace=3)):
        assert model.variant is not None
        other = model.variant({"k": Fraction(5)})
        assert [float(p.value) for p in other.parameters] == [5, 2, 3, 0]
        assert other.net.places[0].initial == 5 and model.net.places[0].initial == 2
        assert other.variant is not None and other.variant({"k": Fraction(1)}) == model.variant({"k": Fraction(1)})
    with pytest.raises(ModelError):
        model.variant({"k": Fraction(50)})


def test_a_net_built_by_hand_has_no_variants() -> None:
    assert Model(name="m", net=parse(NET).net).variant is None
