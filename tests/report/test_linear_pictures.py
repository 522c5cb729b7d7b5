"""Bode diagrams, poles and step responses against closed forms, and their bands against the delta method by hand."""

import numpy as np
import pytest

import daedal as dd
from daedal.errors import ModelError, ReportError
from daedal.report.picture import Band, Line

NORMAL = 1.959963984540054


def find(picture, kind, name, panel=0):
    (trace,) = [one for one in picture.panels[panel].traces if isinstance(one, kind) and one.name == name]
    return trace


def test_the_band_of_a_first_order_lag(lag_fit):
    """G = k/(1 + iωT): ∂log G = dk/k − iω/(1 + iωT) dT, so both bands are known in closed form."""
    from daedal.report import draw

    picture = draw(lag_fit, "bode")
    k, T = lag_fit["k"].value, lag_fit["T"].value
    line, band = find(picture, Line, "u → level"), find(picture, Band, "95 %, u → level")
    omega = line.x
    G = k / (1 + 1j * omega * T)
    np.testing.assert_allclose(line.y, 20 * np.log10(np.abs(G)), atol=1e-9)
    slopes = np.stack([np.full(omega.size, 1 / k, dtype=complex), -1j * omega / (1 + 1j * omega * T)])
    for panel, part, factor in ((0, slopes.real, 20 / np.log(10)), (1, slopes.imag, 180 / np.pi)):
        band = find(picture, Band, "95 %, u → level", panel)
        width = NORMAL * factor * np.sqrt(np.einsum("kf,kl,lf->f", part, lag_fit.cov, part))
        np.testing.assert_allclose((band.upper - band.lower) / 2, width, rtol=1e-4, atol=1e-9)
    phase = find(picture, Line, "u → level", 1)
    np.testing.assert_allclose(phase.y, np.degrees(np.angle(G)), atol=1e-9)
    assert picture.panels[1].x.title == "frequency [rad/s]"
    assert picture.panels[0].y.title == "gain [dB]"


def test_the_ellipse_of_a_pole(lag_fit):
    """A real pole −1/T: its interval is that of T, times 1/T², by the same method."""
    figure = dd.plot(lag_fit, "poles")
    T, error = lag_fit["T"].value, lag_fit["T"].std_error
    assert figure.data[0].x[0] == pytest.approx(-1 / T)
    (ellipse,) = [trace for trace in figure.data if trace.name == "95 % of poles"]
    radius = 2.447746830680816 * error / T**2
    assert (ellipse.x.max() - ellipse.x.min()) / 2 == pytest.approx(radius, rel=1e-3)
    assert np.abs(ellipse.y).max() < 1e-6


def test_the_step_response_with_its_band(lag_fit):
    from daedal.report import draw

    picture = draw(lag_fit, "step")
    k, T = lag_fit["k"].value, lag_fit["T"].value
    line, band = find(picture, Line, "step of u"), find(picture, Band, "95 %, step of u")
    t = line.x
    np.testing.assert_allclose(line.y, k * (1 - np.exp(-t / T)), atol=1e-9)
    slopes = np.stack([1 - np.exp(-t / T), -k * t / T**2 * np.exp(-t / T)])
    width = NORMAL * np.sqrt(np.einsum("kt,kl,lt->t", slopes, lag_fit.cov, slopes))
    np.testing.assert_allclose((band.upper - band.lower) / 2, width, rtol=1e-3, atol=1e-9)
    assert picture.panels[0].y.title == "level [m]"
    assert picture.panels[0].x.title == "time [s]"


def test_what_drove_the_data_is_shaded():
    """A sine of 2 rad/s over whole periods has all its variance there."""
    from daedal.report.pictures.linear_systems import find_excitation

    times = np.linspace(0.0, 10 * np.pi, 2001)
    data = dd.Dataset(times, inputs={"still": np.ones(2001), "u": np.sin(2.0 * times)}, outputs={"y": times})
    name, low, high = find_excitation(data, ["still", "u"])
    assert name == "u"
    assert low == pytest.approx(2.0)
    assert high == pytest.approx(2.0)


@pytest.mark.parametrize("count", [1000, 20_000])
def test_a_long_record_is_excited_where_a_short_one_is(count):
    """A sine of 20 Hz sampled at 100 Hz: fewer points than samples would take it for a slow one."""
    from daedal.report.pictures.linear_systems import find_excitation

    times = np.arange(count) * 0.01
    wave = dd.Signal(times, np.sin(40.0 * np.pi * times), "foh")
    found = find_excitation(dd.Dataset(times, inputs={"u": wave}, outputs={"y": times}), ["u"])
    assert found[1:] == pytest.approx((40.0 * np.pi, 40.0 * np.pi), rel=0.01)
    line = dd.plot(dd.Dataset(times, inputs={"u": wave}, outputs={"y": times}), "excitation").data[0]
    assert len(line.x) <= 2000
    assert np.interp(120.0, line.x, line.y) < 3.0


def test_poles_and_zeros_of_a_descriptor_form_are_those_of_the_polynomials():
    tf = dd.TransferFunction([2.0, 3.0, 5.0], [1.0, 2.0, 3.0, 4.0])
    matrices = dd.descriptor(tf.to_model())
    drawn, other = dd.plot(matrices, "poles"), dd.plot(tf, "poles")  # poles, zeros; the third is the axis
    for one, two in zip(drawn.data[:2], other.data[:2], strict=True):
        np.testing.assert_allclose(np.sort_complex(one.x + 1j * one.y), np.sort_complex(two.x + 1j * two.y), atol=1e-9)
    np.testing.assert_allclose(dd.plot(matrices, "step").data[0].y, dd.plot(tf, "step").data[0].y, atol=1e-8)
    np.testing.assert_allclose(dd.plot(matrices, "bode").data[0].y, dd.plot(tf, "bode").data[0].y, atol=1e-8)


def test_a_delay_is_seen_in_phase_and_step():
    late = dd.TransferFunction([1.0], [1.0, 1.0], delay=0.5)
    step = dd.plot(late, "step").data[0]
    np.testing.assert_allclose(
        step.y, np.where(step.x > 0.5, 1 - np.exp(0.5 - np.maximum(step.x, 0.5)), 0.0), atol=1e-9
    )
    figure = dd.plot(late, "bode")
    phase = next(trace for trace in figure.data if trace.yaxis == "y2")
    np.testing.assert_allclose(phase.y, np.degrees(-np.arctan(phase.x) - 0.5 * phase.x), atol=1e-6)


def test_spectra_are_those_of_the_filters(results):
    line = dd.plot(results["FilteredNoise"]).data[0]
    np.testing.assert_allclose(line.y, 1.0 / (1.0 + line.x**2), rtol=1e-10)
    assert set(dd.plot(results["WhiteNoise"]).data[0].y) == {2.0}
    both = dd.plot(results["StateSpaceNoise"]).data
    np.testing.assert_allclose(
        both[1].y, np.abs(1 / (1j * both[1].x + 1) + 0.5 / (1j * both[1].x + 2)) ** 2, rtol=1e-10
    )


def test_densities_integrate_to_one(results):
    for name in ("Normal", "LogNormal", "Uniform"):
        line = dd.plot(results[name]).data[0]
        assert np.trapezoid(line.y, line.x) == pytest.approx(1.0, abs=0.02)


def test_what_is_not_linear_or_has_no_input_says_so():
    x, u, k = dd.symbols("x u k")
    bent = dd.Model(name="bent", equations={"e": dd.der(x) == -(x**2) + u}, unknowns=[x], inputs=[u], outputs={"x": x})
    with pytest.raises(ModelError, match="linearize"):
        dd.plot(bent, "bode")
    free = dd.Model(name="free", equations={"e": dd.der(x) == -x}, unknowns=[x], outputs={"x": x})
    with pytest.raises(ReportError, match="'free' has no inputs"):
        dd.plot(free, "step")
    noise = dd.FilteredNoise([k], [1.0, 1.0])
    with pytest.raises(ReportError, match="depends on 'k'"):
        dd.plot(noise)
    with pytest.raises(ReportError, match="has no disturbances"):
        dd.plot(free, "disturbances")
