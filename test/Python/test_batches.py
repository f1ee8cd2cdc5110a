"""`remat.Batches`: what a thread makes ready is what Python iterates over, at its place."""

import gc
import threading
import time
from itertools import count, islice

import numpy as np
import pytest

import remat
from remat import Batches, Graph, Session, init, ops


def take(data, number, **options):
    with Batches(data, **options) as batches:
        return list(islice(batches, number))


class Loader:
    """As PyTorch's DataLoader: a length, no items, gone through again in each epoch."""

    def __init__(self, size):
        self.size, self.read = size, 0

    def __len__(self):
        return self.size

    def __iter__(self):
        for number in range(self.size):
            self.read += 1
            yield number


class Unsized(Loader):
    def __len__(self):
        raise TypeError("no length")


@pytest.mark.parametrize("prefetch", [0, 1, 4])
def test_what_is_iterated_over(prefetch):
    for data in ([0, 1, 2], (0, 1, 2), np.arange(3), Loader(3), Unsized(3), range(3)):
        assert take(data, 8, prefetch=prefetch) == [0, 1, 2, 0, 1, 2, 0, 1]
        for skip in range(8):
            whole = take(data, 12, prefetch=prefetch)
            assert take(data, 4, skip=skip, prefetch=prefetch) == whole[skip : skip + 4]
    assert take(iter([0, 1, 2]), 8, prefetch=prefetch) == [0, 1, 2]
    assert take(iter([0, 1, 2]), 8, prefetch=prefetch, skip=2) == [2]
    assert take(count(), 4, prefetch=prefetch, skip=100) == [100, 101, 102, 103]
    epochs = lambda epoch: [(epoch, index) for index in range(2)]
    assert take(epochs, 3, prefetch=prefetch, skip=5) == [(2, 1), (3, 0), (3, 1)]


def test_what_is_skipped_is_not_read_where_that_is_known():
    loaders = {}

    def make(epoch):
        return loaders.setdefault(epoch, Loader(10))

    assert take(make, 1, skip=35, prefetch=0) == [5]
    assert [loader.read for loader in loaders.values()] == [0, 0, 0, 6]


@pytest.mark.parametrize("prefetch", [0, 2])
def test_position(prefetch):
    with Batches(Loader(5), prefetch=prefetch) as batches:
        first = list(islice(batches, 7))
        assert batches.position == 7
    with Batches(Loader(5), skip=batches.position, prefetch=prefetch) as batches:
        assert first + list(islice(batches, 5)) == [*range(5), *range(5), 0, 1]
        assert batches.position == 12


@pytest.mark.parametrize("prefetch", [0, 1, 8])
def test_errors_come_at_their_batch(prefetch):
    def numbers(epoch):
        for number in range(5):
            if epoch == 1 and number == 3:
                raise ValueError("image 17 is broken")
            yield number

    with Batches(numbers, prefetch=prefetch) as batches:
        assert list(islice(batches, 8)) == [0, 1, 2, 3, 4, 0, 1, 2]
        with pytest.raises(remat.Error, match="data: epoch 1, batch 3: ValueError: image 17") as caught:
            next(batches)
        assert isinstance(caught.value.__cause__, ValueError)
        assert batches.position == 8
    with pytest.raises(remat.Error, match="epoch 0 holds no batch"):
        take([], 1, prefetch=prefetch)
    for bad in ({"skip": -1}, {"prefetch": 1.5}, {"skip": True}):
        with pytest.raises(remat.Error, match="is no integer from 0"):
            Batches([1], **bad)
    with pytest.raises(remat.Error, match="of type int is neither iterable"):
        Batches(3)


def test_ahead_but_bounded():
    loader = Loader(1000)
    with Batches(loader, prefetch=3) as batches:
        next(batches)
        end = time.monotonic() + 20
        while loader.read < 5 and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.05)
        # One was taken, three are ready, one waits for room.
        assert loader.read == 5


def test_threads_end():
    def running():
        return [thread for thread in threading.enumerate() if thread.name == "remat data"]

    Batches(count()).close()
    batches = Batches(count())
    next(batches)
    del batches
    gc.collect()
    with pytest.raises(StopIteration):
        with Batches(iter([])) as batches:
            next(batches)
    assert not running()


def test_training():
    graph = Graph()
    x = graph.input("x", (4, 3))
    weight = graph.parameter("w", (3, 2), init.constant(0.5))
    graph.loss(ops.reduce("mean", ops.matmul(x, weight)))
    program = remat.compile(graph, optimizer="sgd", learning_rate=0.1)
    rng = np.random.default_rng(0)
    data = [{"x": rng.normal(size=(4, 3)).astype(np.float32)} for _ in range(5)]
    one, other = Session(program), Session(program)
    expected = [one.step(data[step % 5]) for step in range(8)]
    with Batches(data) as batches:
        losses = other.train(batches, 3)
        assert batches.position == 3
        assert losses + other.train(batches, 5) == expected
    assert one.parameters_digest() == other.parameters_digest()
    assert other.train(data, 0) == []
    with pytest.raises(remat.Error, match="the data ended after 5 of 6 steps"):
        other.train(iter(data), 6)
    with pytest.raises(remat.Error, match="steps -1 is no integer"):
        other.train(data, -1)
