"""Pieces of a reproduction are kept whole, and made again when they are damaged or made from something else."""

import os
from pathlib import Path

import numpy as np
import pytest

from daedal.papers.kept_pieces import KeptPieces, count_pieces
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


def square(number: int, how: str = "") -> list[float]:
    """A piece; one of them presses Ctrl-C once."""
    if how and not Path(how).exists():
        Path(how).touch()
        raise KeyboardInterrupt
    return [number**2 + 0.1, float(os.getpid())]


def test_pieces_of_one_function_go_on_where_they_stopped(tmp_path):
    name, mark = f"{__name__}:square", str(tmp_path / "mark")
    tasks = [[0], [1], [2, mark], [3]]
    with pytest.raises(KeyboardInterrupt):
        KeptPieces(tmp_path, "paper", 1).make_all("squares", name, tasks)
    assert count_pieces(tmp_path) == 2
    pieces = KeptPieces(tmp_path, "paper", 1)
    assert [content[0] for content in pieces.make_all("squares", name, tasks)] == [0.1, 1.1, 4.1, 9.1]
    assert count_pieces(tmp_path) == 4
    pieces.remove()
    assert count_pieces(tmp_path) == 0


def test_pieces_are_shared_by_processes_and_made_again_for_another_size(tmp_path, caplog):
    pieces = KeptPieces(tmp_path, "paper", 1, workers=2)
    first = pieces.make_all("shapes", "daedal.papers.kept_pieces:count_pieces", [[str(tmp_path)]] * 3)
    assert all(isinstance(count, int) for count in first)
    again = KeptPieces(tmp_path, "paper", 2).make_all("shapes", "daedal.errors:counted", [[2, "run"]])
    assert again == ["2 runs"]
    assert "made with other sizes or another version" in caplog.text
