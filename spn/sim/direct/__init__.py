"""The direct method, for nets whose timed laws are all exponential: rates in place of clocks (D. T. Gillespie, J. Phys. Chem. 81, 1977)."""
