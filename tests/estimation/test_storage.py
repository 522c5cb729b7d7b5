"""Fits written to netCDF files and read back: every field, and what is refused."""

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import xarray

import daedal as dd
from daedal import der
from daedal.errors import EstimationError
from daedal.estimation import identify_fit

x, z, u, w, k, c, x0 = dd.symbols("x z u w k c x0")


@pytest.fixture(scope="module")
def two_experiments():
    """Local parameters, a log scale, values fixed by experiment, own times of an output, missing samples."""
    model = dd.Model(
        name="tanks/é",
        equations={"first": der(x) == -k * x + u, "second": der(z) == c * (x - z)},
        unknowns=[x, z],
        inputs=[u],
        outputs={"level/°": x, "z": z},
        parameters={k: dd.Parameter(1.5, lower=0.1, upper=10.0, scale="log", unit="1/s"), c: 1.0, x0: 0.5},
        initial={x: x0, z: 0.0},
        measurement_noise={"z": 0.01},
    )
    times, slow = np.arange(21) * 0.1, np.arange(1, 8) * 0.3
    sets, random = [], np.random.default_rng(1)
    for name, start, held in (("night", 0.2, "zoh"), ("day", 0.9, "foh")):
        signal = dd.Signal(np.array([-1.0, 0.7, 2.5]), np.array([1.0, 0.0, 2.0]), held)
        truth = model.with_parameters({"k": 2.0, "x0": start})
        exact = [dd.simulate(truth, t, inputs={u: signal}, t0=-0.5)[n] for t, n in ((times, "level/°"), (slow, "z"))]
        first, second = (values + 0.01 * random.standard_normal(values.size) for values in exact)
        first[4] = np.nan
        outputs = {"level/°": first, "z": dd.Samples(slow, second)}
        sets.append(
            dd.Dataset(
                times, inputs={"u": signal}, outputs=outputs, t0=-0.5, name=name, preparation=[f"Read at {name}."]
            )
        )
    return dd.fit(
        model, sets, free=["k"], local=["x0"], fixed=[{"c": 1.0}, {"c": 1.01}], criterion=dd.OutputError(transient=0.2)
    )


@pytest.fixture(scope="module")
def whitened():
    model = dd.Model(
        name="noisy",
        equations={"lag": der(x) == -k * x + u + w**2},
        unknowns=[x],
        inputs=[u],
        outputs={"x": x},
        parameters={k: dd.Parameter(1.5, lower=0.1, upper=5.0)},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.6, time_constant=0.5)},
        initial={x: 0.0},
    )
    times = np.arange(151) * 0.1
    signal = dd.Signal(times, np.sin(times))
    data = dd.simulate(model.with_parameters({k: 1.0}), times, inputs={u: signal}, realizations=1, rng=1).to_dataset()
    criterion = dd.SimulationPEM(realizations=32, whiten=True)
    starts = [{"k": 0.5}, {"k": 3.0}]
    solver = dd.Lanes(step=0.05)
    return dd.fit(model, data, free=["k"], criterion=criterion, starts=starts, rng=2**127 + 12345, solver=solver)


def same(first, second):
    """Equal to the last digit, NaN included, whatever is inside."""
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    if isinstance(first, float):
        return first == second or (np.isnan(first) and np.isnan(second))
    if isinstance(first, Mapping):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if type(first).__name__ in ("Estimate", "Coordinate", "Coordinates", "LocalMinimum"):
        return all(same(getattr(first, each.name), getattr(second, each.name)) for each in fields(first))
    return first == second


@pytest.mark.parametrize("case", ["two_experiments", "whitened"])
def test_everything_comes_back(case, request, tmp_path):
    fit = request.getfixturevalue(case)
    fit.save(tmp_path / "fit.nc")
    back = dd.load(str(tmp_path / "fit.nc"))
    for each in fields(dd.Fit):
        assert same(getattr(fit, each.name), getattr(back, each.name)), each.name
    assert back.params == fit.params
    assert str(back) == str(fit)
    assert back.conf_int() == fit.conf_int()
    assert [one.preparation for one in back.data] == [one.preparation for one in fit.data]
    assert back.values(len(fit.data) - 1) == fit.values(len(fit.data) - 1)


def test_the_fits_have_something_to_lose(two_experiments, whitened):
    assert list(two_experiments.params) == ["k", "x0[night]", "x0[day]"]
    assert two_experiments.loglik is not None
    assert set(two_experiments.scales) == {"level/°"}
    assert whitened.filters["x"].order > 0
    assert whitened.loglik is None
    assert whitened.seed == 2**127 + 12345
    assert whitened.minima


def test_what_is_not_a_number_and_what_is_infinite(whitened, tmp_path):
    odd = replace(
        whitened,
        cov=np.array([[np.inf]]),
        monte_carlo_cov=np.array([[np.nan]]),
        value=float("nan"),
        fit_percent={"x": float("nan")},
        status=dd.simulation.Status(False, "Interrupted.", "Run it again."),
        notes=('quotes " and\nlines',),
        criterion=dd.SimulationPEM(realizations=np.int64(32)),
        solver=None,
    )
    odd.save(tmp_path / "odd.nc")
    back = dd.load(tmp_path / "odd.nc")
    assert all(same(getattr(odd, each.name), getattr(back, each.name)) for each in fields(dd.Fit))


def test_other_tools_can_read_the_numbers(two_experiments, tmp_path):
    two_experiments.save(tmp_path / "fit.nc")
    with xarray.open_dataset(tmp_path / "fit.nc", engine="h5netcdf") as content:
        assert list(content["parameter"].values) == list(two_experiments.params)
        np.testing.assert_array_equal(content["value"], list(two_experiments.params.values()))
        np.testing.assert_array_equal(content["cov"], two_experiments.cov)


def test_saving_again_replaces_the_file_only_when_complete(two_experiments, whitened, tmp_path, monkeypatch):
    path = tmp_path / "fit.nc"
    two_experiments.save(path)
    whitened.save(path)
    assert dd.load(path).params == whitened.params

    def fails(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(EstimationError, match=r"could not be written to .*: No space left on device"):
        two_experiments.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["fit.nc"]
    assert dd.load(path).params == whitened.params


def test_where_a_fit_cannot_be_saved(whitened, tmp_path):
    with pytest.raises(EstimationError, match=r"There is no folder '.*nowhere' to save the fit in. Make the folder"):
        whitened.save(tmp_path / "nowhere" / "fit.nc")
    with pytest.raises(EstimationError, match=r"is a folder. Name a file in it"):
        whitened.save(tmp_path)
    with pytest.raises(EstimationError, match="must be text or a Path, got 3"):
        whitened.save(3)


def test_what_only_has_the_name_of_a_criterion_cannot_be_read_back(whitened, tmp_path):
    class OutputError:
        pass

    with pytest.raises(EstimationError, match="A fit by OutputError cannot be saved: the criterion could not be read"):
        replace(whitened, criterion=OutputError()).save(tmp_path / "fit.nc")


def test_files_that_are_not_ours(whitened, tmp_path):
    path = tmp_path / "fit.nc"
    with pytest.raises(EstimationError, match=r"There is no file '.*fit.nc' to load"):
        dd.load(path)
    path.write_text("time,value\n0,1\n")
    both = r"neither a fit nor a journal. Give a file that fit.save\(path\) or study\(journal=path\) wrote"
    with pytest.raises(EstimationError, match=rf"fit.nc' is not a file that daedal saved, {both}"):
        dd.load(path)
    xarray.Dataset({"a": ("t", [1.0, 2.0])}).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(EstimationError, match="is not a file that daedal saved, neither a fit nor a journal"):
        dd.load(path)
    with pytest.raises(EstimationError, match="must be text or a Path"):
        dd.load(whitened)


def test_newer_and_damaged_files(whitened, tmp_path):
    path, other = tmp_path / "fit.nc", tmp_path / "other.nc"
    whitened.save(path)
    with xarray.open_dataset(path, engine="h5netcdf") as content:
        content.load()
    content.assign_attrs(version=3).to_netcdf(other, engine="h5netcdf")
    with pytest.raises(EstimationError, match=r"newer daedal: its format is 3, this one reads up to 2. Update daedal"):
        dd.load(other)
    content.drop_vars("experiment_0_output_0_values").to_netcdf(other, engine="h5netcdf")
    with pytest.raises(EstimationError, match="is damaged: its variables are not those that were saved"):
        dd.load(other)


def test_files_of_version_0_1_0_are_read():
    """Written by that version: a likelihood with a start of its own."""
    with pytest.warns(dd.DaedalWarning, match=r"fit_0_1_0.nc' was saved by daedal 0.1.0, without digests: if it was "):
        fit = dd.load(Path(__file__).parent / "fit_0_1_0.nc")
    assert fit.criterion == dd.Likelihood(initial="guess", initial_std={"x": 0.1})
    assert fit.params["k"] == 0.9655096676106556
    assert "one-step fit: x 83.0 %" in str(fit)
    assert dd.compare(fit, fit.data).fit_percent["x"] == pytest.approx(81.04662762641061, rel=1e-9)
    states = dd.estimate_states(fit, fit.data[0])
    np.testing.assert_allclose(states.mean["x"][:2], [0.98244466, 0.8955988], rtol=1e-7)


def test_a_description_makes_no_other_fit():
    times = 0.5 * np.arange(5)
    data = dd.Dataset(times, outputs={"x": np.exp(-times) + 0.01 * np.sin(9 * times)})
    told = []
    for start in (dd.Parameter(0.8), dd.Parameter(0.8, description="how fast it falls"), dd.Parameter(0.9)):
        equations, parameters = {"rate": der(x) == -k * x}, {k: start}
        outputs = {"x": x}
        model = dd.Model(
            name="decay", equations=equations, unknowns=[x], outputs=outputs, parameters=parameters, initial={x: 1.0}
        )
        told.append(identify_fit(dd.fit(model, data, free=["k"], rng=1)))
    assert told[1] == told[0]
    assert told[2]["model"] != told[0]["model"]
