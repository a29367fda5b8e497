"""What a fit returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spn.dist.law import Law, Style
from spn.result import plain_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One family tried: its law and figures, or ``note``, why it could not be fitted. Criteria are per whole sample; lower is better."""

    family: str
    law: Law | None = None
    parameters: int = 0
    log_likelihood: float = math.nan
    aicc: float = math.inf
    bic: float = math.inf
    ks: float = math.nan
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A law fitted to durations in seconds.

    ``parameters``: those of ``law`` by name. ``n``, ``mean``, ``cv``: of the durations used. ``log_likelihood``, ``aicc``,
    ``bic``: nan for a discrete law, which has no density. ``ks``: Kolmogorov-Smirnov distance. ``p_value``: by parametric bootstrap,
    since the parameters were estimated from the same durations; None where there is none. ``alternatives``: every family tried, best first.
    ``reason``: why this one. ``warnings``: what to know before trusting it. ``source``: file and operation.
    """

    law: Law
    family: str
    parameters: Mapping[str, Any]
    n: int
    mean: float
    cv: float
    log_likelihood: float
    aicc: float
    bic: float
    ks: float
    p_value: float | None
    criterion: str
    reason: str
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[str, ...] = ()
    source: str = ""
    seed: int = field(default=0)

    def describe(self) -> str:
        """One line: the law, what it was fitted to, and how well."""
        origin = f" of {self.source}" if self.source else ""
        return f"{_spelled(self.law)} from {self.n} durations{origin}: mean {self.mean:.6g} s, cv {self.cv:.4g}; {self._quality()}"

    def literal(self) -> str:
        """The law as model text that reads back to the last digit: ``lognormal(mean=0.18 s, cv=0.08)``."""
        return self.law.literal("s")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; nan and infinities as the strings ``"nan"``, ``"inf"``, ``"-inf"``, as everywhere."""
        return {
            "family": self.family,
            "law": self.law.describe(),
            "literal": self.literal(),
            "parameters": {k: plain_value(v) for k, v in self.parameters.items()},
            **{k: plain_value(getattr(self, k)) for k in ("n", "mean", "cv", "log_likelihood", "aicc", "bic", "ks", "p_value")},
            "law_mean": plain_value(self.law.mean()),
            "law_cv": plain_value(self.law.cv()),
            "criterion": self.criterion,
            "reason": self.reason,
            "alternatives": [_row(a) for a in self.alternatives],
            "warnings": list(self.warnings),
            "source": self.source,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        lines = [f"Fit: {self.describe()}", f"  {self.reason}"]
        if self.alternatives:
            lines.append(f"  {'family':<10} {'AICc':>14} {'BIC':>14} {'KS':>8}  law")
            lines += [
                f"  {a.family:<10} {a.aicc:>14.2f} {a.bic:>14.2f} {a.ks:>8.4f}  {_spelled(a.law)}" for a in self.alternatives if a.law
            ]
            lines += [f"  {a.family:<10} {a.note}" for a in self.alternatives if not a.law]
        return "\n".join([*lines, *(f"  warning: {w}" for w in self.warnings)])

    def _quality(self) -> str:
        if self.p_value is None:
            return f"KS distance {self.ks:.4f}"
        return f"KS distance {self.ks:.4f}, p {self.p_value:.3f} by parametric bootstrap"


def _spelled(law: Law) -> str:
    """The law as a model would hold it, to six digits."""
    return law.spelling(Style(unit="s"))


def _row(a: Alternative) -> dict[str, Any]:
    figures = {k: plain_value(getattr(a, k)) for k in ("log_likelihood", "aicc", "bic", "ks")}
    return {"family": a.family, "law": a.law.describe() if a.law else None, "parameters": a.parameters, **figures, "note": a.note}
