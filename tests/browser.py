"""Debian's Chromium, driven by Playwright: one for all tests of a worker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Screenshots of every state a person meets, kept for people to look at.
PICTURES = Path(__file__).resolve().parents[1] / ".pictures"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The browser, or a skip that says what is missing."""
    path = shutil.which("chromium")
    if path is None or find_spec("playwright") is None:
        pytest.skip("needs chromium (apt-get install chromium) and playwright")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (there may be none)

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture
def chromium(browser: Any) -> Iterator[Any]:
    """The browser for one test, whose pages are closed after it: they would go on following."""
    yield browser
    for context in [*browser.contexts]:
        context.close()


class Visit:
    """A page with everything it complained of."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(
            **({"viewport": {"width": 1280, "height": 900}} | options)
        )
        self.context.add_init_script("window.ran = []; window.alert = (x) => window.ran.push(x);")
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.errors.append("dialog"), dialog.dismiss()))

    def open(self, address: str) -> Any:
        """Go there, and wait until the pictures are drawn."""
        self.page.goto(address)
        self.drawn()
        return self.page

    def drawn(self) -> None:
        # by a selector: a function would be evaluated in the page, whose policy forbids that
        self.page.wait_for_selector("html[data-drawn]", state="attached", timeout=60_000)

    def picture(self, name: str, *, whole: bool = True) -> None:
        """Keep what is to be seen now."""
        PICTURES.mkdir(exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=whole)


def shown_rows(page: Any) -> dict[str, dict[str, Any]]:
    """Rows of the table by candidate, as the page has them: verdict, n, exact values of the metrics."""
    rows = page.evaluate(
        "[...document.querySelectorAll('#rows tr')].map((r) => ({"
        "candidate: r.cells[0].textContent, verdict: r.dataset.verdict, n: Number(r.cells[2].textContent),"
        "values: [...r.cells].slice(3).filter((c) => c.dataset.value !== undefined).map((c) => c.dataset.value)}))"
    )
    return {row["candidate"]: row for row in rows}


def shown_marks(page: Any, key: str = "front") -> dict[str, tuple[str, float, float]]:
    """Marks that the browser has drawn from: verdict, x and y of each candidate."""
    found = page.evaluate(
        "(key) => document.querySelector(`[data-figure=${key}]`).data.filter((t) => t.ids)"
        ".flatMap((t) => t.ids.map((id, i) => [id, t.meta.verdict, t.x[i], t.y[i]]))",
        key,
    )
    return {name: (verdict, x, y) for name, verdict, x, y in found}
