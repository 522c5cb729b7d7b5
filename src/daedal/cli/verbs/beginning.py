"""`daedal new`: a project to fill in."""

from pathlib import Path

from daedal.cli.running import TRUSTED
from daedal.cli.voice import Voice
from daedal.projects import write_template


def begin(name: str, model: Path | None, data: list[Path], inputs: list[str], voice: Voice) -> int:
    """Write it, and say what comes next."""
    written = write_template(name, model, data, inputs)
    for sentence in written.sentences:
        voice.say(sentence)
    voice.say(f"Next: daedal check {written.files[0]}")
    return TRUSTED
