"""`to_pandas` of every public result: tidy, with a named index, and the numbers of the result itself."""

import numpy as np
import pandas
import pytest

import daedal as dd

x, u, k = dd.symbols("x u k")
w = dd.symbol("w")
TIMES = np.linspace(0.0, 4.0, 41)
DRIVE = dd.Signal(TIMES, np.sign(np.sin(3.0 * TIMES)), "zoh")
MODEL = dd.Model(
    name="lag", equations={"rate": dd.der(x) == u - k * x}, unknowns=[x], inputs=[u], outputs={"y": x},
    parameters={k: dd.Parameter(1.0, lower=0.1, upper=10.0, unit="1/s")}, measurement_noise={"y": 0.02},
    initial={x: 0.0}, units={"y": "m", "time": "s"},
)  # fmt: skip
NOISY = dd.Model(
    name="disturbed", equations={"rate": dd.der(x) == u + w - k * x}, unknowns=[x], inputs=[u], outputs={"y": x},
    parameters={k: 1.0}, disturbances={w: dd.FilteredNoise([0.3], [1.0, 2.0])}, measurement_noise={"y": 0.02},
    initial={x: 0.0}, units={"y": "m"},
)  # fmt: skip
BESIDE = {
    "Project",
    "Candidate",
    "Cost",
    "Descriptor",
    "Estimate",
    "Structure",
    "System",
    "WellPosedness",
}  # parts, not results


def make_data():
    run = dd.simulate(MODEL, TIMES, inputs={"u": DRIVE})
    noise = 0.02 * np.random.default_rng(0).standard_normal(TIMES.size)
    return dd.Dataset(TIMES, {"u": DRIVE}, {"y": run["y"] + noise}, units={"y": "m", "time": "s"})


@pytest.fixture(scope="module")
def results():
    data = make_data()
    fit = dd.fit(MODEL, data, free=["k"], criterion=dd.OutputError())
    search = dd.select_order(data, orders=[1, 2], input_orders=[0])
    made = [
        data, fit, search, dd.simulate(MODEL, TIMES, inputs={"u": DRIVE}), dd.compare(fit, data), dd.resid(fit),
        dd.profile(fit, ["k"]), dd.identifiability(fit), dd.estimate_states(NOISY, data),
        dd.ensemble(NOISY, TIMES, realizations=4, inputs={"u": DRIVE}, sensitivities=["k"], rng=0),
        dd.select_order(data, orders=[1], input_orders=[0], output=["y"]),
        dd.study(fit, dd.ParametricBootstrap(), runs=3, rng=0),
    ]  # fmt: skip
    return {type(one).__name__: one for one in made}


INDEX = {
    "Dataset": ["time"],
    "Trajectory": ["time"],
    "Ensemble": ["output", "time"],
    "StateEstimate": ["variable", "time"],
    "Fit": ["parameter"],
    "Comparison": ["experiment", "output", "prediction", "time"],
    "Residuals": ["experiment", "output", "time"],
    "Profile": ["profiled", "number"],
    "Identifiability": ["direction", "parameter"],
    "OrderSearch": ["order", "input_order"],
    "OrderSearches": ["output", "order", "input_order"],
    "Study": ["run"],
}


def test_every_public_result_is_walked_over():
    """What verbs return has a table of its own to print, as results do."""
    printed = {
        name
        for name in dd.__all__
        if isinstance(kind := getattr(dd, name), type) and "__str__" in vars(kind) and hasattr(kind, "to_pandas")
    }
    assert printed == set(INDEX)
    without = {
        name
        for name in dd.__all__
        if isinstance(kind := getattr(dd, name), type)
        and {"model", "notes", "status"} & set(getattr(kind, "__dataclass_fields__", ()))
        and not hasattr(kind, "to_pandas")
    }
    assert without <= BESIDE


@pytest.mark.parametrize("name", INDEX)
def test_a_frame_is_tidy(results, name):
    frame = results[name].to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.index.names) == INDEX[name]
    assert len(frame)
    assert frame.index.is_unique
    assert frame.columns.nlevels == 1
    assert frame.columns.is_unique


def test_the_numbers_are_those_of_the_result(results):
    fit, checked, left = results["Fit"], results["Comparison"], results["Residuals"]
    frame = fit.to_pandas()
    assert frame.loc["k", "value"] == fit["k"].value
    assert tuple(frame.loc["k", ["interval_lower", "interval_upper"]]) == fit.conf_int()["k"]
    assert frame.loc["k", "unit"] == "1/s"
    simulated = checked.to_pandas().loc[("data", "y", "simulated")]
    np.testing.assert_array_equal(simulated["predicted"], checked["y"].predicted)
    np.testing.assert_array_equal(left.to_pandas().loc[("data", "y"), "residual"], left["y"].values["data"])
    moments = results["Ensemble"]
    np.testing.assert_array_equal(moments.to_pandas().loc["y", "mean by k"], moments.sensitivities["k"]["y"])
    states = results["StateEstimate"]
    np.testing.assert_array_equal(states.to_pandas().loc["x", "std"], states.std["x"])
    curve = results["Profile"]["k"]
    np.testing.assert_array_equal(results["Profile"].to_pandas().loc["k", "cost"], curve.cost)
    squares = results["Identifiability"].to_pandas()["weight"] ** 2
    assert np.allclose(squares.groupby(level="direction").sum(), 1.0)
    search = results["OrderSearch"]
    table = search.to_pandas()
    assert table["chosen"].sum() == 1
    assert table.loc[(search.order, search.input_order), "bic"] == search.chosen.bic
    assert table.index[table["chosen"]].tolist() == [(search.order, search.input_order)]


@pytest.mark.parametrize("name", ["Dataset", "Trajectory", "Ensemble", "StateEstimate", "Comparison", "Residuals"])
def test_units_are_attributes(results, name):
    assert results[name].to_pandas().attrs["units"]["y"] == "m"


def test_realizations_and_sets_of_values_are_levels():
    many = dd.simulate(NOISY, TIMES, inputs={"u": DRIVE}, realizations=3, rng=0)
    frame = many.to_pandas()
    assert list(frame.index.names) == ["realization", "time"]
    np.testing.assert_array_equal(frame.loc[2, "y"], many["y"][2])
    np.testing.assert_array_equal(frame.loc[1, "u"], np.broadcast_to(many["u"], many["y"].shape)[1])
    sets = dd.ensemble(NOISY, TIMES, realizations=3, inputs={"u": DRIVE}, values=[{"k": 1.0}, {"k": 2.0}], rng=0)
    table = sets.to_pandas()
    assert list(table.index.names) == ["values", "output", "time"]
    np.testing.assert_array_equal(table.loc[(1, "y"), "mean"], sets.mean["y"][1])
