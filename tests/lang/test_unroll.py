"""The flat text of a model, and models without `fit`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from spn.lang import ast
from spn.lang.format import formatted as canonical
from spn.lang.parse import parse as tree
from spn.lang.pieces import nodes
from spn.lang.write import decimal
from spn.loading import formatted, load, parse, unrolled
from spn.model import Model
from spn.net.model import Timed
from spn.source import Source

from .test_docs import EXAMPLES
from .test_format import ROOT

MODELS = sorted(ROOT.glob("models/**/*.spn"))


def flat(path: Path, **params: str) -> tuple[Model, Model, str]:
    """A model, what its flat text loads to, and the text."""
    _, text = unrolled(path, params=params)
    return load(path, params=params), parse(text, name=f"{path.stem}.spn", base=path.parent), text


def assert_equal(path: Path, **params: str) -> str:
    before, after, text = flat(path, **params)
    assert after.net == before.net
    assert after.measures == before.measures
    assert after.properties == before.properties
    assert not after.parameters
    assert canonical(Source("m.spn", text)) == text
    return text


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.name)
def test_shipped_models(path: Path) -> None:
    assert_equal(path)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_of_the_manual(number: int, tmp_path: Path) -> None:
    path = tmp_path / "example.spn"
    path.write_text(EXAMPLES[number], encoding="utf-8")
    try:
        load(path)
    except Exception:
        pytest.skip("needs other files")
    assert_equal(path)


TEXT = """
param n : count = 3 in 1..9
param fast : bool = true
param r : 1/s = 2/s
param third : number = 1 / 3
param root : number = sqrt(2)
component worker(out : place, slow : number = 1) {
  place idle = 1
  timed work : idle -> out ~ exp(rate = r / slow)  when fast or #idle > n
}
place done
use worker w[i in 1..n](done, slow = i)
immediate again : n*done -> w[*].idle  weight third + root + if(fast, 1, 2)
sweep n in 1..3
measure all_idle = P(fast and #w[1].idle == 1)
measure level = E(sum(i * #w[i].idle for i in 1..n)) * (1 / r)
property safe : always #done <= n
expect level > 0 s
expect level > 0 s where n = 2
"""


def test_components_indices_and_bools(tmp_path: Path) -> None:
    path = tmp_path / "m.spn"
    path.write_text(TEXT)
    text = assert_equal(path)
    assert "place `w[3].idle` = 1" in text and "component worker" not in text
    assert "//   n = 3" in text and "sweep n in 1..3\n" in text and "// left out" in text
    text = assert_equal(path, n="5", fast="false")
    assert "`w[5].work`" in text and "when false or" in text


def test_values_are_written_exactly() -> None:
    assert decimal(Fraction(1, 3)) == "(1/3)"
    assert decimal(Fraction(125 * 10**7)) == "1.25e9"
    assert decimal(Fraction(42, 10**10)) == "4.2e-9"
    assert decimal(Fraction(2119332158, 10**10)) == "0.2119332158"
    assert Fraction(decimal(0.1)) == Fraction(0.1)
    for value in (Fraction(0), Fraction(1, 1024), Fraction(10**30 + 1), Fraction(7, 10**6), 1e-300, 1e300, 3e-7):
        assert Fraction(decimal(value)) == value


def test_freezing_a_fit(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("duration_s\n" + "\n".join(str(1 + k % 7 / 10) for k in range(60)))
    path = tmp_path / "m.spn"
    path.write_text(
        "/// File.\nplace a = 1\n/// A step.\n"
        'dist step = scale(fit("d.csv", family = lognormal), 2)  // note\n'
        'timed t : a -> a ~ fit("d.csv", family = "gamma") servers 1\nmeasure m = throughput(t)\n'
    )
    source, text = formatted(path, freeze=True)
    assert not [n for n in nodes(tree(Source("m", text))) if isinstance(n, ast.Call) and n.function.text == "fit"]
    before, after = parse(source.text, base=tmp_path), parse(text)
    for old, new in zip(before.net.transitions, after.net.transitions, strict=True):
        assert isinstance(old, Timed) and isinstance(new, Timed)
        assert type(new.law) is type(old.law) and old.law.cv() == pytest.approx(new.law.cv(), rel=1e-12)
        assert old.law.mean() == pytest.approx(new.law.mean(), rel=1e-12)
    assert not after.fits and len(before.fits) == 2
    lines = text.splitlines()
    assert lines[2].startswith('// fit("d.csv", family = lognormal): lognormal(') and "60 durations" in text
    step = next(k for k, line in enumerate(lines) if line.startswith("dist step"))
    assert lines[step - 1] == "/// A step." and lines[step].endswith("// note")
    assert tree(Source("m", text)).statements[1].doc == "A step."
