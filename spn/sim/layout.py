"""The memory picture of a trajectory's state: one block of 64-bit words that the simulation kernel works on.

``Z_`` are words of the header, ``S_`` words of a station's record (the clocks of one transition), ``C_`` of a clock's, ``K_`` of a
key's (what heaps order by), ``Q_`` of a parked clock's, ``P_`` of a pace's (a speed group), ``X_`` of a track's (an integral over time).
A heap is its number of items, then pairs: the first number of an item's key, and its id. A stream is the state of a generator: four words.
"""

from __future__ import annotations

# header
Z_TIME = 0  # double: the time reached
Z_BASE = 1  # double
Z_TICKS = 2  # double
Z_FIRINGS = 3
Z_INSTANT = 4  # firings since time last passed
Z_LIMIT = 5  # of them
Z_PHASE = 6
Z_FIRED = 7  # the only transition fired since the last tangible marking, -1 where there were several (then see the dirty bits)
Z_PROBLEM = 8  # transition that stopped the kernel
Z_MARKING = 9  # offsets from here on
Z_STATIONS = 10
Z_PACES = 11
Z_KEYS = 12  # of what may happen next: transitions, then groups, then transitions again (for entering links)
Z_HEAP = 13
Z_STACK = 14
Z_OUT = 15  # pairs (transition, weight)
Z_COUNTS = 16  # firings of each transition
Z_DIRTY = 17  # bits of the timed transitions to look at, 62 a word: a word for each 62 words that says which are not 0, then the words
Z_DIRTY_WORDS = 18  # number of the former
Z_ENABLED = 19  # number of enabled immediates, then their bits in the order of the compiled net's list, 62 a word
Z_LOOK = 20  # room for a list of transitions
Z_TRACKS = 21  # of the expressions
Z_DIRTY_EXPRESSIONS = 22  # list, then one flag each
Z_DIRTY_PACES = 23  # list
Z_TIES = 24  # room for ids
Z_REWARDS = 25  # of each transition: offset of a list of pairs (program or 0 for one, sum), 0 for none
Z_LINK_TRACKS = 26
Z_LINK_WORK = 27  # two doubles a link: used, demand
Z_BAD = 28  # per transition: 1 where its enabling was found undefined
Z_STREAM = 29  # the stream of choices among clocks; at first that of everything
Z_CROWDS = 30  # for each crowd the offset of the list of the memberships of those that its place alone may disable;
# of one with a gate: whether it is open, their number, and their bits as those of the enabled
Z_DIRECT = 31  # offset of the part of the direct method (spn.sim.direct.layout), where it is used
Z_MEMBER_AT = 32  # place of each membership in that list, -1 outside
Z_SEPARATE = 35  # 1 where transitions have streams of their own
Z_TARGET = 34  # clocks for which it has no room (GROW)
Z_RESTART = 33  # finishes of a group after which its attained work begins anew at 0
Z_SIZE = 40

# phases
READY = 0
CLOCKS = 1  # the clocks have to be brought in line with the marking
START = 2
FIRING = 3  # immediates may be enabled

# key, at the head of a clock's record too
K_VALUE = 0
K_BASE = 1
K_TICKS = 2
K_AT = 3  # place in the heap, -1 outside
K_SIZE = 4

C_TOTAL = 4  # pair
C_ENTERING = 6
C_SIZE = 8

Q_LEFT = 0  # pair
Q_TOTAL = 2  # pair
Q_ENTERING = 4
Q_SIZE = 5

S_RUNNING = 0
S_RESET = 1
S_TRACKED = 2
S_CHANGED = 3  # its clocks changed since it was last posted
S_STREAM = 4  # offset of the stream that it draws from
S_CHOICES = 5  # and of the one for choices among several of which it is the first
S_ACTIVE = 6  # 1 where only places of crowds may disable it
S_MEMBER = 7  # place among the members of its group
S_PARKED = 8
S_ROOM = 9
S_CLOCKS = 10
S_PARK = 11
S_WORKING = 12  # heap of the clocks that work
S_ENTERING = 13  # heap of the clocks in their latency
S_SINCE = 14
S_INTEGRAL = 15
S_SIZE = 16

P_ATTAINED = 0  # pair
P_SINCE = 2  # pair
P_RATE = 4
P_SHARE = 5
P_WORKING = 6
P_TOUCHED = 7
P_DIRTY = 8
P_DONE = 9
P_KEYS = 10
P_HEAP = 11
P_WEIGHT = 12
P_SPEED = 13
P_LIMIT = 14
P_RISING = 15
P_FINISHES = 16  # since the attained work began at 0
P_SIZE = 18

BITS = 62  # of a word that sets of transitions use
RESTART_AFTER = 2**20  # finishes of a group: a million roundings of the attained work at most

X_VALUE = 0
X_SINCE = 1
X_INTEGRAL = 2
X_SIZE = 3

# status
DONE = 0
HORIZON = 1
STILL = 2
GROW = 3
WRONG = -1
LOOP = -2
