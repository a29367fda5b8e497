"""Solving a model: exactly where it is a Markov chain, else by simulation."""

from spn.solvers.choose import may_solve, solve

__all__ = ["may_solve", "solve"]
