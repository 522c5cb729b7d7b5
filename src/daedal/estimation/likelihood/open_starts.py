"""What a fit says of values that are open at the start.

Integrated over a flat prior, each of them divides the likelihood by how much it moves the samples, in units of their
noise: what scales a state, as the gain c of y = c x, then has a factor 1/c for every experiment. Beside many samples
that is nothing; beside few it pulls the estimate, whatever the number of experiments. Likelihoods without that factor
are compared by M. K. Francke, S. J. Koopman and A. F. de Vos, Journal of Time Series Analysis 31 (2010) 407–414.
"""

from collections.abc import Sequence

import numpy as np

from daedal.experiments import Experiment

MANY = 0.05  # open values for each sample, from which on a flat prior is worth a word


def describe_open(opened: Sequence[Sequence[str]], experiments: Sequence[Experiment], *, diffuse: bool) -> list[str]:
    """Which values are `opened` in each experiment, and how they are treated; nothing where none are."""
    names = list(dict.fromkeys(name for each in opened for name in each))
    if not names:
        return []
    how = "unknown, with a flat prior" if diffuse else "estimated too"
    notes = [f"at the start {', '.join(names)} {'is' if len(names) == 1 else 'are'} open: {how}"]
    count = sum(len(each) for each in opened)
    samples = sum(int(np.isfinite(series.values).sum()) for one in experiments for series in one.series)
    if diffuse and len(experiments) > 1 and count > MANY * samples:
        notes.append(
            f"there are {count} open values at starts for {samples} samples: their flat prior pulls parameters that "
            "scale the state; Likelihood(initial='free') estimates them instead, or the model holds them (initial) as "
            "local parameters"
        )
    return notes
