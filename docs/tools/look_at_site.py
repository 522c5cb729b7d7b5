"""Open the built site in a real browser, without a network: search finds, nothing is asked for, 420 pixels are enough.

Run as: python docs/tools/look_at_site.py build/site [folder for screenshots]
"""

import os
import shutil
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SEARCHES = {
    "delay": "howto/delays",
    "zoh": "howto/data",
    "Monte-Carlo": "uncertainty",
    "write_report": "report_and_cli",
}
NARROW = 420  # pixels of a telephone


def find_faults(site: Path, shots: Path | None, place: str) -> list[str]:
    from playwright.sync_api import Error as PlaywrightError
    from playwright.sync_api import sync_playwright

    faults: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=place, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport={"width": NARROW, "height": 900}, offline=True).new_page()
        page.on("request", lambda request: request.url.startswith("file:") or faults.append(f"asks {request.url}"))
        page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
        for word, wanted in SEARCHES.items():
            page.goto(f"{(site / 'search.html').resolve().as_uri()}?q={word}")
            try:  # results come one after the other
                page.wait_for_selector(f'#search-results li a[href*="{wanted}"]', timeout=20_000)
            except PlaywrightError:
                faults.append(f"search for {word} does not lead to {wanted}")
        for path in sorted(site.rglob("*.html")):
            if path.parent.name == "_modules" or path.name in {"search.html", "genindex.html", "py-modindex.html"}:
                continue
            page.goto(path.resolve().as_uri())
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > NARROW:
                faults.append(f"{path.relative_to(site)} is {wide} pixels wide on a screen of {NARROW}")
            if shots is not None:
                name = path.relative_to(site).with_suffix(".png").as_posix().replace("/", "-")
                page.screenshot(path=shots / name, full_page=path.parent.name != "api")
        browser.close()
    return faults


if __name__ == "__main__":
    place = os.environ.get("DAEDAL_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if place is None:
        print("There is no chromium: the site was not looked at.")
        sys.exit()
    shots = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    faults = find_faults(Path(sys.argv[1]), shots, place)
    print("\n".join(faults) or f"search works offline, and all pages are readable at {NARROW} pixels")
    sys.exit(bool(faults))
