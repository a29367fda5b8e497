"""Numbers by which kernels know the leaf families. Append only: compiled kernels are cached, and the cache does not watch this file."""

from __future__ import annotations

DETERMINISTIC = 0
EXPONENTIAL = 1
UNIFORM = 2
GAMMA = 3
HYPEREXPONENTIAL = 4
HYPOEXPONENTIAL = 5
COXIAN = 6
PHASE_TYPE = 7
WEIBULL = 8
LOGNORMAL = 9
PARETO = 10
NORMAL = 11
TRIANGULAR = 12
BETA = 13
EMPIRICAL = 14
ERLANG = 15
RECORDED = 16  # no family: works drawn before, in the place of a stream (spn.sim.recorded)
