"""The public API as the reference scripts use it: structure, two solvers, disturbed data, delays in text form."""

import numpy as np

import daedal as dd
from daedal import der


def pendulum() -> dd.Model:
    x, y, vx, vy, tension = dd.symbols("x y vx vy tension")
    u, w = dd.symbols("u w")
    m, g, k, L = dd.symbols("m g k L")
    return dd.Model(
        name="pendulum",
        equations={
            "kinematics x": der(x) == vx,
            "kinematics y": der(y) == vy,
            "force x": m * der(vx) == tension * x - k * np.abs(vx) * vx + u + w**2,
            "force y": m * der(vy) == tension * y - k * np.abs(vy) * vy - m * g,
            "rod": x**2 + y**2 == L**2,
        },
        unknowns=[x, y, vx, vy, tension],
        inputs=[u],
        outputs={"angle": np.arctan2(x, -y)},
        parameters={m: 0.3, g: 9.81, L: 6.25, k: dd.Parameter(8.0, lower=3.85, upper=10.25, unit="kg/m")},
        disturbances={w: dd.FilteredNoise(numerator=[0.6], denominator=[1.0, 0.8, 16.0], grid=0.01, initial="rest")},
        measurement_noise={"angle": 0.002},
        initial={x: 0.0, vx: 0.0},
        guess={y: -L},
    )


def push() -> dd.Signal:
    fine = np.arange(3001) * 0.01
    return dd.Signal(fine, 0.3 * np.sin(1.3 * fine) + 0.1 * np.sin(7 * fine))


def test_structure_of_the_pendulum():
    structure = dd.analyze(pendulum())
    assert structure.index == 3
    assert structure.degrees_of_freedom == 2
    assert "rod twice" in str(structure)
    assert "1 of x, y; 1 of vx, vy" in str(structure)


def test_two_tolerances_agree_and_match_the_minimal_form():
    from scipy.integrate import solve_ivp

    truth = pendulum().with_parameters({"k": 6.25})
    times, signal = np.arange(61) * 0.1, push()  # a period and more
    nominal = dd.simulate(truth, times, inputs={"u": signal})
    reference = dd.simulate(truth, times, inputs={"u": signal}, solver=dd.IDA(rtol=1e-10, atol=1e-12))
    assert np.max(np.abs(nominal["angle"] - reference["angle"])) < 1e-6

    def minimal(t, state):
        """m L φ'' = −k L² |φ'| φ' (|cos φ|³ + |sin φ|³) + u cos φ − m g sin φ."""
        angle, rate = state
        m, g, k, L = 0.3, 9.81, 6.25, 6.25
        drag = k * L**2 * abs(rate) * rate * (abs(np.cos(angle)) ** 3 + abs(np.sin(angle)) ** 3)
        return [rate, (-drag + signal(t) * np.cos(angle) - m * g * np.sin(angle)) / (m * L)]

    ode = solve_ivp(minimal, (0, 6), [0, 0], method="DOP853", rtol=1e-10, atol=1e-12, t_eval=times, max_step=0.01)
    assert np.max(np.abs(reference["angle"] - ode.y[0])) < 1e-8
    assert "disturbances are zero: w" in str(reference)


def test_data_of_one_experiment_on_a_disturbed_pendulum():
    fine = np.arange(2001) * 0.01
    wind = dd.FilteredNoise(numerator=[0.2], denominator=[1.0, 0.8, 16.0])
    known = dd.Signal(fine, dd.sample_path(wind, fine, rng=2))
    times = np.arange(201) * 0.1
    truth = pendulum().with_parameters({"k": 6.25})
    run = dd.simulate(truth, times, inputs={"u": known}, realizations=1, measurement_noise=True, rng=1)
    assert run["angle"].shape == (1, 201)
    data = run.to_dataset()
    assert data["angle"].shape == (201,)
    again = dd.simulate(truth, times, inputs={"u": known}, realizations=1, measurement_noise=True, rng=1)
    np.testing.assert_array_equal(run["angle"], again["angle"])
    clean = dd.simulate(truth, times, inputs={"u": known}, realizations=1, rng=1)
    noise = run["angle"] - clean["angle"]
    assert 0.0016 < noise.std() < 0.0024

    nominal = dd.simulate(truth, times, inputs={"u": known})  # no realizations: disturbances are zero
    reference = dd.simulate(truth, times, inputs={"u": known}, solver=dd.IDA(rtol=1e-10, atol=1e-12))
    assert np.max(np.abs(nominal["angle"] - reference["angle"])) < 1e-6
    assert np.max(np.abs(clean["angle"] - nominal["angle"])) > 1e-4, "the disturbance must matter"


def test_models_of_the_other_scripts_can_be_declared():
    x1, x2, tau, z1, z2 = dd.symbols("x1 x2 tau z1 z2")
    rate = (1 - x1) * np.exp(20 * x2 / (x2 + 20))
    reactor = dd.Model(
        name="reactor",
        equations={
            "concentration": der(x1) == z1 * x1 + rate + dd.delay(x1, tau),
            "temperature": der(x2) == z2 * x2 + rate + dd.delay(x2, tau),
        },
        unknowns=[x1, x2],
        outputs={"y": 10 * x2},
        parameters={tau: dd.Parameter(1.5, lower=0.2, upper=4.5), z1: -1.5, z2: -2.0},
        history={x1: 1.0, x2: 1.0},
    )
    assert dd.analyze(reactor).degrees_of_freedom == 2
    assert dd.Model.from_text(reactor.to_text()) == reactor
