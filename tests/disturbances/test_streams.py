"""Innovations depend on what they are for, and on nothing else."""

import numpy as np
import pytest
from scipy import stats

from daedal.disturbances import draw_innovations, make_seed
from daedal.disturbances.streams import draw_node_normals
from daedal.errors import SimulationError


def draw(seed=1, purpose="data", noise=0, paths=range(40), steps=range(500), components=3):
    return draw_innovations(seed, purpose, noise, paths, steps, components)


def test_any_block_is_a_part_of_the_whole():
    whole = draw()
    assert whole.shape == (500, 3, 40)
    for paths, steps, components in [
        (range(7, 9), range(100, 103), 3),
        (range(39, 40), range(500), 2),
        (range(3, 36), range(17, 400), 1),
    ]:
        part = draw(paths=paths, steps=steps, components=components)
        assert np.array_equal(part, whole[steps.start : steps.stop, :components, paths.start : paths.stop])


def test_empty_blocks():
    assert draw(steps=range(5, 5)).shape == (0, 3, 40)
    assert draw(paths=range(0)).shape == (500, 3, 0)


def test_are_standard_normal():
    sample = draw(paths=range(200), components=2).ravel()
    assert stats.kstest(sample, "norm").pvalue > 1e-3
    assert abs(sample.mean()) < 5 / np.sqrt(sample.size)
    assert abs(sample.var() - 1) < 5 * np.sqrt(2 / sample.size)
    assert abs((sample**4).mean() - 3) < 5 * np.sqrt(96 / sample.size)


@pytest.mark.parametrize(
    "other",
    [{"seed": 2}, {"seed": 2**127 + 1}, {"purpose": "predictor"}, {"noise": 1}],
    ids=["seed", "long seed", "purpose", "noise"],
)
def test_other_streams_are_independent(other):
    here, there = draw().ravel(), draw(**other).ravel()
    assert abs(np.corrcoef(here, there)[0, 1]) < 5 / np.sqrt(here.size)


def test_neighbours_are_independent():
    sample = draw(components=4)
    for axis in range(3):
        here = np.take(sample, range(sample.shape[axis] - 1), axis).ravel()
        there = np.take(sample, range(1, sample.shape[axis]), axis).ravel()
        assert abs(np.mean(here * there)) < 5 / np.sqrt(here.size)
        assert abs(np.mean((here**2 - 1) * (there**2 - 1))) < 5 * 2 / np.sqrt(here.size)


def test_late_steps_and_paths_are_reached():
    last = 2**32 - 1
    assert np.isfinite(draw(paths=range(last, last + 1), steps=range(last, last + 1))).all()


@pytest.mark.parametrize("wrong", [{"paths": range(-1, 3)}, {"steps": range(0, 10, 2)}, {"noise": 2**32}])
def test_ranges_must_be_consecutive(wrong):
    with pytest.raises(SimulationError, match="must be consecutive numbers"):
        draw(**wrong)


def test_nodes_of_a_tree():
    nodes = list(range(1, 20_001))
    sample = draw_node_normals(1, "data", 0, 0, 5, nodes, 3)
    assert np.array_equal(draw_node_normals(1, "data", 0, 0, 5, nodes[6:9], 3), sample[6:9])
    assert np.array_equal(
        draw_node_normals(1, "data", 0, 0, 5, [2**50], 12)[:, :3], draw_node_normals(1, "data", 0, 0, 5, [2**50], 3)
    )
    assert stats.kstest(sample.ravel(), "norm").pvalue > 1e-3
    for change in [
        (2, "data", 0, 0, 5),
        (1, "fit", 0, 0, 5),
        (1, "data", 1, 0, 5),
        (1, "data", 0, 1, 5),
        (1, "data", 0, 0, 6),
    ]:
        other = draw_node_normals(*change, nodes, 3)
        assert abs(np.mean(sample * other)) < 5 / np.sqrt(sample.size)


def test_seed_of_a_generator_is_drawn_once():
    first, second = np.random.default_rng(4), np.random.default_rng(4)
    assert make_seed(first) == make_seed(second)
    assert make_seed(first) != make_seed(np.random.default_rng(4))
    assert make_seed(np.int64(7)) == 7


@pytest.mark.parametrize("rng", [None, -1, 1.5, "7", True, 2**128])
def test_wrong_seeds(rng):
    with pytest.raises(SimulationError, match=r"rng must be a seed .* or a numpy Generator"):
        make_seed(rng)
