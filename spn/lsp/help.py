"""One line on every word of the language, for hovering and completion."""

from __future__ import annotations

from spn.dist.families import FAMILIES
from spn.lang.units import UNITS
from spn.lang.write import decimal

STATEMENTS = {
    "param": "a constant that the caller may change: `param n : count = 4 in 1..64`",
    "dist": "a law under a name: `dist step = exp(mean = 3 ms)`",
    "link": "a line that transfers share: `link up(capacity = 10 Gbit/s)`",
    "place": "places, with tokens and capacity: `place idle = 4 capacity 8, done`",
    "timed": "a transition with clocks: `timed serve : queue -> done ~ exp(rate = 2/s)`",
    "immediate": "a transition that fires at once: `immediate go : a -> b weight 2`",
    "component": "a part to be used several times: `component worker(up : link) { … }`",
    "use": "an instance, or an array of them: `use worker w[i in 1..n](up)`",
    "import": 'the components of another file: `import "lib.spn" as L`',
    "for": "statements for every value of an index: `for i in 1..n { … }`",
    "if": "statements under a condition on parameters: `if n > 1 { … } else { … }`",
    "join": "the rest of a transition that a component is given: `join go : a -> b`",
    "measure": "a question: `measure rate = throughput(serve)`",
    "expect": "what the answer should be: `expect rate == 2/s within 1 %`",
    "property": "a claim about all reachable markings: `property safe : always #a <= 1`",
    "sweep": "values of parameters to go through: `sweep n in 1..8`",
    "units": "`units none`: bare numbers everywhere",
}
CLAUSES = {
    "when": "guard: a condition on the marking",
    "priority": "which immediate transitions go first; which of simultaneous expiries fires first",
    "weight": "odds among immediates of one priority; among simultaneous expiries",
    "resets": "firing ends the clocks of these timed transitions",
    "servers": "how many clocks may run: a number, or inf",
    "memory": "what becomes of a clock that is stopped: restart, resume or repeat",
    "speed": "the pace at which clocks run, read continuously",
    "scaled": "a factor on the work, read when it is drawn",
    "over": "a transfer over these links; in a question, the time to average over",
    "share": "weight of a transfer on its links",
    "cap": "largest rate of a transfer",
    "latency": "delay before a transfer",
    "flush": "an input arc that takes all tokens there are",
    "capacity": "of a place: disables every transition whose firing would exceed it; of a link: its rate",
}
MEMORIES = {
    "restart": "a stopped clock is drawn anew",
    "resume": "a stopped clock goes on where it was",
    "repeat": "a stopped clock begins again with the same work",
}
TYPES = {
    "count": "a whole number, not negative",
    "number": "a number without unit",
    "bool": "true or false",
    "probability": "a number from 0 to 1",
    "time": "a time, such as 3 ms",
    "bytes": "a size, such as 97.5 MiB",
    "bytes/s": "a rate of data, such as 10 Gbit/s",
    "1/s": "a rate of events, such as 4/s",
}
FORMAL_TYPES = {"dist": "a law", "place": "a place", "link": "a link", "transition": "a transition, to be joined"}
FUNCTIONS = {
    "abs": "absolute value",
    "floor": "largest whole number not above",
    "ceil": "smallest whole number not below",
    "min": "smallest of the values; also over an index",
    "max": "largest of the values; also over an index",
    "sqrt": "square root",
    "ln": "natural logarithm",
    "exp": "exponential",
    "if": "if(condition, a, b)",
    "sum": "sum over an index: sum(#w[i].idle for i in 1..n)",
    "all": "does it hold for every index: all(#a[i] > 0 for i in 1..n)",
    "any": "does it hold for some index: any(#a[i] > 0 for i in 1..n)",
}
MEASURES = {
    "P": "probability: P(#queue > 0), P(condition | t), P(time until condition <= 5 s)",
    "E": "mean: E(#queue), E(#queue | t), E(time until condition), E(time from t1 to t2)",
    "throughput": "mean firings per unit of time: throughput(t)",
    "utilisation": "of a transition: running clocks over servers; of a link: rate used over capacity",
    "sojourn": "mean time that a token stays in a place: sojourn(p)",
    "quantile": "quantile(0.99, time until condition), quantile(0.9, #queue | t)",
}
CLAIMS = {
    "always": "holds in every reachable marking: always #a + #b <= n",
    "invariant": "an equation proved from the structure: invariant #a + #b == n",
    "live": "every transition can always fire again",
    "bounded": "no place grows without limit",
    "deadlock_free": "no reachable marking is dead",
    "reversible": "the initial marking can always be reached again",
    "home": "a marking with this condition can always be reached: home(#a == 1)",
    "leads": "from every marking with the first condition one with the second is reached: leads(#a > 0, #b > 0)",
}
WITH_QUESTIONS = {
    "at": "the value at a time: P(#up == k) at 10 s",
    "total over": "the value summed over a time",
    "within": "the tolerance of an expected value: 1 %, or abs 1e-6",
    "where": "values of parameters for this expectation",
}
_COMBINATORS = {
    "mix": "one of several laws: mix(0.9: a, 0.1: b)",
    "shift": "a law plus a constant: shift(a, 1 ms)",
    "scale": "a law times a number: scale(a, 2)",
    "fit": 'a law fitted to the durations in a file: fit("trace.json.gz", name = "compute")',
}
LAWS = {**{name: f"{f.signatures()}: {f.summary}" for name, f in FAMILIES.items()}, **_COMBINATORS}
UNIT_HELP = {w: decimal(factor) + ("" if str(of) == "number" else f" {of}") for w, (of, factor) in UNITS.items()}
EVERYTHING = {**FUNCTIONS, **LAWS, **TYPES, **CLAIMS, **MEMORIES, **WITH_QUESTIONS, **CLAUSES, **MEASURES, **STATEMENTS}
