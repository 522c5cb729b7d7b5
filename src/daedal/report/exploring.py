"""`explore`: sliders for parameters beside measured data, to find by hand where a fit may start (extra `notebook`)."""

from collections.abc import Mapping, Sequence
from math import isfinite, log10
from typing import Any

import numpy as np

from daedal.data import Dataset, FrozenMapping
from daedal.errors import DaedalError, ReportError, interruptible, list_entries, nearest, quoted, show
from daedal.models import Model, evaluate_parameters
from daedal.report.sections import draw_compared
from daedal.validation import compare

REACH = 10.0  # times the start, to both sides, where a parameter has no bound
STEPS = 200  # positions of a slider


class Explorer:
    """What `explore` returns: shown in a notebook; `values`, or `starts`, are what the sliders say now."""

    def __init__(self, model: Model, data: Dataset, free: Sequence[str]) -> None:
        try:
            import ipywidgets
        except ImportError:
            raise ReportError(
                "explore needs ipywidgets, which is not installed.", "pip install 'daedal[notebook]'."
            ) from None
        self.model, self.data = model, data
        known = evaluate_parameters(model, {})
        self.sliders = {name: _make_slider(ipywidgets, model, name, known[name]) for name in free}
        self.picture = ipywidgets.HTML()
        for slider in self.sliders.values():
            slider.observe(self._draw, names="value")
        self.widget = ipywidgets.VBox([*self.sliders.values(), self.picture])
        self._draw(None)

    @property
    def values(self) -> Mapping[str, float]:
        """Parameter → where its slider stands."""
        return FrozenMapping({name: float(slider.value) for name, slider in self.sliders.items()})

    @property
    def starts(self) -> list[dict[str, float]]:
        """The same for `fit(..., starts=explorer.starts)`."""
        return [dict(self.values)]

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has sliders of its own, where these stand; widgets cannot be copied."""
        return _restore, (self.model, self.data, list(self.sliders), dict(self.values))

    def _draw(self, _change: Any) -> None:
        try:
            self.picture.value = draw_compared(compare(self.model.with_parameters(self.values), self.data))
        except DaedalError as error:
            from html import escape

            self.picture.value = f"<p>{escape(str(error))}</p>"

    def _ipython_display_(self) -> None:
        from IPython.display import display  # pyright: ignore[reportMissingImports]

        display(self.widget)

    def __repr__(self) -> str:
        told = ", ".join(f"{name} = {value:.5g}" for name, value in self.values.items())
        return f"Explorer of '{self.model.name}' on '{self.data.name}': {told}"


def _restore(model: Model, data: Dataset, free: Sequence[str], values: Mapping[str, float]) -> Explorer:
    restored = Explorer(model, data, free)
    for name, value in values.items():
        restored.sliders[name].value = value
    return restored


@interruptible
def explore(model: Model, data: Dataset, free: Sequence[Any]) -> Explorer:
    """Sliders for parameters in a notebook, with the simulation against the data drawn anew at every move.

    Parameters
    ----------
    model
        A Model; its disturbances are zero.
    data
        A Dataset with some of its outputs.
    free
        Names or symbols of the parameters that get a slider: between their bounds, or ten times their value to both
        sides; logarithmic where the parameter has that scale.

    Returns
    -------
    Explorer
        Shown by the notebook. `explorer.values` is where the sliders stand, `explorer.starts` the same for
        `fit(..., starts=explorer.starts)`.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> explorer = explore(decay, Dataset([0.0, 0.5, 1.0], outputs={"x": [1.0, 0.61, 0.36]}), free=["k"])
    >>> explorer.values
    {'k': 2.0}
    """
    if not isinstance(model, Model):
        raise ReportError(
            f"explore takes a Model first, got {type(model).__name__}.", "Write explore(model, data, ['k'])."
        )
    if not isinstance(data, Dataset):
        raise ReportError(f"explore takes a Dataset second, got {type(data).__name__}.", "Give what read_csv returns.")
    entries = list_entries(free)
    if not entries:
        raise ReportError(f"free must be a list of parameters, got {show(free)}.", "Write free=['k'].")
    names = [show(one, str) for one in entries]
    for name in names:
        if name not in model.parameters:
            raise ReportError(f"Model '{model.name}' has no parameter '{name}'.", nearest(name, model.parameters))
    if not any(name in model.outputs for name in data.outputs):
        raise ReportError(
            f"The data '{data.name}' have none of the outputs of '{model.name}'.",
            f"Give data with {quoted(model.outputs)} among their outputs.",
        )
    return Explorer(model, data, names)


def _make_slider(widgets: Any, model: Model, name: str, value: float) -> Any:
    """Between the bounds; those that are missing are as far as the value reaches."""
    parameter = model.parameters[name]
    size = REACH * abs(value) or 1.0
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    look = {"description": f"{name}{unit}", "readout_format": ".4g", "style": {"description_width": "initial"}}
    if parameter.scale == "log":
        low = parameter.lower if parameter.lower > 0.0 else value / REACH
        high = parameter.upper if isfinite(parameter.upper) else value * REACH
        ends = log10(low), log10(high)
        return widgets.FloatLogSlider(value=value, min=ends[0], max=ends[1], step=(ends[1] - ends[0]) / STEPS, **look)
    low = parameter.lower if isfinite(parameter.lower) else value - size
    high = parameter.upper if isfinite(parameter.upper) else value + size
    return widgets.FloatSlider(value=value, min=low, max=high, step=float(np.float64(high - low) / STEPS), **look)
