"""What the kernels of exploration are given: one block of 64-bit registers, addresses and numbers side by side.

``R_`` are words of that block. An *entry* is a marking found and not yet looked up: its hash, its weight (a double), the transition that
fired, then its packed words. A place's *field* is three words: the number of its word, the shift, and the mask, which is also the most
tokens it holds. A slot of the table is a tag (the upper half of the hash) and, in the lower half, the number of a state plus one.
"""

from __future__ import annotations

# statuses of a kernel; negative ones from helpers, so that they cannot be mistaken for counts
DONE = 0  # every known marking is expanded
LOOK = -1  # more markings than asked for are known
ROOM = -2  # no room for the states that may come
ARCS = -3  # no room for the arcs
ENTRIES = -4  # no room for the firings of one marking
WIDEN = -5  # R_PLACE gets R_TOKENS tokens, more than its field holds
WRONG = -6  # the marking at R_TROUBLE means nothing; the semantics has the words
LOOP = -7  # immediates lead round in a circle, or through more markings than are kept: not for this kernel

R_NET = 0  # address of the compiled net's image
R_STACK = 1  # address of its scratch space
R_CHOSEN = 2  # address of pairs of words, one for each immediate
R_LAW = 3  # address of doubles: rate of each transition's law per unit of its clock's rate
R_PLACES = 4
R_WIDTH = 5  # words a marking
R_FIELDS = 6  # address of the places' fields
R_DELTAS = 7  # address: what a firing of each transition adds to each word, where it is the same in every marking
R_WORDS = 8  # address of the packed markings
R_SLOTS = 9  # address of the table
R_MASK = 10  # slots less one
R_ROOM = 11  # states there is room for, in every array and in the table
R_MOST = 12  # states to stop at
R_COUNT = 13  # states known
R_HEAD = 14  # the first that is not expanded; -1 before the initial marking is looked at
R_LENGTHS = 15  # address of half words: the arcs of each row
R_COLUMNS = 16  # address of the targets, half words
R_VALUES = 17  # address of rates or weights, doubles
R_ARCS = 18  # arcs known
R_ARC_ROOM = 19
R_PARENT = 20  # address of half words
R_ENTRIES = 21  # address of the entries
R_ENTRY_ROOM = 22
R_CHAIN = 23  # 1: tangible markings alone, rows merged and sorted; 0: every marking and firing
R_VIA = 24  # address of half words: the transition that found a state (graph only)
R_TRANSITIONS = 25  # address of half words: the transition of an arc (graph only)
R_FIRINGS = 26  # timed firings seen
R_MARKING = 27  # address of scratch space: a marking
R_AFTER = 28  # address of scratch space: a marking after a firing
R_TROUBLE = 29  # address: a marking that means nothing
R_PLACE = 30
R_TOKENS = 31
R_ENDS = 32  # address: the number of entries up to each marking of a block
R_INITIAL = 33  # address of the initial marking
# vanishing markings that one firing passes through
R_PASSED = 34  # address of their markings
R_CHANCE = 35  # address of doubles: the mean number of visits
R_DEGREE = 36  # address: arcs into each that are not yet accounted for
R_BEGIN = 37  # address: the first arc of each, one more at the end
R_TO = 38  # address: a vanishing marking, or -1 less the number of an entry
R_SHARE = 39  # address of doubles: the probability of an arc
R_BY = 40  # address: the transition of an arc
R_LOOKUP = 41  # address of a small table of them
R_STAMP = 42  # which makes the table's old contents void
R_ORDER = 43  # address: those ready to pass on
R_KNOWN = 46  # how many of them are known
R_PASSING = 47  # arcs between them
# transitions that are decided and fired on packed words, where fields are guarded
R_GUARDS = 44  # address: the guard bits of each word; 0 where there are none
R_PLAIN = 45  # address: a record of each transition
R_SIZE = 50

BLOCK = 64  # markings expanded together, so that memory is waited for once
MOST_PASSED = 1024  # vanishing markings that one firing may pass through
PASSED_ARCS = 8 * MOST_PASSED
LOOKUP = 4 * MOST_PASSED  # slots of their table

P_KIND = 0  # 0: it has to be unpacked for; 1: its rate is constant where it is enabled; 2: its rate is that of tokens in one place
P_RATE = 1  # double: the rate of one clock
P_WORD = 2  # where the tokens of that place are
P_SHIFT = 3
P_MASK = 4
P_SERVERS = 5
P_FIRES = 6  # the firing adds the same to the words in every marking, and leads to a marking that is kept
P_LIMITED = 7  # it has inhibitors or capacities: the second row of words counts
P_NEEDS = 8  # two rows of words: the least tokens with which it is enabled, then the most
P_SIZE = 8  # beside the words

E_HASH = 0
E_WEIGHT = 1
E_TRANSITION = 2
E_WORDS = 3
E_SIZE = 3  # beside the words
