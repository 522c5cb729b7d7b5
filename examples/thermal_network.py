"""A house of many rooms, connected in a loop, with a heater component of our own that follows a thermostat.

Run as: python examples/thermal_network.py
"""

import numpy as np

import daedal as dd
from daedal.library import thermal as th

FLOORS, ROOMS = 3, 4  # rooms on each floor


def Heater(power, wanted=293.15):
    """Heats with up to `power` watts, the more the colder its room is: a component is a function returning a Model."""
    port = th.heat_port()
    heat, most, T_wanted = dd.symbols("heat most T_wanted")
    return dd.Model(
        name="heater",
        ports={"port": port},
        unknowns=[heat],
        equations={
            "thermostat": heat == most / (1 + np.exp(4 * (port.potential - T_wanted))),  # half of it at T_wanted
            "port": port.flow == -heat,  # flows count positive into the part
        },
        parameters={most: dd.Parameter(power, unit="W"), T_wanted: dd.Parameter(wanted, unit="K")},
    )


parts = {"outside": th.PrescribedTemperature()}
connections = []
rooms = [(floor, k) for floor in range(FLOORS) for k in range(ROOMS)]
for floor, k in rooms:
    room = f"room{floor}{k}"
    outer = (k in (0, ROOMS - 1)) + (floor == FLOORS - 1)  # two gable walls, and the roof
    parts |= {
        room: th.HeatCapacitor(C=4e5),
        f"heater{floor}{k}": Heater(power=1000.0),
        f"wall{floor}{k}": th.ThermalConductor(G=15.0 + 10.0 * outer),
    }
    connections += [
        (f"{room}.port", f"heater{floor}{k}.port", f"wall{floor}{k}.port_a"),
        (f"wall{floor}{k}.port_b", "outside.port"),
    ]
    for label, other in (("door", (floor, k + 1)), ("ceiling", (floor + 1, k))):
        if other in rooms:
            between = f"{label}{floor}{k}"
            parts[between] = th.ThermalConductor(G=40.0)
            connections += [
                (f"{room}.port", f"{between}.port_a"),
                (f"{between}.port_b", f"room{other[0]}{other[1]}.port"),
            ]

house = dd.assemble(
    name="house",
    parts=parts,
    connections=connections,
    inputs=["outside.T"],
    outputs={"roof corner": "room20.T", "ground floor": "room01.T"},
    initial={f"room{floor}{k}.T": 288.15 for floor, k in rooms},
)
print(dd.analyze(house))

hours = np.linspace(0.0, 48.0, 193)
weather = dd.Signal(hours * 3600, 273.15 - 5.0 * np.cos(2 * np.pi * hours / 24), intersample="foh")
found = dd.simulate(house, hours * 3600, inputs={"outside.T": weather})

for name in house.outputs:
    print(f"{name}: {found[name][-1] - 273.15:.2f} °C after two days, at least {found[name].min() - 273.15:.2f} °C")
heating = sum(found[f"heater{floor}{k}.heat"] for floor, k in rooms)
storing = sum(found[f"room{floor}{k}.port.Q_flow"] for floor, k in rooms)
lost = found["outside.port.Q_flow"]
print(f"largest gap in the balance of heat: {np.max(np.abs(heating - storing - lost)) / heating.max():.1e}")
energy = np.sum((heating[1:] + heating[:-1]) / 2 * np.diff(hours)) / 1000

dd.plot(found, list(house.outputs)).save("thermal_network.svg")
print(
    f"{len(house.equations)} equations from {len(parts)} parts: {energy:.1f} kWh for two days, and the corner below "
    f"the roof "
    f"gets no colder than {found['roof corner'].min() - 273.15:.1f} °C."
)
