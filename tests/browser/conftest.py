"""Pages in a real browser: Debian's chromium, driven by playwright; without one these tests are skipped and say so."""

import os
import shutil

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> str | None:
    """Where one is; the variable DAEDAL_BROWSER names another."""
    return os.environ.get("DAEDAL_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser():
    """One for all tests of a process."""
    place = find_browser()
    if place is None:
        pytest.skip("there is no chromium; `apt-get install chromium`, or name one in DAEDAL_BROWSER")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=place, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def visit(browser):
    """A function that opens a file and returns the page, once it is drawn, with all it said and asked for."""
    contexts = []

    def go(path, *, width=1100, dark=False):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("dialog", lambda dialog: (page.said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        wait_until_drawn(page)
        return page

    yield go
    for context in contexts:
        context.close()


def wait_until_drawn(page) -> None:
    page.wait_for_function(
        """() => [...document.querySelectorAll('figure.drawn')].every(
            f => f.dataset.state === 'ready' || f.closest('details:not([open])'))"""
    )
