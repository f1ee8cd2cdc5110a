"""PyTorch's caching allocator on a GPU: blocks, pools of segments, best fit, splitting, merging.

`allocated` counts the bytes of blocks in use, `requested` those asked for, `reserved` the segments
taken from the device. Segments are kept when their blocks are freed.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import List, Optional

KIB, MIB = 1 << 10, 1 << 20

BLOCK = 512  # a block is a multiple of this
SMALL = 1 * MIB  # the largest block of the small pool
SMALL_SEGMENT = 2 * MIB
LARGE = 10 * MIB  # below this, blocks of the large pool share segments
LARGE_SEGMENT = 20 * MIB
ROUND_SEGMENT = 2 * MIB  # other segments are a multiple of this


def round_size(requested: int) -> int:
    """The bytes of the block that a request takes."""
    return max(BLOCK, -(-requested // BLOCK) * BLOCK)


def segment_size(size: int) -> int:
    """The bytes taken from the device for a block that no free block holds."""
    if size <= SMALL:
        return SMALL_SEGMENT
    if size < LARGE:
        return LARGE_SEGMENT
    return -(-size // ROUND_SEGMENT) * ROUND_SEGMENT


@dataclass(eq=False)
class Block:
    """A piece of a segment. Blocks of a segment are a list in order of address."""

    segment: int
    address: int
    size: int
    small: bool
    requested: int = 0  # 0: free
    before: Optional["Block"] = field(default=None, repr=False)
    after: Optional["Block"] = field(default=None, repr=False)

    def key(self):
        """Order of the search: the smallest that fits, of those the lowest."""
        return self.size, self.segment, self.address


class Allocator:
    """The pools of one stream."""

    def __init__(self) -> None:
        self.allocated = self.requested = self.reserved = 0
        self.peak_allocated = self.peak_requested = 0
        self.history: List[int] = []  # what was allocated after each call
        self.segments: List[Block] = []  # the first block of each
        self._free = {True: [], False: []}  # by pool, sorted by Block.key

    def allocate(self, requested: int) -> Optional[Block]:
        """A block for `requested` bytes; none for no bytes."""
        if requested == 0:
            return None
        size = round_size(requested)
        small = size <= SMALL
        block = self._best_fit(size, small) or self._new_segment(size, small)
        rest = block.size - size
        if rest >= BLOCK if small else rest > SMALL:
            self._split(block, size)
        block.requested = requested
        self.requested += requested
        self.allocated += block.size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        self.peak_requested = max(self.peak_requested, self.requested)
        self.history.append(self.allocated)
        return block

    def free(self, block: Optional[Block]) -> None:
        """Gives a block back to its pool, joined with free neighbours."""
        if block is None:
            return
        if not block.requested:
            raise ValueError("the block is free already")
        self.allocated -= block.size
        self.requested -= block.requested
        self.history.append(self.allocated)
        block.requested = 0
        for other in (block.before, block.after):
            if other is not None and not other.requested:
                self._free[block.small].remove(other)
                block = self._merge(block, other)
        bisect.insort(self._free[block.small], block, key=Block.key)

    def blocks(self, segment: int) -> List[Block]:
        """The blocks of a segment in order of address."""
        found, block = [], self.segments[segment]
        while block is not None:
            found.append(block)
            block = block.after
        return found

    def _best_fit(self, size: int, small: bool) -> Optional[Block]:
        free = self._free[small]
        place = bisect.bisect_left(free, (size, -1, -1), key=Block.key)
        return free.pop(place) if place < len(free) else None

    def _new_segment(self, size: int, small: bool) -> Block:
        block = Block(len(self.segments), 0, segment_size(size), small)
        self.segments.append(block)
        self.reserved += block.size
        return block

    def _split(self, block: Block, size: int) -> None:
        """Keeps the first `size` bytes; the rest is a free block."""
        rest = Block(block.segment, block.address + size, block.size - size, block.small)
        rest.before, rest.after = block, block.after
        if block.after is not None:
            block.after.before = rest
        block.after, block.size = rest, size
        bisect.insort(self._free[block.small], rest, key=Block.key)

    def _merge(self, block: Block, other: Block) -> Block:
        first, second = (other, block) if other is block.before else (block, other)
        first.size += second.size
        first.after = second.after
        if second.after is not None:
            second.after.before = first
        return first
