"""The words of the language: what is reserved, what begins a statement, what stands where."""

from __future__ import annotations

import re

PLAIN = frozenset({"param", "dist", "link", "place", "timed", "immediate", "measure", "expect", "property", "sweep", "units"})
COMPOSED = frozenset({"component", "use", "import", "for", "if", "join"})
STATEMENTS = PLAIN | COMPOSED
CONTINUED = frozenset({"else"})
CLAUSES = frozenset({"flush", "when", "weight", "priority", "resets"})
OPERATORS = frozenset({"in", "and", "or", "not", "mod", "div", "true", "false"})

RESERVED = STATEMENTS | CONTINUED | CLAUSES | OPERATORS

TIMED_ONLY = frozenset({"servers", "memory", "speed", "scaled"})
TRANSFER_ONLY = frozenset({"share", "cap", "latency"})
AFTER_ARCS = TIMED_ONLY | TRANSFER_ONLY | frozenset({"when", "weight", "priority", "resets", "over"})

CONTEXTUAL = (
    TIMED_ONLY
    | TRANSFER_ONLY
    | frozenset(  # keywords in places, names elsewhere
        {
            "none",
            "capacity",
            "over",
            "within",
            "abs",
            "inf",
            "as",
            "at",
            "total",
            "where",
            "always",
            "invariant",
            "time",
            "until",
            "from",
            "to",
        }
    )
)

FUNCTIONS = ("abs", "floor", "ceil", "min", "max", "sqrt", "ln", "exp")
MEASURES = ("P", "E", "throughput", "utilisation", "sojourn", "quantile")
PLAIN_CLAIMS = ("live", "bounded", "deadlock_free", "reversible")
CLAIMS = ("always", "invariant", *PLAIN_CLAIMS, "home", "leads")
REDUCTIONS = ("sum", "min", "max", "all", "any")  # over an index
COMBINATORS = ("mix", "shift", "scale", "fit")  # laws with a grammar of their own


_PATH = re.compile(r"[^\W\d]\w*(?:\[[^\]`\n]*\])?(?:\.[^\W\d]\w*(?:\[[^\]`\n]*\])?)*\Z")  # w[2].idle


def quoted(name: str) -> str:
    """A name as it is written in a model: in backquotes where it could not stand bare."""
    bare = (name.isidentifier() or _PATH.match(name)) and name not in RESERVED
    return name if bare else f"`{name}`"
