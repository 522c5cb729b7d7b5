"""The process that rumoca runs in: a request on its input, an answer on its output, both JSON.

rumoca is compiled code that a hostile text can make overflow its stack, ask for any amount of memory or run without
end; here that ends this process, not the user's. It is started by its file name and loads nothing of daedal but the
limits, which keeps its start short. An answer is {"name", "flat"}, {"syntax"}, {"error", "unnamed"} or {"panic"}.
"""

import json
import os
import sys
import threading
from typing import Any

STACK = 1 << 29  # bytes, taken only as far as they are used; 5000 terms in a sum need about 60 MB


def main() -> None:
    """Answer one request."""
    request = json.loads(sys.stdin.buffer.read())
    sys.path[:] = request["path"]
    from daedal.limits import limit_resources

    answer_to = os.dup(1)
    os.dup2(2, 1)  # what rumoca prints is no answer
    limit_resources(request["memory"], request["seconds"])
    answers: list[bytes] = []
    sys.setrecursionlimit(1_000_000)
    threading.stack_size(STACK)
    worker = threading.Thread(target=lambda: answers.append(encode(answer(request["text"], request["model"]))))
    worker.start()
    worker.join()
    with os.fdopen(answer_to, "wb") as file:
        file.write(*answers)


def answer(text: str, model: str | None) -> dict[str, Any]:
    """What rumoca makes of a text: the flat form of the model, or what it says instead."""
    import rumoca

    try:
        for diagnostic in rumoca.validate_source(text):
            if diagnostic.rule == "syntax-error":
                return {"syntax": diagnostic.message}
        # Without a file name rumoca looks at no neighbouring files, whose classes it would mix in.
        compiled = rumoca.Session().loads(text, model=model)
        return {"name": compiled.name, "flat": compiled.to_dict("flat")}
    except rumoca.RumocaError as error:
        return {"error": str(error), "unnamed": _load_unnamed(text)}
    except BaseException as error:  # a panic in rumoca is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return {"panic": str(error)}


def _load_unnamed(text: str) -> dict[str, str]:
    """What rumoca says when it is not told which model to take: a name, or an error that lists them."""
    import rumoca

    try:
        return {"name": rumoca.Session().loads(text).name}
    except rumoca.RumocaError as error:
        return {"error": str(error)}


def encode(tree: Any) -> bytes:
    """The JSON of a tree as a table, as JSON itself may not be nested as deep as formulas are.

    Each list or object of the tree is an entry, after those inside it, which it holds as [number of the entry]. Nobody
    asks for `component_ref`, which would make up half of it.
    """
    table: list[Any] = []

    def fold(node: Any) -> Any:
        if isinstance(node, dict):
            table.append({key: fold(value) for key, value in node.items() if key != "component_ref"})
        elif isinstance(node, (list, tuple)):
            table.append([fold(value) for value in node])
        else:
            return node
        return [len(table) - 1]

    fold(tree)
    return json.dumps(table).encode()


def decode(encoded: bytes) -> Any:
    """The tree whose table was encoded."""
    table = json.loads(encoded)
    for place, entry in enumerate(table):
        if isinstance(entry, dict):
            table[place] = {key: table[value[0]] if isinstance(value, list) else value for key, value in entry.items()}
        else:
            table[place] = [table[value[0]] if isinstance(value, list) else value for value in entry]
    return table[-1]


if __name__ == "__main__":
    main()
