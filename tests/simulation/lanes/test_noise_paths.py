"""Disturbance paths of the lanes: the same whatever the blocks, with the law the declaration has."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov

import daedal as dd
from daedal import der
from daedal.simulation.lanes import noise
from daedal.simulation.lanes.noise import LanePaths, make_sources

x, y, w, w2, a, b, k = dd.symbols("x y w w2 a b k")


def model(noise, parameters=None):
    return dd.Model(
        name="driven",
        equations={"rate": der(x) == -x + w},
        unknowns=[x],
        parameters=parameters or {},
        disturbances={w: noise},
        initial={x: 0.0},
    )


def made(declared, grid=0.1, numbers=None):
    system = dd.build(declared)
    count = len(system.reduction.parameters)
    return make_sources(system, numbers or {}, grid, np.zeros((count, 0)), 1)


RESONANT = dd.FilteredNoise.resonant(std=2.0, frequency=3.0, damping=0.2)


def test_rows_do_not_depend_on_how_they_are_asked_for():
    whole = LanePaths(made(model(RESONANT)), 7, "simulate", range(5)).draw_rows(0, 200)
    assert whole.shape == (200, 1, 5)
    pieces = LanePaths(made(model(RESONANT)), 7, "simulate", range(5))
    first = 0
    for last in (1, 2, 40, 41, 150, 200):
        np.testing.assert_array_equal(pieces.draw_rows(first, last), whole[first:last])
        first = max(last - 2, 0)  # overlapping, as the steps of two chunks are


def test_a_path_does_not_depend_on_its_block():
    whole = LanePaths(made(model(RESONANT)), 7, "simulate", range(70)).draw_rows(0, 50)
    part = LanePaths(made(model(RESONANT)), 7, "simulate", range(64, 67)).draw_rows(0, 50)
    np.testing.assert_array_equal(part, whole[:, :, 64:67])


def test_seeds_and_purposes_have_paths_of_their_own():
    paths = [
        LanePaths(made(model(RESONANT)), seed, purpose, range(300)).draw_rows(0, 3)[2].ravel()
        for seed, purpose in ((7, "simulate"), (8, "simulate"), (7, "ensemble"), (7, "measurement noise"))
    ]
    correlation = np.corrcoef(paths) - np.eye(4)
    assert np.abs(correlation).max() < 4 / np.sqrt(300)


def test_rest_and_stationary_starts():
    rest = dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], initial="rest")
    assert not LanePaths(made(model(rest)), 1, "simulate", range(9)).draw_rows(0, 1).any()
    start = LanePaths(made(model(RESONANT)), 1, "simulate", range(4000)).draw_rows(0, 1)
    assert np.std(start) == pytest.approx(2.0, rel=4 / np.sqrt(2 * 4000))


def test_covariance_of_correlated_components():
    A, B, C = np.array([[-1.0, 0.4], [0.0, -2.0]]), np.array([[1.0, 0.0], [0.5, 1.0]]), np.array([[1.0, 0.2], [0.3, 1]])
    declared = dd.Model(
        name="two",
        equations={"x": der(x) == w - x, "y": der(y) == w2 - y},
        unknowns=[x, y],
        disturbances={(w, w2): dd.StateSpaceNoise(A=A.tolist(), B=B.tolist(), C=C.tolist())},
        initial={x: 0.0, y: 0.0},
    )
    system = dd.build(declared)
    count = 20_000
    rows = LanePaths(make_sources(system, {}, 0.25, np.zeros((0, 0)), 1), 3, "simulate", range(count)).draw_rows(0, 9)
    order = [list(system.reduction.exogenous).index(name) for name in ("w", "w2")]
    rows = rows[:, order]
    P = solve_continuous_lyapunov(A, -B @ B.T)
    for lag in (0, 1, 4):
        wanted = C @ expm(A * 0.25 * lag) @ P @ C.T
        found = np.einsum("il,jl->ij", rows[4 + lag], rows[4]) / count
        size = np.sqrt(np.outer(np.diag(C @ P @ C.T), np.diag(C @ P @ C.T)))
        assert np.abs((found - wanted) / size).max() < 5 * np.sqrt(2 / count)


def test_paths_are_smooth_functions_of_the_parameters():
    declared = model(dd.FilteredNoise([a], [1.0, b]), {a: 1.0, b: 2.0})
    at = [
        LanePaths(made(declared, numbers={"a": 1.0, "b": 2.0 + d}), 1, "simulate", range(4)).draw_rows(0, 30)
        for d in (-1e-4, 0.0, 1e-4)
    ]
    assert np.abs(at[2] - 2 * at[1] + at[0]).max() < 1e-6


def test_sensitivities_of_the_paths():
    declared = model(dd.FilteredNoise([a], [1.0, b]), {a: 1.0, b: 2.0})
    system = dd.build(declared)
    names = list(system.reduction.parameters)
    numbers = {"a": 1.0, "b": 2.0}
    found = LanePaths(make_sources(system, numbers, 0.1, np.eye(2), 3), 1, "simulate", range(4)).draw_rows(0, 30)
    for column, name in enumerate(names):
        ends = [
            LanePaths(
                made(declared, numbers=numbers | {name: numbers[name] + s * 1e-5}), 1, "simulate", range(4)
            ).draw_rows(0, 30)
            for s in (-1, 1)
        ]
        np.testing.assert_allclose(found[:, 1 + column], (ends[1] - ends[0])[:, 0] / 2e-5, atol=1e-8)


def test_rows_are_drawn_once_and_let_go(monkeypatch):
    """Kept rows are those that are drawn anew; where memory ends, the rest is drawn again; nothing stays behind."""
    sources = made(model(RESONANT))
    monkeypatch.setattr(noise, "LARGEST", noise.Drawn._bytes + 600)
    before = noise.Drawn._bytes
    pieces = [(0, 1), (0, 8), (7, 16), (15, 24)]
    for _ in range(3):
        kept, plain = (kind(sources, 3, "test", range(4)) for kind in (noise.KeptPaths, noise.LanePaths))
        for piece in pieces:
            np.testing.assert_array_equal(kept.draw_rows(*piece), plain.draw_rows(*piece))
    assert before < noise.Drawn._bytes <= noise.LARGEST
    del sources, kept, plain
    gc.collect()
    assert noise.Drawn._bytes == before


def test_many_threads_share_what_is_drawn():
    sources = made(model(RESONANT))
    expected = noise.LanePaths(sources, 3, "test", range(4)).draw_rows(0, 32)

    def draw(_):
        return noise.KeptPaths(sources, 3, "test", range(4)).draw_rows(0, 32)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for rows in pool.map(draw, range(64)):
                np.testing.assert_array_equal(rows, expected)
    finally:
        sys.setswitchinterval(interval)
