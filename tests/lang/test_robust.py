"""Whatever the text, a model or a diagnostic comes out: no other exception, no endless work."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.errors import ModelError, SpnError, render
from spn.lang.scan import tokens
from spn.loading import parse

from .test_language import SGD

EVERYTHING = """
param limit : count = 4 in 1..9  param mu : 1/s = 2/s  place a = 2 capacity 10, b, c, cfg, full, `late one`, e, x, gpu
dist work = mix(0.9: shift(erlang(4, mean = 12 ms), 1 ms), 10 %: scale(uniform(0 s, 2 s), 1.5))
link up(capacity = 10 Gbit/s)  link nic(capacity = 1 GB/s)
timed t : 2*a, b, ?cfg, !3*full, flush `late one` -> c, 2*e  ~ exp(rate = mu * #c)  when #x < limit and not (#e == 2)
  servers 3  memory resume  speed #gpu / 2  scaled 1 + #x  priority 2  weight 5  resets u, s
timed s : a -> b  ~ 97.5 MiB over up, nic  share 2  cap 1 Gbit/s  latency 1 ms   /* a transfer */
timed u : a -> ~ work servers inf
timed v : c -> c ~ ph([1, 0], [[-2/s, 1/s], [0, -3/s]])
immediate go : min(#b, limit)*b, (#c + 1)*c -> limit*a  weight if(#x > 2, 1, #x + 1)  priority 2
measure r in 1/min = throughput(t) / utilisation(v) + E(#a | t) / s
measure q in % = P(#a >= 2 | s)  // and more
expect r + sojourn(a) * 3/s^2 == 12.345/s within abs 1e-3/s
expect q <= 100 %
"""
COMPOSED = """
param n : count = 3 in 1..9  param size : bytes = 1 MB  param on : bool = true
place arrived, other[i in 1..n] = i capacity n + 1
link nic[i in 1..n](capacity = i * 1 Gbit/s)  link up(capacity = 1 Gbit/s)
dist step = erlang(2, mean = 3 ms)
component cell(k : count, out : place) { place p = k, q[j in 1..k]  immediate all : q[*], k*p -> out weight k }
component worker(arrived : place, up : link, step : dist, go : transition, slow : number = 1, k : count = 2) {
  place idle = 1, done
  dist mine = scale(step, slow)
  use cell c[j in 1..k](j, done)
  timed work : idle -> c[1].p, done ~ mine  when sum(#c[j].p for j in 1..k) < 9
  if slow > 1 { timed send : done -> arrived ~ size over up } else { timed send : done -> arrived ~ size over up latency 1 ms }
  for j in 1..k { timed move[j] : done -> c[j mod k + 1].q[1] ~ exp(mean = j * 1 s) }
  join go : c[k].p -> idle when #idle == 0 resets work
}
use worker w[i in 1..n](arrived, up, step, go, slow = i)
use worker x(other[1], nic[2], exp(mean = 1 s), go, k = n)
timed go : n*arrived -> w[*].idle, x.c[*].p ~ det(1 s)  resets w[*].work, x.move[1]
for i in 1..n { timed relay[i] : other[i] -> other[i mod n + 1] ~ size over nic[i] }
if n > 1 and on { place spare } else if n == 1 { place only } else { immediate none : arrived -> }
measure ahead = E(max(#other[i] for i in 1..n) - min(#w[i].idle for i in 1..n) | go)
measure rate = sum(throughput(w[i].work) for i in 1..n) + throughput(x.c[2].all)
measure busy = P(any(all(#w[i].c[j].p > 0 for j in 1..2) for i in 1..n)) + utilisation(nic[1])
expect rate > 0 / 1 s
"""
ASKED = """
param n : count = 3 in 1..9  param half : count = n div 2  param t0 : time = 2 s
place a = n, b  timed t : a -> b ~ exp(mean = t0) servers inf  immediate u : b -> a when #b > 1
measure m1 = P(#a == n) at 10 s / E(#a) over t0..(2 * t0)
measure m2 in ms = 3 * E(time until #a < half and #b > 0) + quantile(0.99, time until #b > 0)
measure m3 = P(time until #a < 1 <= 5 s) + throughput(t) total over 0 s..10 s + quantile(0.9, #a | t)
measure m4 = E(time from t to u)
property safe : always #a + #b <= n  property l : live  property h : home(#a == 2)  property q : leads(#a == 1, not (#b > 1))
property token : invariant #a + 2 * #b - #b == n  property f : deadlock_free
sweep n in 1..3, half in [1, n], t0 in [1 s, 1 ms]
expect m1 == 12.345 within abs 1e-6 where n = 8, t0 = 1 min
"""
MODELS = Path(__file__).resolve().parents[2] / "models"
TEXTS = [SGD, EVERYTHING, ASKED, COMPOSED, COMPOSED, *(p.read_text(encoding="utf-8") for p in sorted(MODELS.rglob("*.spn"))[:12])]
PIECES = [
    *"()[]{},:=~#?!|*/^%+-<>.`\"'\\\x00\n\t",
    "->", "..", "==", "/*", "*/", "//", "///", "1e999999", "10^10^10", "0", "-1", "1e-400", "s", "MiB", "%",
    "param", "place", "timed", "immediate", "measure", "expect", "dist", "link", "units none", "component", "for", "if", "if(",
    "in", "else", "use", "join", "import", "as", "[*]", ".", "[i in 1..3]", "w[1].", "1..10^9", "{", "}",
    "sum(", "for i in", 'import "x.spn" as L',
    "at 1 s", "total over", "time until", "time from", "where", "property p :", "always", "sweep n in", "quantile(", "live", "leads(",
    "over", "servers inf", "weight 0", "resets", "P(", "E(", "exp(rate = ", "mix(", 'fit("x")', "a", "b", "c", "limit", "mu", "work",
    "é", "☃", "٣", "ﬁ", "\u202e", "𝔞",
]  # fmt: skip


def mutated(rng: random.Random, text: str) -> str:
    """A text with some tokens dropped, doubled, swapped or replaced, or cut anywhere."""
    for _ in range(rng.randint(1, 6)):
        parts = [t for t in tokens(text, 0) if t.text]
        if not parts:
            return text
        one, two = rng.choice(parts), rng.choice(parts)
        match rng.randrange(6):
            case 0:
                text = text[: one.start] + text[one.end :]
            case 1:
                text = text[: one.start] + one.text + " " + text[one.start :]
            case 2:
                text = text[: one.start] + two.text + text[one.end :]
            case 3:
                text = text[: one.start] + rng.choice(PIECES) + text[one.end :]
            case 4:
                text = text[: one.start] + " " + rng.choice(PIECES) + " " + text[one.start :]
            case 5:
                at = rng.randrange(len(text))
                text = text[:at] if rng.random() < 0.2 else text[:at] + rng.choice(PIECES) + text[at + 1 :]
    return text


def answered(text: str) -> bool:
    """Is the text a model? If not, its diagnostics must be complete and printable."""
    try:
        parse(text, name="m.spn")
    except SpnError as e:
        assert e.diagnostics
        for d in e.diagnostics:
            assert d.code.startswith("E") and d.message and "\n" not in d.message
            assert d.span is None or 0 <= d.span.start <= d.span.end <= len(d.span.source.text)
            assert render(d)
        return False
    return True


def test_the_texts_are_models() -> None:
    assert all(answered(text) for text in TEXTS)


@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_mutated_files(seed: int) -> None:
    rng = random.Random(seed)
    models = sum(answered(mutated(rng, rng.choice(TEXTS))) for _ in range(100))
    assert models < 60  # most mutations must break something


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*PIECES, "1", "2", "=", "a", " "]), max_size=30), st.sampled_from(["", " "]))
def test_any_soup_of_pieces(pieces: list[str], between: str) -> None:
    answered(between.join(pieces))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    answered(text)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=20))
def test_any_name_in_backquotes(name: str) -> None:
    answered(f"place `{name}` = 1 timed `{name}` : `{name}` -> `{name}` ~ det(1 s)")


# --- size and depth --------------------------------------------------------------------------------------------------------------------

DEEP = [
    ("parentheses", "param x : number = " + "(" * 2_000 + "1" + ")" * 2_000, None),
    ("very many parentheses", "param x : number = " + "(" * 3_000_000 + "1" + ")" * 3_000_000, "E0103"),
    ("signs", "param x : number = " + "-" * 50_000 + "1", "E0103"),
    ("negations", "param x : bool = " + "not " * 50_000 + "true", "E0103"),
    ("powers", "param x : number = " + "1^" * 50_000 + "1", "E0103"),
    ("conditionals", "param x : number = " + "if(true, " * 5_000 + "1" + ", 2)" * 5_000, "E0103"),
    ("calls", "param x : number = " + "abs(" * 5_000 + "1" + ")" * 5_000, "E0103"),
    ("laws", "dist x = " + "scale(" * 5_000 + "det(1 s)" + ", 2)" * 5_000, "E0103"),
    ("laws within the limit of expressions", "dist x = " + "scale(" * 60 + "det(1 s)" + ", 2)" * 60, "E0409"),
    ("lists", "dist x = empirical(" + "[" * 5_000 + "1 s" + "]" * 5_000 + ")", "E0103"),
    ("unclosed parentheses", "param x : number = " + "(" * 2_000, "E0105"),
    ("loops", "for i in 1..2 { " * 5_000 + "}" * 5_000, "E0103"),
    ("branches", "if true { " * 5_000 + "}" * 5_000, "E0103"),
    ("else after else", "if true { } " + "else if true { } " * 5_000, "E0103"),
    ("unclosed braces", "component c { " * 500, "E0105"),
    ("closing braces", "}" * 5_000, "E0105"),
    ("steps of a path", "immediate t : " + "w[1]." * 20_000 + "p ->", "E0201"),
    ("indices in indices", "immediate t : " + "w[" * 5_000 + "1" + "]" * 5_000 + " ->", "E0103"),
    ("sums in sums", "param x : number = " + "sum(" * 5_000 + "1" + " for i in 1..2)" * 5_000, "E0103"),
    ("recursion", "component a { use b x } component b { use a x[i in 1..10^9] } use a y", "E0230"),
    ("mixed operators", "param x : number = " + " ".join("1 + 2 * 3 ^ 2 -" for _ in range(3000)) + " 1", None),
]


@pytest.mark.parametrize(("text", "code"), [(t, c) for _, t, c in DEEP], ids=[n for n, _, _ in DEEP])
def test_deep_nesting(text: str, code: str | None) -> None:
    if code is None:
        assert parse(text).source is not None
        return
    with pytest.raises(ModelError) as e:
        parse(text)
    assert code in [d.code for d in e.value.diagnostics]


@pytest.mark.parametrize("depth", [99, 100])
def test_the_deepest_expressions_pass(depth: int) -> None:
    inner = "abs(" * (depth - 2) + "#a + 1" + ")" * (depth - 2)
    model = parse(f"place a = 1 timed t : a -> a ~ exp(rate = 1/s) speed {inner}")
    assert hash(model.net.transitions[0]) == hash(model.net.transitions[0]) and repr(model.net)


@pytest.mark.parametrize("joined", [" + ", " * ", " - "])
def test_long_chains_are_not_deep(joined: str) -> None:
    places = [f"p{i}" for i in range(3000)]
    text = f"place {', '.join(places)} timed t : p0 -> p0 ~ exp(rate = 1/s) speed {joined.join('#' + p for p in places)}"
    assert len(parse(text).net.places) == 3000


def test_long_conditions_are_not_deep() -> None:
    text = f"place a = 1 immediate t : a -> when {' or '.join(f'#a == {i}' for i in range(2, 3000))}"
    assert parse(text).net.transitions[0].guard is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1e999999", "E0102"),
        ("1e-999999", "E0102"),
        ("9" * 10_000, "E0102"),
        ("1e99999999999999999999", "E0102"),
        ("10^10^10", "E0408"),
        ("2^(10^9)", "E0408"),
        ("(-2)^(10^10^10)", "E0408"),
        ("exp(1000)", "E0408"),
        ("sqrt(10^400)", "E0408"),
        ("10^400 * 0.1^2", "E0408"),
        ("ln(0)", "E0408"),
        ("sqrt(-1)", "E0408"),
        ("0^-1", "E0408"),
        ("(-8)^(1/3)", "E0408"),
        ("1 mod 0", "E0408"),
    ],
)
def test_numbers_out_of_range(text: str, code: str) -> None:
    with pytest.raises(ModelError) as e:
        parse(f"param x : number = {text}")
    assert [d.code for d in e.value.diagnostics] == [code]


def test_numbers_that_would_double_in_length_stay_bounded() -> None:
    lines = ["param x0 : number = 1 + 1 / 3^10"] + [f"param x{i} : number = x{i - 1} * x{i - 1}" for i in range(1, 17)]
    lines += [f"param y{i} : number = x16 * {f'y{i - 1}' if i else '0'}" for i in range(60)]
    value = next(p.value for p in parse("\n".join(lines)).parameters if p.name == "x16")
    assert float(value) == pytest.approx(math.exp(2**16 * math.log1p(3.0**-10)), rel=1e-9)


def test_measures_that_would_double_in_size_are_refused() -> None:
    lines = ["place a = 1 timed t : a -> a ~ det(1 s)", "measure m0 = throughput(t)"]
    lines += [f"measure m{i} = m{i - 1} + m{i - 1}" for i in range(1, 60)]
    with pytest.raises(ModelError) as e:
        parse("\n".join(lines))
    assert {d.code for d in e.value.diagnostics} == {"E0409"}


def test_measures_in_a_long_line_are_refused_before_they_are_deep() -> None:
    lines = ["place a = 1 timed t : a -> a ~ det(1 s)", "measure m0 = throughput(t)"]
    lines += [f"measure m{i} = m{i - 1} + 1/s" for i in range(1, 1000)]
    with pytest.raises(ModelError) as e:
        parse("\n".join(lines))
    assert {d.code for d in e.value.diagnostics} == {"E0409"}


def test_very_many_errors_are_found_in_one_run() -> None:
    lines = [f"place p{i}\nimmediate t{i} : q{i} -> p{i}" for i in range(2000)]
    with pytest.raises(ModelError) as e:
        parse("\n".join(lines))
    assert len(e.value.diagnostics) == 2000


def test_very_many_syntax_errors_stop_at_some_point() -> None:
    with pytest.raises(ModelError) as e:
        parse("place a b\n" * 2000)
    assert 10 <= len(e.value.diagnostics) <= 50
