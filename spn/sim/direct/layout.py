"""The memory picture of the direct method: what is fixed (``N_``, a slot ``B_``), and its part of a trajectory's state block (``D_``).

A *slot* is a timed transition, in the order of the net. The rates of the slots are the leaves of a binary tree of sums: node 1 is the
total, nodes 2 i and 2 i + 1 are the parts of node i, slot k is node ``leaves + k``.
"""

from __future__ import annotations

N_LEAVES = 0  # a power of two
N_SLOTS = 1
N_SLOT = 2  # offset: records of the slots
N_LISTS = 3  # offset: for each transition the offset of a list: the slots whose rate its firing may change
N_SIZE = 4

B_TRANSITION = 0
B_RATE = 1  # double: rate of one clock at speed 1
B_MOVING = 2  # 1 where the speed depends on the marking
B_SERVERS = 3
B_PLACE = 4  # a place and how many of its tokens each clock takes; where that is all there is to see,
B_NEEDS = 5  # B_KIND is ONE_INPUT; or the offset in the compiled net of the conditions, where it is CONSTANTS
B_KIND = 6
B_SIZE = 8

# words 0 to 3: the state of the generator
D_DUE = 4  # double: the instant of the next firing, if
D_DRAWN = 5  # it has been drawn
D_COUNTED = 6  # 0 while a vanishing initial marking is resolved
D_WATCH = 7  # offset in the state block of the track of a watched expression, 0 for none: a run ends where its value, in a tangible
D_LOW = 8  # marking that a firing led to, is below this double
D_HIGH = 9  # or not below this one
D_FIRED = 10  # number of transitions fired since the last tangible marking, then their ids as far as there is room
D_ROOM = 16  # for so many
D_TREE = D_FIRED + 1 + D_ROOM
