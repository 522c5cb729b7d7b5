"""Measured files, plain and compressed, are read as they are."""

import daedal as dd


def test_files_of_two_experiments_are_read_as_they_are(measured):
    house = dd.read_csv(
        measured("building_heat_blg1.csv"),
        time="t_hours",
        outputs={"indoor": "yTi_indoor"},
        inputs={"Ta": "Ta_ambient", "Ps": "Ps_solar", "Thm": "Thm_heating"},
        name="house",
    )
    assert str(house) == (
        "data 'house': output indoor; inputs Ta, Ps, Thm (foh)\n4181 samples from 0 to 1045, step 0.25, t0 = 0"
    )
    train, test = house.split(fraction=0.7)
    assert train["indoor"].size + test["indoor"].size == 4181
    drive = dd.read_csv(measured("emps_est.csv.gz"), time="t", outputs=["q_meas"], inputs=["vir"], intersample="zoh")
    assert (drive.name, drive.times.size) == ("emps_est", 24841)
    assert drive.inputs["vir"] == dd.Signal(drive.times, drive["vir"], "zoh")
