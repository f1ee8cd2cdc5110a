"""The allocator's rules, views, and what an eager program holds, on which the experiments rest."""

import random
import sys

import pytest
import torch
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench" / "seeds"))

from allocator import KIB, MIB, Allocator, round_size, segment_size  # noqa: E402
from tensors import contiguous_strides, reshaped_strides  # noqa: E402


@pytest.mark.parametrize(
    "requested, size, segment",
    [
        (1, 512, 2 * MIB),
        (4, 512, 2 * MIB),
        (512, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
        (10 * MIB - 511, 10 * MIB, 10 * MIB),
        (10 * MIB + 1, 10 * MIB + 512, 12 * MIB),
    ],
)
def test_sizes(requested, size, segment):
    assert round_size(requested) == size and segment_size(size) == segment
    pool = Allocator()
    pool.allocate(requested)
    assert (pool.requested, pool.allocated, pool.reserved) == (requested, size, segment)


def test_a_small_block_is_split_by_512_bytes():
    pool = Allocator()
    blocks = [pool.allocate(MIB), pool.allocate(MIB - 512), pool.allocate(4)]
    assert {block.segment for block in blocks} == {0}
    assert pool.reserved == 2 * MIB == pool.allocated


def test_a_large_block_keeps_a_rest_of_a_mebibyte():
    pool = Allocator()
    first = pool.allocate(12 * MIB)
    pool.free(first)
    assert pool.allocate(11 * MIB).size == 12 * MIB and pool.allocated == 12 * MIB
    other = Allocator()
    other.free(other.allocate(12 * MIB))
    assert other.allocate(11 * MIB - 512).size == 11 * MIB - 512
    assert other.reserved == 12 * MIB


def test_best_fit_takes_the_smallest_and_the_lowest():
    pool = Allocator()
    large, wall, small, end = (pool.allocate(size * KIB) for size in (64, 1, 32, 1))
    for block in (large, small):
        pool.free(block)
    assert pool.allocate(20 * KIB).address == small.address
    assert pool.allocate(64 * KIB).address == large.address
    assert wall.requested and end.requested


def test_freed_neighbours_are_one():
    pool = Allocator()
    blocks = [pool.allocate(600 * KIB) for _ in range(3)]
    for place in (0, 2, 1):
        pool.free(blocks[place])
    assert [block.size for block in pool.blocks(0)] == [2 * MIB]
    assert pool.allocated == pool.requested == 0 and pool.reserved == 2 * MIB
    with pytest.raises(ValueError, match="free already"):
        pool.free(blocks[0])


def test_pools_do_not_share_segments():
    pool = Allocator()
    pool.free(pool.allocate(20 * MIB))
    assert pool.allocate(4).small and pool.reserved == 22 * MIB


@pytest.mark.parametrize("seed", range(5))
def test_any_order(seed):
    """Blocks tile their segments, no two neighbours are free, and the counts are the blocks'."""
    numbers, pool, held = random.Random(seed), Allocator(), []
    for _ in range(400):
        if held and numbers.random() < 0.45:
            pool.free(held.pop(numbers.randrange(len(held))))
        else:
            held.append(pool.allocate(int(2 ** numbers.uniform(0, 25))))
    seen = [block for place in range(len(pool.segments)) for block in pool.blocks(place)]
    for block in seen:
        assert block.size % 512 == 0 and block.requested <= block.size
        if block.after is not None:
            assert block.address + block.size == block.after.address
            assert block.requested or block.after.requested
    assert pool.reserved == sum(block.size for block in seen)
    assert pool.allocated == sum(block.size for block in held)
    assert pool.requested == sum(block.requested for block in held)
    assert {id(block) for block in held} == {id(block) for block in seen if block.requested}


@pytest.mark.parametrize("seed", range(300))
def test_a_reshape_is_a_view_where_pytorch_has_one(seed):
    numbers = random.Random(seed)
    sizes = [numbers.choice((1, 2, 3, 4)) for _ in range(numbers.randint(1, 4))]
    tensor = torch.zeros(sizes).permute(*numbers.sample(range(len(sizes)), len(sizes)))
    if numbers.random() < 0.5:
        tensor = tensor[tuple(slice(numbers.randrange(size), None) for size in tensor.shape)]
    shape, rest = [], tensor.numel()
    while rest > 1:
        shape.append(numbers.choice([n for n in range(1, rest + 1) if rest % n == 0]))
        rest //= shape[-1]
    shape = shape or [1]
    try:
        expected = tensor.view(shape).stride()
    except RuntimeError:
        expected = None
    assert reshaped_strides(tensor.shape, tensor.stride(), shape) == expected


def test_contiguous_strides():
    for shape in ((), (3,), (2, 3, 4), (2, 1, 5)):
        assert contiguous_strides(shape) == torch.zeros(shape).stride()
