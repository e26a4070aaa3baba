"""What a model remembers: values that can always be made again, the last used ones first.

Keys that hold arrays of arms keep a digest of them, and the store forgets by size: with a million
arms a handful of whitened coordinates is all that fits.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeVar

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray

T = TypeVar("T")
# Values kept at most, and numbers (float64) that those of known size may hold together: 256 MB.
_MEMO = 512
_NUMBERS = 1 << 25
# Arrays longer than this enter a key as a digest: at 160 bits no two of a run will ever agree.
_PLAIN_BYTES = 1 << 12


@dataclass
class Memo:
    """Last recently used values; not part of any state."""

    store: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)
    sizes: dict[Hashable, int] = field(default_factory=dict)

    def memo(self, key: Hashable, make: Callable[[], T], size: int = 0) -> T:
        """The value kept under a key, or made now; ``size`` is how many numbers it holds, if many."""
        if key in self.store:
            self.store.move_to_end(key)
            kept: T = self.store[key]
            return kept
        self._make_room(size)
        value = self.store[key] = make()
        if size:
            self.sizes[key] = size
        return value

    def _make_room(self, size: int) -> None:
        """Forget what was not used for longest: before a large value is made, not after."""
        if len(self.store) >= _MEMO:
            self._forget(next(iter(self.store)))
        if size == 0 or sum(self.sizes.values()) + size <= _NUMBERS:
            return
        for key in [key for key in self.store if key in self.sizes]:
            self._forget(key)
            if sum(self.sizes.values()) + size <= _NUMBERS:
                return

    def _forget(self, key: Hashable) -> None:
        """One value less."""
        del self.store[key]
        self.sizes.pop(key, None)


def key_of(array: IntArray | FloatArray | BoolArray) -> bytes:
    """An array as part of a key."""
    if array.nbytes <= _PLAIN_BYTES:
        return array.tobytes()
    return blake2b(array.data, digest_size=20).digest()
