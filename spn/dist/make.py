"""Laws by name, for Python users: the same families and parameters as in the model language."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from spn.dist.families import FAMILIES
from spn.dist.family import Argument, Family
from spn.dist.law import Law
from spn.errors import ModelError, nearest, refuse
from spn.expr.nodes import exact


def law(family: str, *positional: Any, **named: Any) -> Law:
    """A law of a family of the language, in base units: ``law("erlang", 4, mean=0.012)``, ``law("lognormal", mean=0.18, cv=0.08)``,
    ``law("hyperexp", probs=[0.3, 0.7], rates=[1, 5])``. A :class:`ModelError` says what is wrong and lists the parameters."""
    if not isinstance(family, str):
        raise TypeError(f"the family of a law is given by its name, as in law('exp', mean=1), not by {family!r}")
    known = FAMILIES.get(family)
    if known is None:
        near = nearest(family, FAMILIES)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(sorted(FAMILIES))}"
        raise refuse(ModelError, "E0203", f"no family of distributions is called {family}", help=hint)
    try:
        given = {name: _argument(v) for name, v in _named(known, positional, named).items()}
        return known.build(given)
    except (TypeError, ValueError) as error:
        raise refuse(ModelError, "E0401", f"{family}: {error}", help=f"write {known.signatures()}") from None


def _named(family: Family, positional: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """All arguments by name: the positional ones take the names of the first form that has them and the named ones."""
    for form in family.forms:
        names = [p.name for p in form.parameters if p.positional][: len(positional)]
        if len(names) == len(positional) and not set(names) & set(named) and form.takes(frozenset([*names, *named])):
            return {**dict(zip(names, positional, strict=True)), **named}
    given = [*(repr(v) for v in positional), *(f"{k}=" for k in named)]
    raise ValueError(f"none of its forms takes ({', '.join(given)})")


def _argument(value: Any) -> Argument:
    if isinstance(value, bool | int | float | Fraction):
        return exact(value)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"a parameter is a number or a list of numbers, not {value!r}")
    return tuple(_argument(v) for v in value)  # type: ignore[return-value]  # lists of lists are matrices
