"""Look through the built site: every link inside it leads somewhere, and no page asks a network for anything.

Run as: python docs/tools/check_site.py build/site
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
LARGEST = 1_000_000  # bytes of one picture


class Page(HTMLParser):
    """What a page links to and loads, and the places that links can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        for name, value in given.items():
            if (tag, name) in LOADED:
                self.loads.append(value)


def find_faults(site: Path) -> list[str]:
    """One line for each link that leads nowhere and each thing that would come from a network."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    faults = []
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        faults += [f"{where} loads {target}" for target in page.loads if urlsplit(target).netloc]
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not found.exists():
                faults.append(f"{where} links to {target}, which is not there")
            elif parts.fragment and found in pages and unquote(parts.fragment) not in pages[found].anchors:
                faults.append(f"{where} links to {target}, which has no such place")
    pictures = (path for path in site.rglob("*") if path.suffix in {".svg", ".png"})
    return faults + [f"{path} is larger than 1 MB" for path in pictures if path.stat().st_size > LARGEST]


if __name__ == "__main__":
    site = Path(sys.argv[1])
    faults = find_faults(site)
    print("\n".join(faults) or f"{len(list(site.rglob('*.html')))} pages, no broken link, nothing from a network")
    sys.exit(bool(faults))
