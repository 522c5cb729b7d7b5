"""Jobs side by side: answers in order, and the failure that one after the other would meet first."""

import threading

import pytest

from daedal import jobs


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_answers_come_in_order(count, monkeypatch):
    monkeypatch.setattr(jobs, "count_workers", lambda: 3)
    assert jobs.map_jobs(lambda number: number**2, count) == [number**2 for number in range(count)]


def test_the_first_in_order_that_fails_is_told(monkeypatch):
    """The second job waits until the last has failed."""
    monkeypatch.setattr(jobs, "count_workers", lambda: 2)
    failed = threading.Event()

    def work(number):
        if number == 3:
            failed.set()
            raise ValueError("the last")
        if number == 1:
            assert failed.wait(10.0)
            raise ValueError("the second")
        return number

    with pytest.raises(ValueError, match="the second"):
        jobs.map_jobs(work, 4)
