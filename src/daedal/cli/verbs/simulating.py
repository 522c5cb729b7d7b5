"""`daedal simulate`: the model as it is, next to the data."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daedal import report, simulation, validation
from daedal.cli import results
from daedal.cli.running import TRUSTED
from daedal.cli.voice import Voice
from daedal.data import Dataset
from daedal.models import Model
from daedal.validation import Comparison

if TYPE_CHECKING:
    import pandas

    from daedal.projects import Project


def simulate(
    project: "Project", realizations: int | None, seed: int, out: Path | None, voice: Voice, *, show: bool
) -> int:
    """Compare, and write what was compared."""
    files = results.choose_files(project, out)
    results.make_folder(files.folder)
    model = project.model_at_starts
    data = [*project.experiments, *project.held_out]
    comparison = validation.compare(model, data, rng=seed)
    table = _tabulate(comparison)
    if realizations is not None:
        table = table.merge(_scatter(model, data, realizations, seed, voice), how="left", on=["experiment", "time"])
    scatter = {} if realizations is None else _summarize(table)
    path, page = files.name_further("simulation.csv"), files.name_further("simulation.html")
    results.write_text(path, table.to_csv(index=False))
    report.write_report(comparison, page, notes=project.report.notes)
    voice.say(str(comparison))
    for name, found in scatter.items():
        told = f"scatter {found['Scatter']:.3g}; the data are off its mean by {found['RMSE']:.3g}"
        voice.say(f"{name} over {realizations} random disturbances: {told}")
    given = {"FitPercent": comparison.fit_percent, "RMSE": comparison.rmse, "Parameters": _list_values(model)}
    voice.give(given | ({"Realizations": scatter} if scatter else {}))
    voice.say(f"files: {path.name}, {page.name} in {files.folder}")
    if show:
        results.show_page(page)
    return TRUSTED


def _list_values(model: Model) -> dict[str, float | str]:
    values = {name: one.value for name, one in model.parameters.items()}
    return {name: one if isinstance(one, float) else str(one) for name, one in values.items()}


def _tabulate(comparison: Comparison) -> "pandas.DataFrame":
    """Measured and simulated, a row for each time of each experiment."""
    import pandas

    frames = []
    for label in dict.fromkeys(one.experiment for one in comparison.series):
        columns = {}
        for one in comparison.series:
            if one.experiment == label:
                pair = {f"{one.output} measured": one.measured, f"{one.output} simulated": one.predicted}
                columns |= {name: pandas.Series(values, index=one.times) for name, values in pair.items()}
        frame = pandas.DataFrame(columns)
        frame.insert(0, "time", frame.index)
        frame.insert(0, "experiment", label)
        frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


def _summarize(table: "pandas.DataFrame") -> dict[str, dict[str, float]]:
    """How far data are from the mean over disturbances, and how far these move the output: root mean squares."""
    names = [label.removesuffix(" measured") for label in table.columns if label.endswith(" measured")]
    return {
        name: {
            "RMSE": float(np.sqrt(((table[f"{name} measured"] - table[f"{name} mean"]) ** 2).mean())),
            "Scatter": float(np.sqrt((table[f"{name} std"] ** 2).mean())),
        }
        for name in names
    }


def _scatter(model: Model, data: Sequence[Dataset], realizations: int, seed: int, voice: Voice) -> "pandas.DataFrame":
    """Mean and standard deviation over random disturbances."""
    import pandas

    frames = []
    for one in data:
        found = simulation.ensemble(model, one, realizations=realizations, rng=seed)
        if found.status.interrupted:
            raise KeyboardInterrupt("Stopped; nothing was written.")
        if not found.status.ok:
            voice.doubt(str(found.status))
        columns = {"experiment": one.name, "time": found.times}
        for name in found.mean:
            columns |= {f"{name} mean": found.mean[name], f"{name} std": np.sqrt(found.variance[name])}
        frames.append(pandas.DataFrame(columns))
    return pandas.concat(frames, ignore_index=True)
