"""What `fit` takes: parameters, models and data in all their forms, transients, clocks, pieces."""

import numpy as np
import pytest

import daedal as dd
from batteries.criterion import cases
from batteries.fits import DATA, TIMES, decay, k, levels, noisy, x, y0
from daedal import der


def test_free_may_be_symbols_mappings_or_any_iterable():
    expected = dd.fit(decay(), DATA, free=["k"])["k"].value
    given = [(k,), {"k": 3.0}, {k: dd.Parameter(1.2, lower=0.1, upper=9.0)}, (n for n in ["k"]), {"k": 1.5}.keys()]
    for free in given:
        assert dd.fit(decay(), DATA, free=free)["k"].value == pytest.approx(expected, rel=1e-6)
    bounds = dd.fit(decay(dd.Parameter(2.0, lower=0.5)), DATA, free={"k": 3.0})["k"]
    assert (bounds.lower, bounds.start) == (0.5, 3.0)


def test_local_parameters_are_called_after_their_experiments():
    sets = [levels(noisy(y * np.exp(-TIMES)), name=name) for name, y in {"day": 1, "night": 2}.items()]
    model = decay(parameters={k: 2.0, y0: 1.5}, initial={x: y0})
    found = dd.fit(model, sets, free=["k"], local=["y0"])
    assert list(found.params) == ["k", "y0[day]", "y0[night]"]
    assert found["y0[day]"].value == pytest.approx(1.0, abs=0.05)
    assert found["y0[night]"].value == pytest.approx(2.0, abs=0.05)
    assert found.values(1)["y0"] == found["y0[night]"].value
    same = [levels(one["level"]) for one in sets]
    assert list(dd.fit(model, same, free=["k"], local=["y0"]).params) == ["k", "y0[1]", "y0[2]"]
    separate = [dd.fit(model, one, free={"k": found["k"].value, "y0": 1.5}) for one in sets]
    assert found.samples == sum(one.samples for one in separate)


def test_fixed_values_of_each_experiment():
    sets = [levels(noisy(y * np.exp(-TIMES), seed=i)) for i, y in enumerate((1.0, 2.0))]
    model = decay(parameters={k: 2.0, y0: 9.0}, initial={x: y0})
    found = dd.fit(model, sets, free=["k"], fixed=[{"y0": 1.0}, {y0: 2.0}])
    assert found["k"].value == pytest.approx(1.0, abs=0.02)
    assert found.values(1)["y0"] == 2.0


def test_a_system_is_as_good_as_a_model():
    system = dd.build(decay())
    assert dd.fit(system, DATA, free=["k"])["k"].value == dd.fit(decay(), DATA, free=["k"])["k"].value


def test_an_output_without_samples_is_left_aside(two):
    model, data = two
    silent = dd.Dataset(TIMES, outputs={"level": data["level"], "other": np.full(TIMES.size, np.nan)})
    found = dd.fit(model, silent, free=["k"])
    expected = dd.fit(model, levels(data["level"]), free=["k"])
    assert found["k"].value == pytest.approx(expected["k"].value, rel=1e-6)
    assert found["k"].std_error == pytest.approx(expected["k"].std_error, rel=1e-4)
    assert found.samples == TIMES.size
    assert str(found)


def test_an_output_whose_samples_are_all_in_the_transient_is_left_aside(two):
    model, data = two
    early = dd.Dataset(outputs={"level": data.outputs["level"], "other": dd.Samples(TIMES[:3], data["other"][:3])})
    found = dd.fit(model, early, free=["k"], criterion=dd.OutputError(transient=1.0))
    assert found["k"].value == pytest.approx(1.0, abs=0.1)
    assert str(found)


def test_what_is_not_compared_is_noted(two):
    model, data = two
    extra = dd.Dataset(TIMES, outputs={"level": data["level"], "room": data["level"]})
    notes = dd.fit(model, extra, free=["k"]).notes
    assert any(note.endswith("not used: room") for note in notes)
    assert any(note.endswith("not measured: other") for note in notes)


@pytest.mark.parametrize("shift", [0.0, 1e5, 1.7e9])
def test_the_transient_counts_from_the_first_sample_at_any_clock(shift):
    """Also on the clock of Unix, whose seconds have few digits left."""
    times = shift + np.arange(101) * 0.1
    data = levels(noisy(np.exp(-(times - shift))), times)
    found = dd.fit(decay(), data, free=["k"], criterion=dd.OutputError(transient=2.0))
    assert found.samples == 81


def test_initial_values_with_their_own_start_time():
    """The model starts at t0, before the first sample."""
    data = levels(noisy(np.exp(-(TIMES[5:]))), TIMES[5:], t0=0.0)
    assert dd.fit(decay(), data, free=["k"])["k"].value == pytest.approx(1.0, abs=0.02)


def test_whitening_takes_regular_samples_on_any_clock():
    times = 1.7e9 + np.arange(61) * 0.1
    case = cases()["mean, whitened by order"]
    plain = case.data
    moved = dd.Dataset(
        times, inputs={"u": dd.Signal(times, plain.inputs["u"](plain.times))}, outputs={"level": plain["level"]}
    )
    found = case.changed(data=moved).fit(free=["a"])
    assert found.filters["level"].order == 2


@pytest.mark.parametrize(
    ("options", "words"), [({"whiten": -1}, "order of the filter"), ({"whiten": 2, "segments": 5}, "pieces")]
)
def test_wrong_whitening(options, words):
    with pytest.raises(dd.DaedalError, match=words):
        dd.OutputError(**options)


def test_segments_are_not_ignored():
    """Multiple shooting finds the drag of a pendulum that single shooting cannot; at least, it is another problem."""
    plain = dd.fit(decay(), DATA, free=["k"], criterion=dd.OutputError(segments=3))
    assert plain["k"].value == pytest.approx(dd.fit(decay(), DATA, free=["k"])["k"].value, abs=1e-3)
    assert plain.criterion == dd.OutputError(segments=3)


def test_pieces_have_no_past():
    late = decay(equations={"rate": der(x) == -k * dd.delay(x, 0.5)}, history={x: 1.0}, initial={})
    data = dd.Dataset(TIMES, outputs={"level": np.exp(-TIMES)}, t0=0.0)
    with pytest.raises(dd.DaedalError, match="looks back at its own past"):
        dd.fit(late, data, free=["k"], criterion=dd.OutputError(segments=3))
