"""The words of the language: what is reserved, what begins a statement, and what later versions will bring."""

from __future__ import annotations

STATEMENTS = frozenset({"param", "dist", "link", "place", "timed", "immediate", "measure", "expect", "units"})
LATER = frozenset({"component", "use", "import", "for", "if", "else", "property", "sweep", "join"})
CLAUSES = frozenset({"flush", "when", "weight", "priority", "resets"})
OPERATORS = frozenset({"in", "and", "or", "not", "mod", "div", "true", "false"})

RESERVED = STATEMENTS | LATER | CLAUSES | OPERATORS

TIMED_ONLY = frozenset({"servers", "memory", "speed", "scaled"})
TRANSFER_ONLY = frozenset({"share", "cap", "latency"})
AFTER_ARCS = TIMED_ONLY | TRANSFER_ONLY | frozenset({"when", "weight", "priority", "resets", "over"})

FUNCTIONS = ("abs", "floor", "ceil", "min", "max", "sqrt", "ln", "exp")
MEASURES = ("P", "E", "throughput", "utilisation", "sojourn")
COMBINATORS = ("mix", "shift", "scale", "fit")  # laws with a grammar of their own


def quoted(name: str) -> str:
    """A name as it is written in a model: in backquotes where it could not stand bare."""
    bare = name.isidentifier() and name not in RESERVED
    return name if bare else f"`{name}`"
