"""Units in the header line of a file: taken where they can be told from names, as text."""

import numpy as np
import pytest

import daedal as dd


@pytest.fixture
def write(tmp_path):
    def put(header, rows="0,1,2,3\n1,2,3,4\n"):
        path = tmp_path / "logged.csv"
        path.write_text(f"{header}\n{rows}")
        return path

    return put


def test_units_of_the_header_line_are_kept_as_text_and_shown(write):
    path = write("t [s],speed [m/s],torque [N m],gain")
    data = dd.read_csv(path, time="t", outputs=["speed"], inputs={"M": "torque [N m]", "gain": "gain"})
    assert dict(data.units) == {"time": "s", "speed": "m/s", "M": "N m"}
    assert str(data).endswith("units: M N m, speed m/s, time s")
    np.testing.assert_array_equal(data["speed"], [1.0, 2.0])  # nothing is converted


def test_given_units_win_over_the_header_line(write):
    path = write("t (min),speed (km/h),u (%),z (°C)")
    data = dd.read_csv(path, time="t", outputs=["speed", "z"], inputs=["u"], units={"speed": "m/s", "time": "s"})
    assert dict(data.units) == {"time": "s", "speed": "m/s", "u": "%", "z": "°C"}
    with pytest.raises(dd.DaedalError, match="no output or input 'sped' to give a unit"):
        dd.read_csv(path, time="t", outputs=["speed"], units={"sped": "m/s"})
    with pytest.raises(dd.DaedalError, match="units must be a mapping"):
        dd.read_csv(path, time="t", outputs=["speed"], units="m/s")


@pytest.mark.parametrize(
    ("header", "output"),
    [
        ("t,x[0],x[1],x[2]", "x[1]"),  # places, not units
        ("t,phase (A),phase (B),phase (C)", "phase (A)"),  # B is no unit, so A is none
        ("t,T (in),T (out),u", "T (in)"),
        ("t,y [raw],u [V],z [m]", "u [V]"),
        ("t,y (first try),u,z", "y (first try)"),
    ],
)
def test_what_may_be_no_unit_stays_a_name(write, header, output):
    data = dd.read_csv(write(header), time="t", outputs=[output])
    assert list(data.outputs) == [output]
    assert not data.units
    with pytest.raises(dd.DaedalError, match="there is no column"):
        dd.read_csv(write(header), time="t", outputs=[output.partition(" ")[0].partition("[")[0]])


def test_a_signal_called_by_its_whole_label_has_its_unit_there_alone(write):
    data = dd.read_csv(write("t [s],speed [m/s],u [N],z [V]"), time="t [s]", outputs=["speed [m/s]"])
    assert dict(data.units) == {"time": "s"}


def test_a_name_of_two_columns_is_asked_back(write):
    path = write("t [s],speed [m/s],speed [km/h],u [N]")
    with pytest.raises(dd.DaedalError, match=r"'speed' may be the column 'speed \[m/s\]' or 'speed \[km/h\]'. Write"):
        dd.read_csv(path, time="t", outputs=["speed"])
    assert dict(dd.read_csv(path, time="t", outputs={"v": "speed [km/h]"}).units) == {"time": "s", "v": "km/h"}


def test_timestamps_are_seconds_whatever_the_header_line_says(write):
    path = write("t [min],speed [m/s]", "2024-03-01T00:00:00,1\n2024-03-01T00:00:10,2\n")
    data = dd.read_csv(path, time="t", outputs=["speed"])
    assert dict(data.units) == {"speed": "m/s"}
    assert data.times.tolist() == [0.0, 10.0]


UNITS = [
    "m/s",
    "m/s²",
    "m·s^-2",
    "kg·m²",
    "1/min",
    "W/(m·K)",
    "°C",
    "%",
    "kΩ",
    "µm",
    "mbar",
    "l/h",
    "rad/s",
    "kWh",
    "rpm",
]
WORDS = ["0", "raw", "i", "left", "", "2024", "set", "m/x"]


@pytest.mark.parametrize("remark", [*UNITS, "N m", *WORDS])
def test_which_remarks_are_units(write, remark):
    data = dd.read_csv(write(f"t,y [{remark}],u,z"), time="t", outputs={"y": f"y [{remark}]"})
    assert dict(data.units) == ({} if remark in WORDS else {"y": remark})
