"""`check_noise` against the paper's examples, transfer functions at infinity in rational numbers, and other units."""

from fractions import Fraction

import numpy as np
import pytest

import daedal as dd
from catalogue.drive import drive
from catalogue.small import model, pendulum
from daedal import delay, der
from daedal.errors import DaedalError, StructureError
from sizes import choose

x, y, z, v, w, u, k, q = dd.symbols("x y z v w u k q")
WHITE = dd.WhiteNoise(intensity=1.0)


def poles(count):
    """Noise with this many more poles than zeros."""
    return dd.FilteredNoise(numerator=[1.0], denominator=list(np.poly(-np.arange(1.0, count + 1)))) if count else WHITE


def pairs(verdict):
    """What was found: (disturbance, variable, differentiations)."""
    return {(found.disturbance, found.variable, found.differentiations) for found in verdict.findings}


def example_10(noise=WHITE, **more):
    arguments = {"disturbances": {v: noise}, "outputs": {"y": x + z}, "measurement_noise": {"y": 0.1}}
    return model({"lag": der(x) == -2 * x + v, "direct": z == v}, [x, z], **{**arguments, **more})


def test_example_10_of_the_paper():
    verdict = dd.check_noise(example_10())
    assert not verdict.well_posed
    assert (verdict.index, verdict.structural, verdict.variables) == (1, False, ("y",))
    (found,) = verdict.findings
    assert (found.disturbance, found.variable, found.role) == ("v", "y", "output")
    assert (found.differentiations, found.pole_excess, found.needed) == (0, 0, 1)
    text = str(verdict)
    assert "output 'y' has infinite variance: disturbance 'v' reaches it directly, and its noise is white" in text
    assert "with_presampling_filter({'y': time_constant})" in text
    assert "with_integrating_sampling({'y': window})" in text
    assert "FilteredNoise.low_pass" in text
    assert dd.check_noise(example_10(poles(1))).well_posed


def test_example_10_with_a_low_pass_sensor():
    filtered = example_10().with_presampling_filter({"y": 0.01})
    assert dd.check_noise(filtered).well_posed
    wanted = dd.check_noise(filtered, variables=[z])
    assert pairs(wanted) == {("v", "z", 0)}
    assert wanted.findings[0].role == "wanted"
    assert "presampling" not in wanted.findings[0].remedy
    assert wanted.variables == ("y", "z")
    assert dd.check_noise(filtered, variables=["x", "y.filtered"]).well_posed


@pytest.mark.parametrize("count", range(5))
def test_a_chain_of_length_three_needs_three_two_and_one_pole(count):
    chain = model([x == der(y), y == der(z), z == w], [x, y, z], disturbances={w: poles(count)})
    verdict = dd.check_noise(chain, variables=[x, y, z])
    needs = {"x": 3, "y": 2, "z": 1}
    assert verdict.index == 3
    assert {found.variable: found.needed for found in verdict.findings} == {n: p for n, p in needs.items() if p > count}
    assert all(found.pole_excess == count for found in verdict.findings)


def test_the_drive():
    filtered, white = drive(), drive(WHITE)
    assert dd.check_noise(filtered).well_posed
    assert dd.check_noise(white).well_posed
    assert dd.check_noise(white).margin.zero < 1e-14
    verdict = dd.check_noise(white, variables=["disc.a"])
    assert pairs(verdict) == {("load.tau", "disc.a", 0)}
    for part in ("'load.tau'", "'disc.a'", "directly", "at least 1 more pole than zeros", "FilteredNoise.low_pass"):
        assert part in str(verdict)
    everything = dd.check_noise(white, variables=white.unknown_names)
    assert {found.variable for found in everything.findings} == {"disc.a", "load.flange.tau", "disc.flange_b.tau"}
    assert everything.margin.zero < 1e-14
    assert everything.margin.nonzero > 1e-3


def test_rates_and_disturbances_may_be_wanted():
    it = model([der(x) == -x + w], [x], disturbances={w: poles(1)}, outputs={"x": x})
    assert dd.check_noise(it, variables=["w", "der(x)"]).well_posed
    assert pairs(dd.check_noise(it, variables=[der(der(x)), "der(w)"])) == {("w", "der(der(x))", 1), ("w", "der(w)", 1)}


def test_each_channel_of_correlated_noise_counts_on_its_own():
    noise = dd.StateSpaceNoise(A=[[0.0, 1.0], [-2.0, -3.0]], B=[[0.0], [1.0]], C=[[1.0, 0.0], [0.0, 1.0]])
    it = model([x == der(v), y == der(w)], [x, y], disturbances={(v, w): noise}, outputs={"x": x, "y": y})
    assert pairs(dd.check_noise(it)) == {("w", "y", 1)}
    assert dd.check_noise(it).findings[0].pole_excess == 1


def test_numbers_that_cancel_are_seen_exactly():
    cancels = model([x == z + w, y == x - w], [x, y, z][:2], inputs=[z], disturbances={w: WHITE}, outputs={"y": y})
    assert dd.check_noise(cancels).well_posed
    less = model([x == z + w, y == x - 0.99999 * w], [x, y], inputs=[z], disturbances={w: WHITE}, outputs={"y": y})
    assert pairs(dd.check_noise(less)) == {("w", "y", 0)}


def test_two_sensors_where_one_is_not_enough():
    it = model([x == der(w)], [x], disturbances={w: WHITE}, outputs={"y": x})
    (found,) = dd.check_noise(it).findings
    assert "2 low-pass sensors in a row" in found.remedy
    once = it.with_presampling_filter({"y": 0.1})
    assert pairs(dd.check_noise(once)) == {("w", "y", 0)}
    assert dd.check_noise(once.with_presampling_filter({"y": 0.1})).well_posed


def test_the_past_of_an_output_counts_too():
    late = example_10(outputs={"y": delay(z, 1.0)})
    assert pairs(dd.check_noise(late)) == {("v", "y", 0)}
    assert dd.check_noise(example_10(outputs={"y": delay(x, 1.0) + 2 * x})).well_posed
    assert pairs(dd.check_noise(example_10(outputs={"y": delay(z, 1.0) + u}, inputs=[u]))) == {("v", "y", 0)}


def test_without_disturbances_or_outputs():
    verdict = dd.check_noise(model([der(x) == -x], [x], outputs={"x": x}))
    assert verdict.well_posed
    assert str(verdict) == "the noise of 'test' is well-posed: the model has no disturbances (index 0)"
    nothing = dd.check_noise(model([der(x) == -x + w], [x], disturbances={w: WHITE}))
    assert nothing.well_posed
    assert "nothing is measured or wanted" in str(nothing)


def degree(numerator):
    return max((power for power, value in enumerate(numerator) if value), default=None)


def determinant(matrix):
    """Determinant of a matrix of polynomials with rational coefficients, by Laplace's rule."""
    if not matrix:
        return [Fraction(1)]
    total = [Fraction(0)] * (len(matrix) + 1)
    for j, entry in enumerate(matrix[0]):
        minor = determinant([row[:j] + row[j + 1 :] for row in matrix[1:]])
        for a, left in enumerate(entry):
            for b, right in enumerate(minor):
                if left and right:
                    total[a + b] += (-1) ** j * left * right
    return total


def orders_at_infinity(E, F, J):
    """Degree of every entry of (sE − F)⁻¹ J by Cramer's rule in rational numbers; None for a singular pencil."""
    n = len(E)
    pencil = [[[Fraction(-F[i][j]), Fraction(E[i][j])] for j in range(n)] for i in range(n)]
    whole = degree(determinant(pencil))
    if whole is None:
        return None
    result = np.full((n, J.shape[1]), -np.inf)
    for j in range(n):
        for source in range(J.shape[1]):
            changed = [
                [[Fraction(J[i, source])] if column == j else pencil[i][column] for column in range(n)]
                for i in range(n)
            ]
            found = degree(determinant(changed))
            result[j, source] = -np.inf if found is None else found - whole
    return result


def sparse_system(generator, n=4, noises=2):
    """Small whole numbers, many of them zero, so that chains, algebraic loops and cancellations occur."""
    E = generator.integers(-1, 2, (n, n)) * (generator.random((n, n)) < 0.3)
    F = generator.integers(-2, 3, (n, n)) * (generator.random((n, n)) < 0.5)
    return E, F, generator.integers(-1, 2, (n, noises)) * (generator.random((n, noises)) < 0.5)


def regular_systems(count, generic=False):
    """Systems with a unique solution, and their orders at infinity."""
    generator = np.random.default_rng(5)
    found = []
    while len(found) < count:
        E, F, J = sparse_system(generator)
        if generic:
            E, F, J = (matrix * generator.integers(1000, 9999, matrix.shape) for matrix in (E, F, J))
        touched = (np.abs(E) + np.abs(F)).any(axis=1).all()
        orders = orders_at_infinity(E, F, J) if touched else None
        if orders is not None and J.any():
            found.append((E, F, J, orders))
    return found


def described(E, F, J, noises):
    return dd.Model.from_descriptor(name="m", E=E, F=F, J=J, H=np.eye(len(E)), disturbances=noises)


def expected(orders, noises):
    return {
        (f"w[{j}]", f"y[{i}]", int(orders[i, j]))
        for i, j in np.argwhere(orders >= np.array([getattr(noise, "pole_excess", 0) for noise in noises]))
    }


def test_verdicts_are_those_of_the_transfer_function_at_infinity():
    indices = set()
    for number, (E, F, J, orders) in enumerate(regular_systems(choose(36, 100))):
        noises = [poles(number % 3), poles((number // 3) % 3)]
        verdict = dd.check_noise(described(E, F, J, noises))
        assert pairs(verdict) == expected(orders, noises)
        assert verdict.margin.clear
        indices.add(verdict.index)
    assert indices >= {0, 1, 2, 3}  # what was drawn is not trivial


def test_changes_of_units_do_not_change_the_verdict():
    generator = np.random.default_rng(8)
    for E, F, J, orders in regular_systems(choose(20, 60)):
        noises = [WHITE, poles(1)]
        rows, columns, sources = (10.0 ** generator.integers(-6, 7, size) for size in (len(E), len(E), 2))
        rate = 10.0 ** generator.integers(-6, 7)
        e, f = (rows[:, None] * matrix * columns for matrix in (rate * E, F))
        verdict = dd.check_noise(described(e, f, rows[:, None] * J * sources, noises))
        assert pairs(verdict) == expected(orders, noises)
        assert verdict.margin.clear


@pytest.mark.parametrize("exponent", [-6, 6])
def test_changes_of_units_of_the_drive(exponent):
    it = dd.descriptor(drive(WHITE))
    generator = np.random.default_rng(3)
    plain = described(it.E, it.F, it.J, [WHITE])
    n = len(it.E)
    rows, columns = (10.0 ** (exponent * generator.integers(0, 2, n)) for _ in range(2))
    E, F = (rows[:, None] * matrix * columns for matrix in (10.0**exponent * it.E, it.F))
    scaled = dd.check_noise(described(E, F, rows[:, None] * it.J, [WHITE]))
    assert pairs(scaled) == pairs(dd.check_noise(plain))
    assert len(scaled.findings) == 3
    assert scaled.margin.clear


def structural(it):
    """The same model with something nonlinear beside it, which is judged by its structure."""
    return dd.Model(
        name=it.name,
        equations={**it.equations, "beside": der(q) == -(q**3)},
        unknowns=[*it.unknowns, q],
        inputs=it.inputs,
        outputs=it.outputs,
        disturbances=it.disturbances,
        parameters=it.parameters,
    )


def test_structure_tells_the_same_for_coefficients_in_general_position():
    for E, F, J, orders in regular_systems(50, generic=True):
        noises = [WHITE, poles(1)]
        verdict = dd.check_noise(structural(described(E, F, J, noises)))
        assert verdict.structural
        assert verdict.margin is None
        assert pairs(verdict) == expected(orders, noises)


def test_where_terms_cancel_the_structure_is_more_pessimistic():
    more = 0
    for E, F, J, orders in regular_systems(50):
        it = described(E, F, J, [WHITE, WHITE])
        if dd.descriptor(it).states != dd.analyze(it).degrees_of_freedom:
            continue  # here the structure misjudges the equations themselves
        found = {(w, y): order for w, y, order in pairs(dd.check_noise(structural(it)))}
        for w, y, order in expected(orders, it.disturbances.values()):
            assert found[w, y] >= order
        more += len(found) > len(expected(orders, it.disturbances.values()))
    assert more > 0


def test_structure_of_the_drive():
    everything = drive(WHITE).unknown_names
    exact = dd.check_noise(drive(WHITE), variables=everything)
    other = dd.check_noise(structural(drive(WHITE)), variables=everything)
    assert pairs(other) == pairs(exact)
    assert "judged by the structure, which does not see when terms cancel" in str(other)
    assert other.index == exact.index


def test_a_pendulum_in_the_wind():
    # fx: der(der(x)) == −z x + w; the rod is differentiated twice, and w reaches the tension directly.
    def windy(noise, **more):
        it = pendulum(outputs={"angle": np.arctan2(x, -y)}, **more)
        return dd.Model(
            name="pendulum",
            equations={**it.equations, "fx": der(der(x)) == -z * x + w},
            unknowns=it.unknowns,
            outputs=it.outputs,
            parameters=it.parameters,
            disturbances={w: noise},
        )

    assert dd.check_noise(windy(poles(1)), variables=["z"]).well_posed
    verdict = dd.check_noise(windy(poles(1)), variables=["der(z)", "der(der(x))", "der(der(der(x)))"])
    assert pairs(verdict) == {("w", "der(z)", 1), ("w", "der(der(der(x)))", 1)}
    assert verdict.index == 3
    assert "its noise has only 1 pole more than zeros" in str(verdict)
    # White noise makes the tension z white; z stands in products with x and y only, so the angle is still fine.
    assert dd.check_noise(windy(WHITE)).well_posed
    assert pairs(dd.check_noise(windy(WHITE), variables=[z])) == {("w", "z", 0)}


def test_powers_of_white_noise_have_no_meaning():
    it = model([der(x) == -(x**3) + w**2], [x], disturbances={w: WHITE}, outputs={"y": x})
    (found,) = dd.check_noise(it).findings
    assert (found.role, found.variable, found.needed) == ("equation", "e0", 1)
    assert "equation 'e0' has no meaning: disturbance 'w' enters it directly and not linearly" in found.sentence
    assert dd.check_noise(it.with_disturbances({"w": poles(1)})).well_posed
    product = model([der(x) == -(x**3) + x * w], [x], disturbances={w: WHITE}, outputs={"y": x})
    assert dd.check_noise(product).well_posed
    hidden = model([y == der(w), der(x) == -(x**3) + np.sign(y)], [x, y], disturbances={w: poles(1)})
    assert [(f.role, f.differentiations, f.needed) for f in dd.check_noise(hidden).findings] == [("equation", 1, 2)]


def test_delays_in_equations():
    it = model([y == delay(w, 1.0), der(x) == -x + delay(y, 1.0)], [x, y], disturbances={w: WHITE}, outputs={"x": x})
    verdict = dd.check_noise(it, variables=[y])
    assert verdict.structural
    assert pairs(verdict) == {("w", "y", 0)}
    neutral = model([der(x) == -x + 0.5 * delay(der(x), 1.0) + w], [x], disturbances={w: WHITE}, outputs={"x": x})
    assert dd.check_noise(neutral).well_posed
    advanced = model([x == der(delay(x, 1.0)) + w], [x], disturbances={w: WHITE})
    with pytest.raises(StructureError, match="ever higher derivatives of their own past"):
        dd.check_noise(advanced, variables=[x])


def test_white_noise_cannot_be_sampled():
    for rough in (dd.hold(w, 1.0), dd.hysteresis(w, 0.0, 1.0), dd.hysteresis(x, w, 1.0), dd.hold(delay(w, 1.0), 1.0)):
        it = model([der(x) == -x + rough], [x], disturbances={w: WHITE}, outputs={"x": x})
        assert [(f.role, f.variable, f.needed) for f in dd.check_noise(it).findings] == [("equation", "e0", 1)]
        assert dd.check_noise(it.with_disturbances({"w": poles(1)})).well_posed
        assert pairs(dd.check_noise(model([der(x) == -x], [x], disturbances={w: WHITE}, outputs={"y": rough})))
    digital = model([der(x) == -x + w - dd.hold(x, 1.0)], [x], disturbances={w: WHITE}, outputs={"x": x})
    assert dd.check_noise(digital).well_posed


def test_a_window_is_well_posed_and_a_difference_of_delays_is_not():
    # y − delay(y) does not cancel: the two are white noise at different times.
    nonlinear = structural(example_10(outputs={"y": z - delay(z, 1.0)}))
    assert pairs(dd.check_noise(nonlinear)) == {("v", "y", 0)}
    assert dd.check_noise(structural(example_10()).with_integrating_sampling({"y": 0.1})).well_posed


WRONG = {
    "unknown name": (
        lambda m: dd.check_noise(m, variables=["disc.b"]),
        "has no variable 'disc.b'. Did you mean 'disc.",
    ),
    "unknown derivative": (lambda m: dd.check_noise(m, variables=["der(disc.b)"]), "has no variable 'der(disc.b)'."),
    "one text": (lambda m: dd.check_noise(m, variables="disc.a"), "must be a list of names, got 'disc.a'. Write var"),
    "one symbol": (lambda m: dd.check_noise(m, variables=m["disc.a"]), "must be a list of names, got disc.a."),
    "empty": (lambda m: dd.check_noise(m, variables=[]), "The list of variables of check_noise is empty."),
    "a parameter": (lambda m: dd.check_noise(m, variables=["disc.J"]), "'disc.J' is a parameter and does not vary."),
    "a formula": (lambda m: dd.check_noise(m, variables=[2 * m["disc.a"]]), "A symbol or a name belongs where"),
    "data": (lambda _: dd.check_noise(dd.Dataset([0.0, 1.0], inputs={"u": [0.0, 1.0]})), "takes a Model, got Dataset."),
    "no solution": (
        lambda _: dd.check_noise(model([der(x) == w], [x, y], disturbances={w: WHITE}), variables=[x]),
        "1 equation for 2 unknowns",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input(case):
    call, sentence = WRONG[case]
    with pytest.raises(DaedalError) as error:
        call(drive())
    assert sentence in str(error.value)
