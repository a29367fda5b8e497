"""Stochastic Petri nets: a language, exact solvers, a simulator, and models of distributed training."""

__version__ = "0.1.0"
