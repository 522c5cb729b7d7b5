"""`write_report`: one page about a result, for people who were not there."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from daedal.data import Dataset
from daedal.errors import ReportError, interruptible, list_entries, quoted, show, with_article
from daedal.estimation import Fit
from daedal.files import is_folder
from daedal.filtering import StateEstimate
from daedal.order import OrderSearch, OrderSearches
from daedal.report.nouns.comparisons import make_comparison_page
from daedal.report.nouns.fits import make_fit_page
from daedal.report.nouns.orders import make_order_page, make_orders_page
from daedal.report.nouns.states import make_states_page
from daedal.report.nouns.studies import make_study_page
from daedal.report.page import Evidence, Page, gather_evidence, write_notes, write_page
from daedal.report.saving import refuse_special, write_whole
from daedal.studies import Study
from daedal.validation import Comparison

PAGES: Mapping[type, Callable[..., Page]] = {
    Comparison: make_comparison_page,
    OrderSearch: make_order_page,
    OrderSearches: make_orders_page,
    StateEstimate: make_states_page,
    Study: make_study_page,
}


@interruptible
def write_report(
    result: Fit | Comparison | OrderSearch | OrderSearches | StateEstimate | Study,
    path: str | Path,
    *,
    validation: Dataset | Sequence[Dataset] | None = None,
    notes: str = "",
    profile: Sequence[Any] = (),
    states: Sequence[Any] = (),
    compare_with: Sequence[Fit] = (),
) -> Path:
    """Write one HTML file about a result that needs nothing else: verdicts, tables, pictures, and how it was made.

    Parameters
    ----------
    result
        A Fit, a Comparison, an OrderSearch (or OrderSearches), a StateEstimate or a Study. The options below, notes
        apart, are for a Fit.
    path
        The file, "report.html"; one that is there is replaced.
    validation
        A Dataset, or a list of them, that the fit has not seen: without one the verdict is at best "with care".
    notes
        Markdown to stand at the top; HTML in it is shown as text.
    profile
        Names of parameters to profile, which takes a while.
    states
        Names of variables to estimate and draw.
    compare_with
        Other fits to show beside this one.

    Returns
    -------
    Path
        Of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from daedal import Dataset, Model, der, fit, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> found = fit(decay, Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]}), free=["k"])
    >>> with TemporaryDirectory() as folder:
    ...     write_report(found, Path(folder, "decay.html"), notes="A first look.").name
    'decay.html'
    """
    target = _check_path(path)
    write_notes(notes)  # refused before the work
    return _write_file(_make_page(result, validation, notes, profile, states, compare_with), target)


def write_evidence(evidence: Evidence, path: Path, notes: str = "") -> Path:
    """The page of a fit from evidence that is at hand."""
    target = _check_path(path)
    return _write_file(make_fit_page(evidence, notes), target)


def _write_file(page: Page, target: Path) -> Path:
    return write_whole(target, write_page(page).encode("utf-8", "replace"), "The report")


def _make_page(result: Any, validation: Any, notes: str, profile: Any, states: Any, compare_with: Any) -> Page:
    if isinstance(result, Fit):
        profiled, wanted = _list_names("profile", profile), _list_names("states", states)
        evidence = gather_evidence(result, validation, profiled, wanted, _check_fits(compare_with))
        return make_fit_page(evidence, notes)
    if type(result) not in PAGES:
        raise ReportError(
            "write_report takes a Fit, a Comparison, an OrderSearch, a StateEstimate or a Study, got "
            f"{type(result).__name__}.",
            "Give what fit, compare, select_order, estimate_states or study returns.",
        )
    options = {"profile": profile, "states": states, "compare_with": compare_with}
    given = [name for name, value in options.items() if not (isinstance(value, (tuple, list)) and not value)]
    given += ["validation"] if validation is not None else []
    if given:
        raise ReportError(
            f"{quoted(given)} {'belong' if len(given) > 1 else 'belongs'} to the report of a Fit, and this one is of "
            f"{with_article(type(result).__name__)}.",
            "Leave it out, or write a report of the fit.",
        )
    return PAGES[type(result)](result, notes)


def _check_path(path: Any) -> Path:
    """A file that can be written, asked before the work."""
    if not isinstance(path, (str, Path)) or not str(path).strip() or "\0" in str(path):
        raise ReportError(f"The path of a report must be the name of a file, got {show(path)}.", 'Write "report.html".')
    target = Path(path)
    if is_folder(target):
        raise ReportError(f"'{target}' is a folder, not a file.", f"Write '{target / 'report.html'}'.")
    refuse_special(target, "The report")
    if not is_folder(target.parent):
        raise ReportError(f"There is no folder '{target.parent}' to write the report to.", "Make it first.")
    try:
        existed = target.exists()
        with target.open("a"):
            pass
        if not existed:
            Path(os.path.realpath(target)).unlink()  # not a link that leads there
    except UnicodeEncodeError:
        raise ReportError(
            f"The path of a report has characters that no file name has: {show(path)}.", 'Write "report.html".'
        ) from None
    except OSError as error:
        raise ReportError(
            f"The report cannot be written to '{target}': {error.strerror or error}.",
            "Give a path that can be written.",
        ) from None
    return target


def _list_names(option: str, given: Any) -> list[str]:
    if (entries := list_entries(given)) is None:
        raise ReportError(f"{option} must be a list of names, got {show(given)}.", f"Write {option}=['k'].")
    return [show(entry, str) for entry in entries]


def _check_fits(given: Any) -> tuple[Fit, ...]:
    entries = [given] if isinstance(given, Fit) else list_entries(given)
    if entries is None or not all(isinstance(one, Fit) for one in entries):
        raise ReportError(f"compare_with must be a list of fits, got {show(given)}.", "Write compare_with=[other_fit].")
    return tuple(entries)
