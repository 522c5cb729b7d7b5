"""Sensors that smooth: a presampling filter, and integrating sampling (section 4 of the paper)."""

import numpy as np
import pytest

import daedal as dd
from catalogue.small import model
from daedal import der
from daedal.errors import DaedalError
from daedal.linear import solve_lyapunov

z1, z2, v, x, T = dd.symbols("z1 z2 v x T")


def example_10(**more):
    """Equation (10): the sum of white noise and of its lag."""
    arguments = {"disturbances": {v: dd.WhiteNoise(intensity=1.0)}, "outputs": {"y": z1 + z2}}
    return model({"lag": der(z1) == -2 * z1 + v, "direct": z2 == v}, [z1, z2], **{**arguments, **more})


def variance(it):
    """Stationary variances of the outputs, through the standard form."""
    matrices = dd.descriptor(it)
    form = matrices.standard_form()
    n = form.evolving
    B = (form.P @ matrices.J)[:n]
    C = matrices.H @ form.Q[:, :n]
    return np.diag(C @ solve_lyapunov(form.A, B @ B.T) @ C.T)


def test_low_pass_version_of_example_10_has_the_variance_of_the_paper():
    filtered = example_10().with_presampling_filter({"y": 0.01})
    assert variance(filtered)[0] == pytest.approx(51.2254901961, rel=1e-11)
    assert dd.check_noise(filtered).well_posed
    assert not dd.check_noise(example_10()).well_posed


def test_what_the_filter_adds():
    before = example_10(measurement_noise={"y": 0.1}, parameters={T: 0.02})
    after = before.with_presampling_filter({"y": 2 * T})
    assert after.unknown_names == ("z1", "z2", "y.filtered")
    assert str(after.equations["presampling filter of 'y'"]) == "2*T*der(y.filtered) == z1 + z2 - y.filtered"
    assert str(after.outputs["y"]) == "y.filtered"
    assert after.measurement_noise == {"y": 0.1}
    assert not after.initial
    assert dd.analyze(after).degrees_of_freedom == dd.analyze(before).degrees_of_freedom + 1


def test_several_outputs_and_sensors_behind_sensors():
    it = example_10(outputs={"y": z1 + z2, "second output": z2}).with_presampling_filter({"y": 0.1, "second output": 1})
    assert it.unknown_names[2:] == ("y.filtered", "second_output.filtered")
    twice = it.with_presampling_filter({"y": 0.2})
    assert str(twice.outputs["y"]) == "y.filtered2"
    assert str(twice.equations["presampling filter of 'y' 2"]) == "0.2*der(y.filtered2) == y.filtered - y.filtered2"
    s = 0.7j
    seen = example_10(inputs=[v], disturbances={}, outputs={"y": z1 + z2})
    through = dd.descriptor(seen.with_presampling_filter({"y": 0.1}).with_presampling_filter({"y": 0.2})).transfer(s)
    assert through[0, 0] == pytest.approx((1 + 1 / (s + 2)) / (1 + 0.1 * s) / (1 + 0.2 * s), rel=1e-13)


def test_the_mean_is_kept():
    it = model([der(x) == 1 - x], [x], outputs={"y": 3 * x}, initial={x: 1.0}).with_presampling_filter({"y": 0.1})
    assert dd.simulate(it, np.array([0.0, 3.0]))["y"][-1] == pytest.approx(3.0, abs=1e-6)


def test_integrating_sampling():
    it = example_10(measurement_noise={"y": 0.1}).with_integrating_sampling({"y": 0.25})
    assert str(it.equations["integral of 'y'"]) == "der(y.integral) == z1 + z2"
    assert str(it.outputs["y"]) == "(y.integral - delay(y.integral, 0.25))/0.25"
    assert float(it.initial["y.integral"]) == 0.0
    assert it.measurement_noise == {"y": 0.1}
    verdict = dd.check_noise(it)
    assert verdict.well_posed
    assert not verdict.structural
    assert not dd.check_noise(it, variables=["z2"]).well_posed


WRONG = {
    "unknown output": (lambda m: m.with_presampling_filter({"Y": 0.1}), "has no output 'Y'. Did you mean 'y'?"),
    "negative": (lambda m: m.with_presampling_filter({"y": -0.1}), "of 'y' must be positive, got -0.1."),
    "zero": (lambda m: m.with_integrating_sampling({"y": 0}), "of 'y' must be positive, got 0."),
    "infinite": (lambda m: m.with_integrating_sampling({"y": np.inf}), "of 'y' must be positive, got inf."),
    "window of parameters": (lambda m: m.with_integrating_sampling({"y": T}), "must be a positive number of seconds"),
    "undeclared": (lambda m: m.with_presampling_filter({"y": T}), "contains 'T', which is not declared."),
    "a number": (lambda m: m.with_presampling_filter(0.1), "takes a mapping output → time constant, got 0.1."),
    "nothing": (lambda m: m.with_integrating_sampling({}), "takes a mapping output → window, got {}."),
    "text": (lambda m: m.with_presampling_filter({"y": "0.1"}), "must be an expression, got the text"),
    "same name": (
        lambda m: m.with_outputs({"z1": z1}).with_presampling_filter({"z1": 0.1}),
        "Output 'z1' has the name of the unknown 'z1'",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input(case):
    call, sentence = WRONG[case]
    with pytest.raises(DaedalError) as error:
        call(example_10())
    assert sentence in str(error.value)
    assert error.value.remedy
