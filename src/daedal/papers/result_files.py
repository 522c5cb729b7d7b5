"""`Result`: a finished piece of a reproduction, on paper and on the screen; files appear whole or not at all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from daedal import report
from daedal.errors import ReportError

if TYPE_CHECKING:
    import plotly.graph_objects as go

Row = Iterable[str | float | int]


@final
@dataclass(frozen=True)
class Result:
    """What to print, and the files that hold its numbers and figures."""

    text: str
    files: tuple[Path, ...] = ()


def make_directory(directory: str | Path) -> Path:
    """The directory, made if it is not there."""
    path = Path(directory)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ReportError(
            f"The results cannot be put into '{path}': {problem.strerror}.", "Choose another folder with --out."
        ) from problem
    return path


def write_files(directory: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """Write each text under its name; a file is renamed into place when it is complete."""
    written = []
    for name, text in texts.items():
        path = directory / name
        unfinished = path.with_name(f".{name}.unfinished")
        try:
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
        except OSError as problem:
            raise ReportError(
                f"The file '{path}' cannot be written: {problem.strerror}.", "Choose another folder with --out."
            ) from problem
        finally:
            unfinished.unlink(missing_ok=True)
        written.append(path)
    return tuple(written)


def write_csv(header: Iterable[str], rows: Iterable[Row]) -> str:
    """Comma-separated values with numbers to ten digits; no cell of ours contains a comma."""
    lines = [",".join(header)]
    lines += [",".join(f"{cell:.10g}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


def write_page(figure: "go.Figure") -> str:
    """A figure as one HTML file that needs no network."""
    title = figure.layout.title  # pyright: ignore[reportAttributeAccessIssue]
    return report.write_page(figure, ": ".join(filter(None, (title.text, title.subtitle.text))))


def title_figure(
    figure: "go.Figure", title: str, subtitle: str, height: int = 560, top: int | None = None
) -> "go.Figure":
    """The figure with two lines above it, which may need more room at the top, and its legend below."""
    text, legend = {"text": title, "subtitle": {"text": subtitle}}, {"orientation": "h", "y": -0.15}
    figure.update_layout(title=text, template="plotly_white", height=height, legend=legend)
    return figure if top is None else figure.update_layout(margin={"t": top})
