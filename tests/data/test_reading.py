"""Reading files: round trips, and every way a file can be wrong."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batteries.counting import count_calls
from daedal.data import Dataset, Samples, read_csv
from daedal.errors import DataError

GOOD = "t,u,y\n0,1,10\n0.5,2,\n1.5, 3 , NA \n2,4,NaN\n3,5,14\n"


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "tank.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_columns_by_list_and_by_mapping(write):
    data = read_csv(write(GOOD), time="t", outputs={"level": "y"}, inputs=["u"], intersample="zoh", t0=-1)
    times = [0, 0.5, 1.5, 2, 3]
    level = [10, np.nan, np.nan, np.nan, 14]
    expected = Dataset(times, {"u": [1, 2, 3, 4, 5]}, {"level": level}, t0=-1, name="tank", intersample="zoh")
    assert data == expected


def test_each_input_of_a_file_has_its_own_intersample(write):
    text = "t,u,v,y\n0,1,2,3\n1,1,2,3\n"
    data = read_csv(write(text), time="t", outputs=["y"], inputs={"pump": "u", "sun": "v"}, intersample={"pump": "zoh"})
    assert {name: signal.intersample for name, signal in data.inputs.items()} == {"pump": "zoh", "sun": "foh"}


def test_replicates_and_noise_of_a_file(write):
    text = "t,y,e\n0,3,0.1\n1,4,0.2\n1,5,0.3\n2,,\n"
    data = read_csv(write(text), time="t", outputs=["y"], measurement_noise={"y": "e"})
    assert data.outputs["y"] == Samples([0, 1, 1, 2], [3, 4, 5, np.nan], [0.1, 0.2, 0.3, np.nan])


def test_a_step_instead_of_a_time_column(write):
    data = read_csv(write(GOOD), step=0.25, outputs=["y"], name="mine")
    np.testing.assert_array_equal(data.times, [0, 0.25, 0.5, 0.75, 1])
    assert data.name == "mine"


def test_byte_order_mark_line_ends_quotes_and_blank_last_lines(write):
    path = write('\ufeff"t";" y "\r\n0;"1"\r\n1;2\r\n\r\n\r\n')
    np.testing.assert_array_equal(read_csv(path, time="t", outputs=["y"], delimiter=";")["y"], [1, 2])


def test_a_compressed_file_is_named_without_its_endings(tmp_path):
    path = tmp_path / "tank.csv.gz"
    path.write_bytes(gzip.compress(GOOD.encode()))
    assert read_csv(str(path), time="t", outputs=["y"]).name == "tank"


@settings(deadline=None)  # the first table waits until pandas is imported
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=30, unique=True).map(sorted),
    st.sampled_from([",", ";", "\t"]),
    st.randoms(use_true_random=False),
)
def test_what_pandas_writes_is_read_back(tmp_path_factory, times, delimiter, random):
    outputs = {"y": [random.choice([random.random(), np.nan]) for _ in times]}
    data = Dataset(np.array(times) / 1000, {"u": [random.uniform(-9, 9) for _ in times]}, outputs, name="trip")
    path = tmp_path_factory.mktemp("trip") / "trip.csv"
    data.to_pandas().to_csv(path, sep=delimiter)
    assert read_csv(path, time="time", outputs=["y"], inputs=["u"], delimiter=delimiter) == data


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file 'tank.csv': the file is empty. A header line"),
        ("t,u,y\n", "there are no rows below the header line"),
        ("\nt,u,y\n0,1,2\n", "the first line must name the columns but holds numbers or nothing"),
        ("0,1,2\n1,2,3\n", "the first line must name the columns but holds numbers or nothing. Add a header line"),
        ("t,u,y,u\n0,1,2,3\n", "the header line has 'u' more than once"),
        ("t,u,y\n0,1,2\n1,2\n", "line 3 has 2 fields but the header line has 3. Write one cell for each column"),
        ("t,u,y\n0,1,2\n\n1,2,3\n", "line 3 has 0 fields"),
        ("t,u,y\n0,1,2\n1,2,3 V\n", "file 'tank.csv': line 3, column 'y', '3 V' is not a finite number. Repair"),
        ("t,u,y\n0,1,2\n1,-,3\n", r"'-' is not a finite number. Repair that cell\.$"),
        ("t,u,y\n0,n/a,2\n1,2,3\n", r"line 2, column 'u', 'n/a' is not a finite number\. Repair that cell\."),
        ("t,u,y\n0,ERR,2\n1,2,3\n", r"line 2, column 'u', 'ERR' is not a finite number\. Repair that cell\."),
        ("t,u,y\nmin,V,dm\n0,1,2\n", r"line 2, .* If this line holds units, write .* as in 't \[min\]',"),
        ("t,u,y\n0,2024-01-31 12:00,2\n", "'2024-01-31 12:00' is not .* Timestamps are read in the form 2024"),
        ("t,u,y\n31/01/24,1,2\n", r"column 't', '31/01/24' is not .* or convert them by pandas.to_datetime"),
        ("t,u,y\n12:30,1,2\n", r"'12:30' is not .* Write numbers, such as seconds since the start, or .* with a date"),
        ("t,u,y\n[min],[V],[dm]\n0,1,2\n", r"as in 't \[min\]', and delete it"),
        ("t,u,y\n0,true,2\n1,false,2\n", r"'true' is not .* Write 1 and 0\."),
        ("Logger 7\n\nt,u,y\n0,1,2\n", r"no column 't'. Row 3 names it: the first line must, so delete what is above"),
        ("sep=;\nt;u;y\n0;1;2\n", r"no column 't'. Row 2 names it"),
        ("t,u,y\n2024-01-31,1,2\n31/01/24,1,2\n", "line 3, column 't', '31/01/24' is no timestamp like that of the"),
        ("t,u,y\n2024-01-31,1,2\n2024-02-01T00Z,1,2\n", "line 3, .* is no timestamp like that of the first row"),
        (
            't,u,y\n0,"1,5",2\n',
            r"column 'u', '1,5' is not .* If the file has decimal commas, say so with decimal = ','",
        ),
        ('t,u,y\n"0,00",1,2\n', "column 't', '0,00' is not .* If the file has decimal commas"),
        ("t,u,y\n0,1,2\n1,2,1_000\n", "line 3, column 'y', '1_000' is not a finite number"),
        ("t,u,y\n0,1,2\n1,2,inf\n", "line 3, column 'y', 'inf' is not a finite number"),
        ("t,u,y\n0,1,2\n1,,3\n", "line 3, column 'u', a value is missing, which an input may not have. Fill the gap"),
        ("t,u,y\n0,1,2\nNA,1,3\n", "line 3, column 't', a value is missing, which the time may not have"),
        ("t,u,y\n0,1,2\n2,1,3\n1,1,3\n", "line 4, column 't', the time must increase but 1 follows 2. Sort the rows"),
        ('t,u,y\n0,1,"2\n"\n1,x,3\n', "line 4, column 'u', 'x' is not"),
        ("t,u,yy\n0,1,2\n", "there is no column 'y'. Did you mean 'yy'?"),
        ("t;u;y\n0;1;2\n", "no column 't'. Columns are separated by another character: write delimiter = \";\""),
        ('"t"\t"u"\t"y"\n0\t1\t2\n', "line 1 has text behind the quote .* If another character separates the columns"),
        ("t:u:y\n0:1:2\n", "there is no column 't'. Known are 't:u:y'. If another character .* delimiter="),
    ],
)
def test_a_file_that_is_refused(write, text, message):
    with pytest.raises(DataError, match=message):
        read_csv(write(text), time="t", outputs=["y"], inputs=["u"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "read_csv needs either time= or step= but neither was given. Name the column"),
        ({"time": "t", "step": 1}, "both were given"),
        ({"step": -1}, "step must be positive but is -1"),
        ({"time": "t", "delimiter": ", "}, "delimiter must be one character but is ', '"),
        ({"time": "t", "inputs": "u"}, r"inputs must be a list or mapping but is the text 'u'. Write inputs=\['u'\]"),
        ({"time": "t", "outputs": []}, "data 'tank': there are no outputs and no inputs"),
        ({"time": "t", "inputs": ["y"]}, "line 3, column 'y', a value is missing"),
        ({"time": "t", "inputs": {"y": "u"}}, "data 'tank': 'y' is both input and output"),
    ],
)
def test_options_that_are_refused(write, options, message):
    with pytest.raises(DataError, match=message):
        read_csv(write(GOOD), **{"outputs": ["y"], **options})


def test_a_file_that_cannot_be_opened_or_decoded(tmp_path):
    with pytest.raises(DataError, match=r"file 'none.csv': there is no such file in '.*'. Check the path"):
        read_csv(tmp_path / "none.csv", time="t", outputs=["y"])
    (tmp_path / "latin.csv").write_bytes("t,°C\n0,1\n".encode("latin-1"))
    (tmp_path / "text.csv.gz").write_bytes(b"t,y\n0,1\n")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(GOOD.encode())[:-12])
    (tmp_path / "unicode.csv").write_bytes(GOOD.encode("utf-16"))
    (tmp_path / "workbook.csv").write_bytes(b"PK\x03\x04\xff")
    reasons = {"latin.csv": "it is not UTF-8", "unicode.csv": "it is UTF-16 text, not", "workbook.csv": "it is a spr"}
    for name in (*reasons, "text.csv.gz", "cut.csv.gz"):
        words = f"file '{name}': the file cannot be read: {reasons.get(name, '')}.* Save it as UTF-8 text"
        with pytest.raises(DataError, match=words):
            read_csv(tmp_path / name, time="t", outputs=["y"])


def test_a_row_costs_the_same_in_a_long_file(write):
    def calls(rows):
        path = write("t,u,v,y\n" + "\n".join(f"{0.001 * k:.3f},{k % 7},{k % 5},{k % 3 / 7}" for k in range(rows)))
        return count_calls(lambda: read_csv(path, time="t", outputs=["y"], inputs=["u", "v"])) / rows

    assert calls(20_000) <= calls(1000) < 20.0


@pytest.mark.parametrize("path", [None, 3, {"t": [0.0]}], ids=str)
def test_what_is_no_path_is_told(path):
    with pytest.raises(DataError, match=r"read_csv takes the path of a file, got \w+\. Write read_csv\('tank\.csv'\)"):
        read_csv(path, time="t", outputs=["y"])


def test_decimal_commas(tmp_path):
    path = tmp_path / "oven.csv"
    path.write_text("time [min]; heater; level\n0,0;1,5;-2,25e1\n0,5;0;NA\n1;-0,5;3\n", encoding="utf-8")
    data = read_csv(path, time="time", inputs=["heater"], outputs=["level"], delimiter=";", decimal=",")
    np.testing.assert_array_equal(data.times, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(data.inputs["heater"].values, [1.5, 0.0, -0.5])
    np.testing.assert_array_equal(data.outputs["level"].values, [-22.5, np.nan, 3.0])


def test_decimal_commas_in_quotes_between_commas(write):
    """As spreadsheets in a browser export them where people write 0,5."""
    data = read_csv(write('t,y\n"0,5","1,25"\n1,2\n'), time="t", outputs=["y"], decimal=",")
    np.testing.assert_array_equal(data.times, [0.5, 1.0])
    np.testing.assert_array_equal(data.outputs["y"].values, [1.25, 2.0])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("t;y\n0;1.234,5\n", {"delimiter": ";", "decimal": ","}, "no number has a point"),
        ("t,y\n0,5,1,5\n", {"decimal": ","}, "line 2 has 4 fields .* these must be in quotes"),
        ("t;y\n0;1\n", {"delimiter": ";", "decimal": "·"}, "decimal must be '.' or ','"),
    ],
)
def test_what_decimal_marks_cannot_be(text, options, message, tmp_path):
    path = tmp_path / "oven.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_csv(path, time="t", outputs=["y"], **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('t,y,note\n0,1,ok\n1,2,"cut\n2,3,ok\n3,4,ok\n', "line 3 opens a quote that is not closed"),
        ('t,y,"note\n0,1,ok\n', "line 1 opens a quote that is not closed"),
        ('t,y,note\n0,"1,ok\n1,2,ok\n' + "2,3,ok\n" * 30_000, "line 2 opens a quote that is not closed"),
        ('t,y,note\n0,1,ok\n1,"3"4,ok\n', "line 3 has text behind the quote that ends a cell"),
    ],
)
def test_quotes_that_do_not_end_a_cell(text, message, write):
    """The rows below would be lost in a cell that nobody reads, and "3"4 would be 34."""
    with pytest.raises(DataError, match=message):
        read_csv(write(text), time="t", outputs=["y"])


def test_cells_in_quotes_may_hold_lines_and_quotes(write):
    data = read_csv(write('t,y,note\n0,1,"a ""b""\nand, c"\n"1","2",5" pipe\n'), time="t", outputs=["y"])
    np.testing.assert_array_equal(data.outputs["y"].values, [1.0, 2.0])
