"""Processes that make runs: the same numbers, whatever dies; and a Dask cluster whose workers are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import daedal as dd
from daedal.jobs import count_workers, run_jobs
from daedal.studies import Outline, Run, cluster, crews, make_missing, open_journal
from daedal.studies.journal import Journal
from light_runs import charter_runs
from own_kinds import Jitter
from studying import make_fit

RUNS = 10
MANY = 300  # that are not all made before a process is killed
HELPER = Path(__file__).parents[1] / "studying.py"


@pytest.fixture(scope="module")
def alone() -> dd.Study:
    return dd.study(make_fit(), dd.ParametricBootstrap(), runs=RUNS, rng=7)


def wait_until(condition) -> None:
    """Whatever the machine does besides; a minute is an error."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("nothing happened for a minute")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def list_workers(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def test_a_process_that_dies_is_replaced_and_a_run_that_kills_two_is_a_row_with_a_sentence(tmp_path):
    charter = charter_runs(tmp_path, {1: "die", 2: "die once"})
    rows = {row.number: row for batch in crews.Processes(1).make(charter, range(5)) for row in batch}
    assert [rows[k].status for k in range(5)] == ["converged", "died", "converged", "converged", "converged"]
    assert rows[1].message.startswith("The process that made this run died twice (SIGKILL, often for lack of memory")
    assert rows[1].message.endswith("The same call tries it again.")
    assert [rows[k].numbers for k in (0, 2, 3, 4)] == [(k**0.5,) for k in (0, 2, 3, 4)]
    journal = open_journal(tmp_path / "a.study", {}, {})
    journal.write(list(rows.values()))
    assert journal.find_finished() == {0, 2, 3, 4}  # what died is tried again by the next call
    journal.close()


@pytest.mark.usefixtures("heard_interrupts")
def test_ctrl_c_while_processes_work_keeps_what_is_there(tmp_path):
    charter = charter_runs(tmp_path, {3: "interrupt parent"})
    journal = open_journal(tmp_path / "a.study", {}, {})
    assert make_missing(charter, range(8), journal, crews.Processes(1), "runs:")  # it was interrupted
    assert journal.find_finished() <= {0, 1, 2}
    assert not make_missing(charter, range(8), journal, crews.Processes(1), "runs:")
    assert journal.read().values[:, 0].tolist() == [k**0.5 for k in range(8)]
    journal.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells who started whom")
def test_kill_9_of_a_whole_study_loses_at_most_what_was_under_way(tmp_path, alone):
    journal = tmp_path / "a.study"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))}
    command = [sys.executable, str(HELPER), str(journal), str(MANY), "2"]
    study = subprocess.Popen(command, env=environment)
    wait_until(lambda: journal.exists() and journal.stat().st_size and dd.load(journal).numbers.size >= 3)
    workers = list_workers(study.pid)
    before = dd.load(journal)
    study.send_signal(signal.SIGKILL)
    study.wait()
    assert len(workers) == 2
    wait_until(lambda: not any(map(is_running, workers)))  # nobody works for nobody
    left = dd.load(journal)
    assert set(before.numbers) <= set(left.numbers)
    assert left.numbers.size < MANY
    assert "Make the same call to go on" in str(left)
    whole = dd.study(make_fit(), dd.ParametricBootstrap(), runs=MANY, journal=journal, rng=7)
    assert whole.to_pandas().head(RUNS).equals(alone.to_pandas())
    assert whole.contents.values[:RUNS].tobytes() == alone.contents.values.tobytes()
    assert [path.name for path in tmp_path.iterdir()] == ["a.study"]


def test_what_only_the_script_has_is_not_sent():
    @dataclass(frozen=True)
    class Here:
        def outline(self, _: dd.Fit) -> Outline:
            return Outline()

        def make_run(self, fit: dd.Fit, *_: int) -> Run:
            return Run(fit.data)

    Here.__module__ = "__main__"
    Here.__qualname__ = "Here"
    with pytest.raises(dd.DaedalError, match="cannot be found by other processes"):
        dd.study(make_fit(), Here(), runs=2, workers=2)


def test_a_module_that_processes_cannot_import_is_named(monkeypatch):
    kind = Jitter(0.1)
    monkeypatch.setattr(Jitter, "__module__", "nowhere_to_be_found")
    monkeypatch.setitem(sys.modules, "nowhere_to_be_found", sys.modules["own_kinds"])
    with pytest.raises(dd.DaedalError, match="The module 'nowhere_to_be_found' cannot be imported"):
        dd.study(make_fit(), kind, runs=2, workers=1)


def test_a_machine_that_cannot_start_processes_is_named(monkeypatch):
    def refuse() -> dict[str, str]:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(crews, "_make_environment", refuse)
    with pytest.raises(dd.DaedalError, match=r"Cannot allocate memory\. Try the study without workers, and look at"):
        dd.study(make_fit(), Jitter(0.1), runs=2, workers=1)


def test_a_task_of_a_cluster_has_one_thread_and_leaves_other_threads_theirs():
    """A cluster has a task for each processor; it may be in this process, which has other work."""
    before, seen = count_workers(), []

    def make() -> None:
        cluster.make_remotely("unknown", 0, None)
        run_jobs([lambda: seen.append(count_workers())], lambda _: None)  # of a job inside too

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    assert seen == [1]
    assert count_workers() == before


class Told:
    """What Dask answers of a task: its state, and what it raised."""

    def __init__(self, status: str, error: Exception | None = None) -> None:
        self.status, self._error = status, error

    def exception(self) -> Exception | None:
        return self._error


def test_what_a_cluster_says_of_a_task_that_it_could_not_make():
    killed = type("KilledWorker", (Exception,), {})("run 3 and its workers")
    row = cluster._read_answer(Told("error", killed), 3)
    assert row is not None
    assert (row.number, row.status) == (3, "died")
    assert row.message.startswith("The processes of the cluster that made this run died: run 3 and its workers. The")
    assert cluster._read_answer(Told("lost"), 3) is None  # it is handed out again
    with pytest.raises(dd.DaedalError, match="cannot make run 3: ImportError: no daedal"):
        cluster._read_answer(Told("error", ImportError("no daedal")), 3)


@contextmanager
def start_cluster(workers: int):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        yield client


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Dask's own making
def test_shards_of_two_clusters_whose_workers_are_killed_make_the_table_of_one(tmp_path, alone):
    """As on two machines: a cluster and a journal each. The second cluster then goes away."""
    options = {"runs": RUNS, "journal": tmp_path / "a.study", "rng": 7}
    with start_cluster(2) as first:
        victim, killed = next(iter(first.run(os.getpid).values())), []

        def kill(journal, rows):
            write(journal, rows)
            if rows and not killed:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        write = Journal.write
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Journal, "write", kill)
            part = dd.study(make_fit(), dd.ParametricBootstrap(), workers=first, shard=(1, 2), **options)
        assert killed
        assert part.numbers.tolist() == list(range(0, RUNS, 2))
    with start_cluster(1) as second:
        dd.study(make_fit(), dd.ParametricBootstrap(), workers=second, shard=(2, 2), **options)
        own = dd.study(make_fit(), Jitter(0.02), runs=2, workers=second, rng=1)
    merged = dd.merge(sorted(tmp_path.glob("a.*of2.study")), journal=tmp_path / "whole.study")
    for study in (merged, dd.load(tmp_path / "whole.study")):
        assert study.status.ok
        assert study.to_pandas().equals(alone.to_pandas())
        assert study.contents.values.tobytes() == alone.contents.values.tobytes()
    assert own.to_pandas().equals(dd.study(make_fit(), Jitter(0.02), runs=2, rng=1).to_pandas())
    with pytest.raises(dd.DaedalError, match=r"The cluster (is gone|cannot be reached).*it goes on"):
        dd.study(make_fit(), Jitter(0.02), runs=3, workers=second, rng=1)
