"""daedal: unknown parameters and states of physical models from data, when part of what drives them was never measured."""

from daedal.disturbances import FilteredNoise, StateSpaceNoise, WhiteNoise
from daedal.models import Model, Parameter
from daedal.symbolic import Equation, Expression, delay, der, symbol, symbols, time
