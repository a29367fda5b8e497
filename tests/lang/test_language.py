"""What the constructs of the language mean: text in, net and measures out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from spn import loading
from spn.dist.families import Deterministic, Erlang, Exponential, Lognormal, Mixture, Scaled, Shifted, Uniform
from spn.errors import ModelError
from spn.expr.dims import BANDWIDTH, NUMBER, RATE, TIME
from spn.expr.evaluate import evaluate
from spn.expr.nodes import ONE, Binary, BinaryOp, Number, Tokens, call, conditional, equal, tokens
from spn.measure import Average, Sojourn, Throughput, Utilisation
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Memory, Place, Timed, Transfer

F = Fraction
AROUND = "place a = 1  place b, c  "


def timed(text: str, before: str = AROUND) -> Timed:
    """The only transition of a model."""
    (t,) = loading.parse(before + text).net.transitions
    assert isinstance(t, Timed)
    return t


def immediate(text: str, before: str = AROUND) -> Immediate:
    (t,) = loading.parse(before + text).net.transitions
    assert isinstance(t, Immediate)
    return t


def value(expression: str, kind: str = "number", before: str = "") -> Fraction | float:
    """The value of a constant expression."""
    return loading.parse(f"{before} param result : {kind} = {expression}").parameters[-1].value


# --- the first model of the language page -------------------------------------------------------------------------------------------

SGD = """
/// Asynchronous SGD with one parameter server: four stations, the workers are tokens.
param workers : count   = 4 in 1..64          // the range serves sweeps and bounds; outside it is an error
param size    : bytes   = 97.5 MiB            // parameters, sent each way in every step
param nic     : bytes/s = 10 Gbit/s
param batch   : count   = 32

dist step  = lognormal(mean = 180 ms, cv = 0.08)
dist apply = erlang(4, mean = 12 ms)

link down(capacity = nic)                      // shared equally by the transfers on it
link up(capacity = nic)

place idle = workers
place fetched, computed, received              // 0 tokens unless said

timed pull    : idle     -> fetched    ~ size over down
timed compute : fetched  -> computed   ~ step          servers inf
timed push    : computed -> received   ~ size over up
timed update  : received -> idle       ~ apply         servers 1

measure steps    = throughput(update)
measure examples = batch * steps
measure busy     = P(#received > 0)
measure latency  = (workers - E(#idle)) / steps
expect steps == 8.27/s within 1 %              // checked by `spn test`
"""


def test_first_model_is_the_net_that_a_builder_makes() -> None:
    b = NetBuilder("sgd")
    b.link("down", 1.25e9)
    b.link("up", 1.25e9)
    b.place("idle", 4)
    for name in ("fetched", "computed", "received"):
        b.place(name)
    size = Deterministic(value=F(975, 10) * 2**20)
    step = loading.parse("dist step = lognormal(mean = 180 ms, cv = 0.08) place a=1 timed t : a -> a ~ step").net.transitions[0]
    b.timed("pull", "idle", "fetched", size, over="down")
    b.timed("compute", "fetched", "computed", step.law, servers="inf")
    b.timed("push", "computed", "received", size, over="up")
    b.timed("update", "received", "idle", Erlang(k=4, rate=4 / 0.012), servers=1)
    assert loading.parse(SGD, name="sgd.spn").net == b.build()


def test_first_model_has_its_measures() -> None:
    model = loading.parse(SGD)
    bodies = {m.name: m.body for m in model.measures}
    assert bodies["steps"] == Throughput("update")
    assert bodies["examples"] == Number(F(32)) * Throughput("update")
    assert bodies["busy"] == Average(tokens("received") > 0)
    assert bodies["latency"] == (Number(F(4)) - Average(tokens("idle"))) / Throughput("update")
    assert [m.dimension for m in model.measures] == [RATE, RATE, NUMBER, TIME]
    (e,) = model.expectations
    assert (e.left, e.op, e.right, e.tolerance, e.absolute) == (Throughput("update"), "==", Number(F(827, 100)), F(1, 100), False)
    assert model.doc.startswith("Asynchronous SGD") and model.parameters[0].doc == ""
    assert model.warnings == ()


# --- words and expressions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("-2^2", -4),
        ("2^3^2", 512),
        ("2^-1", F(1, 2)),
        ("(2 + 3) * 4", 20),
        ("7 div 2", 3),
        ("-7 div 2", -4),
        ("7 mod 4", 3),
        ("-7 mod 4", 1),
        ("10 - 4 - 3", 3),
        ("0.1 * 3 - 0.3", 0),
        ("1e-6 * 1e6", 1),
        ("5 %", F(1, 20)),
        ("if(2 > 1, 10, 20)", 10),
        ("if(1 == 1 and not 2 == 2 or false, 10, 20)", 20),
        ("true + 1", 2),
        ("(3 > 2) * 5", 5),
        ("abs(-3)", 3),
        ("floor(2.7) + ceil(2.2)", 5),
        ("min(3, 1, 2) + max(4, 6)", 7),
        ("sqrt(16)", 4),
        ("exp(0) + ln(1)", 1),
        ("3 s / 500 ms", 6),
        ("1 h / 1 min", 60),
        ("1 KiB / 1 B", 1024),
        ("1 MB / 1 Mbit", 8),
        ("sqrt(9 s * 1 s) / 1 s", 3),
        ("2 ms^2 / (2 ms * 2 ms)", 1),
        ("7 s mod 3 s / 1 s", 1),
    ],
)
def test_arithmetic(text: str, expected: Fraction) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("10 Gbit/s", "bytes/s", F(10**10, 8)),
        ("4/s", "1/s", 4),
        ("97.5 MiB", "bytes", F(975, 10) * 2**20),
        ("3 bytes", "bytes", 3),
        ("2 d + 1 h", "time", 2 * 86400 + 3600),
        ("3 us + 5 ns", "time", F(3005, 10**9)),
        ("1 kB * 2 s", "bytes*s", 2000),
        ("1 kB * 2 s", "bytes*time", 2000),
        ("true", "bool", 1),
        ("3 > 4", "bool", 0),
        ("30 %", "probability", F(3, 10)),
        ("min", "time", 60),
    ],
)
def test_units(text: str, kind: str, expected: Fraction) -> None:
    assert value(text, kind) == expected


def test_decimal_constants_are_exact() -> None:
    assert timed("param t0 : time = 0.1 s  timed t : a -> a ~ det(t0 * 3)").law == Deterministic(value=F(3, 10))


def test_later_parameters_use_earlier_ones() -> None:
    assert value("2 * n", before="param n : count = 21") == 42


def test_comments_and_new_lines_do_not_matter() -> None:
    plain = loading.parse("place a = 1 place b timed t : a -> b ~ exp(rate = 2/s) servers 3")
    spread = loading.parse("place /* here */ a\n=\n1 // tokens\nplace b\ntimed t\n : a ->\n b ~ exp(rate = 2 /* twice */ /s)\nservers\n3")
    assert plain.net == spread.net


def test_documentation_goes_to_what_follows() -> None:
    model = loading.parse("/// The file.\n/// Two lines.\n\n/// Waiting.\nplace a = 1\nplace b\n/// Serves.\ntimed t : a -> b ~ det(1 s)\n")
    assert model.doc == "The file.\nTwo lines."
    assert [p.doc for p in model.net.places] == ["Waiting.", ""]
    assert model.net.transitions[0].doc == "Serves."


KEYWORDS_ELSEWHERE = "capacity servers memory speed scaled over share cap latency within abs inf none P E exp at time restart auto"


def test_words_that_are_keywords_elsewhere_may_be_names() -> None:
    words = KEYWORDS_ELSEWHERE.split()
    text = "".join(f"param {w} : number = {i}\nplace {w} = {w} capacity {w} + 1\n" for i, w in enumerate(words))
    text += "".join(f"immediate {w} : {w}*{w} -> {w} when #{w} > 50 + {w}\n" for w in words[1:])
    model = loading.parse(text)
    assert [p.initial for p in model.net.places] == list(range(len(words)))
    assert model.net.transitions[3].arcs[0] == Arc(kind=ArcKind.INPUT, place=words[4], multiplicity=Number(F(4)))


# --- names (reports D01) -------------------------------------------------------------------------------------------------------------

NAMES = ["ma", "rate", "exp", "place", "net", "in", "inf", "e1", "1e3", "P-1", "t.1", "worker 1", "größe", "P1", "p1", "T1"]
BARE = ["ma", "rate", "exp", "net", "inf", "e1", "größe", "P1", "p1", "T1"]
DECLARED = [
    "place {0} = 1 timed t : {0} -> {0} ~ det(1 s)",
    "place a = 1 timed {0} : a -> a ~ det(1 s)",
    "param {0} : count = 1 place a = {0}",
]


@pytest.mark.parametrize("declaration", DECLARED)
@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_accepted_in_backquotes_and_given_back(name: str, declaration: str) -> None:
    assert name in _names(loading.parse(declaration.format(f"`{name}`")))


@pytest.mark.parametrize("declaration", DECLARED)
@pytest.mark.parametrize("name", NAMES)
def test_bare_names_are_accepted_or_refused_with_the_way_to_write_them(name: str, declaration: str) -> None:
    text = declaration.format(name)
    if name in BARE:
        assert name in _names(loading.parse(text))
        return
    with pytest.raises(ModelError) as e:
        loading.parse(text)
    (problem, *_) = e.value.diagnostics
    assert problem.span is not None and problem.span.text == name
    assert f"`{name}`" in problem.message and f"`{name}`" in problem.help and "backquotes" in problem.help


def _names(model: Model) -> list[str]:
    return [x.name for x in (*model.net.places, *model.net.transitions, *model.parameters)]


def test_case_tells_names_apart() -> None:
    net = loading.parse("place P1 = 1, p1 = 2  timed t : P1 -> p1 ~ det(1 s)").net
    assert net.places == (Place(name="P1", initial=1), Place(name="p1", initial=2))


def test_place_transition_and_parameter_may_share_a_name() -> None:
    model = loading.parse("param x : count = 3  place x = x  timed x : x*x -> x ~ det(1 s)  measure y = throughput(x) + E(#x)/s")
    assert model.net.places == (Place(name="x", initial=3),)
    assert model.net.transitions[0].arcs[0] == Arc(kind=ArcKind.INPUT, place="x", multiplicity=Number(F(3)))


def test_places_transitions_and_links_may_be_called_as_units() -> None:
    net = loading.parse("link h(capacity = 1 kB/s) place s = 1, ms timed min : s, 2*ms -> s ~ 3 s*kB/s over h when #s > 0").net
    assert [p.name for p in net.places] == ["s", "ms"] and net.links[0].name == "h" and net.transitions[0].name == "min"


def test_the_two_encodings_of_an_accent_are_one_name() -> None:
    net = loading.parse("place gro\u0308ße = 1 timed t : gr\u00f6ße -> gro\u0308ße ~ det(1 s)").net
    assert net.places[0].name == "gr\u00f6ße"


# --- places, links, transitions ------------------------------------------------------------------------------------------------------


def test_places() -> None:
    net = loading.parse("param n : count = 3 place a = 2*n capacity 10, b, c capacity n immediate t : a, b, c ->").net
    assert net.places == (Place(name="a", initial=6, capacity=10), Place(name="b"), Place(name="c", capacity=3))


def test_everything_a_timed_transition_can_say() -> None:
    t = loading.parse(
        """param limit : count = 4  param mu : 1/s = 2/s  place a, b, c, cfg, full, late, e, x, gpu
           timed t : 2*a, b, ?cfg, !3*full, flush late -> c, 2*e  ~ exp(rate = mu * #c)  when #x < limit
           servers 3  memory resume  speed #gpu / 2  scaled 1 + #x  priority 2  weight 5  resets u, v
           timed u : a -> ~ det(1 s)  timed v : b -> ~ det(1 s)"""
    ).net.transitions[0]
    assert t == Timed(
        name="t",
        law=Exponential(rate=1.0),
        arcs=(
            Arc(kind=ArcKind.INPUT, place="a", multiplicity=Number(F(2))),
            Arc(kind=ArcKind.INPUT, place="b"),
            Arc(kind=ArcKind.TEST, place="cfg"),
            Arc(kind=ArcKind.INHIBITOR, place="full", multiplicity=Number(F(3))),
            Arc(kind=ArcKind.FLUSH, place="late"),
            Arc(kind=ArcKind.OUTPUT, place="c"),
            Arc(kind=ArcKind.OUTPUT, place="e", multiplicity=Number(F(2))),
        ),
        guard=tokens("x") < 4,
        servers=3,
        memory=Memory.RESUME,
        speed=Number(F(2)) * tokens("c") * (tokens("gpu") / 2),
        scale=Number(F(1)) + tokens("x"),
        priority=2,
        weight=Number(F(5)),
        resets=("u", "v"),
    )


def test_immediate_transitions() -> None:
    net = loading.parse(
        """param n : count = 3  place arrived = 3, late, idle, y, x, done  timed compute : idle -> done ~ det(1 s)
           immediate go : n*arrived, flush late -> n*idle  weight #x + 1  priority 2  when #y == 0  resets compute"""
    ).net
    assert net.transitions[1] == Immediate(
        name="go",
        arcs=(
            Arc(kind=ArcKind.INPUT, place="arrived", multiplicity=Number(F(3))),
            Arc(kind=ArcKind.FLUSH, place="late"),
            Arc(kind=ArcKind.OUTPUT, place="idle", multiplicity=Number(F(3))),
        ),
        guard=equal(tokens("y"), 0),
        priority=2,
        weight=tokens("x") + 1,
        resets=("compute",),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", ONE),
        ("2*a", Number(F(2))),
        ("n*a", Number(F(3))),
        ("2*n*a", Number(F(6))),
        ("#b*a", Tokens("b")),
        ("2*#b*a", Number(F(2)) * tokens("b")),
        ("min(#b, n)*a", call("min", tokens("b"), 3)),
        ("(#b + n)*a", tokens("b") + 3),
        ("(if(#b > 1, 2, n))*a", conditional(tokens("b") > 1, 2, 3)),
    ],
)
def test_multiplicities(text: str, expected: Number) -> None:
    t = immediate(f"immediate t : {text} -> b", AROUND + "param n : count = 3 ")
    assert t.arcs[0] == Arc(kind=ArcKind.INPUT, place="a", multiplicity=expected)


def test_either_side_may_be_empty() -> None:
    net = loading.parse("place q timed arrive : -> q ~ exp(rate = 0.9/s) timed serve : q -> ~ exp(mean = 1 s)").net
    assert [[a.kind for a in t.arcs] for t in net.transitions] == [[ArcKind.OUTPUT], [ArcKind.INPUT]]


def test_servers_by_default() -> None:
    assert timed("timed t : a -> b ~ det(1 s)").servers == 1
    assert timed("link up(capacity = 1 MB/s) timed t : a -> b ~ 1 MB over up").servers == INFINITE
    assert timed("link up(capacity = 1 MB/s) timed t : a -> b ~ 1 MB over up servers 1").servers == 1
    assert timed("timed t : a -> b ~ det(1 s) servers inf").servers == INFINITE


def test_transfers() -> None:
    t = timed(
        "timed s : a -> b  ~ size over up, nic  share 2  cap 1 Gbit/s  latency 1 ms",
        AROUND + "param size : bytes = 1 MB link up(capacity = 1 GB/s) link nic(capacity = 2 GB/s) ",
    )
    assert t.transfer == Transfer(links=("up", "nic"), share=Number(F(2)), cap=F(10**9, 8), latency=F(1, 1000))
    assert t.law == Deterministic(value=F(10**6))
    assert t.transfer.span is not None and t.transfer.span.text == "up, nic  share 2  cap 1 Gbit/s  latency 1 ms"


def test_a_law_of_sizes_over_a_link() -> None:
    t = timed("dist message = exp(mean = 2 MB) link up(capacity = 1 MB/s) timed t : a -> b ~ message over up")
    assert t.law == Exponential(rate=1 / 2e6)


# --- laws ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exp(mean = 500 ms)", Exponential(rate=2.0)),
        ("exp(rate = 2/s)", Exponential(rate=2.0)),
        ("exp(rate = 120/min)", Exponential(rate=2.0)),
        ("det(0.1 s * 3)", Deterministic(value=F(3, 10))),
        ("uniform(0 s, 2 s)", Uniform(low=0.0, high=2.0)),
        ("uniform(low = 1 ms, high = 2 s)", Uniform(low=0.001, high=2.0)),
        ("erlang(4, mean = 2 s)", Erlang(k=4, rate=2.0)),
        ("erlang(k = 4, rate = 2/s)", Erlang(k=4, rate=2.0)),
        ("lognormal(mu = 0, sigma = 1)", Lognormal(mu=0.0, sigma=1.0)),
        ("mix(0.9: det(1 s), 10 %: exp(rate = 2/s))", Mixture(parts=((0.9, Deterministic(value=F(1))), (0.1, Exponential(rate=2.0))))),
        ("shift(exp(rate = 2/s), 3 ms)", Shifted(law=Exponential(rate=2.0), by=F(3, 1000))),
        ("scale(exp(rate = 2/s), 1.5)", Scaled(law=Exponential(rate=2.0), by=F(3, 2))),
    ],
)
def test_laws(text: str, expected: object) -> None:
    assert timed(f"timed t : a -> b ~ {text}").law == expected
    assert timed(f"dist work = {text} timed t : a -> b ~ work").law == expected


@pytest.mark.parametrize(
    "text",
    [
        "gamma(mean = 1 s, cv = 0.5)",
        "gamma(shape = 2, scale = 1 s)",
        "hyperexp(probs = [0.5, 0.5], rates = [1/s, 2/s])",
        "hypoexp(rates = [1/s, 2/s])",
        "coxian(rates = [1/s, 2/s], completion = [0.5, 1])",
        "ph([1, 0], [[-2/s, 1/s], [0, -3/s]])",
        "ph(alpha = [1, 0], T = [[-2/s, 1/s], [0/s, -3/s]])",
        "weibull(shape = 2, scale = 1 s)",
        "pareto(alpha = 3, scale = 1 s)",
        "normal(mean = 1 s, sd = 0.1 s)",
        "triangular(low = 1 s, mode = 2 s, high = 3 s)",
        "beta(alpha = 2, beta = 3, low = 1 s, high = 2 s)",
        "empirical([1 s, 2 s, 3 s])",
        "empirical(values = [1 s, 2 s], weights = [1, 3])",
    ],
)
def test_every_family_has_a_spelling(text: str) -> None:
    law = timed(f"timed t : a -> b ~ {text}").law
    assert law.family == text.partition("(")[0]
    assert 0 < law.mean() < 5


def test_every_family_of_the_table_is_tried_above() -> None:
    from spn.dist.families import FAMILIES

    texts = {test_every_family_has_a_spelling: 0}
    marks = [m for f in texts for m in f.pytestmark] + test_laws.pytestmark  # type: ignore[attr-defined]
    tried = {(p if isinstance(p, str) else p[0]).partition("(")[0] for m in marks for p in m.args[1]}
    assert set(FAMILIES) <= tried


def test_a_rate_of_the_marking_is_a_speed() -> None:
    t = timed("timed t : a -> b ~ exp(rate = #a * 2/s)")
    assert t.law == Exponential(rate=1.0)
    assert evaluate(t.speed, {"a": 3}) == 6
    both = timed("timed t : a -> b ~ exp(rate = #a * 2/s) speed 0.5")
    assert evaluate(both.speed, {"a": 3}) == 3


def test_a_constant_rate_and_a_speed() -> None:
    t = timed("timed t : a -> b ~ exp(rate = 2/s) speed #a")
    assert t.law == Exponential(rate=2.0) and t.speed == Tokens("a")


def test_a_normal_cut_at_zero_reports_its_mean() -> None:
    (w,) = loading.parse("place a = 1 timed t : a -> a ~ normal(mean = 1 s, sd = 1 s)").warnings
    assert w.code == "W0401" and "1.28" in w.message  # 1 + phi(1)/Phi(1) = 1.2876


# --- measures and expectations --------------------------------------------------------------------------------------------------------

CYCLE = "place a = 1, b  link up(capacity = 1 MB/s)  timed t : a -> b ~ det(1 s)  timed u : b -> a ~ 1 MB over up  "


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("P(#a == 1)", Average(equal(tokens("a"), 1))),
        ("P(#a == 1 | t)", Average(equal(tokens("a"), 1), "t")),
        ("E(#a + #b)", Average(tokens("a") + tokens("b"))),
        ("E(#a | u)", Average(tokens("a"), "u")),
        ("throughput(t) * 1 s", Throughput("t") * 1),
        ("utilisation(t)", Utilisation("t")),
        ("utilisation(up)", Utilisation("up")),
        ("sojourn(b) / 1 s", Sojourn("b") / 1),
        ("if(P(#a > 0) > 0.5, 1, 2)", conditional(Average(tokens("a") > 0) > F(1, 2), 1, 2)),
        ("max(E(#a), E(#b))", call("max", Average(tokens("a")), Average(tokens("b")))),
    ],
)
def test_measures(text: str, body: object) -> None:
    (m,) = loading.parse(f"{CYCLE} measure x = {text}").measures
    assert m.body == body and m.dimension == NUMBER and (m.unit, m.unit_factor) == ("", 1)


def test_measures_use_earlier_ones_and_parameters() -> None:
    x, y = loading.parse(f"{CYCLE} param n : count = 2 measure x = throughput(t) measure y = n / x").measures
    assert y.body == Number(F(2)) / x.body and y.dimension == TIME


def test_units_of_measures() -> None:
    text = "measure x in ms = sojourn(b)  measure y in 1/min = throughput(t)  measure z in % = P(#a > 0)"
    found = loading.parse(f"{CYCLE} {text} measure w in Mbit/s = 1 MB * throughput(t)").measures
    assert [(m.unit, m.unit_factor) for m in found] == [("ms", F(1, 1000)), ("1/min", F(1, 60)), ("%", F(1, 100)), ("Mbit/s", 125000)]
    assert found[3].dimension == BANDWIDTH


@pytest.mark.parametrize(
    ("text", "op", "right", "tolerance", "absolute"),
    [
        ("x == 2/s within 1 %", "==", 2, F(1, 100), False),
        ("x == 2/s within 1e-6", "==", 2, F(1, 10**6), False),
        ("x == 120/min within abs 0.1/s", "==", 2, F(1, 10), True),
        ("x < 3/s", "<", 3, 0, False),
        ("x <= 3/s", "<=", 3, 0, False),
        ("x > 1/s + 1/s", ">", 2, 0, False),
        ("x >= 1/s", ">=", 1, 0, False),
    ],
)
def test_expectations(text: str, op: str, right: int, tolerance: Fraction, absolute: bool) -> None:
    (e,) = loading.parse(f"{CYCLE} measure x = throughput(t) expect {text}").expectations
    assert (e.left, e.op, e.right, e.tolerance, e.absolute) == (Throughput("t"), op, Number(F(right)), tolerance, absolute)


def test_after_within_abs_is_always_the_word() -> None:
    (e,) = loading.parse(f"{CYCLE} param abs : number = 3 expect P(#a > 0) == 0.5 within abs abs").expectations
    assert e.absolute and e.tolerance == 3


# --- units none -----------------------------------------------------------------------------------------------------------------------


def test_units_none() -> None:
    model = loading.parse(
        """units none
           param mu : number = 2  param size : bytes = 100  link up(capacity = 50)
           place a = 1, b
           timed t : a -> b ~ exp(rate = mu * #a)   timed u : b -> a ~ size over up latency 0.5
           measure x = throughput(t)  expect x == 1 within 50 %  expect x == 1 within abs 0.5"""
    )
    assert model.unitless and model.measures[0].dimension == NUMBER
    assert model.net.transitions[1].transfer == Transfer(links=("up",), latency=F(1, 2))


# --- spans ----------------------------------------------------------------------------------------------------------------------------


def test_everything_points_at_its_text() -> None:
    net = loading.parse("place a = 1 capacity 3, b  timed t : 2*a -> (#a + 1)*b ~ exp(mean = 1 s) when #a > 1 servers 2").net
    (t,) = net.transitions
    assert isinstance(t, Timed)
    assert [p.span.text for p in net.places if p.span] == ["a = 1 capacity 3", "b"]
    assert t.span is not None and t.span.text == "timed t : 2*a -> (#a + 1)*b ~ exp(mean = 1 s) when #a > 1 servers 2"
    assert t.law_span is not None and t.law_span.text == "exp(mean = 1 s)"
    assert [a.span.text for a in t.arcs if a.span] == ["2*a", "(#a + 1)*b"]
    assert isinstance(t.guard, Binary) and t.guard.op is BinaryOp.GT and t.guard.span is not None and t.guard.span.text == "#a > 1"
    assert t.guard.left == Tokens("a") and t.guard.left.span is not None and t.guard.left.span.text == "#a"


# --- warnings -------------------------------------------------------------------------------------------------------------------------


def test_what_is_not_used_is_warned_about() -> None:
    text = "param n : count = 3\ndist work = det(1 s)\nlink up(capacity = 1 MB/s)\nplace a = 1, unused\ntimed t : a -> a ~ det(1 s)"
    found = [(w.code, w.span.text) for w in loading.parse(text).warnings if w.span]
    assert found == [("W0201", "unused"), ("W0202", "n"), ("W0202", "work"), ("W0202", "up")]


def test_a_model_shows_itself_in_a_few_lines() -> None:
    text = (
        "param n : count = 2 param pause : time = 10 min param slow : time = 2 * pause "
        "place a = n, b timed t : a -> b ~ exp(mean = pause) servers 1 measure r = throughput(t)"
    )
    assert repr(loading.parse(text, name="small.spn")).splitlines() == [
        "model small: 2 places, 1 transition",
        "parameters: n = 2, pause = 10 min, slow = 1200 s",
        "measures: r",
        "warning: parameter slow is not used",
    ]
