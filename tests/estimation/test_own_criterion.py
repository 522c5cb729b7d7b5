"""A criterion of one's own, in 40 lines, goes wherever daedal's own go."""

import json
import sys
from dataclasses import dataclass, field, replace
from inspect import getsource

import numpy as np
import pytest
from scipy.optimize import minimize

import daedal as dd
from daedal import der
from daedal.errors import DaedalError, EstimationError
from daedal.estimation import Capabilities, Evaluation, Part, Problem, fail_at
from daedal.estimation.storage.netcdf import Variable, make_texts, read_netcdf, write_netcdf
from daedal.experiments import match_experiments
from daedal.simulation import Lanes, Predictor, make_predictor, make_request


@dataclass(frozen=True)
class LeastAbsolute:
    """Σ w √(w² + r²), r = y − ŷ: squares for small residuals, absolute values for those far beyond w."""

    width: float = 0.02
    condition = None  # it simulates

    def objective(self, problem: Problem) -> "AbsoluteErrors":
        space, simulations = problem.coordinates, []
        for number, one in enumerate(match_experiments(problem.system, problem.data)):
            values, solver = space.values(space.start, number), problem.solver or Lanes(tolerance=1e-9)
            asked = make_request(one.system, one.drive)
            simulate = make_predictor(asked, one.outputs, space.parameters, values, solver, None, 0, "fit")
            simulations.append((one.series, simulate))
        return AbsoluteErrors(problem, self.width, simulations)


@dataclass(frozen=True, eq=False)
class AbsoluteErrors:
    problem: Problem
    width: float
    simulations: list[tuple[tuple, Predictor]]
    capabilities: Capabilities = field(default_factory=Capabilities)

    def __call__(self, point: np.ndarray) -> Evaluation:
        value, gradient, curvature, scores, parts = 0.0, 0.0, 0.0, 0.0, []
        for number, (every_series, simulate) in enumerate(self.simulations):
            try:
                prediction = simulate(self.problem.coordinates.values(point, number))
            except DaedalError as error:
                return fail_at(point, error.sentence)
            for series in every_series:
                mean, slopes = (a[..., series.row, series.places] for a in (prediction.mean, prediction.slopes))
                slopes = self.problem.coordinates.convert_slopes(slopes, point, number)
                parts.append(Part(series, series.values - mean, slopes, np.zeros(point.size), 1.0, mean))
                psi, known = slopes[:, keep := np.isfinite(series.values)], (series.values - mean)[keep]
                root = np.sqrt(1.0 + (known / self.width) ** 2)
                value, gradient = value + self.width**2 * root.sum(), gradient - psi @ (known / root)
                curvature, scores = curvature + psi / root**3 @ psi.T, scores + psi * (known / root) ** 2 @ psi.T
        return Evaluation(point, float(value), gradient, curvature, parts=tuple(parts), scores=scores)

    def refine(self, evaluation: Evaluation) -> None:
        """There is one stage."""


x, u, k, b, x0 = dd.symbols("x u k b x0")
TIMES = np.arange(120) * 0.1


def model() -> dd.Model:
    return dd.Model(
        name="lag",
        equations={"rate": der(x) == -k * x + b * u},
        unknowns=[x],
        inputs=[u],
        outputs={"x": x},
        parameters={k: dd.Parameter(1.0, lower=0.1, upper=10.0, scale="log"), b: 1.0, x0: 0.0},
        initial={x: x0},
    )


def measured(rng: int, name: str = "data", start: float = 0.5) -> dd.Dataset:
    """Small noise, one sample in ten far off, and gaps."""
    signal = dd.Signal(TIMES, np.sin(TIMES) + np.sign(np.sin(0.7 * TIMES)))
    truth = model().with_parameters({"k": 1.7, "b": 2.0, "x0": start})
    random = np.random.default_rng(rng)
    values = dd.simulate(truth, TIMES, inputs={u: signal})["x"] + 0.02 * random.standard_normal(TIMES.size)
    values += np.where(random.random(TIMES.size) < 0.1, random.choice([3.0, 6.0], TIMES.size), 0.0)
    values[[7, 40]] = np.nan
    return dd.Dataset(TIMES, inputs={"u": signal}, outputs={"x": values}, name=name)


@pytest.fixture(scope="module")
def found() -> dd.Fit:
    return dd.fit(model(), measured(1), free=["k", "b"], fixed={"x0": 0.5}, criterion=LeastAbsolute())


def test_it_is_written_in_forty_lines():
    lines = [line for kind in (LeastAbsolute, AbsoluteErrors) for line in getsource(kind).splitlines()]
    assert len([line for line in lines if line.strip()]) <= 40


def test_fit_finds_the_minimum_and_is_not_pulled_by_what_is_far_off(found):
    assert found.status.ok
    assert found.params["k"] == pytest.approx(1.7, rel=0.02)
    assert found.params["b"] == pytest.approx(2.0, rel=0.02)
    squares = dd.fit(model(), measured(1), free=["k", "b"], fixed={"x0": 0.5}, criterion=dd.OutputError())
    assert abs(found.params["b"] - 2.0) < 0.3 * abs(squares.params["b"] - 2.0)
    data = measured(1)

    def cost(theta):
        values = {"k": theta[0], "b": theta[1], "x0": 0.5}
        errors = data["x"] - dd.simulate(model(), data, values=values)["x"]
        return 0.02 * np.nansum(np.sqrt(0.02**2 + errors**2))

    best = minimize(cost, [1.7, 2.0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12})
    np.testing.assert_allclose(list(found.params.values()), best.x, rtol=1e-4)
    assert found.value == pytest.approx(best.fun, rel=1e-6)


def test_what_least_squares_alone_may_say_is_not_said(found):
    assert found.loglik is None
    assert "LeastAbsolute(" in str(found)
    assert "declared measurement noise" not in str(found)


def test_standard_errors_are_the_scatter_of_estimates():
    fits = [
        dd.fit(model(), measured(rng), free=["k", "b"], fixed={"x0": 0.5}, criterion=LeastAbsolute())
        for rng in range(2, 42)
    ]
    for name in ("k", "b"):
        scatter = np.std([one.params[name] for one in fits], ddof=1)
        assert np.mean([one.std_errors[name] for one in fits]) == pytest.approx(scatter, rel=0.35)


def test_evaluate_has_the_gradient_of_its_value():
    def value(k):
        values = {"k": k, "b": 1.5, "x0": 0.4}
        return dd.evaluate(model(), measured(1), free=["k", "b", "x0"], criterion=LeastAbsolute(0.1), values=values)

    slope = (value(1.5 + 1e-4).value - value(1.5 - 1e-4).value) / 2e-4
    assert value(1.5).gradient[0] == pytest.approx(slope, rel=1e-5)


def test_compare_predicts_other_data_and_estimates_what_is_local():
    sets = [measured(1, "day", 0.5), measured(2, "night", -1.0)]
    fit = dd.fit(model(), sets, free=["k", "b"], local=["x0"], criterion=LeastAbsolute())
    third = measured(3, "third", 2.0)
    comparison = dd.compare(fit, third)
    assert comparison.local["x0[third]"] == pytest.approx(2.0, abs=0.05)
    values = {"k": fit.params["k"], "b": fit.params["b"], "x0": comparison.local["x0[third]"]}
    expected = dd.simulate(model(), third, values=values)["x"]
    np.testing.assert_allclose(comparison["x"].predicted, expected, rtol=1e-6, atol=1e-7)
    assert comparison.realizations is None


def test_resid_profile_and_identifiability(found):
    residuals = dd.resid(found)["x"]
    expected = measured(1)["x"] - dd.simulate(model(), measured(1), values=found.values())["x"]
    np.testing.assert_allclose(residuals.values["data"], expected, rtol=1e-5, atol=1e-6)
    assert residuals.whiteness.lags.size > 1
    interval, wald = dd.profile(found, ["b"], points=3).intervals["b"], found.conf_int()["b"]
    np.testing.assert_allclose(interval, wald, rtol=0.02)
    assert not dd.identifiability(found).not_determined


def test_save_and_load(found, tmp_path, monkeypatch):
    found.save(tmp_path / "fit.nc")
    back = dd.load(tmp_path / "fit.nc")
    assert back.criterion == found.criterion
    assert str(back) == str(found)
    assert dd.compare(back, measured(5)).rmse == dd.compare(found, measured(5)).rmse
    monkeypatch.delitem(sys.modules, __name__)
    with pytest.raises(
        EstimationError, match=rf"'LeastAbsolute' of the module '{__name__}', which is not there. Write"
    ):
        dd.load(tmp_path / "fit.nc")


@pytest.mark.parametrize("kind", ["subprocess:Popen", "json:dumps", "daedal.data:Signal", "no_such_module:Criterion"])
def test_a_file_cannot_name_something_that_is_no_criterion(found, kind, tmp_path):
    """Not even where its digests are right."""
    found.save(tmp_path / "fit.nc")
    labels, variables, _ = read_netcdf((tmp_path / "fit.nc").read_bytes())
    told = json.loads(variables["description"].values.item())
    told["criterion"]["kind"] = kind
    variables["description"] = Variable((), make_texts([json.dumps(told)], ()))
    del labels["sha256"]
    (tmp_path / "other.nc").write_bytes(write_netcdf(labels, variables))
    with pytest.raises(EstimationError, match="which is not there"):
        dd.load(tmp_path / "other.nc")
    assert "no_such_module" not in sys.modules


@dataclass(frozen=True)
class WithTable(LeastAbsolute):
    table: tuple[float, ...] = (1.0, 2.0)


def test_a_criterion_that_could_not_be_read_back_is_not_saved(found, tmp_path):
    @dataclass(frozen=True)
    class Local(LeastAbsolute):
        pass

    for criterion in (Local(), WithTable()):
        with pytest.raises(EstimationError, match=r"cannot be saved: the criterion could not be read back. Make it a"):
            replace(found, criterion=criterion).save(tmp_path / "fit.nc")
    assert not list(tmp_path.iterdir())


def test_a_criterion_may_wrap_another():
    """Stages, notes and predictions of the inner one are declared on, with half the weight."""
    data = measured(1)
    fits = [
        dd.fit(model(), data, free=["k", "b"], criterion=one) for one in (dd.OutputError(), Halved(dd.OutputError()))
    ]
    assert fits[1].params == pytest.approx(dict(fits[0].params), rel=1e-6)
    assert fits[1].value == pytest.approx(0.5 * fits[0].value, rel=1e-9)
    assert dd.compare(fits[1], data).rmse == pytest.approx(dict(dd.compare(fits[0], data).rmse), rel=1e-6)


@dataclass(frozen=True)
class Halved:
    inner: dd.OutputError
    condition = None

    def objective(self, problem):
        return HalvedObjective(self.inner.objective(problem))


@dataclass(frozen=True, eq=False)
class HalvedObjective:
    inner: object

    @property
    def problem(self):
        return self.inner.problem

    @property
    def capabilities(self):
        return Capabilities(notes=self.inner.capabilities.notes, predict=self.inner.capabilities.predict)

    def __call__(self, point):
        whole = self.inner(point)
        return replace(
            whole, value=whole.value / 2, gradient=whole.gradient / 2, curvature=whole.curvature / 2, residuals=None
        )

    def refine(self, evaluation):
        following = self.inner.refine(evaluation)
        return None if following is None else HalvedObjective(following)


def test_what_is_no_criterion_is_told(found):
    for given, named in ((LeastAbsolute, "Write criterion=LeastAbsolute()"), (object(), "objective\\(problem\\)")):
        with pytest.raises(EstimationError, match=named):
            dd.fit(model(), measured(1), free=["k"], criterion=given)
