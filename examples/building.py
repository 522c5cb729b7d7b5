"""A real house: how detailed a model of its heat do the data carry, and what do they leave open?

Room Ti, envelope Te and heater Th exchange heat with each other and with the air outside, Ta; sun Ps and heating Thm
add to it. Only Ti is measured. Doors, people and wind are white noise on every temperature; how strong it is, and how
accurate the thermometer, is estimated along with everything else, by maximum likelihood.

Data and models: J. Leprince, H. Madsen, C. Miller, J. Palmer Real, R. van der Vlist, K. Basu, W. Zeiler, Fifty shades
of grey: Automated stochastic model identification of building heat dynamics, Energy and Buildings (2022).

The file is data/in/blg_1.csv of github.com/JulienLeprince/fiftyshadesofgrey with hours instead of dates: columns
t_hours, Ta_ambient, Ps_solar, Thm_heating and yTi_indoor.

Run as: python examples/building.py [path/to/building_heat_blg1.csv]; without a file data are simulated.
"""

import sys

import numpy as np

import daedal as dd
from daedal import der

Ti, Te, Th, Ta, Ps, Thm, wi, we, wh = dd.symbols("Ti Te Th Ta Ps Thm wi we wh")
Ce, Ch, Ria, Rie, Rea, Rih, Aw, Rh = dd.symbols("Ce Ch Ria Rie Rea Rih Aw Rh")
noise_i, noise_e, noise_h, accuracy = dd.symbols("noise_i noise_e noise_h accuracy")


def house(name, unknowns, parameters, **equations):
    """A model whose parameters are positive, with noise on each of its temperatures."""
    positive = dd.Parameter(1.0, lower=0.01, upper=100.0, scale="log")
    return dd.Model(
        name=name,
        equations=equations,
        unknowns=unknowns,
        inputs=[Ta, Ps, Thm],
        outputs={"indoor": Ti},
        parameters=dict.fromkeys([*parameters, accuracy], positive),
        disturbances=dict.fromkeys([wi, we, wh][: len(unknowns)], dd.WhiteNoise()),
        measurement_noise={"indoor": accuracy},
        initial=dict.fromkeys(unknowns, 19.0),  # give or take 3 °C, see below
    )


# Temperatures alone do not tell the size of heat flows: the room's capacity is the unit of all others.
envelope = Ce * der(Te) == (Ti - Te) / Rie + (Ta - Te) / Rea + Ce * noise_e * we
room = der(Ti) == (Ta - Ti) / Ria + Aw * Ps + Rh * Thm + noise_i * wi
walled = der(Ti) == (Te - Ti) / Rie + Aw * Ps + Rh * Thm + noise_i * wi
heated = der(Ti) == (Te - Ti) / Rie + Aw * Ps + (Th - Ti) / Rih + noise_i * wi
heater = Ch * der(Th) == (Ti - Th) / Rih + Rh * Thm + Ch * noise_h * wh
two = [Ce, Rie, Rea, Aw, Rh, noise_i, noise_e]
houses = [
    house("Ti", [Ti], [Ria, Aw, Rh, noise_i], room=room),
    house("TiTe", [Ti, Te], two, room=walled, envelope=envelope),
    house("TiTeTh", [Ti, Te, Th], [*two, Ch, Rih, noise_h], room=heated, envelope=envelope, heater=heater),
]


def stand_in():
    """Three weeks of the largest model, near the estimates from the real house, in weather of its kind."""
    print("No file was given, so these data are simulated: Ce 7.4, Rie 0.77, Rea 6.9, Aw 3.1, Rh 0.13, noise_e 0.6.")
    hours, rng = np.arange(2000) * 0.25, np.random.default_rng(1)
    height = np.cos(2 * np.pi * (hours - 14) / 24)  # of the sun; clouds change from day to day, heating every two hours
    fronts = dd.sample_path(dd.FilteredNoise.low_pass(std=3.0, time_constant=40.0), hours, rng=1)
    clear, heated = np.repeat(rng.random(21), 96)[:2000], np.repeat(rng.random(250) < 0.45, 8)
    weather = {
        "Ta": 6.0 + 2.0 * height + fronts,
        "Ps": 0.25 * np.maximum(height - 0.4, 0.0) * clear,
        "Thm": heated * rng.uniform(5.0, 40.0, hours.size),
    }
    inputs = {name: dd.Signal(hours, values, intersample="zoh") for name, values in weather.items()}
    numbers = {Ce: 7.4, Rie: 0.77, Rea: 6.9, Aw: 3.1, Rh: 0.13, Ch: 0.0255, Rih: 3.0}
    truth = houses[-1].with_parameters(numbers | {noise_i: 0.2, noise_e: 0.6, noise_h: 20.0, accuracy: 0.1})
    # White noise has no values in time: noise of the same intensity, 2 · 5² · 0.02, that forgets within minutes.
    brief = dd.FilteredNoise.low_pass(std=5.0, time_constant=0.02)
    truth = truth.with_disturbances(dict.fromkeys([wi, we, wh], brief))
    return dd.simulate(truth, hours, inputs=inputs, realizations=1, measurement_noise=True, rng=1).to_dataset()


# Inputs are held: with straight lines between the samples the best log likelihood of the real house is 76 lower.
columns = {
    "inputs": {"Ta": "Ta_ambient", "Ps": "Ps_solar", "Thm": "Thm_heating"},
    "outputs": {"indoor": "yTi_indoor"},
}
try:
    data = dd.read_csv(sys.argv[1], time="t_hours", **columns, intersample="zoh") if len(sys.argv) > 1 else stand_in()
except dd.DaedalError as refused:
    sys.exit(str(refused))


def estimated(model, data):
    criterion = dd.Likelihood(initial_std=dict.fromkeys(model.initial, 3.0))
    return dd.fit(model, data, free=list(model.parameters), criterion=criterion, starts=[{}, {Rh: 0.1}])


fits = [estimated(model, data) for model in houses]
print("model   log likelihood     AIC     BIC  residual std  p white")
for fit in fits:
    left = dd.resid(fit)["indoor"]
    row = f"{fit.loglik:14.1f}  {fit.aic:6.1f}  {fit.bic:6.1f}  {left.rmse:12.4f}  {left.whiteness.p_value:7.1g}"
    print(f"{fit.model.name:6}  {row}")

best = min(fits, key=lambda fit: fit.bic)
print(best)  # what the data do not determine is marked, not hidden: all of the heater but its time constant Ch Rih
print(dd.identifiability(best).directions[-1].sentence)
print(dd.resid(best))

# A quarter of an hour ahead it predicts well; over weeks without measurements, what nobody measured decides.
earlier, later = data.split(fraction=0.7)
estimated(houses[-1], earlier).save("building.nc")
print(dd.compare(dd.load("building.nc"), later))  # a saved fit comes back with its model, data and intervals

states = dd.estimate_states(best, data, variables=[Te])  # the envelope, with its band of 95 %
print(states)

dd.plot(states).save("building.svg")
others = [fit.bic - best.bic for fit in fits if fit is not best]
print(
    f"Of three models the data want {best.model.name}, whose BIC is lower by {min(others):.0f} or more; its envelope, "
    f"which "
    f"nobody measured, is known to {states.std['Te'].max():.1f} °C."
)
