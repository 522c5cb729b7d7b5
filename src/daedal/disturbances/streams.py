"""Standard normals that depend only on what they are for: (seed, purpose, noise, path, step, component).

Nothing is drawn "next", so path m is the same whatever the block of paths or steps, the thread, the order of requests
or the parameters (common random numbers: Abdalmoaty et al. 2021, section IV-B). The generator is Philox4x32-10 (Salmon
et al. 2011), a block cipher on a counter:

    key     = two words of BLAKE2b(seed, purpose)       counter = (pair of steps, component, path, noise)

and Box–Muller makes a pair of normals of each block (`daedal.kernels.noise`). Step 0 belongs to the initial state;
step k ≥ 1 leads from grid point k − 1 to k. The nodes of the tree inside a grid cell have 2⁵⁰ places, too many for one
counter word: there the hash itself is the block cipher.

M. R.-H. Abdalmoaty, O. Eriksson, R. Bereza, D. Broman, H. Hjalmarsson, Identification of Non-Linear
Differential-Algebraic Equation Models with Process Disturbances, IEEE Conf. on Decision and Control 2021.
J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3, SC'11 (2011).
"""

import hashlib
import operator
import struct

import numpy as np

from daedal.errors import SimulationError, show
from daedal.kernels import draw_normals

WORDS = 2**32
SEED_BITS = 128


def make_seed(rng: object) -> int:
    """The seed as a number below 2¹²⁸; a Generator is asked for one once."""
    if isinstance(rng, np.random.Generator):
        return int.from_bytes(rng.bytes(SEED_BITS // 8), "little")
    try:
        seed = operator.index(rng)  # pyright: ignore[reportArgumentType]
    except TypeError:
        seed = -1
    if isinstance(rng, (bool, np.bool_)) or not 0 <= seed < 2**SEED_BITS:
        raise SimulationError(
            f"rng must be a seed (a whole number from 0 to 2**128 - 1) or a numpy Generator, got {show(rng)}.",
            "Write rng=1, or rng=np.random.default_rng(1).",
        )
    return seed


def derive_seed(seed: int, purpose: str, number: int) -> int:
    """A seed for one of many works that share a seed: the same whatever the order in which they are done.

    Examples
    --------
    >>> derive_seed(1, "data", 0) == derive_seed(1, "data", 1)
    False
    """
    return int.from_bytes(_compute_digest(seed, f"{purpose}, number {number}", SEED_BITS // 8), "little")


def draw_innovations(seed: int, purpose: str, noise: int, paths: range, steps: range, components: int) -> np.ndarray:
    """Standard normals of shape (steps, components, paths).

    Examples
    --------
    >>> whole = draw_innovations(1, "data", 0, range(8), range(100), 2)
    >>> part = draw_innovations(1, "data", 0, range(3, 5), range(10, 20), 2)
    >>> bool(np.array_equal(whole[10:20, :, 3:5], part))
    True
    """
    _check_ranges(paths, steps, noise)
    return draw_normals(_make_words(seed, purpose), paths, (steps.start, len(steps)), components, noise)


def draw_node_normals(
    seed: int, purpose: str, noise: int, path: int, cell: int, nodes: list[int], components: int
) -> np.ndarray:
    """Standard normals of shape (nodes, components) for nodes of the tree inside one grid cell."""
    key = _compute_digest(seed, f"{purpose}, inside a cell")
    blocks = -(-components // 8)
    drawn = b"".join(
        hashlib.blake2b(struct.pack("<5Q", noise, path, cell, node, block), key=key).digest()
        for node in nodes
        for block in range(blocks)
    )
    words = np.frombuffer(drawn, dtype="<u8").reshape(len(nodes), blocks * 4, 2)
    return _box_muller(words[..., 0], words[..., 1]).reshape(len(nodes), -1)[:, :components]


def _compute_digest(seed: int, purpose: str, size: int = 32) -> bytes:
    return hashlib.blake2b(seed.to_bytes(SEED_BITS // 8, "little") + purpose.encode(), digest_size=size).digest()


def _make_words(seed: int, purpose: str) -> tuple[int, int]:
    first, second = struct.unpack("<2I", _compute_digest(seed, purpose, 8))
    return first, second


def _check_ranges(paths: range, steps: range, noise: int) -> None:
    for what, numbers in (("paths", paths), ("steps", steps), ("noise", range(noise, noise + 1))):
        if numbers.step != 1 or numbers.start < 0 or numbers.stop > WORDS:
            raise SimulationError(
                f"The {what} of innovations must be consecutive numbers from 0 to 2**32 - 1, got {show(numbers)}.",
                "Use a coarser grid, or fewer realizations.",
            )


def _box_muller(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pairs of normals of 64-bit words, along a new last axis."""
    radius = np.sqrt(-2.0 * np.log(((first >> np.uint64(12)) + 0.5) * 2.0**-52))
    angle = (2.0 * np.pi * 2.0**-53) * (second >> np.uint64(11))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
