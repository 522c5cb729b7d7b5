"""Pieces of a reproduction are kept whole, and made again when they are damaged or made from something else."""

from concurrent.futures import Future

import numpy as np
import pytest

from daedal.papers.kept_pieces import KeptPieces
from daedal.papers.result_files import Result, write_files


def take(folder, size, sizes):
    def make():
        sizes.append(size)
        return [0.1 + 0.2, 1e-300, float(np.nextafter(1.0, 2.0)), True]

    return KeptPieces(folder, "paper", size).take("piece", make)


def test_a_piece_is_made_once_and_comes_back_bit_for_bit(tmp_path):
    sizes = []
    first, second = take(tmp_path, 3, sizes), take(tmp_path, 3, sizes)
    assert first == second == [0.1 + 0.2, 1e-300, float(np.nextafter(1.0, 2.0)), True]
    assert sizes == [3]


def test_another_size_starts_over_and_says_so(tmp_path, caplog):
    sizes = []
    take(tmp_path, 3, sizes)
    take(tmp_path, 4, sizes)
    assert sizes == [3, 4]
    told = caplog.text
    assert "made with other sizes or another version" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("place", [0, 10, 50, 120, -3, -40])
def test_a_damaged_piece_is_made_again(tmp_path, caplog, place):
    sizes = []
    take(tmp_path, 3, sizes)
    (path,) = tmp_path.rglob("*.json")
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    assert take(tmp_path, 3, sizes)[0] == 0.1 + 0.2
    assert sizes == [3, 3]
    assert "made again" in caplog.text


def test_a_truncated_piece_is_made_again(tmp_path):
    sizes = []
    take(tmp_path, 3, sizes)
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(path.read_bytes()[:40])
    take(tmp_path, 3, sizes)
    assert sizes == [3, 3]


def test_a_result_needs_its_files(tmp_path):
    sizes = []

    def make():
        sizes.append(None)
        return Result("text", write_files(tmp_path, {"table.csv": "1\n"}))

    def run():
        return KeptPieces(tmp_path, "paper", 3).take_result("table", make)

    assert run() == run() == Result("text", (tmp_path / "table.csv",))
    assert len(sizes) == 1
    (tmp_path / "table.csv").write_text("2\n")
    run()
    assert len(sizes) == 2
    assert (tmp_path / "table.csv").read_text() == "1\n"


def test_nothing_is_left_when_all_is_complete(tmp_path):
    pieces = KeptPieces(tmp_path, "paper", 3)
    pieces.take("piece", lambda: 1)
    pieces.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_finished_piece_of_a_pool_is_kept_while_an_earlier_one_is_under_way(tmp_path, monkeypatch):
    early, late = Future(), Future()
    late.set_result(2.0)
    write = KeptPieces._write

    def write_and_press(self, name, content):
        content = write(self, name, content)
        early.set_exception(KeyboardInterrupt())  # it ends only now
        return content

    class Pool:
        def submit(self, function):
            return function()

    monkeypatch.setattr(KeptPieces, "_write", write_and_press)
    pieces = KeptPieces(tmp_path, "order", 1)
    with pytest.raises(KeyboardInterrupt):
        pieces.take_all(["early", "late"], [(lambda: early, ()), (lambda: late, ())], Pool())
    assert pieces.take("late", lambda: pytest.fail("it is there")) == 2.0
