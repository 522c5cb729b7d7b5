"""How daedal speaks beside its results: a logger, warnings of its own class, a version."""

import logging
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

import daedal as dd
from batteries.fits import make_lag
from daedal import der

x, u, k, w = dd.symbols("x u k w")
ROOT = Path(__file__).parents[1]
COARSE = {w: dd.FilteredNoise([1.0], [0.01, 1.0], grid=0.1)}


def fit_decay(**options):
    times = np.arange(20) * 0.1
    model = make_lag(disturbances={}, equations={"lag": der(x) == -k * x})
    return dd.fit(model, dd.Dataset(times, outputs={"x": np.exp(-times)}), free=["k"], **options)


def test_a_fit_tells_its_notes_before_the_work(caplog, capfd):
    fitted = fit_decay()
    told = [(record.name, record.getMessage()) for record in caplog.records]
    assert told
    assert set(told) <= {("daedal", f"lag: {note}") for note in fitted.notes}
    assert capfd.readouterr() == ("", ""), "nothing is printed beside the log"


def test_a_program_that_sets_up_no_log_shows_them():
    command = [sys.executable, "-c", "from test_telling import fit_decay; fit_decay()"]
    done = subprocess.run(command, cwd=ROOT / "tests", capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr.startswith("lag: ")


def test_the_logger_is_left_alone():
    """Handlers and levels are those of the program."""
    fit_decay()
    logger = logging.getLogger("daedal")
    assert (logger.handlers, logger.level, logger.propagate) == ([], logging.NOTSET, True)


def test_silence_can_be_asked_for(caplog):
    with caplog.at_level(logging.ERROR, logger="daedal"):
        fit_decay()
    assert not caplog.records


def test_a_warning_is_ours_and_points_at_the_line_of_the_user():
    with pytest.warns(dd.DaedalWarning, match="coarse") as caught:
        dd.simulate(make_lag(disturbances=COARSE), [0.0, 0.1, 0.2], realizations=2, rng=1)  # this line
    line = Path(caught[0].filename).read_text(encoding="utf-8").splitlines()[caught[0].lineno - 1]
    assert line.endswith("# this line")


@pytest.mark.parametrize("solver", [None, dd.IDA()])
def test_a_warning_can_be_made_an_error(solver):
    with warnings.catch_warnings():
        warnings.simplefilter("error", dd.DaedalWarning)
        with pytest.raises(dd.DaedalWarning, match="coarse"):
            dd.simulate(make_lag(disturbances=COARSE), [0.0, 0.1], realizations=2, rng=1, solver=solver)


def test_the_version_has_one_home():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    home = ROOT / project["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{dd.__version__}"' in home.read_text(encoding="utf-8")
    assert all(part.isdigit() for part in dd.__version__.split("."))
