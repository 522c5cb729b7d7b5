"""The examples on the measured files that they are about; `tests/test_scripts.py` has them on simulated data."""

import re
from itertools import pairwise

from running import example, number, run


def test_heating_runs_on_the_measured_data(measured, tmp_path):
    printed = run(example("heating_from_csv.py"), measured("daisy_heating_system.csv"), folder=tmp_path)
    assert number(r"hand-picked values: (\S+)", printed) < 12.0


def test_cascaded_tanks_predict_the_record_they_have_not_seen(measured, tmp_path):
    printed = run(example("cascaded_tanks.py"), measured("cascaded_tanks.csv"), folder=tmp_path)
    assert number(r"ignores the disturbances: (\S+) V", printed) < 0.38
    assert number(r"mean over disturbances: (\S+) V", printed) < 0.39
    assert number(r"two fits: (\S+) standard errors", printed) < 1.0


def test_the_building_wants_all_three_temperatures_and_leaves_its_heater_open(measured, tmp_path):
    printed = run(example("building.py"), measured("building_heat_blg1.csv"), folder=tmp_path)
    table = re.findall(r"^(Ti\w*) +(-\S+) +(\S+) +(\S+) +(\S+) +\S+$", printed, re.MULTILINE)
    assert [row[0] for row in table] == ["Ti", "TiTe", "TiTeTh"]
    logarithms, aic, bic, deviations = ([float(row[k]) for row in table] for k in range(1, 5))
    assert all(more > less + 50.0 for less, more in pairwise(logarithms))
    assert all(numbers == sorted(numbers, reverse=True) for numbers in (aic, bic, deviations))
    assert abs(deviations[-1] - 0.337) < 0.002
    undetermined = re.search(r"not determined by these data: ([^;]+);", printed)
    assert undetermined
    assert {"Ch", "Rih", "noise_h"} <= set(undetermined[1].split(", "))
    assert "depends on 'Thm', so the model misses part of what that does" in printed
    assert number(r"one step ahead +(\S+) %", printed) > 85.0
    assert (tmp_path / "building.svg").stat().st_size < 1_000_000


def test_the_published_friction_of_emps_is_within_the_intervals(measured, tmp_path):
    printed = run(example("emps.py"), measured("emps_est.csv.gz"), folder=tmp_path)
    for name, value in {"M": 95.1089, "Fv": 203.5034, "Fc": 20.3935}.items():
        low, high = map(float, re.search(rf"{name} \[.*?(\S+) … (\S+)", printed).groups())
        assert low < value < high, name


def test_the_arm_of_the_cd_player_is_predicted_in_its_loop(measured, tmp_path):
    printed = run(example("cd_player_arm.py"), measured("daisy_cd_player_arm.csv"), folder=tmp_path)
    assert number(r"one step ahead to (\S+) %", printed) > 80.0


def test_hair_dryer_finds_order_and_delay(measured, tmp_path):
    printed = run(example("hair_dryer.py"), measured("daisy_hairdryer.csv"), folder=tmp_path)
    assert number(r"fit of the second half: (\S+) %", printed) >= 85.0
    low, high = map(float, re.search(r"95 % interval (\S+) … (\S+) s", printed).groups())
    assert 0.1 < low < high < 0.3


def test_the_delay_of_the_hair_dryer_has_an_interval(measured, tmp_path):
    printed = run(example("hair_dryer_delay.py"), measured("daisy_hairdryer.csv"), folder=tmp_path)
    assert number(r"fit of the whole record: (\S+) %", printed) >= 88.0
    low, high = map(float, re.search(r"95 % interval (\S+) … (\S+) s", printed).groups())
    assert 0.14 < low < high < 0.18


def test_robot_arm_is_not_worse_than_discrete_time(measured, tmp_path):
    printed = run(example("robot_arm.py"), measured("daisy_robot_arm.csv"), folder=tmp_path)
    own, arx = re.search(r"6 poles: (\S+) %; the best of all ARX models with 6 poles: (\S+) %", printed).groups()
    assert float(own) >= float(arx) > 90.0


def test_exchanger_is_not_worse_than_discrete_time(measured, tmp_path):
    printed = run(example("exchanger.py"), measured("daisy_exchanger.csv"), folder=tmp_path)
    own = number(r"by maximum likelihood, 3 poles: (\S+) %", printed)
    assert own >= number(r"the best of all ARX models with 3 poles: (\S+) %", printed) > 55.0
    assert "NOT DETERMINED" not in printed
