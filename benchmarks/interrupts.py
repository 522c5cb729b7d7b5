"""Ctrl-C at random moments: whether every verb answers with what is finished or a sentence, how soon, and works on.

    python benchmarks/interrupts.py [job ...] [--seconds s] [--seed n] [--tiny]

A job is a call of a verb, as in tests/interrupting.py; without a word all take turns. Each is run twice, then again and
again with a signal between its beginning and a little after its end, for 600 seconds together. A line for each job says
how many signals met it, what came of them, and how long the slowest answer took. Ends with an error where an interrupt
came out without a sentence or was lost, or a small simulation gives another number afterwards.
"""

import random
import signal
import sys
import threading
from collections import Counter, defaultdict
from math import exp, isclose
from pathlib import Path
from time import monotonic

from shared import command_line, seconds

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from interrupting import JOBS, attempt, check_alive, make_data, make_driven, make_fit, press, receive_signals

TINY = ("build", "evaluate")
WORDLESS, LOST = "without a sentence", "finished, unmarked"
BESIDE = "beside the verb"  # while the arguments were made, or the result written


def interrupt(job: str, delay: float) -> tuple[dict, float] | None:
    """What came of a signal after a while, and the seconds until then; None where the work was done before it."""
    pressed: list[tuple[float, bool]] = []

    def fire() -> None:
        pressed.append((monotonic(), signal.getsignal(signal.SIGINT) is not signal.default_int_handler))
        press()

    timer = threading.Timer(delay, fire)
    try:
        timer.start()
        told = attempt(JOBS[job])
        end = monotonic()
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:  # it came when the work was done
        timer.join()
        return None
    if not pressed:
        return None
    ((begin, within),) = pressed  # a verb that is under way has a handler of its own
    return {"inside": within, **told}, end - begin


def classify(told: dict) -> str:
    if "raised" not in told:
        return "part kept" if told["interrupted"] else LOST if told["inside"] else BESIDE
    if told["raised"].endswith("nothing is kept."):
        return "nothing kept"
    return WORDLESS if told["inside"] else BESIDE


def interrupt_all(jobs: list[str], budget: float, seed: int) -> int:
    """How many answers must not be."""
    for prepare in (make_data, make_driven, make_fit, check_alive, *(JOBS[job] for job in jobs)):
        prepare()  # nothing is compiled any more afterwards
    generator, spent = random.Random(seed), {job: seconds(JOBS[job], monotonic)[0] for job in jobs}
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    slowest: dict[str, float] = defaultdict(float)
    broken, end = 0, monotonic() + budget
    while monotonic() < end:
        job = generator.choice(jobs)
        answer = interrupt(job, generator.uniform(0.0, 1.1 * spent[job]))
        if answer is None:
            continue
        told, late = answer
        answers[job][classify(told)] += 1
        slowest[job] = max(slowest[job], late)
        broken += not isclose(check_alive(), exp(-2.0), rel_tol=1e-6)
    for job in jobs:
        counts = ", ".join(f"{count} {kind}" for kind, count in answers[job].most_common())
        print(f"{job}: {answers[job].total()} signals: {counts}; slowest answer {slowest[job]:.2f} s", flush=True)
    wordless, lost = (sum(kinds[kind] for kinds in answers.values()) for kind in (WORDLESS, LOST))
    print(f"{wordless} {WORDLESS}, {lost} {LOST}, {broken} after which a simulation was another")
    return wordless + lost + broken


def main() -> None:
    reader = command_line(__doc__, list(JOBS))
    reader.add_argument("--seconds", type=float, default=600.0)
    reader.add_argument("--seed", type=int, default=0)
    options = reader.parse_args()
    jobs = options.figures or [job for job in JOBS if not options.tiny or job in TINY]
    receive_signals()
    wrong = interrupt_all(jobs, 1.0 if options.tiny else options.seconds, options.seed)
    if wrong:
        raise SystemExit(f"{wrong} answers that must not be")


if __name__ == "__main__":
    main()
