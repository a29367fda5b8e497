"""The formatter: same meaning, same comments, stable; and trees as text."""

from __future__ import annotations

import dataclasses
import inspect
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.errors import ModelError
from spn.lang import ast
from spn.lang.format import WIDTH, formatted
from spn.lang.parse import parse
from spn.lang.pieces import pieces
from spn.lang.write import RULES, written
from spn.source import Source

from .test_docs import EXAMPLES
from .test_robust import EVERYTHING
from .trees import files

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted(ROOT.glob("models/**/*.spn")) + sorted(ROOT.glob("tests/cases/nets/*.spn"))
TEXTS = {**{str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in MODELS}, "everything": EVERYTHING}
TEXTS |= {f"docs/language.md {i}": text for i, text in enumerate(EXAMPLES)}
GOLDEN = Path(__file__).parent / "golden" / "format"


def tidy(text: str) -> str:
    return formatted(Source("m.spn", text))


def tree(text: str) -> tuple[str, tuple[ast.Statement, ...]]:
    """What a text means to the later passes: everything but where it stands."""
    file = parse(Source("m.spn", text))
    return file.doc, file.statements


def comments(text: str) -> Counter[str]:
    return Counter(p.text for p in pieces(text) if p.kind == "comment")


def assert_same(text: str) -> str:
    """Format a text, check all that must hold, and give the result."""
    found = tidy(text)
    assert tree(found) == tree(text)
    assert comments(found) == comments(text)
    assert tidy(found) == found
    return found


@pytest.mark.parametrize("name", TEXTS)
def test_models_keep_their_meaning(name: str) -> None:
    assert_same(TEXTS[name])


@pytest.mark.parametrize("path", [p for p in MODELS if p.is_relative_to(ROOT / "models")], ids=lambda p: p.name)
def test_shipped_models_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert tidy(text) == text


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.in.spn")), ids=lambda p: p.name)
def test_golden(path: Path) -> None:
    expected = path.with_name(path.name.replace(".in.spn", ".out.spn")).read_text(encoding="utf-8")
    assert assert_same(path.read_text(encoding="utf-8")) == expected
    assert tidy(expected) == expected


# --- trees --------------------------------------------------------------------------------------------------------------------------


def test_every_kind_of_node_has_a_rule() -> None:
    nodes = {c for _, c in inspect.getmembers(ast, inspect.isclass) if dataclasses.is_dataclass(c) and c.__module__ == ast.__name__}
    assert nodes - {ast.Statement} == set(RULES)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(files)
def test_trees_survive(file: ast.File) -> None:
    text = written(file)
    found = parse(Source("m.spn", text))
    assert found.statements == file.statements, text
    assert found.doc == file.doc
    assert tidy(text) == text


# --- comments anywhere --------------------------------------------------------------------------------------------------------------

NOTES = ["// a", "/* b */", "/// c", "/* d\n   e */", "//", "/**/", "// f /* g", "/*\n/// h */"]
BETWEEN = ["", " ", "\n", "\n\n\n", "\t", "\r\n"[1:]]


def scattered(rng: random.Random, text: str) -> str:
    """The text with comments, line breaks and spaces between any two tokens."""
    found: list[str] = []
    for p in pieces(text):
        if p.kind == "comment":
            continue
        for _ in range(rng.choice([0, 0, 0, 0, 1, 1, 2])):
            note = rng.choice(NOTES)
            found += [rng.choice(["", " ", "\n", "\n\n"]), note, "\n" if note.startswith("//") else rng.choice(BETWEEN)]
        found += [rng.choice(BETWEEN) or " ", p.text]
    return "".join(found) + rng.choice(["", "\n", " // end", "\n/* end */"])


@pytest.mark.parametrize("seed", range(60))
def test_comments_are_kept_wherever_they_stand(seed: int) -> None:
    rng = random.Random(seed)
    text = scattered(rng, rng.choice([EVERYTHING, COMPONENTS, *list(TEXTS.values())[:20]]))
    try:
        parse(Source("m.spn", text))
    except ModelError:  # a comment inside what is one token to the grammar, such as `time until`
        return
    assert_same(text)


COMPONENTS = """
component worker(arrived : place, step : dist, slow : number = 1) { place idle = 1 place computed timed compute : idle -> computed ~ step }
use worker w[i in 1..3](arrived, step, slow = 2)
immediate go : (n + 1)*arrived, flush late -> w[*].idle, x[i mod 2 + 1]  resets w[1].compute
for i in 1..3 { timed t[i] : a[i] -> ~ det(1 s) } if n > 1 { place b } else if n > 0 { place c } else { }
measure m = sum(#w[i].idle for i in 1..3) / -max(#a, 1) + E(#a | t) ^ -2
property p : always #a + #b <= n  sweep n in 1..3, m in [1, 2]  expect m == 1 within abs 1e-3 where n = 2
"""


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sampled_from([EVERYTHING, COMPONENTS]), st.integers(20, 120), st.data())
def test_other_widths_are_stable_too(text: str, width: int, data: st.DataObject) -> None:
    import spn.lang.format as module

    before, module.WIDTH = module.WIDTH, width
    try:
        assert_same(text)
    finally:
        module.WIDTH = before


# --- what it does -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("place a=2 capacity 10,b  place  c", "place a = 2 capacity 10, b\nplace c\n"),
        ("timed t:2 * a,? b,! (3+n)* c->~exp( rate=2 / s )", "timed t : 2*a, ?b, !(3 + n)*c -> ~ exp(rate = 2/s)\n"),
        ("measure m=-a-- b+2^-c*-(d)", "measure m = -a - -b + 2^-c * -(d)\n"),
        ("measure m=8 / 3+x/s+3 s/2+1/2 s+bytes/s", "measure m = 8/3 + x / s + 3 s / 2 + 1 / 2 s + bytes/s\n"),
        ("param r:bytes * s^2/ s=1 in 0 .. 3", "param r : bytes*s^2/s = 1 in 0..3\n"),
        ("dist d=mix(90 %:a,0.1 : b)", "dist d = mix(90 %: a, 0.1: b)\n"),
        ("measure m in bytes / s=E(#a|t)\n\n\n\nplace a", "measure m in bytes/s = E(#a | t)\n\nplace a\n"),
        ("param p : bool = not(a and not b)", "param p : bool = not (a and not b)\n"),
        ("place a /* x */ place b // y\n// z", "place a\n/* x */ place b  // y\n// z\n"),
        ("", ""),
        ("\n\n// only\n\n\n", "// only\n"),
        ("place a = 1\r\nplace b\r\n", "place a = 1\nplace b\n"),
        ("if(n>1){place a}", "if (n > 1) { place a }\n"),
        ("param x:number=if(a,1,-1)", "param x : number = if(a, 1, -1)\n"),
        ("component c(){}", "component c() {}\n"),
        ("component c(){\nplace a}", "component c() {\n  place a\n}\n"),
        ("measure m=P(a)at(10 s)", "measure m = P(a) at (10 s)\n"),
        ("expect a==1 within abs(0.1)", "expect a == 1 within abs (0.1)\n"),
    ],
)
def test_spacing(text: str, expected: str) -> None:
    assert assert_same(text.replace("\r\n", "\n")) == expected


def test_the_first_example_of_the_manual_is_canonical_but_for_its_wide_gaps() -> None:
    found = tidy(EXAMPLES[0])
    assert [line.split() for line in found.splitlines()] == [line.split() for line in EXAMPLES[0].splitlines()]
    assert "timed pull    : idle     -> fetched  ~ size over up" not in found
    assert "timed compute : fetched  -> computed ~ step            servers inf" in found


def test_long_statements_are_broken_at_the_width() -> None:
    arcs = ", ".join(f"{i}*place_{i}" for i in range(40))
    found = assert_same(f"timed t : {arcs} -> {arcs} ~ exp(rate = {' + '.join(f'#place_{i}' for i in range(40))} + 1/s) servers 3")
    assert max(map(len, found.splitlines())) <= WIDTH
    assert all(line.startswith("          ") for line in found.splitlines()[1:])


def test_a_long_statement_among_short_ones_lines_up_by_its_head() -> None:
    long = "timed c_long : " + ", ".join(f"place_{i}" for i in range(20)) + " -> b ~ det(1 s)"
    found = assert_same(f"timed a : x -> yy ~ det(1 s)\n{long}\ntimed bb : xx -> y ~ det(1 s)").splitlines()
    assert found[0] == "timed a      : x  -> yy ~ det(1 s)" and found[-1] == "timed bb     : xx -> y  ~ det(1 s)"


def test_syntax_errors_are_reported() -> None:
    with pytest.raises(ModelError):
        tidy("place a b")


def test_deep_and_long_texts_are_formatted() -> None:
    assert_same("param x : number = " + "(" * 2000 + "1" + ")" * 2000)
    assert_same("param x : number = " + " + ".join(["1"] * 5000))
