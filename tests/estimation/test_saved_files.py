"""Files of fits that are damaged, odd, or in odd places: a sentence or the same fit, and nothing left behind."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from math import copysign, isnan
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import daedal as dd
from batteries import fits
from batteries.fits import levels
from daedal.data import FrozenMapping
from daedal.errors import EstimationError
from daedal.estimation import Coordinates, Course, Making
from daedal.estimation.storage import files, netcdf
from daedal.estimation.storage.consistency import find_contradictions
from daedal.estimation.storage.content import list_variables
from daedal.estimation.storage.netcdf import Contents
from sizes import choose

x, w, k = dd.symbols("x w k")
OLD = Path(__file__).parent / "fit_0_1_0.nc"


@pytest.fixture(scope="module")
def decay():
    times = np.arange(20) * 0.1
    data = levels(np.exp(-times) + 0.01 * np.sin(50 * times), times)
    rate = dd.Parameter(2.0, lower=0.1, unit="1/s")
    return dd.fit(fits.decay(rate), data, free=["k"], criterion=dd.OutputError())


@pytest.fixture(scope="module")
def saved(decay, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "fit.nc"
    decay.save(path)
    return path.read_bytes()


def assert_same(one, other):
    """To the bit, whatever is inside; one NaN is as good as another."""
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, float):
        assert isinstance(other, float)
        assert (one == other and copysign(1, one) == copysign(1, other)) or (isnan(one) and isnan(other))
    elif isinstance(one, (dict, FrozenMapping)):
        assert list(one) == list(other)
        assert_same(tuple(one.values()), tuple(other.values()))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for part, counterpart in zip(one, other, strict=True):
            assert_same(part, counterpart)
    elif type(one).__name__ in (
        "Estimate",
        "Coordinate",
        "Coordinates",
        "LocalMinimum",
        "Fit",
        "Making",
        "Dataset",
        "Samples",
    ):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name))
    else:
        assert one == other


def test_any_flipped_bit_is_told_from_the_bytes_alone(saved, tmp_path, monkeypatch):
    """Of all bytes that the last line covers: HDF5 does not see any of them."""
    monkeypatch.setattr("daedal.estimation.storage.files.read_netcdf", None)
    path = tmp_path / "fit.nc"
    length = saved.rindex(b"\ndaedal fit: sha256 ")
    for place in range(0, length, choose(61, 7)):
        flipped = bytearray(saved)
        flipped[place] ^= 1 << (place % 8)
        path.write_bytes(flipped)
        with pytest.raises(EstimationError, match=r"fit.nc' is damaged: its bytes are not those that were saved. Save"):
            dd.load(path)


def test_a_last_line_that_is_gone_or_odd_leaves_the_fit_as_it_was(decay, saved, tmp_path):
    path = tmp_path / "fit.nc"
    length = saved.rindex(b"\ndaedal fit: sha256 ")
    for content in (saved[:length], saved[:-5], saved[:-1] + b"\0", saved + b"more"):
        path.write_bytes(content)
        assert_same(decay, dd.load(path))
    digest = bytearray(saved)
    digest[length + 30] = ord("1") if digest[length + 30] == ord("0") else ord("0")
    path.write_bytes(digest)
    with pytest.raises(EstimationError, match="is damaged"):
        dd.load(path)


@pytest.mark.parametrize("length", [1, 7, 8, 100, 2000, -200])
def test_a_file_that_was_cut_off_is_refused(saved, tmp_path, length):
    path = tmp_path / "fit.nc"
    path.write_bytes(saved[:length])
    with pytest.raises(
        EstimationError,
        match=r"fit.nc' is (damaged: HDF5 cannot read it|not a file that daedal saved, neither a fit nor a journal)",
    ):
        dd.load(path)


def test_what_another_tool_wrote_again_is_read_and_what_it_changed_is_told(decay, saved, tmp_path):
    path, other = tmp_path / "fit.nc", tmp_path / "other.nc"
    path.write_bytes(saved)
    with xarray.open_dataset(path, engine="h5netcdf") as content:
        content.load()
    content.to_netcdf(other, engine="h5netcdf")
    assert_same(decay, dd.load(other))
    content["cov"] = content["cov"] * (1 + 2**-52)
    content["cov"].attrs = content["point"].attrs
    content.to_netcdf(other, engine="h5netcdf")
    with pytest.raises(EstimationError, match=r"other.nc' is damaged: 'cov' is not what was saved"):
        dd.load(other)
    with h5py.File(path, "a") as file:
        file["value"][0] = 1.0
    with pytest.raises(EstimationError, match=r"fit.nc' is damaged"):
        dd.load(path)
    for version in (0, -1, "two"):
        content.assign_attrs(version=version).to_netcdf(other, engine="h5netcdf")
        with pytest.raises(EstimationError, match="is damaged: its format has the number"):
            dd.load(other)


def test_reading_that_does_not_end_or_needs_all_memory_is_ended(saved, tmp_path, monkeypatch):
    """Stand-ins for what HDF5 does with damaged bytes, in the process that reads them."""
    path = tmp_path / "fit.nc"
    path.write_bytes(saved[:-5])
    cases = {
        "while True: pass": "HDF5 (cannot read it|does not come to an end with it)",
        "import time; time.sleep(1000)": "HDF5 does not come to an end with it",
        "import os; os.abort()": "HDF5 cannot read it",
        "bytearray(2**36)": "HDF5 cannot read it",
    }
    text = Path(netcdf.__file__).read_text(encoding="utf-8")
    monkeypatch.setattr(netcdf, "SECONDS", 1)
    monkeypatch.setattr(netcdf, "PATIENCE", 4)
    for code, reason in cases.items():
        script = tmp_path / "script.py"
        script.write_text(text.replace("    import h5netcdf\n", f"    {code}\n"), encoding="utf-8")
        monkeypatch.setattr(netcdf, "__file__", str(script))
        with pytest.raises(EstimationError, match=f"is damaged: {reason}"):
            dd.load(path)


def test_the_text_of_a_model_that_version_0_1_0_wrote_is_read_and_written_alike():
    text = netcdf.read_netcdf(OLD.read_bytes()).variables["model"].values.item()
    assert text.startswith('name = "lag"')
    assert dd.Model.from_text(text).to_text() == text


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (b'"samples": 30', b'"samples"; 30', "JSONDecodeError"),
        (b'"samples"', b'"simples"', "KeyError: 'samples'"),
        (b'"der(x) ==', b'"dor(x) ==', "In the text of the model, at equations: rate"),
        (b'"experiment":', b'"experimint":', "TypeError"),
    ],
)
def test_old_files_with_texts_that_are_wrong(tmp_path, old, new, sentence):
    content = OLD.read_bytes()
    assert content.count(old) == 1
    (tmp_path / "fit.nc").write_bytes(content.replace(old, new))
    with pytest.raises(EstimationError, match=f"is damaged: {sentence}"):
        dd.load(tmp_path / "fit.nc")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda fit: {"point": fit.point + 1e-6}, "its estimates"),
        (lambda fit: {"cov": 2.0 * fit.cov}, "its standard errors"),
        (lambda fit: {"aic": fit.aic + 1e-3}, "its AIC and BIC"),
        (lambda fit: {"samples": fit.samples + 1}, "its AIC and BIC"),
        (lambda fit: {"loglik": fit.loglik - 1.0}, "its AIC and BIC"),
        (lambda fit: {"model": fit.model.with_parameters({"k": 1.5})}, "the values in its model"),
        (lambda fit: {"estimates": {"k": replace(fit.estimates["k"], lower=0.2)}}, "its bounds"),
        (lambda fit: {"estimates": {"k": replace(fit.estimates["k"], value=1.5)}}, "its estimates"),
        (lambda fit: {"estimates": {"j": replace(fit.estimates["k"], name="j")}}, "the names of its estimates"),
    ],
)
def test_a_file_without_digests_that_contradicts_itself_is_refused(decay, tmp_path, monkeypatch, change, what):
    """As one of version 0.1.0, damaged where something is said twice."""
    assert list(find_contradictions(decay)) == []
    damaged = replace(decay, **change(decay))
    contents = Contents({"format": "daedal fit", "version": 1}, list_variables(damaged), {})
    monkeypatch.setattr(files, "_read_contents", lambda _: contents)
    (tmp_path / "fit.nc").write_bytes(b"")
    with pytest.raises(EstimationError, match=f"is damaged: {what}.* contradict the rest of it"):
        dd.load(tmp_path / "fit.nc")


def test_places_that_hold_no_fit(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)
        listener.bind("socket")
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(2**42)
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(2**32 - 1)
    (tmp_path / "empty").touch()
    (tmp_path / "loop").symlink_to("loop")
    cases = {
        folder: "is a folder, not a file",
        "fifo": "is a device or a pipe, not a file",
        "socket": "is a device or a pipe, not a file",
        "/dev/zero": "is a device or a pipe, not a file",
        "huge": "has 4398046511104 bytes, more than a saved fit may have",
        "large": "is not a file that daedal saved, neither a fit nor a journal",
        "empty": "is not a file that daedal saved, neither a fit nor a journal",
        "empty/fit.nc": "There is no file",
        "a\0b": "contains a character that no path can have",
        "a\ud800b": "contains a character that no path can have",
        "a" * 300: "cannot be looked at: File name too long",
        "loop": "cannot be looked at: Too many levels of symbolic links",
    }
    for path, sentence in cases.items():
        with pytest.raises(EstimationError, match=sentence):
            dd.load(path)


def test_a_file_that_may_not_be_read(saved, tmp_path, monkeypatch):
    (tmp_path / "fit.nc").write_bytes(saved)

    def refuse(self, *options, **more):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # permissions mean nothing to the user who may do everything
    with pytest.raises(EstimationError, match=r"fit.nc' could not be read: Permission denied"):
        dd.load(tmp_path / "fit.nc")


def test_places_where_a_fit_cannot_be_saved(decay, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    (tmp_path / "protected").write_text("kept")
    (tmp_path / "protected").chmod(0o444)
    cases = {
        "/dev/full": "'/dev/full' is a device or a pipe, not a file",
        "fifo": "'fifo' is a device or a pipe, not a file",
        "protected": "'protected' is protected from being written",
        "protected/fit.nc": "There is no folder",
        "a\0b": "contains a character that no path can have",
        "a" * 300: "cannot be looked at: File name too long",
    }
    if Path("/proc/self").is_dir():
        cases["/proc/fit.nc"] = "could not be written to '/proc/fit.nc'"
    for path, sentence in cases.items():
        with pytest.raises(EstimationError, match=sentence):
            decay.save(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "protected"]
    assert (tmp_path / "protected").read_text() == "kept"


FULL_DISK = """
import resource, sys, daedal as dd
fit = dd.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
try:
    fit.save(sys.argv[2])
except dd.DaedalError as error:
    print(error)
"""


def test_a_disk_without_room_leaves_the_old_file(saved, tmp_path):
    (tmp_path / "fit.nc").write_bytes(b"the old one")
    command = [sys.executable, "-c", FULL_DISK, str(OLD), str(tmp_path / "fit.nc")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.startswith("The fit could not be written to"), done.stderr
    assert "File too large. Save it where files can be written" in done.stdout
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("fit.nc", b"the old one")]


SMALL_PROCESS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
import daedal as dd
print(dd.load(sys.argv[1]).model.name)
"""


def test_a_file_without_digests_is_read_where_memory_is_limited():
    """By a batch system, say: the process that reads it may not have more than this one has."""
    pytest.importorskip("resource")
    command = [sys.executable, "-c", SMALL_PROCESS, str(OLD), str(netcdf.ROOM - 2**27)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.stdout == "lag\n", done.stderr


def test_a_folder_that_cannot_be_opened_holds_a_fit_all_the_same(decay, tmp_path, monkeypatch):
    """One may have the right to write into it without that to read it."""
    opened = os.open

    def refuse(path, *arguments, **options):
        if Path(path) == tmp_path:
            raise PermissionError
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    decay.save(tmp_path / "fit.nc")
    assert_same(decay, dd.load(tmp_path / "fit.nc"))


def test_links_and_permissions_stay(decay, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.nc").symlink_to(tmp_path / "there" / "fit.nc")
    decay.save(tmp_path / "link.nc")
    (tmp_path / "there" / "fit.nc").chmod(0o600)
    decay.save(tmp_path / "link.nc")
    assert (tmp_path / "link.nc").is_symlink()
    assert (tmp_path / "there" / "fit.nc").stat().st_mode & 0o777 == 0o600
    decay.save(tmp_path / ("n" * 252 + ".nc"))
    assert_same(decay, dd.load(tmp_path / ("n" * 252 + ".nc")))


def test_power_may_fail_at_any_time(decay, tmp_path, monkeypatch):
    """The bytes are on the disk before the name is theirs, and the name before `save` returns."""
    calls = []
    fsync, replaced = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: calls.append("fsync") or fsync(descriptor))
    monkeypatch.setattr(Path, "replace", lambda self, goal: calls.append("replace") or replaced(self, goal))
    decay.save(tmp_path / "fit.nc")
    assert calls == ["fsync", "replace", "fsync"]


@dataclass(frozen=True)
class OwnNoise:
    """A noise that a file cannot name."""

    scale: float = 1.0

    def __getattr__(self, name):
        return getattr(dd.WhiteNoise(self.scale), name)


def test_what_cannot_be_read_back_is_not_saved(decay, tmp_path):
    noisy = dd.Model(
        name="noisy",
        equations={"rate": dd.der(x) == w - k * x},
        unknowns=[x],
        outputs={"x": x},
        parameters={k: 1.0},
        disturbances={w: dd.WhiteNoise(1.0)},
    )
    object.__setattr__(noisy, "disturbances", FrozenMapping({"w": OwnNoise()}))
    cases = {
        "at disturbances: w: A noise declaration must have a kind": {"model": noisy},
        "'point' has the shape": {"point": np.zeros(7)},
    }
    for sentence, change in cases.items():
        with pytest.raises(EstimationError, match=f"The fit cannot be saved.*{sentence}"):
            replace(decay, **change).save(tmp_path / "fit.nc")
    assert not list(tmp_path.iterdir())


ANY_NUMBER = st.floats() | st.sampled_from([-0.0, 5e-324, 1.7976931348623157e308]) | st.floats().map(np.float64)
ANY_TEXT = st.text(st.characters(exclude_categories=[])) | st.sampled_from(["", "\0", "\ud800", "é" * 3000, "a/b", "."])


@given(st.data())
@settings(max_examples=choose(10, 25), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_content_comes_back_to_the_bit(decay, tmp_path, data):
    names = data.draw(st.lists(ANY_TEXT, max_size=3, unique=True))
    (first,), (item,) = decay.estimates.values(), decay.coordinates.items

    def draw(strategy):
        return data.draw(strategy)

    def matrix():
        return np.array([[draw(ANY_NUMBER) for _ in names] for _ in names], dtype=float).reshape(len(names), len(names))

    odd = replace(
        decay,
        estimates=FrozenMapping(
            {n: replace(first, name=n, value=float(draw(ANY_NUMBER)), unit=draw(ANY_TEXT)) for n in names}
        ),
        coordinates=Coordinates(tuple(replace(item, name=n, lower=float(draw(ANY_NUMBER))) for n in names), ({},)),
        point=np.array([draw(ANY_NUMBER) for _ in names], dtype=float),
        curvature=matrix(),
        cov=matrix(),
        monte_carlo_cov=matrix(),
        value=float(draw(ANY_NUMBER)),
        loglik=draw(st.none() | ANY_NUMBER.map(float)),
        fit_percent=FrozenMapping({draw(ANY_TEXT): float(draw(ANY_NUMBER))}),
        notes=tuple(draw(st.lists(ANY_TEXT, max_size=3))),
        seed=draw(st.integers(0, 2**128 - 1)),
        evaluations=draw(st.integers(0, 2**70)),
        making=Making(draw(ANY_TEXT), float(draw(ANY_NUMBER)), draw(ANY_TEXT), None, FrozenMapping({"a": "1"})),
        course=Course(np.zeros(len(names), dtype=int), np.array([draw(ANY_NUMBER) for _ in names], float), matrix()),
    )
    odd.save(tmp_path / "fit.nc")
    assert_same(odd, dd.load(tmp_path / "fit.nc"))


def test_numbers_of_numpy_come_back_as_numbers(decay, tmp_path):
    odd = replace(decay, samples=np.int64(20), value=np.float32(0.5), seed=np.uint64(2**63), evaluations=np.int8(3))
    odd.save(tmp_path / "fit.nc")
    back = dd.load(tmp_path / "fit.nc")
    assert (back.samples, back.value, back.seed, back.evaluations) == (20, 0.5, 2**63, 3)
