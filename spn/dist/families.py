"""The table of families: every law by the name that the language gives it.

``FAMILIES`` holds the families with parameters. The laws made of other laws have a grammar of their own in the language
(``mix(0.9: a, 0.1: b)``, ``shift(d, by)``, ``scale(d, by)``) and are built by their constructors: :class:`Mixture`, :class:`Shifted`,
:class:`Scaled`. All constructors check their values and raise ValueError with a text for people.
"""

from __future__ import annotations

from spn.dist import (
    beta,
    coxian,
    deterministic,
    empirical,
    erlang,
    exponential,
    gamma,
    hyperexponential,
    hypoexponential,
    lognormal,
    normal,
    pareto,
    phase_type,
    triangular,
    uniform,
    weibull,
)
from spn.dist.beta import Beta
from spn.dist.coxian import Coxian
from spn.dist.deterministic import Deterministic
from spn.dist.empirical import Empirical
from spn.dist.erlang import Erlang
from spn.dist.exponential import Exponential
from spn.dist.family import Family, Form, Parameter, Role, Shape
from spn.dist.gamma import Gamma
from spn.dist.hyperexponential import HyperExponential
from spn.dist.hypoexponential import HypoExponential
from spn.dist.lognormal import Lognormal
from spn.dist.mixture import Mixture
from spn.dist.normal import TruncatedNormal
from spn.dist.pareto import Pareto
from spn.dist.phase_type import PhaseTypeLaw
from spn.dist.scaled import Scaled
from spn.dist.shifted import Shifted
from spn.dist.triangular import Triangular
from spn.dist.uniform import Uniform
from spn.dist.weibull import Weibull

FAMILIES: dict[str, Family] = {
    module.FAMILY.name: module.FAMILY
    for module in (
        exponential,
        deterministic,
        uniform,
        erlang,
        gamma,
        hyperexponential,
        hypoexponential,
        coxian,
        phase_type,
        weibull,
        lognormal,
        pareto,
        normal,
        triangular,
        beta,
        empirical,
    )
}

__all__ = [
    "FAMILIES",
    "Beta",
    "Coxian",
    "Deterministic",
    "Empirical",
    "Erlang",
    "Exponential",
    "Family",
    "Form",
    "Gamma",
    "HyperExponential",
    "HypoExponential",
    "Lognormal",
    "Mixture",
    "Parameter",
    "Pareto",
    "PhaseTypeLaw",
    "Role",
    "Scaled",
    "Shape",
    "Shifted",
    "Triangular",
    "TruncatedNormal",
    "Uniform",
    "Weibull",
]
