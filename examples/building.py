"""A real house: how detailed a model of its heat do the data carry, and what do they leave open?

Room Ti, envelope Te and heater Th exchange heat with each other and with the air outside, Ta; sun Ps and heating Thm
add to it. Only Ti is measured. Doors, people and wind are white noise on every temperature; how strong it is, and how
accurate the thermometer, is estimated along with everything else, by maximum likelihood.

Data and models: J. Leprince, H. Madsen, C. Miller, J. Palmer Real, R. van der Vlist, K. Basu, W. Zeiler, Fifty shades
of grey: Automated stochastic model identification of building heat dynamics, Energy and Buildings (2022).

Run as: python examples/building.py path/to/building_heat_blg1.csv [page.html]
"""

import sys
from pathlib import Path

import daedal as dd
from daedal import der

if len(sys.argv) < 2:
    sys.exit("Give the data file: python examples/building.py path/to/building_heat_blg1.csv")

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

# Inputs are held from sample to sample: with straight lines between them the best log likelihood is 76 lower.
data = dd.read_csv(
    sys.argv[1],
    time="t_hours",
    inputs={"Ta": "Ta_ambient", "Ps": "Ps_solar", "Thm": "Thm_heating"},
    outputs={"indoor": "yTi_indoor"},
    intersample="zoh",
)


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
print(dd.compare(estimated(houses[-1], earlier), later))

states = dd.estimate_states(best, data, variables=[Te])  # the envelope, with its band of 95 % on the page
print(states)
page = Path(sys.argv[2] if len(sys.argv) > 2 else "building.html")
dd.plot(states).write_html(page)
