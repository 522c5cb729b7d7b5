"""`daedal order`: how many poles the data ask for."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daedal import report
from daedal.cli import results
from daedal.cli.running import TRUSTED
from daedal.cli.voice import Voice
from daedal.errors import ReportError, nearest
from daedal.order import OrderSearch, select_order

if TYPE_CHECKING:
    from daedal.projects import Project

RANGE = re.compile(r"(\d{1,2})(?:-(\d{1,2}))?")


def order(project: "Project", orders: str, name: str, out: Path | None, voice: Voice, *, show: bool) -> int:
    """Search, print, write."""
    files = results.choose_files(project, out)
    sets = {one.name: one for one in (*project.experiments, *project.held_out)}
    if name and name not in sets:
        raise ReportError(f"The project has no data '{name}'.", nearest(name, sets))
    data = sets[name] if name else project.experiments[0]
    first = _read_orders(orders)
    results.make_folder(files.folder)
    outputs = list(data.outputs)
    found = select_order(data, orders=first, output=outputs if len(outputs) > 1 else outputs[0])
    voice.say(str(found))
    searches = {outputs[0]: found} if isinstance(found, OrderSearch) else {key: found[key] for key in outputs}
    if any(search.status.interrupted for search in searches.values()):
        raise KeyboardInterrupt("The search was stopped; what was tried is above, and nothing was written.")
    numbers = {"Data": data.name, "Outputs": {key: _list_numbers(one) for key, one in searches.items()}}
    path, page = files.name_further("order.json"), files.name_further("order.html")
    results.write_numbers(path, numbers)
    report.write_report(found, page, notes=project.report.notes)
    voice.give(numbers)
    voice.say(f"files: {path.name}, {page.name} in {files.folder}")
    if show:
        results.show_page(page)
    return TRUSTED


def _read_orders(given: str) -> range:
    match = RANGE.fullmatch(given.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise ReportError(
            f"--orders must be a number from 1 to 99, or two, the smaller first, got '{given}'.", "Write --orders 1-5."
        )
    return range(first, last + 1)


def _list_numbers(search: OrderSearch) -> dict[str, Any]:
    return {
        "Order": search.order,
        "InputOrder": search.input_order,
        "Reason": search.reason,
        "TransferFunction": str(search.transfer_function),
        "Candidates": [
            {
                "Order": one.order,
                "InputOrder": one.input_order,
                "BIC": one.bic,
                "FitPercent": one.fit_percent,
                "HeldOut": one.held_out,
                "Coefficients": dict(one.coefficients),
                "StdErrors": dict(one.std_errors),
                "Failure": one.failure,
            }
            for one in search.candidates
        ],
    }
