"""Fitting a law to durations and choosing its family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from spn.dist.erlang import Erlang
from spn.dist.exponential import Exponential
from spn.dist.hyperexponential import HyperExponential
from spn.dist.law import Floats, Law
from spn.errors import DataError, nearest, refuse
from spn.fitting.density import log_density
from spn.fitting.estimate import DISCRETE, ESTIMATORS
from spn.fitting.goodness import SAMPLES, distance, p_value
from spn.fitting.model import Alternative, Fit

ALIASES = {"deterministic": "det", "exponential": "exp", "hyperexponential": "hyperexp", "constant": "det"}
CRITERIA = ("aicc", "bic")
LEAST = 5  # durations for a choice of family
FEW = 30
EQUAL = 1e-9  # relative range within which durations count as one constant
FAR, IMPROBABLE = 0.2, 0.01  # KS distance and p-value at which no family will do
STEADY = 0.01  # cv below which the shape of a law hardly matters
AS_GOOD = 2.0  # difference of a criterion that tells nothing (Burnham and Anderson 2002, section 2.6)
MANY_PHASES = 20
CORRELATED = 0.1
OUTLYING = 8.0  # robust deviations of the logarithm, upwards
RARE = 0.05  # share up to which such durations are outliers and not a second mode


def fit(
    durations: Sequence[float] | Floats,
    family: str = "auto",
    criterion: str = "aicc",
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    resolution: float = 0.0,
    source: str = "",
) -> Fit:
    """Fit a law to positive durations in seconds.

    ``family``: auto, or one of exp, erlang, gamma, lognormal, weibull, hyperexp (two branches) by maximum likelihood, det (the
    mean), empirical (the durations themselves). ``auto`` takes det where all durations are equal (within 1e-9 of the mean or
    ``resolution`` seconds); else the family with the lowest ``criterion`` (aicc, Akaike's corrected for small samples, or bic), though
    among those less than 2 above it, which are as good, one of at most 20 exponential phases, since exact solvers can take that;
    and where even that one is far off (KS distance above 0.2 with p below 0.01, cv above 1 %) the empirical law, with a warning. A constant
    and an empirical law have no density, so the criteria cannot weigh them against the others.

    ``samples`` of the parametric bootstrap give the p-value (0: none), drawn with ``seed``. Zeros are left out with a warning.
    Raises DataError: E0810 too few, E0811 unknown family or criterion, E0812 a family that cannot be fitted, E0813 negative or undefined.
    """
    kind, criterion = _family(family), _criterion(criterion)
    x, warnings = _clean(durations)
    warnings += _remarks(x, resolution)
    if kind in DISCRETE or (kind == "auto" and _equal(x, resolution)):
        return _discrete(
            x, kind if kind != "auto" else "det", "as asked" if kind != "auto" else "all durations are equal", warnings, source
        )
    if kind != "auto":
        chosen = _estimated(kind, x)
        if chosen.law is None:
            raise refuse(DataError, "E0812", f"{kind} cannot be fitted: {chosen.note}", help="try family=auto")
        return _finished(x, chosen, criterion, "as asked", (), warnings, source, seed, samples)
    if len(x) < LEAST:
        raise refuse(
            DataError, "E0810", f"{len(x)} durations are too few to choose a family", help=f"record at least {LEAST}, better {FEW}"
        )
    tried = sorted((_estimated(name, x) for name in ESTIMATORS), key=lambda a: getattr(a, criterion))
    chosen, reason = _choice(tried, criterion)
    result = _finished(x, chosen, criterion, reason, tuple(tried), warnings, source, seed, samples)
    return result if not _hopeless(result) else _fallback(x, result)


def _equal(x: Floats, resolution: float) -> bool:
    return bool(np.ptp(x) <= max(resolution, EQUAL * x.mean()))


def _family(name: str) -> str:
    kind = ALIASES.get(str(name).lower(), str(name).lower())
    known = ["auto", *ESTIMATORS, *DISCRETE]
    if kind not in known:
        near = nearest(kind, [*known, *ALIASES])
        raise refuse(DataError, "E0811", f"no family {name!r} can be fitted", help=f"did you mean {near}?" if near else ", ".join(known))
    return kind


def _criterion(name: str) -> str:
    if str(name).lower() not in CRITERIA:
        raise refuse(DataError, "E0811", f"no criterion {name!r}", help=" or ".join(CRITERIA))
    return name.lower()


def _clean(durations: Sequence[float] | Floats) -> tuple[Floats, list[str]]:
    """The positive durations as floats, in their order, and a word on the zeros left out."""
    try:
        x = np.asarray(durations, dtype=float).ravel()
    except (TypeError, ValueError):
        raise refuse(DataError, "E0813", "durations must be numbers, in seconds") from None
    if not np.all(np.isfinite(x)) or np.any(x < 0):
        bad = x[~np.isfinite(x) | (x < 0)]
        raise refuse(DataError, "E0813", f"{len(bad)} of {len(x)} durations are negative or not finite, for instance {bad[0]:g}")
    kept = x[x > 0]
    if len(kept) == 0:
        raise refuse(DataError, "E0810", "there are no durations to fit" if len(x) == 0 else f"all {len(x)} durations are zero")
    zeros = len(x) - len(kept)
    return kept, [f"{zeros} of {len(x)} durations are 0 and were left out; mix(p: det(0), …) can model them"] if zeros else []


def _remarks(x: Floats, resolution: float) -> list[str]:
    remarks = []
    if len(x) < FEW:
        remarks.append(f"only {len(x)} durations: parameters and family are uncertain")
    if len(x) >= 10 and not _equal(x, resolution):
        remarks += _correlation(x) + _outliers(x)
    return remarks


def _correlation(x: Floats) -> list[str]:
    _, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[index]  # ties share their mean rank
    if np.ptp(ranks[1:]) == 0 or np.ptp(ranks[:-1]) == 0:
        return []
    lag = float(np.corrcoef(ranks[:-1], ranks[1:])[0, 1])
    if not abs(lag) > max(CORRELATED, 3.3 / math.sqrt(len(x))):
        return []
    return [f"consecutive durations are correlated (rank correlation {lag:.2f}); a model draws them independently"]


def _outliers(x: Floats) -> list[str]:
    log = np.log(x)
    centre = float(np.median(log))
    width = 1.4826 * float(np.median(np.abs(log - centre)))
    out = np.flatnonzero(log - centre > OUTLYING * width) if width > 0 else np.array([], dtype=int)
    if not 0 < len(out) <= RARE * len(x):
        return []
    first = ", the first of all among them: a warm-up?" if out[0] == 0 else ""
    return [f"{len(out)} outliers, up to {x.max():.6g} s against a median of {math.exp(centre):.6g} s{first}"]


def _estimated(name: str, x: Floats) -> Alternative:
    estimate, parameters = ESTIMATORS[name]
    try:
        law = estimate(x)
    except ValueError as problem:
        return Alternative(family=name, parameters=parameters, note=str(problem))
    log_likelihood = float(log_density(law, x).sum())
    if not math.isfinite(log_likelihood):
        return Alternative(family=name, parameters=parameters, note="its likelihood of these durations is 0")
    n, k = len(x), parameters
    aicc = 2 * k - 2 * log_likelihood + (2 * k * (k + 1) / (n - k - 1) if n > k + 1 else math.inf)
    return Alternative(
        family=name,
        law=law,
        parameters=k,
        log_likelihood=log_likelihood,
        aicc=aicc,
        bic=k * math.log(n) - 2 * log_likelihood,
        ks=distance(law, x),
    )


def _finished(
    x: Floats,
    chosen: Alternative,
    criterion: str,
    reason: str,
    alternatives: tuple[Alternative, ...],
    warnings: list[str],
    source: str,
    seed: int,
    samples: int,
) -> Fit:
    if chosen.law is None:
        raise refuse(DataError, "E0812", "no family can be fitted to these durations", help="; ".join(a.note for a in alternatives))
    estimate = ESTIMATORS[chosen.family][0]
    p = p_value(chosen.law, len(x), chosen.ks, estimate, np.random.default_rng(seed), samples) if samples else None
    return Fit(
        law=chosen.law,
        family=chosen.family,
        parameters=_parameters(chosen.law),
        n=len(x),
        mean=float(x.mean()),
        cv=float(x.std() / x.mean()),
        log_likelihood=chosen.log_likelihood,
        aicc=chosen.aicc,
        bic=chosen.bic,
        ks=chosen.ks,
        p_value=p,
        criterion=criterion,
        reason=reason,
        alternatives=alternatives,
        warnings=tuple(warnings + _verdict(chosen.ks, p)),
        source=source,
        seed=seed,
    )


def _verdict(ks: float, p: float | None) -> list[str]:
    if p is None or p >= IMPROBABLE:
        return []
    size = "far" if ks > FAR else "slightly" if ks < 0.02 else "visibly"
    return [f"the durations differ {size} from this law (KS distance {ks:.3f}, p {p:.3f})"]


def _choice(tried: Sequence[Alternative], criterion: str) -> tuple[Alternative, str]:
    """The best family, or one as good as the best that exact solvers can take: that of the fewest phases."""
    best, name = tried[0], criterion.upper().replace("AICC", "AICc")
    equals = [a for a in tried if a.law is not None and getattr(a, criterion) - getattr(best, criterion) < AS_GOOD]
    solvable = [(n, a) for a in equals if (n := _phases(a)) <= MANY_PHASES]
    phases, chosen = min(solvable, key=lambda pair: pair[0], default=(0, best))
    if chosen is not best:
        gap = getattr(chosen, criterion) - getattr(best, criterion)
        return chosen, f"{name} only {gap:.2f} above that of {best.family}, and exact solvers can take it ({phases} phases)"
    second = next((a for a in tried[1:] if a.law is not None), None)
    if second is None:
        return best, "the only family that can be fitted"
    return best, f"lowest {name}, {getattr(second, criterion) - getattr(best, criterion):.2f} below {second.family}"


def _phases(alternative: Alternative) -> int:
    """Phases of the law, or more than :data:`MANY_PHASES` where it has none."""
    match alternative.law:
        case Exponential():
            return 1
        case Erlang(k=k):
            return k
        case HyperExponential(rates=rates):
            return len(rates)
    return MANY_PHASES + 1


def _hopeless(result: Fit) -> bool:
    return result.ks > FAR and result.cv > STEADY and result.p_value is not None and result.p_value < IMPROBABLE


def _fallback(x: Floats, rejected: Fit) -> Fit:
    reason = f"no family comes near: the best, {rejected.family}, has KS distance {rejected.ks:.3f}"
    hint = f"{reason}; the durations themselves are used (exact solvers cannot take them; family={rejected.family} forces that law)"
    own = [w for w in rejected.warnings if not w.startswith("the durations differ")]
    return _discrete(x, "empirical", reason, [*own, hint], rejected.source, rejected.alternatives)


def _discrete(x: Floats, name: str, reason: str, warnings: list[str], source: str, tried: tuple[Alternative, ...] = ()) -> Fit:
    law = DISCRETE[name](x)
    cv = float(x.std() / x.mean()) if np.ptp(x) > 0 else 0.0
    if name == "det" and cv > EQUAL:
        warnings = [*warnings, f"a constant leaves out the variation of the durations (cv {cv:.4g})"]
    return Fit(
        law=law,
        family=name,
        parameters=_parameters(law),
        n=len(x),
        mean=float(x.mean()),
        cv=cv,
        log_likelihood=math.nan,
        aicc=math.nan,
        bic=math.nan,
        ks=0.0 if name == "det" and cv <= EQUAL else distance(law, x),
        p_value=None,
        criterion="",
        reason=reason,
        alternatives=tried,
        warnings=tuple(warnings),
        source=source,
    )


def _parameters(law: Law) -> dict[str, object]:
    return {f.name: getattr(law, f.name) for f in fields(law) if f.init}  # type: ignore[arg-type]  # every law is a dataclass
