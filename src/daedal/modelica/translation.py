"""From Modelica text to rumoca's flat form: one model, its classes expanded, its connections written out."""

import re
from collections.abc import Sequence
from typing import Any

import rumoca

from daedal.errors import ModelError, nearest, quoted
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


def translate(source: Source, model: str | None) -> tuple[str, dict[str, Any]]:
    """Name and flat form of the model; without a name, of the only one in the text."""
    if model is not None and (not isinstance(model, str) or not model):
        raise ModelError(f"The name of a model must be a text, got {model!r}.", "Write model='Drive'.")
    try:
        for diagnostic in rumoca.validate_source(source.text):
            if diagnostic.rule == "syntax-error":
                raise explain_syntax_error(source, diagnostic.message)
        # Without a file name rumoca looks at no neighbouring files, whose classes it would mix in.
        compiled = rumoca.Session().loads(source.text, model=model)
        flat = compiled.to_dict("flat")
    except rumoca.RumocaError as error:
        raise _explain(source, model, str(error)) from None
    except BaseException as error:  # a panic in rumoca is no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise ModelError(
            f"{source.opening} cannot be translated: {error}.", "Simplify what was written last."
        ) from None
    return compiled.name, {**{part: [] for part in PARTS}, **flat}


def _explain(source: Source, model: str | None, message: str) -> ModelError:
    """Which models there are when that is the question, else what rumoca says."""
    several = SEVERAL.search(message)
    if several:
        names = _complete_models(source, several[1].split(", "))
        return ModelError(f"{source.opening} holds {len(names)} models: {quoted(names)}.", f"Write model='{names[0]}'.")
    if "No compilable" in message:
        return ModelError(f"{source.opening} holds no model.", "Write model Name … end Name; in it.")
    known = _list_models(source)
    if known and model is not None and model not in known:
        close = nearest(model, known, "Choose one of")
        return ModelError(f"{source.opening} has no model '{model}', but {quoted(known)}.", close)
    failed = CLASS.search(message)
    return explain_compile_error(source, model or (failed and (failed[1] or failed[2])) or "the model", message)


def _list_models(source: Source) -> list[str]:
    """The models of a text, as rumoca names them when it is not told which one to take."""
    try:
        return [rumoca.Session().loads(source.text).name]
    except rumoca.RumocaError as error:
        several, single = SEVERAL.search(str(error)), CLASS.search(str(error))
        if several:
            return _complete_models(source, several[1].split(", "))
        return [single[1] or single[2]] if single else []


def _complete_models(source: Source, listed: Sequence[str]) -> list[str]:
    """rumoca's list of models; where it breaks off, the ones whose declarations the text shows."""
    names = [name for name in listed if name.strip(".")]
    if len(names) < len(listed):
        names += re.findall(r"\b(?:model|block|class)\s+(\w+)", source.code)
    return list(dict.fromkeys(names))
