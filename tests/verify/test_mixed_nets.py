"""Small nets that mix features, solved and simulated: both read the definition, each in its own way, and must agree.

17 nets with some 50 values, each within 4 standard errors; a false alarm has a probability of about 0.3 %.
"""

from __future__ import annotations

import pytest

import spn

NETS = {
    "capflush": """
        units none
        place a=3 place b capacity 4 place c capacity 5
        timed t : a -> 2*b ~ exp(rate=1)
        timed u : flush b -> c ~ erlang(3, mean=1) when #b > 1
        timed v : c -> a ~ hyperexp(probs=[0.3,0.7], rates=[1,5])
        immediate ret : when_ -> a
        place when_
        timed fill : ?c, !4*a -> a, b ~ exp(rate=0.7)
        timed drain : 2*a -> a ~ exp(rate = 0.3*#a)
        measure m1 = E(#b) measure m2 = throughput(u) measure m3 = E(#b | u) measure m4 = utilisation(t) measure m5=sojourn(b)
    """,
    "kresume": """
        units none
        place q=0 place up=1 place down place f=5
        timed arr : f -> q ~ exp(rate=1.5)
        timed srv : q, ?up -> f ~ erlang(3, mean=1) servers 2 memory resume
        timed brk : up -> down ~ exp(rate=0.4)
        timed rep : down -> up ~ coxian(rates=[2,3], completion=[0.4,1])
        measure m1=E(#q) measure m2=throughput(srv) measure m3=utilisation(srv)
    """,
    "krestart": """
        units none
        place q=0 place up=1 place down place f=5
        timed arr : f -> q ~ exp(rate=1.5)
        timed srv : q, ?up -> f ~ erlang(3, mean=1) servers 2 memory restart
        timed brk : up -> down ~ exp(rate=0.4)
        timed rep : down -> up ~ coxian(rates=[2,3], completion=[0.4,1])
        measure m1=E(#q) measure m2=throughput(srv) measure m3=utilisation(srv)
    """,
    "kguardloss": """
        units none
        place q=3 place f place g=2 place h
        timed s : q -> f ~ erlang(2, mean=1) servers 3 memory resume
        timed back : f -> q ~ exp(rate=1) servers inf
        timed steal : q, g -> h ~ exp(rate=0.8)
        timed give : h -> q, g ~ exp(rate=1.1)
        measure m1=E(#q) measure m2=throughput(s) measure m3=P(#h==2)
    """,
    "resets": """
        units none
        place q=4 place f
        timed s : q -> f ~ erlang(3, mean=1) servers 3
        timed back : f -> q ~ exp(rate=1) servers 2
        timed zap : q -> q ~ exp(rate=0.5) resets s
        measure m1=E(#q) measure m2=throughput(s)
    """,
    "links": """
        units none
        link l(capacity=3)
        link k(capacity=2)
        place a=3 place b place c place d=2
        timed t : a -> b ~ exp(mean=1) over l share 1 + #c cap 1.2
        timed u : b -> c ~ erlang(2, mean=2) over l, k memory resume
        timed v : c -> a ~ exp(rate=1)
        timed w : d -> d ~ exp(mean=1) over k share 3 speed if(#c > 1, 0, 1)
        measure m1=E(#a) measure m2=utilisation(l) measure m3=utilisation(k) measure m4=throughput(w) measure m5=E(#b)
    """,
    "zeromult": """
        units none
        place a=2 place b place c=1
        timed t : a -> b ~ exp(rate=1)
        timed u : #b*b, c -> #b*a, c ~ exp(rate=1.3)
        timed v : (#a - 1)*a -> (#a-1)*b ~ exp(rate=0.6) when #a >= 1
        timed w : c, !(#b)*a -> c ~ erlang(2, mean=1)
        measure m1=E(#a) measure m2=throughput(u) measure m3=throughput(v) measure m4=throughput(w)
    """,
    "weight0prio": """
        units none
        place a=3 place b place c place d
        timed t : a -> b ~ exp(rate=1) servers inf
        immediate hi : b -> c weight #c + 1 priority 2
        immediate hi2 : b -> d weight if(#c > 0, 0, 1) priority 2
        immediate lo : b -> a weight 5
        timed back : c -> a ~ exp(rate=1)
        timed back2 : d -> a ~ hypoexp(rates=[1,2])
        measure m1=E(#c) measure m2=throughput(hi) measure m3=throughput(lo) measure m4=E(#d) measure m5=E(#c|hi)
    """,
    "vloop": """
        units none
        place a=2 place b place c
        timed t : a -> b ~ erlang(2, mean=1)
        immediate x : b -> c weight 2
        immediate y : c -> b weight 3
        immediate z : c -> a
        immediate zz : b -> 2*a weight if(#a<3,1,0)
        timed d : 2*a -> a ~ exp(rate = #a)
        measure m1=throughput(x) measure m2=throughput(z) measure m3=E(#a)
    """,
    "batch": """
        units none
        place q
        timed arr : -> 3*q ~ exp(rate=0.4) when #q <= 7
        immediate go : 2*q, idle -> busy
        immediate go1 : q, idle -> busy when #q == 1
        place idle=2
        place busy
        timed s : busy -> idle ~ erlang(2, mean=1) servers inf
        measure m1=E(#q) measure m2=throughput(s) measure m3=throughput(go) measure m4=throughput(go1)
    """,
    "speed": """
        units none
        place a=3 place b place m=1 place n
        timed t : a -> b ~ erlang(2, mean=1) speed #m servers 2 memory resume
        timed u : b -> a ~ exp(mean=0.7) speed 1 + #n
        timed mm : m -> n ~ exp(rate=1)
        timed nn : n -> m ~ hyperexp(probs=[0.5,0.5], rates=[1,4])
        measure m1=E(#a) measure m2=throughput(t) measure m3=utilisation(t)
    """,
    "classes": """
        units none
        place s=1 place w=1 place a place b place c place d
        timed ga : s -> a ~ erlang(2, mean=1)
        timed gb : s -> b ~ exp(rate=1)
        timed gd : s -> d ~ exp(rate=0.3)
        timed ab : a -> c ~ exp(rate=1)
        timed ba : c -> a ~ exp(rate=2)
        timed bb : b, w -> b, w ~ hyperexp(probs=[0.3,0.7], rates=[1,5])
        measure m1=P(#a+#c>0) measure m2=throughput(bb) measure m3=throughput(ab) measure m4=P(#d==1) measure m5 = E(#a)/E(#c)
    """,
    "inhib": """
        units none
        place a=4 place b place c
        timed t : a -> b ~ exp(rate=1) servers inf
        timed u : b, !3*a, !2*c -> c ~ erlang(2, mean=0.5) servers 2 memory resume
        timed v : c -> a ~ exp(rate=1)
        timed x : b -> a ~ exp(rate=0.2)
        measure m1=E(#a) measure m2=throughput(u) measure m3=E(#c) measure m4=P(#a<2|v)
    """,
    "resetresume": """
        units none
        place on=1 place off place j=2 place k
        timed w : j, ?on -> k ~ erlang(4, mean=1) servers 2 memory resume
        timed r : k -> j ~ exp(rate=2)
        timed o : on -> off ~ exp(rate=1)
        timed p : off -> on ~ exp(rate=1)
        timed q : off -> on ~ exp(rate=0.5) resets w
        measure m1=throughput(w) measure m2=E(#j)
    """,
    "immreset": """
        units none
        place a=3 capacity 5 place b place c=1 place d
        timed w : a -> b ~ erlang(2, mean=1) servers 2
        timed k : c -> d ~ exp(rate=0.7)
        immediate z : d, flush b -> c, a resets w, k priority 3
        immediate back : 2*b -> 2*a
        timed tick : b -> a ~ exp(rate=0.1)
        measure m1=throughput(w) measure m2=E(#a) measure m3=throughput(z)
    """,
    "ph": """
        units none
        place a=2 place b
        timed t : a -> b ~ ph([0.4,0.6],[[-3,1],[0.5,-2]]) servers 2 memory resume
        timed u : b -> a ~ mix(0.3: exp(mean=1), 0.7: erlang(2, mean=3))
        timed v : a -> b ~ exp(rate=0.3)
        measure m1=E(#a) measure m2=throughput(u) measure m3=throughput(t)
    """,
    "scaled": """
        units none
        place a=2 place b
        timed t : a -> b ~ erlang(2, mean=1) scaled 2.5 servers inf
        timed u : b -> a ~ scale(hypoexp(rates=[1,2]), 0.5)
        timed v : flush a -> #a*b ~ exp(rate=0.3) when #a > 0
        measure m1=E(#a) measure m2=throughput(u) measure m3=throughput(t)
    """,
}


@pytest.mark.parametrize("name", NETS)
def test_solver_and_simulator_agree(name: str) -> None:
    model = spn.parse(NETS[name], name=name)
    exact = spn.solve(model, method="ctmc")
    found = spn.simulate(model, seed=11, precision=0.01, confidence=0.9545, max_firings=3e6)
    for measure, v in found.measures.items():
        assert v.half_width is not None
        assert abs(v.value - exact[measure]) <= 2 * v.half_width + 1e-9
