"""Markov chains: stationary vectors, recurrent classes, absorption."""

from spn.markov.longrun import Class, LongRun, long_run
from spn.markov.stationary import METHODS, Stationary, stationary

__all__ = ["METHODS", "Class", "LongRun", "Stationary", "long_run", "stationary"]
