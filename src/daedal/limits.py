"""Limits of a process of its own, for reading what may crash, hang or grow without end: it ends, the user's goes on.

It is used there, so it imports nothing that takes time. Texts that are read in the user's process have a largest depth.
"""

import re

STRING = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)


def nests_deeper(text: str, most: int) -> bool:
    """Whether a TOML text nests tables and arrays, or the parts of a key, deeper than so many levels.

    Its reader recurses for the former, and keeps all beginnings of the latter.
    """
    structure, depth = STRING.sub("s", text), 0
    for bracket in re.findall(r"[][{}]", structure):
        depth += 1 if bracket in "[{" else -1
        if depth > most:
            return True
    return bool(re.search(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{most}}}", structure))


def limit_resources(memory: int, seconds: int) -> None:
    """Bytes, and seconds of processor time, that this process may take, where the platform has such limits.

    They hold even when nobody waits for it any more. What the user's process may not have either stays as it is.
    """
    try:
        import resource
    except ModuleNotFoundError:
        return
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        try:
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
        except (ValueError, OSError):  # a platform that knows the limit but does not take it
            continue
