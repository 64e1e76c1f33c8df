"""Random numbers inside kernels: xoshiro256++ in a plain array of four 64-bit words.

A generator is data: it sits in the state of a policy or of the world, costs about a nanosecond a draw, is saved as
JSON with everything else, and is seeded from numpy's `SeedSequence`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from aftereffect._compile import helper, kernel

Words = npt.NDArray[np.uint64]

WORLD, POLICY = 0, 1  # streams of one run: SeedSequence(seed, spawn_key=(instance, run, stream))


def generator(seed: int | np.random.SeedSequence) -> Words:
    """A generator's four words, from a seed."""
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return np.asarray(sequence.generate_state(4, np.uint64), dtype=np.uint64)


def stream(seed: int, instance: int, run: int, stream: int) -> Words:
    """The generator of one stream of one run on one instance."""
    return generator(np.random.SeedSequence(seed, spawn_key=(instance, run, stream)))


@helper
def next_word(rng: Words) -> np.uint64:
    """The next 64 random bits (Blackman and Vigna's xoshiro256++)."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    mixed = s0 + s3
    result: np.uint64 = ((mixed << np.uint64(23)) | (mixed >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    rng[0], rng[1], rng[2], rng[3] = s0, s1, s2, s3
    return result


@helper
def uniform(rng: Words) -> float:
    """Uniform on [0, 1) with 53 random bits."""
    return np.float64(next_word(rng) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def reseed(rng: Words, word: np.uint64) -> None:
    """Fill a generator's words from one word (splitmix64, as its authors advise)."""
    for i in range(4):
        word += np.uint64(0x9E3779B97F4A7C15)
        z = word
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        rng[i] = z ^ (z >> np.uint64(31))


@kernel
def normal(rng: Words) -> float:
    """Standard normal, by Marsaglia's polar method (the second of the pair is dropped: no hidden state)."""
    while True:
        x = 2.0 * uniform(rng) - 1.0
        y = 2.0 * uniform(rng) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@kernel
def gamma(rng: Words, shape: float) -> float:
    """Gamma with unit scale, by Marsaglia and Tsang; a shape below one is boosted by U^(1/shape).

    NaN where the shape is no positive number: no draw would ever be accepted.
    """
    if not 0.0 < shape < math.inf:
        return math.nan
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(rng)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = uniform(rng)
        if math.log(1.0 - u) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v


@kernel
def beta(rng: Words, a: float, b: float) -> float:
    """Beta(a, b) as a ratio of gammas."""
    x = gamma(rng, a)
    y = gamma(rng, b)
    total = x + y
    if total <= 0.0:  # both underflowed: all mass sits at the ends
        return 1.0 if uniform(rng) * (a + b) < a else 0.0
    return x / total


NEGLIGIBLE = 1e-20  # of the most likely count's chance: what lies beyond cannot be told by 53 random bits


@kernel
def binomial_quantile(u: float, n: float, p: float) -> float:
    """The least k with P(X <= k) > u for X ~ Binomial(n, p): one uniform variate makes one count.

    Chances are taken relative to the most likely count's, by their exact ratios outwards on both sides: nothing underflows
    and no gamma function is needed, however large n is.
    """
    if p <= 0.0 or n <= 0.0:
        return 0.0
    if p >= 1.0:
        return n
    odds = p / (1.0 - p)
    mode = min(n, math.floor((n + 1.0) * p))
    total, chance, k = 1.0, 1.0, mode
    while k > 0.0 and chance > NEGLIGIBLE:
        chance *= k / ((n - k + 1.0) * odds)
        total += chance
        k -= 1.0
    least, at_least = k, chance
    chance, k = 1.0, mode
    while k < n and chance > NEGLIGIBLE:
        chance *= (n - k) * odds / (k + 1.0)
        total += chance
        k += 1.0
    most, target = k, u * total
    k, chance = least, at_least
    reached = chance
    while reached <= target and k < most:
        chance *= (n - k) * odds / (k + 1.0)
        k += 1.0
        reached += chance
    return k
