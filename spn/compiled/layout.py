"""The memory picture of a compiled net: one block of 64-bit words, integers and doubles side by side.

Kernels take the block's address and the word offsets below. ``H_`` are words of the header, ``F_`` words of a transition's record,
``A_`` of an arc group's record, ``L_`` of a law leaf's. An offset of 0 means "none". Quantities (weight, speed, scale, share) take
two words: the constant, and the offset of a program or 0. A program is its number of instructions, then pairs (operation, argument); a
list is its length, then its items.
"""

from __future__ import annotations

from enum import IntEnum


class Op(IntEnum):
    """Instructions; each has one argument word, unused by most. Jumps are relative to the next instruction."""

    CONSTANT = 0
    PLACE = 1
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    IDIV = 6
    MOD = 7
    POW = 8
    EQ = 9
    NE = 10
    LT = 11
    LE = 12
    GT = 13
    GE = 14
    MIN = 15
    MAX = 16
    NEGATE = 17
    NOT = 18
    TRUTH = 19
    ABS = 20
    FLOOR = 21
    CEIL = 22
    SQRT = 23
    LN = 24
    EXP = 25
    JUMP = 26
    JUMP_IF_ZERO = 27


NONE = 0
UNBOUNDED = 2**62  # capacity of a place without one

# header
H_PLACES = 0
H_TRANSITIONS = 1
H_CAPACITY = 2  # offset: one word a place
H_RECORDS = 3  # offset: the transitions' records
H_IMMEDIATES = 4  # offset: list of immediate transitions, highest priority first, then in the order of the net
H_TIMED = 5  # offset: list of timed transitions
H_DEPTH = 6  # words of stack that any program needs; scratch space begins there
H_SCRATCH = 7  # words of stack and scratch space together
H_TICKS = 8  # ticks per second, a double
H_GROUPS = 9  # number of groups of transitions that share one speed
H_GROUP = 10  # offset: the groups' records
H_LINKS = 11  # number of links
H_LINK = 12  # offset: capacity of each link, doubles
H_EXPRESSIONS = 13  # offset: list of programs compiled beside the net
H_CROWDS = 14  # number of crowds
H_CROWD = 15  # offset: the crowds' records
H_MEMBERSHIPS = 16  # offset: for each membership the transition, then the crowd
H_EVEN = 17  # all immediates are of one priority, weigh 1, and are enabled or not by constants
H_LARGE = 18  # the image is larger than fast caches: what a clock's expiry will need is asked for when the clock starts
H_CERTAIN = 19  # the enabling of all timed transitions is a matter of constants
H_SIZE = 24

# transition record: first what nearly every firing reads
F_DELTA = 0  # list of (place, change) pairs where all multiplicities are constant and nothing is flushed, else 0
F_TIMED = 1  # list of timed transitions whose number of clocks may change at a firing, ascending; itself included, crowds not
F_QUIET = 2  # a firing resets nothing, and no immediate, speed or crowd depends on it
F_CERTAIN = 3  # the enabling of all in that list can be read without error, and there is no crowd of timed ones to look at
F_AFFECTED_EXPRESSIONS = 4  # list of expressions whose value may change
F_PLAIN = 5  # one server, constant speed, restart, no latency: no record per clock is needed
F_ENABLING = 6  # what decides on the enabling degree: ONE_INPUT, CONSTANTS or GENERAL
F_PLACE = 7  # ONE_INPUT: its place,
F_NEEDS = 8  # and how many tokens it takes of it; CONSTANTS: offset of the conditions
F_SERVERS = 9  # -1 infinite
F_MEMBER = 10  # list of its memberships in crowds, 0 where there are none
F_LAW = 11  # offset of the leaves of its law
F_FACTOR = 12  # double: constant scale over constant speed, applied to every draw
F_SCALE = 13  # quantity
F_GROUP = 15  # speed group, -1 where the clocks run at a constant speed
F_POOL = 16  # room for its lists of timed transitions, conditions, changes and leaves, as far as they fit: near, in memory, to the rest
F_COLD = 48
F_OWN = 48  # of a member of crowds: offset of those of its conditions that are not on the crowds' places
F_GATE = 49  # one more than the crowd with a gate that it is a member of, 0 where there is none
F_IMMEDIATE = 50
F_PRIORITY = 51
F_GROUPS_BEGIN = 52  # offsets of the first arc group and of the one past the last
F_GROUPS_END = 53
F_GUARD = 54
F_WEIGHT = 55  # quantity
F_MEMORY = 57
F_SPEED = 58  # quantity
F_BOUNDED = 60  # an output place has a capacity
F_RESETS = 61  # list of transitions
F_AFFECTED_IMMEDIATES = 62  # list of immediate transitions whose enabling may change
F_NEAR_IMMEDIATES = 63  # the same without crowds
F_AFFECTED_GROUPS = 64  # list of speed groups whose speed or share may change
F_CROWDS_TIMED = 65  # list of the crowds of timed transitions whose place a firing changes
F_CROWDS_IMMEDIATE = 66  # list of those of immediate transitions
F_ORDER = 67  # of an immediate: its place in the list of all
F_LATENCY = 68  # double seconds outside the ticks, then double ticks
F_SIZE = 72

# crowd record
W_PLACE = 0
W_GATED = 1  # immediates with one and the same condition on the place, that are in no other crowd
W_FEWEST = 2  # tokens that open the gate
W_MOST = 3
W_SIZE = 4

# conditions: number of inputs, pairs (place, tokens a clock); number of bounds, triples (place, fewest, most)
ONE_INPUT = 0
CONSTANTS = 1
GENERAL = 2  # guards, multiplicities that depend on the marking

# arc group record
A_KIND = 0
A_PLACE = 1
A_CONSTANT = 2  # combined multiplicity, -1 where it depends on the marking
A_PROGRAMS = 3  # list of programs, one an arc
A_SIZE = 4

# law leaf record
L_UPTO = 0  # double: probability of this leaf and those before it; ALONE where there is one only
L_KIND = 1
L_OFFSET = 2  # of its parameters
L_COUNT = 3
L_DISCRETE = 4  # its values are whole ticks
L_SIZE = 5  # (the parameters of a sole leaf follow it)
ALONE = 2.0

# speed group record
G_SPEED = 0  # quantity
G_SHARE = 2  # quantity
G_CAP = 4  # double
G_LINKS = 5  # list of links; empty for work that is not a transfer
G_MEMBERS = 6  # list of transitions
G_COMPONENT = 7  # list of groups that share links with it, directly or not, itself included, ascending
G_SIZE = 8

# arc kinds and memory policies
# (LIMIT: a capacity as the number of tokens from which on the firing would exceed it, where all multiplicities are constant)
INPUT, TEST, INHIBITOR, LIMIT, FLUSH, OUTPUT = range(6)
RESTART, RESUME, REPEAT = range(3)
