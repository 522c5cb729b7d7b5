"""The counter-based generator Philox4x32-10, and normal numbers from its words.

Salmon, Moraes, Dror and Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3", section 3.3: ten rounds turn a
counter of four 32-bit words and a key of two into four random words:

    (c₀, c₁, c₂, c₃) ← (hi(M₁c₂) ⊕ c₁ ⊕ k₀, lo(M₁c₂), hi(M₀c₀) ⊕ c₃ ⊕ k₁, lo(M₀c₀)),    (k₀, k₁) ← (k₀ + W₀, k₁ + W₁).

The words give u in (0, 1] and v in [0, 1) with 52 bits each, and Box and Muller (1958) two independent standard normal
numbers, √(−2 log u) · (cos 2πv, sin 2πv).
"""

from daedal.kernels.emitter import INTEGER, Emitter, read_bits
from daedal.kernels.math import normal_logarithm, sine_and_cosine_of_turns

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
INCREMENTS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
WORD = 2**32


def write_round_keys(e: Emitter) -> tuple[list[str], list[str]]:
    """The keys of all rounds from the scalars %key0 and %key1."""
    keys: tuple[list[str], list[str]] = ([], [])
    for part, increment, name in zip(keys, INCREMENTS, ("%key0", "%key1"), strict=True):
        for number in range(ROUNDS):
            part.append(e.spread(INTEGER, e.index("add", name, str(number * increment))))
    return keys


def write_philox(e: Emitter, counter: list[str], key: tuple[list[str], list[str]]) -> list[str]:
    """Emits the rounds; words are 64-bit integers of which the upper half may hold anything."""
    c0, c1, c2, c3 = counter
    low, half = e.integer(WORD - 1), e.integer(32)
    for k0, k1 in zip(*key, strict=True):
        p0 = e.bitwise("mul", e.bitwise("and", c0, low), e.integer(MULTIPLIERS[0]))
        p1 = e.bitwise("mul", e.bitwise("and", c2, low), e.integer(MULTIPLIERS[1]))
        c0 = e.bitwise("xor", e.bitwise("xor", e.bitwise("lshr", p1, half), c1), k0)
        c2 = e.bitwise("xor", e.bitwise("xor", e.bitwise("lshr", p0, half), c3), k1)
        c1, c3 = p1, p0
    return [c0, c1, c2, c3]


def write_normal_pair(e: Emitter, words: list[str]) -> tuple[str, str]:
    """The two normal numbers of four random words."""
    u = e.subtract(e.constant(2.0), _from_one_to_two(e, words[0], words[1]))
    v = e.subtract(_from_one_to_two(e, words[2], words[3]), e.constant(1.0))
    radius = e.square_root(e.multiply(normal_logarithm(e, u), e.constant(-2.0)))
    sine, cosine = sine_and_cosine_of_turns(e, v)
    return e.multiply(radius, cosine), e.multiply(radius, sine)


def _from_one_to_two(e: Emitter, high: str, low: str) -> str:
    """1 + (20 low bits of `high`, 32 of `low`)·2⁻⁵², in [1, 2)."""
    upper = e.bitwise("shl", e.bitwise("and", high, e.integer(2**20 - 1)), e.integer(32))
    fraction = e.bitwise("or", upper, e.bitwise("and", low, e.integer(WORD - 1)))
    return e.as_double(e.bitwise("or", fraction, e.integer(read_bits(1.0))))
