"""Studies: what processes gain, what the journal costs, and whether killing loses or changes anything.

workers: 200 bootstrap runs by two processes against one, by the clock on the wall, and, as a machine with other things
to do says little, by processor time: that of one process, by half of that of two and all of the one that keeps the
journal. And what a run costs beside its own seconds, the start of the processes included, with the compiled files that
an installed package has, also where the environment forbids Python to write them.
overhead: what handing out a run and committing it costs once they have started.
journal: a commit, and reading 100 000 rows.
kills: kill -9 of workers and of the whole study at random moments, resumed to the end, against an undisturbed study.
shards: two halves of a study, merged, against the whole.
normal: how often intervals of normal estimates hold the truth, by the number of runs.
accuracy: the same of 200 fits, as `MonteCarlo` counts them.
coverage: how often intervals of 95 % hold the truth: bootstrap percentiles and BCa, errors of the fit, profiles.
"""

import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from time import monotonic, perf_counter, process_time, sleep

import numpy as np
from shared import command_line, seconds

import daedal as dd
from daedal.studies import Row, choose_crew, open_journal, simulate_data, write_charter
from daedal.studies.intervals import find_bca, find_percentiles
from daedal.studies.journal import read_journal

x, v, k, a, u = dd.symbols("x v k a u")


@cache
def make_fit(samples: int = 20) -> dd.Fit:
    """A decay whose fits take 0.1 s with 20 samples."""
    model = dd.Model(
        name="decay",
        equations={"rate": dd.der(x) == -k * x},
        unknowns=[x],
        outputs={"y": x},
        parameters={
            k: dd.Parameter(1.0, lower=0.1, upper=10.0, scale="log"),
            a: dd.Parameter(1.5, lower=0.1, upper=9.0),
        },
        measurement_noise={"y": 0.05},
        initial={x: a},
    )
    times = np.linspace(0.0, 3.0, samples)
    noise = 0.05 * np.random.default_rng(1).standard_normal(samples)
    data = dd.Dataset(times, outputs={"y": 2.0 * np.exp(-1.3 * times) + noise})
    return dd.fit(model, data, free=["k", "a"], criterion=dd.OutputError(), rng=1, solver=dd.Lanes(step=0.15))


def make_slow_fit(step: float) -> dd.Fit:
    """The same with steps so short that a fit takes half a second."""
    quick = make_fit()
    options = {"free": ["k", "a"], "criterion": quick.criterion, "rng": 1, "solver": dd.Lanes(step=step)}
    return dd.fit(quick.model, list(quick.data), **options)


def show_workers(tiny: bool) -> None:
    fit, runs = make_slow_fit(0.05 if tiny else 4e-5), 4 if tiny else int(os.environ.get("RUNS", "200"))
    with tempfile.TemporaryDirectory() as folder:
        before = {name: os.environ.pop(name, None) for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        dd.study(fit, dd.ParametricBootstrap(), runs=2, workers=1, rng=1)  # compiles what is imported
        alone = process_time()
        dd.study(fit, dd.ParametricBootstrap(), runs=runs, rng=1)
        alone = process_time() - alone
        one, two = (time_workers(fit, runs, workers, alone) for workers in (1, 2))
        os.environ.pop("PYTHONPYCACHEPREFIX")
        os.environ.update({name: value for name, value in before.items() if value is not None})
    print(f"two workers against one: {one[0] / two[0]:.2f} × faster, by processor time {one[1] / two[1]:.2f} ×")


def time_workers(fit: dd.Fit, runs: int, workers: int, alone: float) -> tuple[float, float]:
    """Seconds of the wall for so many runs, and of a processor until all are there, if each worker has one."""
    before, busy = process_time(), _read_work_of_children()
    wall, study = seconds(
        lambda: dd.study(fit, dd.ParametricBootstrap(), runs=runs, workers=workers, rng=1), perf_counter
    )
    own_work, work = process_time() - before, _read_work_of_children() - busy
    own = study.timings()["seconds"]
    beside = 1e3 * (wall * workers - own.sum()) / runs
    print(f"{runs} runs of {own.median():.2f} s, {workers} workers: {wall:.1f} s, {beside:.1f} ms a run beside")
    print(
        f"  processor time a run: {1e3 * alone / runs:.0f} ms in this process; of workers {1e3 * work / runs:.0f} ms, "
        f"and {1e3 * own_work / runs:.1f} ms of the one that keeps the journal: "
        f"{1e3 * (work + own_work - alone) / runs:.1f} ms beside"
    )
    return wall, work / workers + own_work


def _read_work_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # of those that have ended
    return used.ru_utime + used.ru_stime


def show_overhead(tiny: bool) -> None:
    """Runs that do nothing: what is left is handing them out, and their commits."""
    count = 20 if tiny else 400
    content = {"function": "daedal.errors:counted", "tasks": [[2, "run"]] * count}
    charter = write_charter("daedal.papers.kept_pieces:prepare_tasks", content)
    with tempfile.TemporaryDirectory() as folder:
        journal, arrivals = open_journal(Path(folder) / "a.study", {"seed": "1"}, {}), []
        for rows in choose_crew(2).make(charter, range(count)):
            journal.write(rows)
            arrivals += [perf_counter()] * len(rows)
        journal.close()
    print(
        f"two workers, {count} runs of nothing: {1e3 * (arrivals[-1] - arrivals[0]) / count:.2f} ms a run, commits too"
    )


def show_journal(tiny: bool) -> None:
    commits, rows = (20, 1000) if tiny else (300, 100_000)
    numbers = tuple(np.random.default_rng(0).standard_normal(22))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.study"
        journal = open_journal(path, {"seed": "1"}, {})
        walls = [
            seconds(lambda n=n: journal.write([Row(n, "converged", "", numbers, {})]), perf_counter)[0]
            for n in range(commits)
        ]
        print(f"a commit: median {1e3 * np.median(walls):.2f} ms, 95 % below {1e3 * np.quantile(walls, 0.95):.2f} ms")
        journal.write([Row(n, "converged", "", numbers, {}) for n in range(rows)])
        journal.close()
        spent, contents = seconds(lambda: read_journal(path))
        assert contents.values.shape == (rows, 22)
        print(f"{rows} rows read in {spent:.2f} s of processor time")


CHILD = """
import sys
import daedal as dd
fit, path, runs, workers = dd.load(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) or None
dd.study(fit, dd.ParametricBootstrap(), runs=runs, journal=path, workers=workers, rng=7)
"""


def list_children(pid: int) -> list[int]:
    """Processes that a process started; Linux alone tells."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def show_kills(tiny: bool) -> None:
    rounds, runs = (1, 4) if tiny else (int(os.environ.get("KILLS", "30")), 120)
    rng = random.Random(os.environ.get("SEED", "1"))
    with tempfile.TemporaryDirectory() as folder:
        saved, path = Path(folder) / "fit.nc", Path(folder) / "a.study"
        make_fit().save(saved)
        whole = dd.study(dd.load(saved), dd.ParametricBootstrap(), runs=runs, rng=7)
        killed = {"study": 0, "worker": 0}
        most, lost, resumed, ended = 0, 0, 0, False
        while not ended:
            command = [sys.executable, "-c", CHILD, saved, path, str(runs), "2"]
            child = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE)
            resumed += 1
            while sum(killed.values()) < rounds and child.poll() is None:
                target, more = rng.choice(["study", "worker"]), rng.choice([0, 1, 2, 4])
                goal = len(_read_finished(path)) + more  # some are killed while they begin, most at work
                while len(_read_finished(path)) < goal and child.poll() is None:
                    sleep(0.02)
                while target == "worker" and not list_children(child.pid) and child.poll() is None:
                    sleep(0.02)
                sleep(rng.uniform(0.0, 0.6))
                before, victims = _read_finished(path), list_children(child.pid)
                most = max(most, len(before))
                if target == "worker" and victims:
                    with suppress(ProcessLookupError):
                        os.kill(rng.choice(victims), signal.SIGKILL)
                        killed["worker"] += 1
                elif target == "study" and child.poll() is None:
                    child.send_signal(signal.SIGKILL)
                    child.wait()
                    killed["study"] += 1
                    _wait_for_end(victims)
                lost += not before <= _read_finished(path)
            told = child.communicate()[1].decode()
            ended = child.returncode == 0 and not any(s == "died" for s in dd.load(path).contents.status)
            if child.returncode not in (0, -signal.SIGKILL):
                print(told)
                raise SystemExit(1)
        again = dd.load(path)
        same = (
            again.to_pandas().equals(whole.to_pandas())
            and again.contents.values.tobytes() == whole.contents.values.tobytes()
        )
        left = sorted(one.name for one in Path(folder).iterdir() if one not in (saved, path))
        print(f"killed -9: the study {killed['study']} times, workers {killed['worker']} times; called {resumed} times")
        print(f"up to {most} of {runs} runs were there; committed runs lost in {lost} rounds; files left {left}")
        print(f"table the same bit for bit: {same}")
        if lost or not same:
            raise SystemExit(1)


def _read_finished(path: Path) -> set[int]:
    """Quickly: runs go on meanwhile."""
    if not path.exists() or not path.stat().st_size:
        return set()
    with closing(sqlite3.connect(path, timeout=60.0)) as connection:
        tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        return {number for (number,) in connection.execute("SELECT number FROM runs")} if tables else set()


def _wait_for_end(pids: list[int]) -> None:
    """Workers whose study is gone end by themselves."""
    begin = monotonic()
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        if monotonic() - begin > 60.0:
            print("workers went on without their study")
            raise SystemExit(1)
        sleep(0.05)


def show_shards(tiny: bool) -> None:
    fit, runs = make_fit(), 4 if tiny else 60
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.study"
        whole = dd.study(fit, dd.ParametricBootstrap(), runs=runs, rng=7)
        for part in (1, 2):
            dd.study(fit, dd.ParametricBootstrap(), runs=runs, journal=path, rng=7, shard=(part, 2), workers=1)
        merged = dd.merge(sorted(Path(folder).glob("*.study")))
        print(f"two shards of {runs} runs, merged: the same table {merged.to_pandas().equals(whole.to_pandas())}")


def make_drive() -> tuple[dd.Model, dd.Dataset]:
    """A disc on a weak shaft; a torque that nobody measures pulls at it. The model at its truth, and a plan."""
    turn, rotor, disc, load, volts, c, J = dd.symbols("turn rotor disc load volts c J")
    torque = c * turn + 0.05 * (rotor - disc)
    model = dd.Model(
        name="drive",
        equations={
            "twist": dd.der(turn) == rotor - disc,
            "rotor": 0.02 * dd.der(rotor) == 0.1 * volts - 0.05 * rotor - torque,
            "disc": J * dd.der(disc) == torque - 0.02 * disc + load,
        },
        unknowns=[turn, rotor, disc],
        inputs=[volts],
        outputs={"speed": rotor},
        parameters={
            c: dd.Parameter(2.0, lower=0.05, upper=50.0, scale="log"),
            J: dd.Parameter(0.05, lower=0.001, upper=5.0, scale="log"),
        },
        disturbances={load: dd.FilteredNoise.low_pass(std=0.1, time_constant=0.5)},
        measurement_noise={"speed": 0.05},
        initial={turn: 0.0, rotor: 0.0, disc: 0.0},
    )
    times = np.arange(201) * 0.05
    steps = dd.Signal(times, 6.0 * np.sign(np.sin(1.7 * times + 0.1)), intersample="zoh")
    return model, dd.Dataset(times, inputs={"volts": steps}, outputs={"speed": np.zeros(201)})


def make_tank() -> tuple[dd.Model, dd.Dataset]:
    """A tank with square-root outflow and a level sensor of unknown gain."""
    level, pump, a, gain = dd.symbols("level pump a gain")
    model = dd.Model(
        name="tank",
        equations={"level": dd.der(level) == pump - a * np.sqrt(np.sqrt(level**2 + 1e-6))},
        unknowns=[level],
        inputs=[pump],
        outputs={"reading": gain * level},
        parameters={
            a: dd.Parameter(0.8, lower=0.05, upper=5.0, scale="log"),
            gain: dd.Parameter(1.2, lower=0.2, upper=5.0),
        },
        measurement_noise={"reading": 0.1},
        initial={level: 1.0},
    )
    times = np.arange(41) * 0.25
    steps = dd.Signal(times, 1.0 + 0.5 * np.sign(np.sin(times)), intersample="zoh")
    return model, dd.Dataset(times, inputs={"pump": steps}, outputs={"reading": np.zeros(41)})


WAYS = ("fit", "profile", "percentiles", "BCa")


def show_normal(tiny: bool) -> None:
    """Estimates that are normal around the truth, and runs around them: percentiles are exact, BCa corrects nothing."""
    rng, draws = np.random.default_rng(1), 20 if tiny else 1500
    for runs in (39, 79, 199, 999):
        held = np.zeros(2)
        for _ in range(draws):
            estimate = rng.standard_normal()
            values = estimate + rng.standard_normal(runs)
            ends = find_percentiles(values, 0.95, False), find_bca(values, values - estimate, estimate, 0.95, False)
            held += [low <= 0.0 <= high for low, high in ends]
        shares = 100 * held / draws
        print(f"normal estimates, {runs} runs: percentiles {shares[0]:.1f} %, BCa {shares[1]:.1f} % of {draws}")


def list_cases() -> dict[str, tuple]:
    """Truth, plan of a record, criterion and solver."""
    return {
        "drive": (*make_drive(), dd.Likelihood(), None),
        "tank": (*make_tank(), dd.OutputError(), dd.Lanes(step=0.05)),
    }


def show_accuracy(tiny: bool) -> None:
    """What `MonteCarlo` says of the intervals of fits, of more records than bootstraps leave time for."""
    for truth, plan, criterion, solver in list_cases().values():
        (data,) = simulate_data(truth, [plan], [{}], 1)
        fit = dd.fit(truth, data, free=list(truth.parameters), criterion=criterion, solver=solver, rng=1)
        print(dd.study(fit, dd.MonteCarlo(truth=truth), runs=2 if tiny else 200, rng=11))


def show_coverage(tiny: bool) -> None:
    """A line for each record as it comes, of all records so far: a killed benchmark keeps them, and FIRST goes on."""
    first = int(os.environ.get("FIRST", "0"))
    sets, runs = (1, 4) if tiny else (int(os.environ.get("SETS", "80")), int(os.environ.get("RUNS", "39")))
    cases = list_cases()
    held = {name: {way: np.zeros(2) for way in WAYS} for name in cases}
    widths = {name: {way: [] for way in WAYS} for name in cases}  # by that of the fit
    for number in range(sets):
        for name, (truth, plan, criterion, solver) in cases.items():
            ends = find_intervals(truth, plan, criterion, solver, first + number, runs)
            truths = [one.value for one in truth.parameters.values()]
            for way in WAYS:
                low, high = np.array([ends[way][one] for one in truth.parameters]).T
                width = [np.diff(ends["fit"][one])[0] for one in truth.parameters]
                held[name][way] += (low <= truths) & (truths <= high)
                widths[name][way].append((high - low) / width)
            said = ", ".join(
                f"{way} {'/'.join(f'{100 * share / (number + 1):.0f}' for share in held[name][way])} "
                f"({'/'.join(f'{width:.2f}' for width in np.nanmedian(widths[name][way], axis=0))})"
                for way in WAYS
            )
            print(f"{name}, {number + 1} records, % that hold {'/'.join(truth.parameters)} (width): {said}", flush=True)


def find_intervals(truth, plan, criterion, solver, number: int, runs: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Way → parameter → interval of 95 %, of record `number`."""
    (data,) = simulate_data(truth, [plan], [{}], number)
    fit = dd.fit(truth, data, free=list(truth.parameters), criterion=criterion, solver=solver, rng=number)
    study = dd.study(fit, dd.ParametricBootstrap(), runs=runs, rng=number)
    profile = dd.profile(fit, points=2)  # its ends are the same with more
    return {
        "fit": dict(fit.conf_int()),
        "profile": {one: profile[one].interval for one in fit},
        "percentiles": dict(study.conf_int()),
        "BCa": dict(study.conf_int(method="bca")),
    }


FIGURES = {
    "workers": show_workers,
    "overhead": show_overhead,
    "journal": show_journal,
    "kills": show_kills,
    "shards": show_shards,
    "normal": show_normal,
    "accuracy": show_accuracy,
    "coverage": show_coverage,
}

if __name__ == "__main__":
    chosen = command_line(__doc__ or "", FIGURES).parse_args()
    for name in chosen.figures or FIGURES:
        FIGURES[name](chosen.tiny)
    print(f"{process_time():.0f} s of processor time")
