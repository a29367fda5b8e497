"""Rows that are joined in pairs as they become many, so that memory does not grow with the run."""

from __future__ import annotations

import numpy as np

from spn.sim.engine import Floats

MOST = 1024


class Rows:
    """Sums of equally many consecutive items each; ``count`` items in all. The last items that do not fill a row are in none."""

    def __init__(self) -> None:
        self.count = 0
        self._size = 1
        self._rows: list[Floats] = []
        self._open: Floats | None = None
        self._filled = 0

    def add(self, item: Floats) -> None:
        """Another item."""
        self.count += 1
        self._open = item.copy() if self._open is None else self._open + item
        self._filled += 1
        if self._filled == self._size:
            self._rows.append(self._open)
            self._open, self._filled = None, 0
        if len(self._rows) == MOST:
            self._rows = [a + b for a, b in zip(self._rows[::2], self._rows[1::2], strict=True)]
            self._size *= 2

    def all(self) -> Floats:
        """The rows, one below the other."""
        return np.array(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
