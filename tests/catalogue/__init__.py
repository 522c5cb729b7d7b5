"""The catalogue of test problems that every method meets.

`PROBLEMS` have a reference, `LARGE` are for measuring speed, `SINGULAR` have no solution.
The models state the equations as the literature does; reduction of the index is the library's work. The references come
from elsewhere: published values, closed forms, or another formulation integrated by another code.
"""

from .andrews import andrews
from .chain import chain
from .chemistry import akzo_nobel, hires, robertson
from .circuits import capacitor_loop, capacitor_loop_with_input, rlc_ladder, transistor_amplifier
from .degenerate import gear_petzold, rod_twice
from .mechanics import car_axis, motor_with_gear, over_the_top, pendulum, slider_crank
from .problem import Problem

PROBLEMS = (
    pendulum(),
    akzo_nobel(),
    robertson(),
    hires(),
    car_axis(),
    andrews(),
    transistor_amplifier(),
    capacitor_loop(),
    capacitor_loop_with_input(),
    motor_with_gear(),
    chain(5),
    chain(10),
    rlc_ladder(5),
    gear_petzold(),
    over_the_top(),
    slider_crank(),
)
LARGE = (chain(200), rlc_ladder(200))
SINGULAR = (rod_twice(),)

__all__ = [
    "LARGE",
    "PROBLEMS",
    "SINGULAR",
    "Problem",
    "akzo_nobel",
    "andrews",
    "capacitor_loop",
    "capacitor_loop_with_input",
    "car_axis",
    "chain",
    "gear_petzold",
    "hires",
    "motor_with_gear",
    "over_the_top",
    "pendulum",
    "rlc_ladder",
    "robertson",
    "rod_twice",
    "slider_crank",
    "transistor_amplifier",
]
