"""Markings packed into 64-bit words: each place has a field of as many bits as its tokens need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Halves = NDArray[np.int32]
Whole = Ints | Halves

WORD = 64
WIDEST = 63  # bits of a field: the largest int64
ROWS = 100_000  # unpacked at a time


@dataclass(frozen=True, slots=True)
class Fields:
    """Where each place lies: ``table`` (places, 3) holds the number of its word, the shift, and the mask, which is also the most
    tokens that fit; ``width`` is the number of words a marking. ``guarded``: above each field is a bit that no marking sets, so that all
    fields of a word can be compared, or added to, at once."""

    table: Ints
    width: int
    guarded: bool = False

    @property
    def most(self) -> Ints:
        """The most tokens that each place can hold in its field."""
        most: Ints = self.table[:, 2]
        return most


def fields(most: Sequence[int]) -> Fields:
    """Fields for places that hold up to ``most`` tokens (each below 2^63), guarded where that takes no more words."""
    bits = [min(WIDEST, max(1, int(k).bit_length())) for k in most]
    plain, guarded = _laid(bits, 0), _laid(bits, 1)
    return guarded if guarded.width <= plain.width else plain


def _laid(bits: Sequence[int], guard: int) -> Fields:
    """The widest first, each into the first word with room."""
    table = np.zeros((len(bits), 3), dtype=np.int64)
    free: list[int] = []
    for p in sorted(range(len(bits)), key=lambda p: -bits[p]):
        size = bits[p] + guard
        word = next((w for w, room in enumerate(free) if room >= size), len(free))
        if word == len(free):
            free.append(WORD)
        table[p] = word, WORD - free[word], (1 << bits[p]) - 1
        free[word] -= size
    return Fields(table, max(1, len(free)), guarded=guard > 0)


@dataclass(frozen=True, slots=True, eq=False)
class Markings:
    """Markings of ``places`` places, packed: ``words`` (markings, width). Reading gives plain int64 arrays, ``m[i]`` one marking (places),
    ``m[rows]`` several (rows, places); only what is asked for is unpacked."""

    words: Ints
    fields: Fields

    def __len__(self) -> int:
        return len(self.words)

    @property
    def places(self) -> int:
        return len(self.fields.table)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.words), self.places

    @property
    def size(self) -> int:
        return len(self.words) * self.places

    def column(self, place: int) -> Ints:
        """The tokens of one place in every marking."""
        word, shift, mask = self.fields.table[place].tolist()
        found: Ints = (self.words[:, word] >> shift) & mask
        return found

    def columns(self, places: Sequence[int]) -> Ints:
        """The tokens of some places in every marking (markings, places)."""
        found = np.empty((len(self), len(places)), dtype=np.int64)
        for k, p in enumerate(places):
            found[:, k] = self.column(p)
        return found

    def rows(self, at: Any) -> Markings:
        """Some of the markings, still packed."""
        return Markings(self.words[at], self.fields)

    def first(self, places: int) -> Markings:
        """The same markings over the first places alone."""
        return Markings(self.words, Fields(self.fields.table[:places], self.fields.width, self.fields.guarded))

    def blocks(self) -> Iterator[tuple[int, Ints]]:
        """All markings, some at a time, with the number of the first of them."""
        for begin in range(0, len(self), ROWS):
            yield begin, self[begin : begin + ROWS]

    def most(self) -> Ints:
        """The most tokens in each place."""
        return np.array([int(self.column(p).max()) for p in range(self.places)], dtype=np.int64)

    def __getitem__(self, at: Any) -> Ints:
        if isinstance(at, tuple):
            rows, places = at
            return self[rows][..., places]
        words = self.words[at]
        word, shift, mask = self.fields.table.T
        found: Ints = (words[..., word] >> shift) & mask
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype=dtype)

    def tolist(self) -> list[list[int]]:
        found: list[list[int]] = self[:].tolist()
        return found


def packed(rows: Ints) -> Markings:
    """The rows (markings, places) of an array, each number from 0 to 2^63 - 1, packed as tightly as they allow."""
    found = fields(rows.max(axis=0).tolist() if len(rows) else [1] * rows.shape[1])
    words = np.zeros((len(rows), found.width), dtype=np.int64)
    for p, (word, shift, _) in enumerate(found.table.tolist()):
        words[:, word] |= rows[:, p] << shift
    return Markings(words, found)
