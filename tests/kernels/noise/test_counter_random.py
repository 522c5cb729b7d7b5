"""Counter-based normal numbers against published vectors, a numpy reference and the normal law."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from daedal.errors import SimulationError
from daedal.kernels import compiler, draw_normals
from daedal.kernels.emitter import INTEGER, Emitter, write_module
from daedal.kernels.noise.normals import write_normals
from daedal.kernels.noise.philox import INCREMENTS, MULTIPLIERS, write_philox, write_round_keys

# Random123, kat_vectors, philox4x32 10: counter, key, words
PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def reference_words(counter, key):
    """Philox4x32-10 in numpy; counter words broadcast."""
    c = [np.asarray(word, dtype=np.uint64) for word in np.broadcast_arrays(*counter)]
    k = [np.uint64(word) for word in key]
    mask, half = np.uint64(2**32 - 1), np.uint64(32)
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(MULTIPLIERS[0]), c[2] * np.uint64(MULTIPLIERS[1])
        c = [(p1 >> half) ^ c[1] ^ k[0], p1 & mask, (p0 >> half) ^ c[3] ^ k[1], p0 & mask]
        k = [(word + np.uint64(increment)) & mask for word, increment in zip(k, INCREMENTS, strict=True)]
    return c


def reference_normals(key, paths, steps, components, stream=0):
    step = np.arange(steps[0], steps[0] + steps[1])[:, None, None]
    component = np.arange(components)[None, :, None]
    path = np.arange(paths[0], paths[0] + paths[1])[None, None, :]
    w = reference_words([step // 2, component, path, stream], key)
    low, scale = np.uint64(2**20 - 1), 2.0**-52
    u = 1.0 - (((w[0] & low) << np.uint64(32)) | w[1]).astype(float) * scale
    v = (((w[2] & low) << np.uint64(32)) | w[3]).astype(float) * scale
    radius = np.sqrt(-2 * np.log(u))
    return np.where(step % 2 == 0, radius * np.cos(2 * np.pi * v), radius * np.sin(2 * np.pi * v))


@pytest.mark.parametrize(("counter", "key", "words"), PUBLISHED)
def test_published_vectors(counter, key, words):
    assert tuple(int(word) for word in reference_words(counter, key)) == words
    assert kernel_words(counter, key) == words


def kernel_words(counter, key):
    """What the emitted instructions give for one counter."""
    e = Emitter(4, True)
    keys = write_round_keys(e)
    results = write_philox(e, [e.spread(INTEGER, f"%c{i}") for i in range(4)], keys)
    for i, value in enumerate(results):
        e.store(e.integers, value, e.address(e.integers, "%out", str(i)))
    code = compiler.load(
        write_module(4, e.define_procedure("words", ["out"], ["c0", "c1", "c2", "c3", "key0", "key1"]))
    )
    out = np.zeros((4, 4), dtype=np.int64)
    code.function("words", 1, 6)(out.ctypes.data, *counter, *key)
    assert (out == out[:, :1]).all()  # every lane counts from the same counter
    return tuple(int(word) % 2**32 for word in out[:, 0])


@pytest.mark.parametrize(
    ("key", "paths", "steps", "components", "stream"),
    [
        ((1, 2), (0, 40), (0, 20), 3, 0),
        ((2**32 - 1, 7), (1000, 5), (7, 6), 2, 9),
        ((0, 0), (2**32 - 9, 9), (2**32, 3), 1, 1),
    ],
)
def test_reference_in_numpy(key, paths, steps, components, stream):
    got = draw_normals(key, paths, steps, components, stream)
    expected = reference_normals(key, paths, steps, components, stream)
    # 2π v is rounded in the reference, which shifts an angle by up to an ulp of 2π
    np.testing.assert_allclose(got, expected, rtol=1e-15, atol=8e-15)


def test_blocks_orders_and_threads_give_identical_bits():
    key, whole = (3, 4), draw_normals((3, 4), (0, 101), (0, 31), 2)
    blocks = [(p, s) for s in range(0, 31, 3) for p in range(0, 101, 9)]

    def block(corner):
        p, s = corner
        return draw_normals(key, range(p, min(p + 9, 101)), (s, min(3, 31 - s)), 2)

    with ThreadPoolExecutor(4) as pool:
        for (p, s), part in zip(blocks, pool.map(block, blocks), strict=True):
            np.testing.assert_array_equal(part, whole[s : s + 3, :, p : p + 9])
    np.testing.assert_array_equal(draw_normals(key, (0, 101), (0, 31), 1), whole[:, :1])


@pytest.mark.parametrize("width", [2, 4, 8])
def test_all_widths_give_identical_bits(width):
    code = compiler.load(write_normals(width, True))
    call = code.function("daedal_normals", 1, 10)
    out = np.empty((6, 2, 16))
    call(out.ctypes.data, 5, 6, 0, 0, 6, 2, 0, 16, 0, 16)
    np.testing.assert_array_equal(out, draw_normals((5, 6), (0, 16), (0, 6), 2))


def test_the_law_is_standard_normal():
    sample = draw_normals((11, 12), (0, 100), (0, 1000), 3)
    assert stats.kstest(sample.ravel(), "norm").pvalue > 1e-3
    flat = sample.reshape(1000, -1)
    count = flat.size
    for moment, expected, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert abs((flat**moment).mean() - expected) < 5 * np.sqrt(variance / count)
    for other in (np.roll(flat, 1, axis=0), np.roll(flat, 1, axis=1)):
        assert abs((flat * other).mean()) < 5 / np.sqrt(count)


def test_keys_streams_and_paths_differ():
    arguments = {"paths": (0, 64), "steps": (0, 100), "components": 1}
    first = draw_normals((1, 2), **arguments).ravel()
    for other in (
        draw_normals((2, 2), **arguments),
        draw_normals((1, 3), **arguments),
        draw_normals((1, 2), **arguments, stream=1),
    ):
        assert abs(np.corrcoef(first, other.ravel())[0, 1]) < 5 / np.sqrt(first.size)


def test_empty_blocks_and_wrong_arguments():
    assert draw_normals((1, 2), (0, 0), (0, 4), 2).shape == (4, 2, 0)
    assert draw_normals((1, 2), (0, 4), (5, 0), 2).shape == (0, 2, 4)
    for wrong in [((2**32, 0), (0, 1), (0, 1), 1), ((0, 0), (-1, 3), (0, 1), 1), ((0, 0), (2**32, 1), (0, 1), 1)]:
        with pytest.raises(SimulationError, match="Random numbers need"):
            draw_normals(*wrong)
    with pytest.raises(SimulationError, match="consecutive"):
        draw_normals((0, 0), range(0, 10, 2), (0, 1), 1)
