"""The command `daedal` answers mistakes in a sentence, and keeps what is finished."""

from types import SimpleNamespace

import pytest

from daedal.cli import INTERRUPTED, main
from daedal.errors import quoted
from daedal.papers import PAPERS, pendulum
from daedal.papers.pendulum import fits
from daedal.papers.pendulum.estimates import Size
from daedal.papers.pendulum.experiment import PRINTED, PROGRAM
from daedal.simulation import REACHED

TINY = Size(samples=(700,), data_sets=2, realizations=8)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(pendulum, "QUICK", {PROGRAM: TINY, PRINTED: TINY})
    monkeypatch.setattr(pendulum, "SHORT", Size(samples=(60,), data_sets=2, realizations=8))


def test_reproduce_prints_tables_and_writes_files(tiny, tmp_path, capsys):
    assert main(["reproduce", "pendulum", "--quick", "--out", str(tmp_path / "new" / "folder")]) == 0
    printed = capsys.readouterr().out
    assert "Figure 1, the authors' program" in printed
    assert "does not produce the paper's Figure 1" in printed
    assert "Beyond the paper, 60 samples" in printed
    assert "Likelihood(method='particle')" in printed
    assert "local minima" in printed
    names = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert names == {
        "figure1_program.html",
        "figure1_program_estimates.csv",
        "figure1_program_table.csv",
        "figure1_printed.html",
        "figure1_printed_estimates.csv",
        "figure1_printed_table.csv",
        "short_estimates.csv",
        "short_table.csv",
        "figure2.html",
        "figure2_costs.csv",
        "figure2_table.csv",
    }


def test_sizes_and_folder_are_passed_on(monkeypatch):
    asked = []
    monkeypatch.setattr(
        pendulum, "reproduce", lambda folder, full, workers: asked.append((folder, full, workers)) or iter(())
    )
    for arguments in ([], ["--quick"], ["--full", "--workers", "3"], ["--full", "--out", "there"]):
        assert main(["reproduce", "pendulum", *arguments]) == 0
    here = "pendulum-paper"
    assert asked == [(here, False, None), (here, False, None), (here, True, 3), ("there", True, None)]


def test_interrupt_keeps_finished_parts_and_says_so(tiny, tmp_path, monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    def guess(model, data, *, free, **_):
        return SimpleNamespace(params={free[0]: float(data["angle"][-9:].sum())}, status=REACHED)

    monkeypatch.setattr(fits, "fit", guess)  # it matters only that there are estimates
    monkeypatch.setattr(pendulum, "compute_costs", interrupted)
    assert main(["reproduce", "pendulum", "--out", str(tmp_path)]) == INTERRUPTED
    told = capsys.readouterr().err
    assert told.startswith("Stopped. Kept: figure1_program_estimates.csv")
    assert (tmp_path / "figure1_printed.html").exists()
    assert not (tmp_path / "figure2.html").exists()


def test_interrupt_before_anything_is_finished(tiny, tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pendulum, "fit_data_sets", interrupted)
    assert main(["reproduce", "pendulum", "--out", str(tmp_path)]) == INTERRUPTED
    assert "Nothing was finished yet" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["reproduce", "pendullum"], "There is no paper 'pendullum' to reproduce.\nDid you mean 'pendulum'?"),
        (["reproduce", "xyz"], f"There is no paper 'xyz' to reproduce.\nKnown are {quoted(PAPERS)}."),
        (["reproduse", "pendulum"], "There is no command 'reproduse'.\nDid you mean 'reproduce'?"),
        (["reproduce", "pendulum", "--quick", "--full"], "argument --full: not allowed with argument --quick"),
        (["reproduce", "pendulum", "--sise", "3"], "unrecognized arguments: --sise 3"),
        (["reproduce", "pendulum", "--workers", "0"], "The number of workers must be a whole number from 1 on, got 0"),
        (["reproduce", "pendulum", "--workers", "two"], "The number of workers must be a whole number from 1 on"),
        (["reproduce"], "the following arguments are required: paper"),
        (["--version-of-nothing"], "The command is not understood"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(arguments, sentence, capsys):
    assert main(arguments) == 1
    told = capsys.readouterr()
    assert sentence in told.err
    assert told.out == ""


def test_a_file_in_place_of_the_folder(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main(["reproduce", "pendulum", "--out", str(tmp_path / "taken")]) == 1
    assert "cannot be put into" in capsys.readouterr().err


def test_without_arguments_there_is_help(capsys):
    assert main([]) == 0
    assert "reproduce" in capsys.readouterr().out
