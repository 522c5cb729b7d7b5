"""Damaged files: whether `load` ever gives other numbers, a raw traceback, or no answer.

    python benchmarks/damage.py [written] [old] [--seed n] [--tiny]

written  a fit that this version saves: 1000 flipped bits, 300 truncations, 200 zeroed blocks, 100 of each without the
         last line, whose digest covers all bytes; every answer must be a sentence or the same fit
old      the same with a file of version 0.1.0, which has no digests: no raw traceback and no hang is wanted; other
         numbers cannot be told there, and are counted

Without a word both are run. Ends with an error where something was found.
"""

import faulthandler
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from shared import command_line

import daedal as dd
from daedal.errors import DaedalError
from daedal.estimation.storage.content import list_variables
from daedal.estimation.storage.files import LAST_LENGTH
from daedal.estimation.storage.netcdf import compute_digests

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from batteries.fits import decay, levels, noisy  # noqa: E402

OLD = TESTS / "estimation" / "fit_0_1_0.nc"
HANG = 600  # seconds
Damage = Callable[[bytes, np.random.Generator], bytes]


def flip_bit(content: bytes, random: np.random.Generator) -> bytes:
    place, bit = random.integers(len(content)), random.integers(8)
    return content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :]


def truncate(content: bytes, random: np.random.Generator) -> bytes:
    return content[: random.integers(len(content))]


def clear_block(content: bytes, random: np.random.Generator) -> bytes:
    size = int(2 ** random.uniform(0, np.log2(len(content))))
    place = random.integers(len(content) - size + 1)
    return content[:place] + bytes(size) + content[place + size :]


KINDS = {"flipped bits": (flip_bit, 1000), "truncations": (truncate, 300), "zeroed blocks": (clear_block, 200)}


def judge(path: Path, digests: dict[str, str]) -> str:
    """What comes of loading a file."""
    faulthandler.dump_traceback_later(HANG, exit=True)
    try:
        fit = dd.load(path)
    except DaedalError:
        return "sentence"
    except Exception as error:
        return f"raw {type(error).__name__}: {error}"
    finally:
        faulthandler.cancel_dump_traceback_later()
    return "same" if compute_digests(list_variables(fit)) == digests else "other numbers"


def print_answers(title: str, content: bytes, seed: int, share: float, allowed: set[str]) -> int:
    """How many answers must not be."""
    random, wrong = np.random.default_rng(seed), 0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fit.nc"
        path.write_bytes(content)
        digests = compute_digests(list_variables(dd.load(path)))
        for kind, (damage, most) in KINDS.items():
            answers: Counter[str] = Counter()
            for _ in range(max(int(share * most), 2)):
                path.write_bytes(damage(content, random))
                answers[judge(path, digests)] += 1
            told = ", ".join(f"{count} {answer}" for answer, count in answers.most_common())
            print(f"{title}: {answers.total()} {kind}: {told}", flush=True)
            wrong += sum(count for answer, count in answers.items() if answer not in allowed)
    return wrong


def save_fit() -> bytes:
    times = np.arange(100) * 0.05
    rate = dd.Parameter(2.0, lower=0.1, unit="1/s")
    fit = dd.fit(decay(rate), levels(noisy(np.exp(-times)), times), free=["k"], criterion=dd.OutputError())
    with TemporaryDirectory() as folder:
        fit.save(Path(folder) / "fit.nc")
        return (Path(folder) / "fit.nc").read_bytes()


def main() -> None:
    reader = command_line(__doc__, ["written", "old"])
    reader.add_argument("--seed", type=int, default=0)
    options = reader.parse_args()
    figures, share = options.figures or ["written", "old"], 0.01 if options.tiny else 1.0
    wrong, told = 0, {"sentence", "same"}
    if "written" in figures:
        content = save_fit()
        wrong += print_answers("written", content, options.seed, share, told)
        wrong += print_answers("without its last line", content[:-LAST_LENGTH], options.seed, share / 10, told)
    if "old" in figures:
        wrong += print_answers("of 0.1.0", OLD.read_bytes(), options.seed, share, told | {"other numbers"})
    if wrong:
        raise SystemExit(f"{wrong} answers that must not be")


if __name__ == "__main__":
    main()
