"""Processes that make runs: the same numbers, whatever dies; and a Dask cluster whose workers are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import daedal as dd
from daedal.jobs import count_workers, run_jobs
from daedal.studies import Outline, Run, cluster, crews, open_journal
from own_kinds import Jitter, Trouble
from studying import make_fit

HELPER = Path(__file__).parents[1] / "studying.py"


@pytest.fixture(scope="module")
def alone() -> dd.Study:
    return dd.study(make_fit(), dd.ParametricBootstrap(), runs=16, rng=7)


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


@pytest.mark.slow
def test_a_process_that_dies_is_replaced(tmp_path):
    """Also: a module of the user's, which processes import."""
    once = Trouble(1, "die", str(tmp_path / "once"))
    study = dd.study(make_fit(), once, runs=3, journal=tmp_path / "once.study", rng=1, workers=1)
    assert study.status.ok
    assert study.converged.all()
    undisturbed = dd.study(make_fit(), once, runs=3, rng=1)  # it does no harm twice
    assert study.to_pandas().equals(undisturbed.to_pandas())
    assert study.contents.values.tobytes() == undisturbed.contents.values.tobytes()


def test_a_run_that_kills_its_process_twice_is_a_row_with_a_sentence(tmp_path):
    journal = tmp_path / "a.study"
    study = dd.study(make_fit(), Trouble(1, "die"), runs=3, journal=journal, rng=1, workers=1)
    assert list(study.failures) == [1]
    assert study.failures[1].startswith("The process that made this run died twice (SIGKILL")
    assert study.to_pandas()["status"].tolist() == ["converged", "died", "converged"]
    kept = open_journal(journal, {}, {})
    assert kept.find_finished() == {0, 2}  # it is tried again by the next call
    kept.close()


@pytest.mark.usefixtures("heard_interrupts")
def test_ctrl_c_while_processes_work_returns_what_is_there(tmp_path):
    kind = Trouble(5, "interrupt parent", str(tmp_path / "mark"))
    study = dd.study(make_fit(), kind, journal=tmp_path / "a.study", rng=1, workers=1)
    assert study.status.interrupted
    assert 1 <= study.numbers.size < 8
    whole = dd.study(make_fit(), kind, journal=tmp_path / "a.study", rng=1)
    assert whole.to_pandas().equals(dd.study(make_fit(), kind, rng=1).to_pandas())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells who started whom")
def test_kill_9_of_a_whole_study_loses_at_most_what_was_under_way(tmp_path, alone):
    journal = tmp_path / "a.study"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))}
    command = [sys.executable, str(HELPER), str(journal), "16", "2"]
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
    assert left.numbers.size < 16
    assert "Make the same call to go on" in str(left)
    whole = dd.study(make_fit(), dd.ParametricBootstrap(), runs=16, journal=journal, rng=7)
    assert whole.to_pandas().equals(alone.to_pandas())
    assert whole.contents.values.tobytes() == alone.contents.values.tobytes()
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Dask's own making
def test_a_cluster_whose_workers_are_killed_gives_the_same_table(tmp_path, alone):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killed = []

        def kill(journal, rows):
            write(journal, rows)
            if rows and not killed:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        from daedal.studies.journal import Journal

        write = Journal.write
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Journal, "write", kill)
            study = dd.study(
                make_fit(), dd.ParametricBootstrap(), runs=16, journal=tmp_path / "a.study", workers=client, rng=7
            )
        assert killed
        own = dd.study(make_fit(), Jitter(0.02), runs=4, workers=client, rng=1)
    assert study.to_pandas().equals(alone.to_pandas())
    assert study.contents.values.tobytes() == alone.contents.values.tobytes()
    assert own.to_pandas().equals(dd.study(make_fit(), Jitter(0.02), runs=4, rng=1).to_pandas())
