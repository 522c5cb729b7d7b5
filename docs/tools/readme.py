"""Print the script that stands in the README, for those who want to run it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def read_script() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


if __name__ == "__main__":
    print(read_script())
