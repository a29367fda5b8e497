"""The arrays that RESTART works on, in Python and in the kernel."""

from __future__ import annotations

# numbers of a run
REGION = 0  # of the present path
FLOOR = 1  # the region below which it ends, 0 for an original path
DEPTH = 2  # splits that are not finished
FIRINGS = 3  # of the original path
REACHED = 4  # thresholds that the present root has come up across
WHOLE = 5  # 1 where a root is the run
FINAL = 6  # 1 once the original path has come to the horizon
MADE = 7  # firings of all paths of this run
ORIGINAL = 8  # of which of original paths, since they were last reported
ROOTS = 9  # that ended since they were last reported
BOOK = 10

# sums of a run, by primitive
BEFORE = 0  # the path's integrals when its present stretch began
SUMS = 1  # weighted integrals over all paths
ENDS = 2  # weighted rates at the horizon
ROOT = 3  # of the present root
STAY = 4  # of the present stay in the last region, not weighted
RUN = 5

# sums of a tally, by primitive
T_SUMS = 0  # of the contributions of roots
T_SQUARES = 1
T_LARGEST = 2
T_PLAIN = 3  # squares without splitting
T_TOTAL = 4  # outside of roots too
TALLY = 5

# kinds of places of primitives
TRACK = 0
CLOCKS = 1
COUNT = 2
SUM = 3

# status
LOOK = 5  # so many firings were made that it is time to look at the clock
