"""What is interchangeable, what is not, and why: the breaks that must be found, each with its line."""

from __future__ import annotations

import pytest

from spn.expr.nodes import tokens
from spn.loading import parse
from spn.symmetry.facts import Keys, expression
from spn.symmetry.groups import reasons, symmetry

WORKERS = """units none
param n : count = 4
place free = 1
link up(capacity = 5)
link down(capacity = 5)
component worker(free : place, net : link, slow : number = 1, start : count = 1, urgent : count = 1) {
  place idle = start
  place busy
  timed go   : idle -> busy ~ exp(rate = slow)
  timed send : busy -> idle ~ exp(rate = 1) over net
  immediate take : free, 2*busy -> free, 2*idle priority urgent
}
use worker w[i in 1..n](free, up)
measure flow = sum(throughput(w[i].go) for i in 1..n)
"""


def found(text: str, **params):
    model = parse(text, params=params)
    s = symmetry(model.net, model.measures)
    return [(g.family, [p.label for p in g.parts], g.step) for g in s.groups], reasons(s)


def labels(*numbers: int) -> list[str]:
    return [f"w[{k}]" for k in numbers]


def test_equal_workers_are_interchangeable():
    assert found(WORKERS) == ([("w", labels(1, 2, 3, 4), 0)], [])


ODD = [
    (2, "(free, up, slow = if(i == 2, 3, 1))", "the law of w[2].go (line 9)"),
    (4, "(free, up, start = if(i == 4, 2, 1))", "the initial tokens of w[4].idle (line 7)"),
    (1, "(free, up, urgent = if(i == 1, 2, 1))", "the priority of w[1].take (line 11)"),
    (1, "timed odd : w[1].busy -> w[1].idle ~ exp(rate = 1)", "the input arc between w[1].busy and odd (line 14)"),
    (2, "timed odd : free -> free ~ exp(rate = 1) when #w[2].busy > 0", "the guard of odd (line 14)"),
    (3, "timed odd : free -> free ~ exp(rate = 1 + #w[3].busy)", "the rate or speed of odd (line 14)"),
    (3, "timed odd : free -> free ~ exp(rate = 1) resets w[3].go", "the resets of odd (line 14)"),
    (1, "measure one = throughput(w[1].go)", "measure one (line 14)"),
    (3, "measure one = E(#w[3].idle) at 2", "measure one (line 14)"),
    (2, "measure one = utilisation(w[2].go)", "measure one (line 14)"),
    (2, "measure one = E(time until #w[2].busy > 0)", "measure one (line 14)"),
    (1, "measure one = E(#w[1].idle + 2*sum(#w[i].idle for i in 2..n))", "measure one (line 14)"),
]


@pytest.mark.parametrize(("member", "change", "reason"), ODD)
def test_one_that_is_different_is_left_out(member: int, change: str, reason: str):
    """Arguments in parentheses replace those of all workers, else a line is added."""
    text = WORKERS.replace("(free, up)", change) if change.startswith("(") else WORKERS.replace("measure", f"{change}\nmeasure", 1)
    kept = [k for k in (1, 2, 3, 4) if k != member]
    assert found(text) == ([("w", labels(*kept), 0)], [f"w[{member}] breaks the symmetry of w: {reason}"])


def test_another_link_breaks_it():
    text = WORKERS.replace(
        "use worker w[i in 1..n](free, up)", "place o[i in 1..n] = 1\ntimed t[i in 1..n] : o[i] -> o[i] ~ exp(rate = 1) over up"
    )
    text = text.replace("measure flow = sum(throughput(w[i].go) for i in 1..n)", "measure flow = E(#free)")
    assert found(text)[0] == [("o", ["o[1]", "o[2]", "o[3]", "o[4]"], 0)]
    odd = text.replace("timed t[i in 1..n]", "timed odd : o[3] -> o[3] ~ exp(rate = 1) over down\ntimed t[i in 1..n]")
    assert found(odd)[0] == [("o", ["o[1]", "o[2]", "o[4]"], 0)]


def test_two_kinds_are_two_groups():
    groups, why = found(WORKERS.replace("(free, up)", "(free, up, slow = if(i <= 2, 1, 3))"))
    assert groups == [("w", labels(1, 2), 0), ("w", labels(3, 4), 0)]
    assert why == ["w[3], w[4] break the symmetry of w: the law of w[3].go (line 9)"]


def test_all_different_leaves_nothing():
    groups, why = found(WORKERS.replace("(free, up)", "(free, up, slow = i)"))
    assert groups == [] and len(why) == 3 and all("the law of" in w for w in why)


def test_many_reasons_are_cut_short():
    _, why = found(WORKERS.replace("(free, up)", "(free, up, slow = i)"), n=9)
    assert len(why) == 4 and why[-1] == "5 more things tell members of w apart"


RING = """units none
param n : count = 6
place a[i in 1..n] = 1
place b[i in 1..n]
timed t[i in 1..n] : a[i] -> b[i] ~ exp(rate = {rate})
timed u[i in 1..n] : b[i] -> a[i mod n + 1] ~ exp(rate = 2)
measure x = sum(throughput(t[i]) for i in 1..n)
"""


def test_a_ring_turns():
    groups, why = found(RING.format(rate="1"))
    assert [(f, len(p), step) for f, p, step in groups] == [("a", 6, 1)]
    assert why == ["the members of a are not interchangeable: the output arc between a[2] and u[1] leaves rotations by 1 only (line 6)"]


def test_a_ring_of_two_kinds_turns_by_two():
    groups, _ = found(RING.format(rate="1 + i mod 2"))
    assert [(f, len(p), step) for f, p, step in groups] == [("a", 6, 2)]
    groups, _ = found(RING.format(rate="1 + if(i == 1, 1, 0)"))
    assert groups == []


def test_a_measure_of_one_stops_the_ring():
    groups, why = found(RING.format(rate="1") + "measure y = throughput(t[1])\n")
    assert groups == [] and why[0] == "a[1] breaks the symmetry of a: measure y (line 8)"


def test_arrays_that_belong_together_move_together():
    groups, _ = found("""units none
place a[i in 1..3] = 1
place b[i in 1..3]
place other[i in 1..3] = 2
timed t[i in 1..3] : a[i] -> b[i] ~ exp(rate = 1 + sum(#other[j] for j in 1..3))
timed u[i in 1..3] : b[i] -> a[i] ~ exp(rate = 2)
timed v[i in 1..3] : other[i] -> other[i] ~ exp(rate = 2)
measure x = E(sum(#a[i] for i in 1..3))
""")
    assert [(f, len(p)) for f, p, _ in groups] == [("a", 3), ("other", 3)]


def test_conditions_that_protect_keep_their_order():
    """`#a > 0 and 1/#a > 2` is not `1/#a > 2 and #a > 0`."""
    keys = Keys()

    def key(node):
        return keys.key(expression(node), lambda n: n)

    a, b = tokens("a"), tokens("b")
    assert key((a > 0) & (b > 0)) == key((b > 0) & (a > 0))
    assert key((a > 0) & (1 / a > 2)) != key((1 / a > 2) & (a > 0))
    assert key(a + b + 2) == key(2 + (b + a))
    assert key(a - b) != key(b - a)
    assert key(a < b) == key(b > a)
    assert key(a < b) != key(a > b)


def test_nothing_replicated():
    assert found("units none place a = 1 timed t : a -> a ~ exp(rate = 1) measure x = throughput(t)") == ([], [])
