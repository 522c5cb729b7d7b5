"""The figures of `resid`: how often its test rejects a residual that is independent of the input, and one that is not.

    python benchmarks/residuals.py [alarms] [power] [whiteness] [--sets 1000] [--tiny]

alarms     share of rejected sets in per cent, 5 expected: binary, coloured (pole 0.95) and sinusoidal inputs, residuals
           with the poles 0 … 0.99, N = 200 … 5000
power      the same where a lag of the input (pole 0.8) makes up 10 % of the power of the residual, N = 1000
whiteness  white residuals, and those with a pole of 0.2
"""

from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter
from shared import command_line

from daedal.estimation.search.correlation import independence, whiteness
from daedal.linear import one_thread

POLES = (0.0, 0.5, 0.9, 0.99)
LAGS = 25


def colour(random: np.random.Generator, count: int, pole: float) -> np.ndarray:
    """A stationary autoregression of first order."""
    return lfilter([1.0], [1.0, -pole], random.standard_normal(count + 2000))[2000:]


INPUTS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "binary": lambda random, count: np.repeat(random.choice([-1.0, 1.0], count // 10 + 1), 10)[:count],
    "coloured": lambda random, count: colour(random, count, 0.95),
    "sinusoidal": lambda random, count: np.sin(2.0 * np.pi * (np.arange(count) / 30.0 + random.uniform())),
}


def reject(random: np.random.Generator, name: str, pole: float, count: int, share: float) -> bool:
    """Whether one set is rejected; `share` is that of what depends on the input, in power."""
    signal, noise = INPUTS[name](random, count), colour(random, count, pole)
    part = lfilter([1.0], [1.0, -0.8], signal)
    e = noise + np.sqrt(share / (1.0 - share)) * noise.std() / part.std() * part
    return not independence([e], [signal], min(LAGS, count // 10)).passed


def show_rejections(title: str, lengths: tuple[int, ...], share: float, sets: int) -> None:
    print(f"{title}, per cent of {sets} sets")
    print(f"  {'N':>6} {'pole':>6}" + "".join(f"{name:>12}" for name in INPUTS))
    for count in lengths:
        for pole in POLES:
            random = np.random.default_rng([count, int(100 * pole)])
            rates = [np.mean([reject(random, name, pole, count, share) for _ in range(sets)]) for name in INPUTS]
            print(f"  {count:>6} {pole:>6}" + "".join(f"{100.0 * rate:>12.1f}" for rate in rates), flush=True)


def show_whiteness(sets: int) -> None:
    print(f"residuals called autocorrelated, per cent of {sets} sets")
    for count in (200, 1000):
        for pole in (0.0, 0.2):
            random = np.random.default_rng([count, int(100 * pole)])
            tests = [whiteness([colour(random, count, pole)], min(LAGS, count // 10)) for _ in range(sets)]
            print(f"  N = {count}, pole {pole}: {100.0 * np.mean([not test.passed for test in tests]):.1f}")


@one_thread
def main() -> None:
    reader = command_line(__doc__ or "", ("alarms", "power", "whiteness"))
    reader.add_argument("--sets", type=int, default=1000)
    asked = reader.parse_args()
    sets = 2 if asked.tiny else asked.sets
    if "alarms" in asked.figures or not asked.figures:
        lengths = (100,) if asked.tiny else (200, 1000, 5000)
        show_rejections("independent residuals that were rejected", lengths, 0.0, sets)
    if "power" in asked.figures or not asked.figures:
        show_rejections("dependent residuals that were rejected", (100,) if asked.tiny else (1000,), 0.1, sets)
    if "whiteness" in asked.figures or not asked.figures:
        show_whiteness(sets)


if __name__ == "__main__":
    main()
