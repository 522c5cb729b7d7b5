"""What pages and examples print and draw, made once for each state of the code and kept in `build/outputs`.

The name of a kept file is a digest of the script and of everything in src/daedal, so nothing old is ever shown. Two
processes share what is missing.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from dataclasses import asdict
from functools import cache
from pathlib import Path

import blocks
from blocks import Output

ROOT = Path(__file__).parents[2]
TOOLS = Path(__file__).parent
KEPT = ROOT / "build" / "outputs"
PROCESSES = min(2, os.cpu_count() or 1)


@cache
def digest_of_code() -> bytes:
    """Of the library: another byte anywhere makes everything run again."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src" / "daedal").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.name.encode() + path.read_bytes())
    return digest.digest()


def kept_as(script: Path) -> Path:
    """The file with what a page or example prints and draws."""
    digest = hashlib.sha256(digest_of_code() + script.read_bytes()).hexdigest()[:16]
    return KEPT / f"{script.stem}-{digest}.json"


def load_outputs(script: Path) -> list[dict[str, str]]:
    return json.loads(kept_as(script).read_text(encoding="utf-8"))


def run_all(pages: list[Path], examples: list[Path]) -> None:
    """Run what has no kept outputs; the first failure ends it, with what the script said."""
    jobs: list[tuple[Callable[[Path], None], Path]] = [(run_example, path) for path in examples]
    jobs += [(run_page, path) for path in pages]
    missing = [(verb, path) for verb, path in jobs if not kept_as(path).exists()]
    with ThreadPoolExecutor(PROCESSES) as pool:
        for done in [pool.submit(verb, path) for verb, path in missing]:
            done.result()


def run_page(page: Path) -> None:
    done = start(TOOLS / "runs.py", page, folder=ROOT)
    if done.returncode:
        raise RuntimeError(f"{page.relative_to(ROOT)} does not run:\n{done.stderr}")


def run_example(script: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = start(script, folder=Path(folder))
        if done.returncode:
            raise RuntimeError(f"{script.relative_to(ROOT)} does not run:\n{done.stderr}")
        keep_example(script, done.stdout, Path(folder))


def keep_page(page: Path, outputs: list[Output]) -> None:
    """Keep what the blocks of a page printed and drew; tests of pages do so too."""
    KEPT.mkdir(parents=True, exist_ok=True)
    kept_as(page).write_text(json.dumps([asdict(output) for output in outputs]), encoding="utf-8")


def keep_example(script: Path, printed: str, folder: Path) -> None:
    """Keep what an example printed and the one picture that it left in its folder; tests of examples do so too."""
    (picture,) = folder.glob("*.svg")
    keep_page(script, [Output(printed, picture.read_text(encoding="utf-8"))])


def start(script: Path, *arguments: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), *map(str, arguments)]
    threads = {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "svg"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | threads)


if __name__ == "__main__":  # a page in a process of its own
    given = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        found = blocks.run_page(given.read_text(encoding="utf-8"), str(given))
    keep_page(given, found)
