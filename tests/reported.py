"""Results that tests of reports share: small, made once in each process."""

from functools import cache

import numpy as np

import daedal as dd

HOSTILE = '</script><script>window.hit=1</script><img src=x onerror="window.hit=2">'
ODD = {  # what names may be, too
    "long": "a_very_long_name_" * 14,
    "dollars": "$\\alpha$ `${1}` %{x} {{7*7}} &lt;",
    "turning": "\u202e\u2066level\u2069% 5 ot\u202c",
    "pictures": "\U0001f697" * 20,
}
TIMES = np.arange(240) * 0.1


@cache
def make_model(name: str = "tank", output: str = "level") -> dd.Model:
    """Two states, a disturbance, two outputs with units."""
    x, v, u, w, k, d = dd.symbols("x v u w k d")
    return dd.Model(
        name=name,
        equations={f"motion of {output}": dd.der(x) == v, "force": dd.der(v) == k * (u - x) - d * v + w},
        unknowns=[x, v],
        inputs=[u],
        outputs={output: x, "speed": v},
        parameters={
            k: dd.Parameter(1.5, lower=0.1, upper=20.0, scale="log", unit="1/s2", description="stiffness by mass"),
            d: dd.Parameter(0.8, lower=0.0, upper=5.0, unit="1/s" if output == "level" else output),
        },
        disturbances={w: dd.FilteredNoise.low_pass(std=0.4, time_constant=0.5)},
        measurement_noise={output: 0.03, "speed": 0.05},
        initial={x: 0.0, v: 0.0},
        units={output: "m", "speed": "m/s", "u": "V", "time": "s"},
    )


@cache
def make_data(output: str = "level") -> tuple[dd.Dataset, dd.Dataset]:
    """To estimate, and to validate."""
    truth = make_model(output=output).with_parameters({"k": 2.0, "d": 0.6})
    drive = dd.Signal(TIMES, np.sign(np.sin(0.9 * TIMES) + 0.3 * np.sin(2.3 * TIMES)), intersample="zoh")
    data = dd.simulate(truth, TIMES, inputs={"u": drive}, realizations=1, measurement_noise=True, rng=4).to_dataset()
    return data.split(fraction=0.6)


@cache
def make_fit() -> dd.Fit:
    """By likelihood."""
    return dd.fit(make_model(), make_data()[0], free=["k", "d"], criterion=dd.Likelihood(), rng=1)


@cache
def make_simulating_fit() -> dd.Fit:
    """By output error, which ignores the disturbance, from several starts."""
    starts = [{"k": 1.5, "d": 0.8}, {"k": 4.0, "d": 0.3}]
    return dd.fit(make_model(), make_data()[0], free=["k", "d"], criterion=dd.OutputError(), starts=starts, rng=1)


@cache
def make_hostile_fit(name: str = HOSTILE) -> dd.Fit:
    """Everything whose name is free is called by something that would like to be a script, or is odd."""
    train = make_data(name)[0]
    named = dd.Dataset(train.times, train.inputs, train.outputs, t0=train.t0, name=name, units=train.units)
    return dd.fit(make_model(name, name), named, free=["k", "d"], criterion=dd.OutputError(), rng=1)


def make_result(kind: str):
    """A result that is no fit."""
    fit, (train, test) = make_fit(), make_data()
    if kind == "comparison":
        return dd.compare(fit, test)
    if kind == "states":
        return dd.estimate_states(fit, train, variables=["x", "v"])
    if kind == "order":
        return dd.select_order(train, orders=[1, 2], output="level")
    return dd.study(fit, dd.ParametricBootstrap(), runs=4, rng=1)
