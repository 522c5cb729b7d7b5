"""One battery for all criteria: gradients, curvature, repetition, and what must not matter."""

import numpy as np
import pytest

import daedal as dd
from batteries.criterion import NAMES, TIMES, cases, differences, first_order, scaled, shifted, square


@pytest.fixture(params=NAMES)
def case(request):
    return cases()[request.param]


def test_gradient_is_that_of_the_value(case):
    found = case.evaluate()
    sizes = np.array([max(abs(case.at[name]), 0.1) for name in found.names])
    scale = np.max(np.abs(found.gradient * sizes))
    assert np.max(np.abs(found.gradient - differences(case)) * sizes) < 1e-6 * scale


def test_curvature_is_symmetric_and_nowhere_negative(case):
    curvature = case.evaluate().curvature
    assert np.array_equal(curvature, curvature.T)
    assert np.linalg.eigvalsh(curvature).min() >= -1e-10 * np.trace(curvature)
    assert np.trace(curvature) > 0


def bends(case) -> bool:
    """Whether residuals are bent by a loss, whose curvature is that of their scores."""
    return isinstance(case.criterion, dd.OutputError) and case.criterion.loss != "linear"


def test_sums_of_squares_give_residuals_and_jacobian(case):
    found = case.evaluate()
    pure = "free accuracy" not in case.name and not (
        isinstance(case.criterion, dd.SimulationPEM) and case.criterion.debias
    )
    assert (found.residuals is not None) == pure
    if pure:
        np.testing.assert_allclose(found.value, 0.5 * found.residuals @ found.residuals, rtol=1e-13)
        np.testing.assert_allclose(found.gradient, found.jacobian.T @ found.residuals, rtol=1e-9)
        if not bends(case):
            np.testing.assert_allclose(found.curvature, found.jacobian.T @ found.jacobian, rtol=1e-9)


def test_cost_repeats_to_the_last_bit(case):
    first = case.evaluate()
    elsewhere = case.evaluate({})
    again = case.evaluate()
    renewed = case.changed(model=case.model.with_parameters({})).evaluate()  # another object: prepared anew
    for other in (again, renewed):
        assert other.value == first.value
        assert np.array_equal(other.gradient, first.gradient)
        assert np.array_equal(other.curvature, first.curvature)
    assert elsewhere.value != first.value


@pytest.mark.parametrize("name", ["output error", "output error, experiments", "mean", "mean, whitened by order"])
def test_random_numbers_matter_to_the_mean_only(name):
    case = cases()[name]
    same = case.evaluate(rng=5).value == case.evaluate(rng=6).value
    assert same == isinstance(case.criterion, dd.OutputError)


def test_time_may_start_anywhere(case):
    sets = [case.data] if isinstance(case.data, dd.Dataset) else case.data
    later = [shifted(one, 1e5) for one in sets]
    found = case.evaluate()
    moved = case.changed(data=later[0] if len(later) == 1 else later).evaluate()
    np.testing.assert_allclose(moved.value, found.value, rtol=1e-6)
    np.testing.assert_allclose(moved.gradient, found.gradient, rtol=1e-5, atol=1e-6 * np.abs(found.gradient).max())


def test_order_of_parameters_does_not_matter(case):
    found = case.evaluate()
    turned = case.changed(free=case.free[::-1]).evaluate()
    places = [turned.names.index(name) for name in found.names]
    np.testing.assert_allclose(turned.value, found.value, rtol=1e-10)
    np.testing.assert_allclose(turned.gradient[places], found.gradient, rtol=1e-8, atol=1e-9 * abs(found.value))
    np.testing.assert_allclose(turned.curvature[np.ix_(places, places)], found.curvature, rtol=1e-8)


SEVERAL = (
    "output error, two outputs",
    "output error, no noise declared",
    "output error, correlated noise and gaps",
    "output error, own times",
    "output error, free accuracy",
    "output error, soft_l1",
    "output error, cauchy",
    "mean, two outputs",
    "mean, no noise declared",
    "mean, two outputs whitened",
)


def test_names_are_those_of_the_cases():
    assert list(cases()) == list(NAMES)
    assert all(len(cases()[name].model.outputs) > 1 for name in SEVERAL)


@pytest.mark.parametrize("name", SEVERAL)
def test_order_of_outputs_does_not_matter(name):
    case = cases()[name]
    model = case.model
    outputs = {name: model.outputs[name] for name in reversed(list(model.outputs))}
    noise = {key: model.measurement_noise[key] for key in reversed(list(model.measurement_noise))}
    turned = case.changed(model=rebuilt(model, outputs, noise))
    assert list(turned.model.outputs) == list(outputs)
    found, other = case.evaluate(), turned.evaluate()
    np.testing.assert_allclose(other.value, found.value, rtol=1e-9)
    np.testing.assert_allclose(other.gradient, found.gradient, rtol=1e-6)


FACTOR = 1000.0


def in_other_units(case, name):
    """The same problem with one output a thousand times as large, its declared noise too."""
    model = case.model
    noise = {}
    for key, value in model.measurement_noise.items():
        if isinstance(key, tuple):
            factors = np.array([FACTOR if one == name else 1.0 for one in key])
            noise[key] = np.asarray(value) * np.outer(factors, factors)
        else:
            noise[key] = value * FACTOR if key == name else value
    outputs = {key: value * FACTOR if key == name else value for key, value in model.outputs.items()}
    sets = [case.data] if isinstance(case.data, dd.Dataset) else case.data
    data = [scaled(one, {name: FACTOR}) for one in sets]
    return case.changed(model=rebuilt(model, outputs, noise), data=data[0] if len(data) == 1 else data)


def rebuilt(model, outputs, noise):
    return dd.Model(
        name=model.name, equations=model.equations, unknowns=list(model.unknowns), inputs=list(model.inputs),
        outputs=outputs, parameters=model.parameters, disturbances=model.disturbances, measurement_noise=noise,
        initial=model.initial, guess=model.guess,
    )  # fmt: skip


def test_units_of_an_output_do_not_matter(case):
    name = list(case.model.outputs)[-1]
    found, other = case.evaluate(), in_other_units(case, name).evaluate()
    np.testing.assert_allclose(other.value, found.value, rtol=1e-9)
    np.testing.assert_allclose(other.gradient, found.gradient, rtol=1e-7, atol=1e-8 * np.abs(found.gradient).max())


FITTED = [
    "output error, two outputs",
    "output error, no noise declared",
    "output error, correlated noise and gaps",
    "output error, free accuracy",
    "mean, no noise declared",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", FITTED)
def test_estimates_do_not_depend_on_units_of_outputs(name):
    case = cases()[name]
    other = in_other_units(case, list(case.model.outputs)[-1])
    found, same = case.fit(), other.fit()
    for key in found.params:
        assert same[key].value == pytest.approx(found[key].value, rel=1e-5, abs=1e-5 * found[key].std_error)
        assert same[key].std_error == pytest.approx(found[key].std_error, rel=1e-3)
    assert same.value == pytest.approx(found.value, rel=1e-6)


@pytest.mark.parametrize("exponent", [-12, 9, 11])
@pytest.mark.parametrize("name", ["output error", "mean", "mean, not debiased"])
def test_estimates_do_not_depend_on_units_of_parameters(name, exponent):
    """A stiffness of 2e11 Pa and a capacity of 1e-12 F are as easy as a 1."""
    case = cases()[name]
    unit = 10.0**exponent
    a, big = dd.symbols("a big")
    model = rebuilt(case.model, case.model.outputs, {})
    kept = {n: one for n, one in model.parameters.items() if n != "a"}
    changed = dd.Model(
        name=model.name, equations=model.equations, unknowns=list(model.unknowns), inputs=list(model.inputs),
        outputs=model.outputs, parameters={**kept, big: 0.8 * unit, a: big / unit}, disturbances=model.disturbances,
        initial=model.initial,
    )  # fmt: skip
    plain = case.changed(model=model).fit(free={"a": dd.Parameter(0.8)})
    found = case.changed(model=changed).fit(free=["big"])
    assert found["big"].value / unit == pytest.approx(plain["a"].value, abs=1e-3 * plain["a"].std_error)
    assert found["big"].std_error / unit == pytest.approx(plain["a"].std_error, rel=1e-2)
    assert found.status.ok


@pytest.mark.parametrize("exponent", [-11, 11])
def test_parameters_of_very_different_sizes_are_estimated_together(exponent):
    case = cases()["output error, no noise declared"]
    model, unit = case.model, 10.0**exponent
    a, big = dd.symbols("a big")
    kept = {n: one for n, one in model.parameters.items() if n != "a"}
    for start in (0.8, case.fit()["a"].value):  # where the large one is right from the beginning, the small one is not
        changed = dd.Model(
            name=model.name, equations=model.equations, unknowns=list(model.unknowns), inputs=list(model.inputs),
            outputs=model.outputs, parameters={**kept, big: start * unit, a: big / unit}, initial=model.initial,
        )  # fmt: skip
        plain, found = case.fit(), case.changed(model=changed).fit(free=["big", "b"])
        assert found["big"].value / unit == pytest.approx(plain["a"].value, abs=1e-2 * plain["a"].std_error)
        assert found["b"].value == pytest.approx(plain["b"].value, abs=1e-2 * plain["b"].std_error)


def test_order_of_experiments_does_not_matter():
    case = cases()["output error, experiments"]
    turned = case.changed(data=case.data[::-1])
    assert turned.evaluate().value == pytest.approx(case.evaluate().value, rel=1e-12)
    found, other = case.fit(), turned.fit()
    for name in found.params:
        assert other[name].value == pytest.approx(found[name].value, abs=1e-4 * found[name].std_error)


@pytest.mark.slow
def test_order_of_experiments_changes_the_mean_within_its_monte_carlo_error():
    case = cases()["mean, experiments"].changed(criterion=dd.SimulationPEM(100))
    found, other = case.fit(), case.changed(data=case.data[::-1]).fit()
    for name in found.params:
        error = np.hypot(found[name].monte_carlo_error, other[name].monte_carlo_error)
        assert abs(other[name].value - found[name].value) < 4 * error


def test_experiments_add_up():
    """Two experiments cost what each of them costs."""
    case = cases()["output error, experiments"]
    parts = [
        case.changed(data=one).evaluate({"a": 0.9, f"x0[{one.name}]": case.at[f"x0[{one.name}]"]}).value
        for one in case.data
    ]
    assert case.evaluate().value == pytest.approx(sum(parts), rel=1e-12)


def test_output_error_is_half_the_sum_of_squares_of_a_closed_form():
    """x' = −a x + b u with constant u has x = b u/a + (x₀ − b u/a) e^(−a t)."""
    times = np.linspace(0.0, 4.0, 23)
    measured = np.cos(times)
    data = dd.Dataset(times, inputs={"u": dd.Signal(times, np.full(times.size, 2.0))}, outputs={"level": measured})
    found = dd.evaluate(first_order(), data, free=["a", "b"], values={"a": 0.9, "b": 1.1}, criterion=dd.OutputError())
    steady = 1.1 * 2.0 / 0.9
    expected = steady + (0.3 - steady) * np.exp(-0.9 * times)
    assert found.value == pytest.approx(0.5 * np.sum(((measured - expected) / 0.05) ** 2), rel=1e-7)
    np.testing.assert_allclose(found.residuals, (measured - expected) / 0.05, atol=1e-6)


def test_correlated_accuracies_are_those_of_the_joint_gaussian():
    """½ rᵀ R⁻¹ r summed by brute force, missing samples struck out of R."""
    case = cases()["output error, correlated noise and gaps"]
    plain = first_order(outputs=case.model.outputs, measurement_noise={"level": 1.0, "inflow": 1.0})
    found = dd.simulate(plain.with_parameters(case.at), TIMES, inputs=case.data.inputs)
    R = np.asarray(next(iter(case.model.measurement_noise.values())))
    total = 0.0
    for place in range(TIMES.size):
        r = np.array([case.data[name][place] - found[name][place] for name in ("level", "inflow")])
        known = np.isfinite(r)
        if known.any():
            total += 0.5 * r[known] @ np.linalg.solve(R[np.ix_(known, known)], r[known])
    assert case.evaluate().value == pytest.approx(total, rel=1e-6)


def test_free_accuracy_is_a_gaussian_likelihood():
    """Differences of the value are differences of −log L, Σ ½ (r/σ)² + log σ."""
    case = cases()["output error, free accuracy"]
    found = dd.simulate(
        first_order(outputs=case.model.outputs, measurement_noise={}).with_parameters({"a": 0.85, "b": 1.4}),
        TIMES, inputs=case.data.inputs,
    )  # fmt: skip

    def likelihood(sigma):
        scales = {"level": sigma, "inflow": 3 * sigma}
        return sum(
            np.sum(0.5 * ((case.data[name] - found[name]) / one) ** 2 + np.log(one)) for name, one in scales.items()
        )

    low, high = (case.evaluate({**case.at, "noise": sigma}).value for sigma in (0.06, 0.3))
    assert high - low == pytest.approx(likelihood(0.3) - likelihood(0.06), rel=1e-6)


def test_mean_of_many_realizations_is_the_mean_of_the_ensemble():
    """SimulationPEM(debias=False) is ½ Σ (y − ȳ)²/σ², ȳ averaged by hand over trajectories of `simulate`."""
    case = cases()["mean, not debiased"].changed(criterion=dd.SimulationPEM(4000, debias=False), free=["a"])
    model = square().with_parameters({"a": 0.9})
    other = dd.ensemble(model, TIMES, realizations=4000, inputs=case.data.inputs, rng=99)
    residual = (case.data["level"] - other.mean["level"]) / 0.05
    spread = np.sqrt(np.sum((residual / 0.05) ** 2 * other.variance["level"] / 4000) * TIMES.size)
    assert abs(case.evaluate({"a": 0.9}).value - 0.5 * residual @ residual) < 4 * spread
