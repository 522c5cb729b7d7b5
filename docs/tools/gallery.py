"""Pages of the gallery: one for each example with its picture, its conclusion, its code and what it printed.

The picture is the one the example leaves in its folder, the conclusion the last line that it prints.
"""

import ast
import html
from dataclasses import dataclass
from pathlib import Path

from runs import ROOT, load_outputs

EXAMPLES = ROOT / "examples"
FOLDER = ROOT / "docs" / "gallery"
TAGS = ("mechanics", "electrical", "thermal", "process", "delay", "real data", "Modelica", "interop", "uncertainty")


@dataclass(frozen=True)
class Entry:
    """An example in the gallery."""

    name: str
    title: str
    tags: tuple[str, ...]

    @property
    def script(self) -> Path:
        return EXAMPLES / f"{self.name}.py"

    @property
    def docstring(self) -> str:
        return ast.get_docstring(ast.parse(self.script.read_text(encoding="utf-8"))) or ""


ENTRIES = (
    Entry("pendulum", "Pendulum over the top", ("mechanics",)),
    Entry("double_pendulum", "Double pendulum", ("mechanics",)),
    Entry("wind", "Pendulum in the wind", ("mechanics", "uncertainty")),
    Entry("delta_robot", "Delta robot", ("mechanics",)),
    Entry("robot_arm", "Flexible robot arm", ("mechanics", "real data")),
    Entry("positioning_axis", "Axis with dry friction", ("mechanics",)),
    Entry("emps", "A measured axis with dry friction", ("mechanics", "electrical", "real data")),
    Entry("circuit", "RC circuit of index 2", ("electrical",)),
    Entry("drive", "Motor drive from components", ("electrical", "mechanics")),
    Entry("cd_player_arm", "Arm of a CD player in a closed loop", ("electrical", "mechanics", "real data")),
    Entry("building", "A house and what its data leave open", ("thermal", "real data")),
    Entry("thermal_network", "Thermal network", ("thermal",)),
    Entry("heating_from_csv", "Heated plate with radiation", ("thermal", "real data")),
    Entry("cascaded_tanks", "Cascaded tanks", ("process", "real data")),
    Entry("semibatch", "Semibatch reactor", ("process", "real data")),
    Entry("reactor", "Stirred tank with a delay", ("process", "delay")),
    Entry("exchanger", "Heat exchanger", ("process", "real data")),
    Entry("hair_dryer", "Hair dryer: order and delay", ("thermal", "delay", "real data")),
    Entry("hair_dryer_delay", "Hair dryer: the delay in a model", ("thermal", "delay", "real data")),
    Entry("order", "Order of a noisy system", ("electrical",)),
    Entry("from_modelica", "From Modelica", ("Modelica", "interop")),
    Entry("to_control", "To python-control", ("interop", "electrical")),
    Entry("own_optimizer", "An optimiser of one's own", ("interop",)),
    Entry("bootstrap", "Bootstrap of a fit", ("uncertainty", "thermal")),
)

INDEX = """# Gallery

Every entry is one script in the folder `examples`, run when this site was built. Those tagged *real data* take the path
of the measured file as an argument; without it they simulate data of the same kind and say so in their first line, as
here.

```{{raw}} html
<p class="filter">{buttons}</p>
<div class="gallery">
{cards}
</div>
<script>
document.querySelectorAll(".filter button").forEach(button => button.onclick = () => {{
  document.querySelectorAll(".filter button").forEach(other => other.setAttribute("aria-pressed", other === button));
  document.querySelectorAll(".gallery a").forEach(card =>
    card.hidden = button.value !== "" && !card.dataset.tags.split(",").includes(button.value));
}});
</script>
```

```{{toctree}}
:hidden:

{names}
```
"""

PAGE = """# {title}

{about}

```{{raw}} html
<figure>{picture}</figure>
```

:::{{admonition}} Conclusion
{conclusion}
:::

## The script

```{{literalinclude}} ../../examples/{name}.py
:language: python
```

## What it prints

```text
{printed}
```
"""


def write_gallery() -> None:
    """Write the pages; those that are there already and the same stay untouched, so that Sphinx need not read them."""
    FOLDER.mkdir(exist_ok=True)
    outputs = {entry: load_outputs(entry.script)[0] for entry in ENTRIES}
    buttons = ['<button value="" aria-pressed="true">all</button>']
    buttons += [f'<button value="{tag}" aria-pressed="false">{tag}</button>' for tag in TAGS]
    cards = [write_card(entry, output) for entry, output in outputs.items()]
    names = "\n".join(entry.name for entry in ENTRIES)
    write(FOLDER / "index.md", INDEX.format(buttons=" ".join(buttons), cards="\n".join(cards), names=names))
    for entry, output in outputs.items():
        write(FOLDER / f"{entry.name}.md", describe(entry, output))


def write_card(entry: Entry, output: dict[str, str]) -> str:
    title = html.escape(entry.title)
    return (
        f'<a href="{entry.name}.html" data-tags="{",".join(entry.tags)}"><img loading="lazy" alt="" '
        f'src="../{save_picture(entry.name, output["picture"])}"><span>{title}</span>'
        f"<small>{html.escape(', '.join(entry.tags))}</small></a>"
    )


def describe(entry: Entry, output: dict[str, str]) -> str:
    picture = f'<img alt="{html.escape(entry.title)}" src="../{save_picture(entry.name, output["picture"])}">'
    printed = output["text"].rstrip()
    return PAGE.format(
        title=entry.title,
        name=entry.name,
        about=entry.docstring,
        picture=picture,
        conclusion=printed.splitlines()[-1],
        printed=printed,
    )


def save_picture(name: str, svg: str) -> str:
    """Where the page finds it; `static` is copied by Sphinx."""
    folder = ROOT / "docs" / "static" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / f"{name}.svg", svg)
    return f"_static/pictures/{name}.svg"


def write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
