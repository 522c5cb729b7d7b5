"""Auto: Laplace where particles agree with it, particles where they do not, and the reason in the notes."""

from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
from batteries.quadrature import SEEN, draw_seen, integrate, make_seen
from daedal import der
from daedal.estimation import match_fit, restore_objective
from daedal.estimation.likelihood.danger import UNSTABLE, Danger, find_danger
from daedal.estimation.likelihood.referee import SLIGHT, Gap, judge_gaps, judge_score
from daedal.estimation.problem import Problem, make_coordinates
from daedal.experiments import match_experiments
from daedal.filtering import Point, PooledRuns, compare_with_rest, make_guide, make_nonlinear_experiment
from daedal.systems import build

x, v, w = dd.symbols("x v w")
a, d, k, std = dd.symbols("a d k std")
SPRING = dd.Model(
    name="spring",
    equations={"speed": der(x) == v, "force": der(v) == -d * v - k * x - 2.0 * x**3 + w},
    unknowns=[x, v],
    outputs={"position": x},
    parameters={d: dd.Parameter(0.5, lower=0.05, upper=5.0, scale="log"), k: 1.0, std: 0.6},
    disturbances={w: dd.FilteredNoise.low_pass(std=std, time_constant=0.7)},
    measurement_noise={"position": 0.02},
    initial={x: 0.5, v: 0.0},
)
TIMES = np.arange(1, 81) * 0.2


def draw(model, times=TIMES, seed=4):
    return dd.simulate(model, times, t0=0.0, realizations=1, measurement_noise=True, rng=seed).to_dataset()


def test_particles_agree_with_laplace_on_a_smooth_model_and_nothing_changes():
    data = draw(SPRING)
    laplace = dd.fit(SPRING, data, free=["d", "std"], criterion=dd.Likelihood(method="laplace"), rng=0)
    auto = dd.fit(SPRING, data, free=["d", "std"], rng=0)
    assert dict(auto.params) == dict(laplace.params)
    assert any("Likelihood was chosen: the model is not linear" in note for note in auto.notes)
    assert any("judged at the estimate: particles would move" in note for note in auto.notes)
    assert not any("nothing has judged it" in note for note in auto.notes)


def test_what_a_fit_ended_with_goes_on_after_it():
    """Whatever a referee would say at the estimate of another method."""
    model = replace(SPRING, measurement_noise={"position": 0.2})
    fit = dd.fit(model, draw(model, TIMES[:20]), free=["d"], criterion=dd.Likelihood(particles=200), rng=0)
    for averaged in (None, ("particles", 200), ("guided particles", 800), ("realizations", 2000)):
        restored = restore_objective(match_fit(replace(fit, averaged=averaged)))
        assert restored.capabilities.averaged == averaged
        assert restored(fit.point).ok


@pytest.mark.slow
def test_guided_particles_put_right_what_the_approximation_gets_wrong():
    """Where it is by half a standard error: maximum and curvature of the likelihood by quadrature."""
    see = SEEN["w + 0.3 w²"]
    model, data = make_seen(see), draw_seen(see)
    free = {"std": dd.Parameter(1.1, lower=0.05, upper=20.0, scale="log")}
    laplace, auto = (
        dd.fit(model, data, free=free, criterion=dd.Likelihood(method=method), rng=1) for method in ("laplace", "auto")
    )
    values = [integrate(see, data.outputs["x"].values, std=1.1036 * np.exp(step)) for step in (-0.05, 0.0, 0.05)]
    exact = 1.1036 * 0.05 / np.sqrt(2.0 * values[1] - values[0] - values[2])
    assert values[1] == max(values)
    assert abs(laplace["std"].value - 1.1036) > 0.4 * exact
    assert abs(auto["std"].value - 1.1036) < 3.0 * auto["std"].monte_carlo_error < 0.3 * exact
    assert auto["std"].std_error == pytest.approx(exact, rel=0.25)
    assert auto.averaged is not None
    assert auto.averaged[0] == "guided particles"
    assert any("particles were taken by method='auto': Laplace's approximation is biased" in one for one in auto.notes)
    restored = restore_objective(match_fit(auto))
    assert abs(restored(auto.point).gradient[0]) < 0.2 * np.sqrt(auto.curvature[0, 0])


def test_what_the_referee_says_stays_with_an_estimate_that_rounding_moves():
    """As one at its bound: what is told of the fit is of the bound itself."""
    data = (draw(SPRING, TIMES[:20]),)
    problem = Problem(build(SPRING), data, make_coordinates(SPRING, data, ["d"], None, None), 0, None)
    objective = dd.Likelihood(particles=200).objective(problem).first
    there = objective(problem.coordinates.start)
    assert objective.refine(there) is None
    (near, far) = (replace(there, point=there.point * (1.0 + apart)) for apart in (3e-16, 1e-3))
    assert any("judged at the estimate" in words for words in objective.capabilities.remarks(near))
    assert not any("judged at the estimate" in words for words in objective.capabilities.remarks(far))


def test_a_singular_side_point_of_the_referee_leaves_the_fit_as_it_is(monkeypatch):
    data, calls = draw(SPRING, TIMES[:40]), []

    def guide(linear, _width):
        calls.append(np.float64(1e308) * 10.0)  # which overflows, as far from the maximum
        if len(calls) > 1:
            raise np.linalg.LinAlgError("Singular matrix")
        return make_guide(linear)

    monkeypatch.setattr("daedal.estimation.likelihood.guided.make_guide", guide)
    laplace = dd.fit(SPRING, data, free=["d"], criterion=dd.Likelihood(method="laplace"), rng=0)
    auto = dd.fit(SPRING, data, free=["d"], rng=0)
    assert len(calls) == 2
    assert auto.status.ok
    assert dict(auto.params) == dict(laplace.params)
    assert any("judged at the estimate: records that the model makes would move" in note for note in auto.notes)


def test_several_starts_end_where_one_does_and_keep_the_referee():
    data = draw(SPRING)
    one = dd.fit(SPRING, data, free=["d"], rng=0)
    several = dd.fit(SPRING, data, free=["d"], starts=dd.LatinHypercube(3), rng=0)
    assert several["d"].value == pytest.approx(one["d"].value, abs=1e-3 * one["d"].std_error)
    assert len(several.minima) == 1
    assert any("judged at the estimate: particles would move" in note for note in several.notes)


@pytest.mark.parametrize(
    "changes",
    [
        {"measurement_noise": {}},
        {"equations": {"speed": der(x) == v, "force": der(v) == -d * v - k * dd.where(x > 0.1, x**3, 1.0) + w}},
    ],
)
def test_no_likelihood_is_chosen_where_none_can_work(changes):
    criterion = dd.fit(replace(SPRING, **changes), draw(SPRING), free=["d"], rng=0).criterion
    assert not isinstance(criterion, dd.Likelihood)


def test_disturbances_that_act_through_squares_are_left_to_particles():
    model, data = make_seen(SEEN["w²"]), draw_seen(SEEN["w²"])
    criteria = [dd.Likelihood(method=method, particles=300) for method in ("auto", "particle")]
    auto, particle = (dd.evaluate(model, data, free=["std"], criterion=one, rng=1) for one in criteria)
    assert auto.loglik == particle.loglik
    fit = dd.fit(model, data, free=["std"], criterion=criteria[0], rng=1)
    assert any("particles were taken by method='auto'" in note for note in fit.notes)


def test_wells_are_noticed_however_far_derivatives_at_rest_lead():
    wells = dd.Model(
        name="wells",
        equations={"rate": der(x) == x - x**3 + w},
        unknowns=[x],
        outputs={"x": x},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.6, time_constant=1.0)},
        measurement_noise={"x": 0.3},
        initial={x: 0.0},
    )
    for count in (30, 400):  # deviations from rest grow by e each second
        data = dd.Dataset(np.arange(count) * 1.0, outputs={"x": np.zeros(count)})
        experiment = make_nonlinear_experiment(match_experiments(build(wells), [data])[0], {}, "rk4", 0.5)
        _, left = compare_with_rest(experiment.at(Point(wells, {}, ())))
        assert left > UNSTABLE


def test_squares_in_any_data_set_decide_whatever_their_order():
    (u,) = dd.symbols("u")
    switched = dd.Model(
        name="switched",
        equations={"rate": der(x) == u * (a * x - x**3) - (1 - u) * x + w},
        unknowns=[x],
        inputs=[u],
        outputs={"y": u * x + (1 - u) * x**2},
        parameters={a: 1.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.6, time_constant=1.0)},
        measurement_noise={"y": 0.3},
        initial={x: 0.0},
    )
    times, system = np.arange(30.0), build(switched)
    wells, squares = (
        dd.Dataset(times, inputs={"u": np.full(30, one)}, outputs={"y": np.zeros(30)}) for one in (1.0, 0.0)
    )

    def find(*data):
        problem = Problem(system, data, make_coordinates(switched, data, ["a"], None, None), 0, None)
        lined = [make_nonlinear_experiment(one, {}, "rk4", 0.5) for one in match_experiments(system, data)]
        return find_danger(problem, lined, problem.coordinates.start)

    assert find(wells) is Danger.FAR
    assert find(squares) is Danger.SQUARES
    assert find(wells, squares) is find(squares, wells) is Danger.SQUARES


def test_delays_are_left_to_moments():
    late = dd.Model(
        name="late",
        equations={"rate": der(x) == -a * np.tanh(dd.delay(x, 1.0)) + w},
        unknowns=[x],
        outputs={"x": x},
        parameters={a: 1.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.4, time_constant=0.5)},
        measurement_noise={"x": 0.05},
        history={x: 0.0},
    )
    data = draw(late, np.arange(1, 41) * 0.4)
    fit = dd.fit(late, data, free=["a"], criterion=dd.Likelihood(realizations=200), rng=0)
    assert any("moments were taken by method='auto'" in note and "delays" in note for note in fit.notes)


def test_a_gap_that_is_the_same_everywhere_is_harmless_and_one_that_changes_is_a_bias():
    information = np.array([[4.0, 1.0], [1.0, 1.0]])
    runs = 0.05 * np.random.default_rng(0).standard_normal((5, 8))
    same = [(Gap(-3.0 + runs[2 * k]), Gap(-3.0 + runs[2 * k + 1])) for k in range(2)]
    sound = judge_gaps(("a", "b"), information, Gap(-3.0 + runs[4]), same)
    assert not sound.biased
    assert not sound.blind
    delta = np.array([0.3, -0.8])  # where the maximum of the likelihood is, from that of the approximation
    slopes = information @ delta
    steps = 1.0 / np.sqrt(np.diag(information))
    changing = [(Gap(-3.0 + s * h + runs[4]), Gap(-3.0 - s * h + runs[4])) for s, h in zip(slopes, steps, strict=True)]
    found = judge_gaps(("a", "b"), information, Gap(-3.0 + runs[4]), changing)
    np.testing.assert_allclose(found.shifts, delta / np.sqrt(np.diag(np.linalg.inv(information))))
    assert found.biased
    assert "would move" in found.describe()


def test_one_side_is_enough_only_where_the_other_changes_nothing():
    """Gaps s h + B h²/2 at h standard errors: 0.25 of bias are 0.1 on one side, and 0.05 are 0.15."""
    noise = 1e-3 * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    cases = ((0.25, -0.3, False, True), (0.05, 0.2, False, False), (0.02, 0.01, True, False))
    for slope, bend, enough, biased in cases:
        up, middle, down = (Gap(slope * h + 0.5 * bend * h**2 + noise * h) for h in (1.0, 0.0, -1.0))
        one = judge_gaps(("a",), np.eye(1), middle, [(up, middle)], apart=1.0)
        assert one.harmless == enough
        assert judge_gaps(("a",), np.eye(1), middle, [(up, down)]).biased == biased


def test_what_chance_moves_far_is_told_as_chance():
    """Not as so many standard errors that an estimate would move by."""
    wild = 100.0 * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    quiet = Gap(np.zeros(8))
    verdict = judge_gaps(("a", "b"), np.eye(2), quiet, [(quiet, quiet), (Gap(wild + 60.0), Gap(-wild))])
    assert verdict.blind
    assert verdict.describe_noise() == "particles are too noisy to tell, chance alone moves b by 38 standard errors"


def test_a_bias_beyond_doubt_asks_for_no_further_runs():
    """Four standard deviations beyond the limit; three are biased, but may be asked again."""
    runs = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    noise = 0.01 * np.sqrt(8.0 / 7.0) / np.sqrt(8.0)
    verdicts = []
    for times in (1.0, 3.0, 5.0):
        shift = SLIGHT + times * noise
        sides = [(Gap(shift + 0.01 * runs), Gap(-shift - 0.01 * runs))]
        verdicts.append(judge_gaps(("a",), np.array([[1.0]]), Gap(np.zeros(8)), sides))
    np.testing.assert_allclose([one.noise for one in verdicts], noise)
    assert [one.biased for one in verdicts] == [False, True, True]
    assert [one.certain for one in verdicts] == [False, False, True]


def test_a_score_that_is_mostly_noise_is_no_verdict():
    rng, information = np.random.default_rng(0), np.array([[100.0]])
    for size, blind, biased in ((0.1, False, False), (20.0, True, False)):
        gains = size * rng.standard_normal((6, 1, 50, 1)) / np.sqrt(50)
        verdict = judge_score(("a",), information, 0.0, np.zeros(1), PooledRuns(np.zeros(6), gains))
        assert verdict.blind == blind
        assert verdict.biased == biased
    off = judge_score(("a",), information, 0.0, np.zeros(1), PooledRuns(np.zeros(6), np.full((6, 1, 50, 1), 0.2)))
    assert off.biased
    assert off.shifts[0] == pytest.approx(1.0)


def test_a_bias_that_is_certain_counts_though_another_parameter_is_too_noisy_to_judge():
    rng, gains = np.random.default_rng(0), np.zeros((6, 1, 50, 2))
    gains[..., 0] = 0.2  # one standard error
    gains[..., 1] = 20.0 * rng.standard_normal((6, 1, 50)) / np.sqrt(50)
    verdict = judge_score(("a", "b"), 100.0 * np.eye(2), 0.0, np.zeros(2), PooledRuns(np.zeros(6), gains))
    assert verdict.biased
    assert not verdict.blind
    assert "would move a by +1.00" in verdict.describe()


def test_the_referee_says_the_same_whatever_the_seed_of_the_fit(monkeypatch):
    data, gaps = draw(SPRING, TIMES[:40]), []

    def judge(*arguments, **options):
        gaps.append(arguments[2].value)
        return judge_gaps(*arguments, **options)

    monkeypatch.setattr("daedal.estimation.likelihood.auto.judge_gaps", judge)
    for seed in (1, 2):
        dd.fit(SPRING, data, free=["d"], rng=seed)
    assert len(gaps) == 2
    assert gaps[0] == gaps[1]
