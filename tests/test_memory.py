"""How much memory there is: files of the system as they are in several places, and what is refused."""

import pytest

from daedal import memory
from daedal.errors import OutOfMemoryError
from daedal.memory import check_memory, find_available, format_bytes

GIB = 1 << 30
MEMINFO = """MemTotal:       16777216 kB
MemFree:         1048576 kB
MemAvailable:    8388608 kB
SwapFree:        2097152 kB
HugePages_Total:       0
"""


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_machine_without_limits(tmp_path):
    assert find_available(write(tmp_path, {"proc/meminfo": MEMINFO})) == 10 * GIB


def test_the_group_of_a_container(tmp_path):
    """Version 2, where the container sees its own group at the top."""
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": f"{4 * GIB}\n",
        "sys/fs/cgroup/memory.current": f"{3 * GIB}\n",
        "sys/fs/cgroup/memory.stat": f"anon {GIB}\ninactive_file {2 * GIB}\n",
    }
    assert find_available(write(tmp_path, files)) == 3 * GIB


def test_a_group_inside_a_smaller_one(tmp_path):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/batch/job7\n",
        "sys/fs/cgroup/batch/memory.max": f"{2 * GIB}",
        "sys/fs/cgroup/batch/memory.current": f"{GIB // 2}",
        "sys/fs/cgroup/batch/job7/memory.max": "max\n",
    }
    assert find_available(write(tmp_path, files)) == 1.5 * GIB


def test_the_first_version_of_groups(tmp_path):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n0::/docker/1\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB // 4}",
        "sys/fs/cgroup/memory/memory.stat": f"cache 5\ntotal_inactive_file {GIB // 8}\n",
    }
    assert find_available(write(tmp_path, files)) == 0.875 * GIB


def test_nothing_is_left_of_less_than_nothing(tmp_path):
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": "100",
        "sys/fs/cgroup/memory.current": "200",
    }
    assert find_available(write(tmp_path, files)) == 0.0


def test_the_address_space(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2 * GIB, resource.RLIM_INFINITY))
    pages = GIB // resource.getpagesize()
    files = {"proc/meminfo": MEMINFO, "proc/self/statm": f"{pages} 100 10 1 0 50 0\n"}
    assert find_available(write(tmp_path, files)) == GIB


def test_this_machine_tells():
    available = find_available()
    assert available is None or 1 << 20 < available < 1 << 60


@pytest.mark.parametrize(
    ("count", "text"),
    [(17.0, "17 bytes"), (1536.0, "1.5 KiB"), (8.2e12, "7.46 TiB"), (8e25, "7.11e+10 PiB"), (999 * GIB, "999 GiB")],
)
def test_bytes_as_people_say_them(count, text):
    assert format_bytes(count) == text


def test_the_sentence(monkeypatch):
    monkeypatch.setattr(memory, "find_available", lambda: 4.0 * GIB)
    check_memory(3.5 * GIB, "The grid", "Give a longer step.")
    with pytest.raises(OutOfMemoryError) as caught:
        check_memory(8.2e12, "The grid", "Give a longer step.")
    told = "The grid needs about 7.46 TiB of memory, but only 4 GiB are left. Give a longer step."
    assert str(caught.value) == told


def test_nothing_is_refused_where_nothing_is_known(monkeypatch):
    monkeypatch.setattr(memory, "find_available", lambda: None)
    assert check_memory(1e300, "The grid", "Give a longer step.") is None
