"""Philox 4x32-10 (Salmon et al., 2011) and the numbers that remat draws with it."""

import numpy as np

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
WORD = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)


def philox(counter, key):
    """Four words for each counter; words are uint64 arrays below 2^32."""
    c0, c1, c2, c3 = (np.asarray(c, np.uint64) for c in counter)
    k0, k1 = key
    for _ in range(10):
        p0, p1 = np.uint64(MULTIPLIERS[0]) * c0, np.uint64(MULTIPLIERS[1]) * c2
        c0, c1, c2, c3 = (
            (p1 >> SHIFT) ^ c1 ^ np.uint64(k0),
            p1 & WORD,
            (p0 >> SHIFT) ^ c3 ^ np.uint64(k1),
            p0 & WORD,
        )
        k0 = (k0 + KEY_STEPS[0]) & 0xFFFFFFFF
        k1 = (k1 + KEY_STEPS[1]) & 0xFFFFFFFF
    return c0, c1, c2, c3


def random_words(count, seed, id, step):
    """The words of elements 0 .. count-1 of the stream `id`."""
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    seed, id, step = (int(v) & 0xFFFFFFFFFFFFFFFF for v in (seed, id, step))
    full = lambda v: np.full(blocks.shape, v & 0xFFFFFFFF, np.uint64)
    high = (blocks >> SHIFT) ^ np.uint64(id >> 32)
    counter = (blocks & WORD, high & WORD, full(id), full(step))
    words = philox(counter, (seed & 0xFFFFFFFF, seed >> 32))
    return np.stack(words, axis=-1).reshape(-1)[:count]


def uniform(shape, seed, id, step):
    """In [0, 1), multiples of 2^-24."""
    count = int(np.prod(shape, dtype=np.int64))
    words = random_words(count, seed, id, step)
    return ((words >> np.uint64(8)) * 2.0**-24).reshape(shape)


def normal(shape, seed, id, step):
    """Mean 0, variance 1 (Box and Muller, 1958) from pairs of words."""
    count = int(np.prod(shape, dtype=np.int64))
    u = uniform((count + count % 2,), seed, id, step).reshape(-1, 2)
    radius = np.sqrt(-2.0 * np.log(1.0 - u[:, 0]))
    angle = 2.0 * np.pi * u[:, 1]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(-1)[:count].reshape(shape)


def dropout_factors(shape, p, seed, id, step):
    """0 with probability p, 1 / (1 - p) otherwise."""
    return (uniform(shape, seed, id, step) >= p) / (1.0 - p)


def attention_factors(shape, p, seed, id, step):
    """The same of probabilities [B, H, T, S], of which each head has a seed of its own."""
    batch, heads, *rows = shape
    seeds = [int(seed) + head * 0x5851F42D4C95 for head in range(heads)]
    return np.stack([dropout_factors((batch, *rows), p, own, id, step) for own in seeds], axis=1)
