"""From Modelica text to rumoca's flat form: one model, its classes expanded, its connections written out.

rumoca runs in a process of its own (`rumoca_child`), with limits on its memory, its stack and its time, so that no text
can end or hold up the user's process.
"""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from daedal.errors import ModelError, nearest, quoted, show
from daedal.files import resolve
from daedal.modelica import rumoca_child
from daedal.modelica.refusals import explain_compile_error, explain_syntax_error
from daedal.modelica.source import Source

# The flat form leaves out what there is none of.
PARTS = (
    "equations",
    "structured_equations",
    "initial_equations",
    "initial_structured_equations",
    "algorithms",
    "initial_algorithms",
    "when_chains",
    "parameter_branch_selections",
    "top_level_input_components",
    "functions",
)
SEVERAL = re.compile(r"Unable to infer model from .*?Candidates: (.*)\.$", re.DOTALL)
CLASS = re.compile(r"^([\w.]+) (?:could not be compiled|failed in|requires)|: ([\w.]+) failed in")

# An array of 100 000 elements takes 2 GB and 13 s, 2000 equations 0.2 GB and 1 s.
MEMORY = 4 << 30  # bytes
SECONDS = 120
REASONS = {
    "memory": (f"needs more than {MEMORY >> 30} GB of memory", "Use smaller arrays and shorter formulas."),
    "time": (f"takes longer than {SECONDS} s", "Divide the model into smaller ones."),
    "depth": ("is nested too deeply", "Give parts of long formulas variables of their own."),
}


def translate(source: Source, model: str | None) -> tuple[str, dict[str, Any]]:
    """Name and flat form of the model; without a name, of the only one in the text."""
    if model is not None and (not isinstance(model, str) or not model or not model.isprintable()):
        raise ModelError(f"The name of a model must be a text, got {show(model)}.", "Write model='Drive'.")
    if not _has_rumoca():
        raise ModelError(
            "Reading Modelica needs rumoca, which is not installed.", "Run: pip install 'daedal[modelica]'."
        )
    answer = _ask(source, model)
    if "syntax" in answer:
        raise explain_syntax_error(source, answer["syntax"])
    if "panic" in answer:
        raise ModelError(
            f"{source.opening} cannot be translated: {answer['panic']}.", "Simplify what was written last."
        )
    if "error" in answer:
        raise _explain(source, model, answer["error"], answer["unnamed"])
    return answer["name"], {**{part: [] for part in PARTS}, **answer["flat"]}


def _has_rumoca() -> bool:
    try:
        return find_spec("rumoca") is not None
    except ValueError:  # what stands for it is no module
        return False


def _ask(source: Source, model: str | None) -> dict[str, Any]:
    """The answer of rumoca in a process of its own; where no Python can be started, in this one."""
    if not sys.executable or getattr(sys, "frozen", False):
        return rumoca_child.answer(source.text, model)
    path = [str(resolve(folder)) for folder in sys.path]
    request = {"text": source.text, "model": model, "path": path, "memory": MEMORY, "seconds": SECONDS}
    # Isolated, so that no module of the folder the user is in can stand in for one of Python's.
    command = [sys.executable, "-I", "-S", str(Path(rumoca_child.__file__))]
    try:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise ModelError(
            f"{source.opening} cannot be read: no process can be started for it ({error.strerror}).",
            "Check that sys.executable names a Python.",
        ) from None
    with child:
        try:
            encoded, printed = child.communicate(json.dumps(request).encode(), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise _refuse(source, "time") from None
        finally:  # after an interrupt too, nothing is left behind
            child.kill()
            child.wait()
    if child.returncode:
        raise _explain_death(source, child.returncode, printed.decode(errors="replace"))
    return rumoca_child.decode(encoded)


def _explain_death(source: Source, code: int, printed: str) -> ModelError:
    if "memory allocation of" in printed or "MemoryError" in printed:
        return _refuse(source, "memory")
    if -code == getattr(signal, "SIGXCPU", None):
        return _refuse(source, "time")
    if -code == signal.SIGSEGV or "overflowed its stack" in printed:
        return _refuse(source, "depth")
    last = printed.strip().rpartition("\n")[2]
    return ModelError(
        f"{source.opening} cannot be translated: the process that read it ended with code {code}"
        f"{f' ({last})' if last else ''}.",
        "Simplify what was written last.",
    )


def _refuse(source: Source, what: Literal["memory", "time", "depth"]) -> ModelError:
    sentence, remedy = REASONS[what]
    return ModelError(f"{source.opening} cannot be translated: it {sentence}.", remedy)


def _explain(source: Source, model: str | None, message: str, unnamed: dict[str, str]) -> ModelError:
    """Which models there are when that is the question, else what rumoca says."""
    several = SEVERAL.search(message)
    if several:
        names = _complete_models(source, several[1].split(", "))
        return ModelError(f"{source.opening} holds {len(names)} models: {quoted(names)}.", f"Write model='{names[0]}'.")
    if "No compilable" in message:
        return ModelError(f"{source.opening} holds no model.", "Write model Name … end Name; in it.")
    known = _list_models(source, unnamed)
    if known and model is not None and model not in known:
        close = nearest(model, known, "Choose one of")
        return ModelError(f"{source.opening} has no model '{model}', but {quoted(known)}.", close)
    failed = CLASS.search(message)
    return explain_compile_error(source, model or (failed and (failed[1] or failed[2])) or "the model", message)


def _list_models(source: Source, unnamed: dict[str, str]) -> list[str]:
    """The models of a text, as rumoca names them when it is not told which one to take."""
    if "name" in unnamed:
        return [unnamed["name"]]
    several, single = SEVERAL.search(unnamed["error"]), CLASS.search(unnamed["error"])
    if several:
        return _complete_models(source, several[1].split(", "))
    return [single[1] or single[2]] if single else []


def _complete_models(source: Source, listed: Sequence[str]) -> list[str]:
    """rumoca's list of models; where it breaks off, the ones whose declarations the text shows."""
    names = [name for name in listed if name.strip(".")]
    if len(names) < len(listed):
        names += re.findall(r"\b(?:model|block|class)\s+(\w+)", source.code)
    return list(dict.fromkeys(names))
