"""Pictures of what is random: spectra of disturbances, whether they leave finite variances, densities of priors."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from daedal.analysis import WellPosedness
from daedal.disturbances import Noise, list_parameters, realize
from daedal.errors import ReportError, counted, quoted
from daedal.estimation import Fit
from daedal.models import Model, as_tuple, evaluate_expressions, evaluate_parameters
from daedal.priors import LogNormal, Normal, Uniform
from daedal.report.layout import BLUE, GREY, PANELS, STYLES, arrange, choose_names, choose_style, write_value
from daedal.report.picture import Axis, Cells, Line, Panel, Picture, Rule
from daedal.report.pictures.fits import describe_fit, describe_values
from daedal.report.pictures.linear import POINTS, write_frequency
from daedal.symbolic import Expression

Names = Iterable[Any] | None


def compute_spectra(noise: Noise, numbers: Mapping[str, float], omega: np.ndarray) -> np.ndarray:
    """S(ω) of each channel, (channel, frequency): C (iω − A)⁻¹ B Bᵀ (…)ᴴ Cᵀ, or the intensity of white noise."""
    if noise.intensity is not None:
        q = noise.intensity
        value = float(evaluate_expressions({"q": q}, numbers)["q"]) if isinstance(q, Expression) else float(q)
        return np.full((1, omega.size), value)
    space = realize(noise, numbers)
    unit = np.eye(len(space.A))
    shaped = [space.C @ np.linalg.solve(1j * w * unit - space.A, space.B) for w in omega]
    return np.array([np.sum(np.abs(one) ** 2, axis=1) for one in shaped]).T


def _find_rates(noise: Noise, numbers: Mapping[str, float]) -> list[float]:
    if noise.intensity is not None:
        return []
    return [abs(complex(pole)) for pole in np.linalg.eigvals(realize(noise, numbers).A)]


def _draw_spectra(
    title: str, told: Iterable[str], noises: Mapping[str, tuple[Noise, int]], numbers: Mapping[str, float],
    units: Mapping[str, str], names: Names,
) -> Picture:  # fmt: skip
    """One line for each disturbance, by name → its noise and which channel of it."""
    shown = choose_names(names, noises, "disturbance")[: len(STYLES) if names is None else None]
    rates = [rate for name in shown for rate in _find_rates(noises[name][0], numbers) if rate > 0.0]
    omega = np.geomspace(min(rates, default=1.0) / 30.0, max(rates, default=1.0) * 30.0, POINTS)
    lines, ends = [], []
    for number, name in enumerate(shown):
        noise, channel = noises[name]
        values = compute_spectra(noise, numbers, omega)[channel]
        style, unit = choose_style(number), f" [{units[name]}]" if name in units else ""
        lines.append(Line(f"{name}{unit}", omega, np.where(values > 0.0, values, np.nan), style.color, style.dash))
        low, high = (write_value(float(values[k]), 3) for k in (0, -1))
        ends.append(f"{name} {'white at ' + low if noise.intensity is not None else f'from {low} to {high}'}")
    panel = Panel(
        tuple(lines), Axis(write_frequency(units), log=True), Axis("spectral density [unit² · time]", log=True)
    )
    alt = f"Spectral densities of the disturbances: {', '.join(ends)}."
    return arrange(title, told, [(panel,)], alt, left_out=len(noises) - len(shown) if names is None else 0,
                   what="disturbance", row_height=300)  # fmt: skip


def draw_model_spectra(model: Model, names: Names) -> Picture:
    """Of the disturbances of a model, at the values of its parameters."""
    return _draw_spectra(
        f"disturbances of {model.name}", ["at the values of the parameters"], _list_noises(model),
        evaluate_parameters(model), model.units, names,
    )  # fmt: skip


def draw_fit_spectra(fit: Fit, names: Names) -> Picture:
    """Of the disturbances of a fit, at the estimates."""
    title = f"disturbances of {fit.model.name}"
    return _draw_spectra(
        title, [describe_fit(fit), describe_values(fit)], _list_noises(fit.model), fit.values(0), fit.model.units, names
    )


def _list_noises(model: Model) -> dict[str, tuple[Noise, int]]:
    listed = {
        name: (noise, channel)
        for key, noise in model.disturbances.items()
        for channel, name in enumerate(as_tuple(key))
    }
    if not listed:
        raise ReportError(
            f"Model '{model.name}' has no disturbances.",
            "Declare disturbances={w: WhiteNoise(...)} or draw another picture.",
        )
    return listed


def draw_noise(noise: Noise, names: Names) -> Picture:
    """The spectrum of a declaration by itself."""
    if unknown := list_parameters(noise):
        raise ReportError(
            f"The noise depends on {quoted(unknown)}, whose values are not known here.",
            "Draw the model that declares it: plot(model, 'disturbances').",
        )
    noises = {f"channel {k + 1}" if noise.channels > 1 else "noise": (noise, k) for k in range(noise.channels)}
    return _draw_spectra(f"spectrum of {type(noise).__name__}", [], noises, {}, {}, names)


def draw_well_posedness(result: WellPosedness, _names: Names) -> Picture:
    """Which disturbance gives which variable an infinite variance."""
    equations = [one.variable for one in result.findings if one.role == "equation"]
    rows = tuple(dict.fromkeys([*result.variables, *equations]))
    if not rows or not result.disturbances:
        raise ReportError(f"There is nothing to draw: {result}.", "Declare disturbances and outputs in the model.")
    values = np.zeros((len(rows), len(result.disturbances)))
    texts = [["finite"] * len(result.disturbances) for _ in rows]
    for finding in result.findings:
        i, j = rows.index(finding.variable), result.disturbances.index(finding.disturbance)
        values[i, j] = 1.0
        through = f"through {counted(n, 'differentiation')}" if (n := finding.differentiations) else "directly"
        texts[i][j] = f"{'without meaning' if finding.role == 'equation' else 'infinite'}, reached {through}"
    across = Axis("disturbance", labels=result.disturbances)
    panel = Panel(
        (Cells("variance", values, tuple(map(tuple, texts)), 0.0, 1.0, scaled=False),),
        across,
        Axis("variable", labels=rows, descending=True),
    )
    said = "well-posed" if result.well_posed else "not well-posed"
    told = [f"index {result.index}", "judged by the structure" if result.structural else ""]
    sentences = " ".join(finding.sentence for finding in result.findings[:PANELS])
    alt = f"The noise of {result.model} is {said}. {sentences}".strip()
    return arrange(f"noise of {result.model}: {said}", told, [(panel,)], alt, row_height=max(200, 34 * len(rows) + 60))


def draw_prior(prior: Normal | LogNormal | Uniform, _names: Names) -> Picture:
    """The density, with the middle."""
    if isinstance(prior, LogNormal):
        middle, x = prior.median, prior.median * prior.factor ** np.linspace(-3.0, 3.0, 241)
    elif isinstance(prior, Normal):
        middle, x = prior.mean, prior.mean + prior.std * np.linspace(-4.0, 4.0, 241)
    else:
        width = prior.b - prior.a
        middle, x = 0.5 * (prior.a + prior.b), np.linspace(prior.a - 0.25 * width, prior.b + 0.25 * width, 241)
    density = np.array([np.exp(prior.log_density(float(value))) for value in x])
    what = "median" if isinstance(prior, LogNormal) else "mean"
    traces = (Line("density", x, density, BLUE), Rule(what, middle, GREY))
    alt = f"Density of {prior}, with its {what} at {write_value(middle)}."
    return arrange(
        f"prior {prior}", [], [(Panel(traces, Axis("value"), Axis("density [1/value]")),)], alt, row_height=260
    )
