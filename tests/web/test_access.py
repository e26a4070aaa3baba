"""Usable by keyboard alone, by a screen reader, on a phone, in light and in dark."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.browser import Visit
from tests.web.lab import measure, rows_of, study
from tests.web.test_walk import stand_at

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
# Contrast of every piece of text with what lies behind it, by WCAG 2.
CONTRAST = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const channel = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  function ground(node) {
    for (let n = node; n; n = n.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(n).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return parse(getComputedStyle(document.body).backgroundColor);
  }
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement, style = getComputedStyle(node);
    if (!text.textContent.trim() || node.closest("script, noscript, option, .unseen, [hidden], :disabled")) continue;
    if (!node.checkVisibility()) continue;
    const own = node instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(parse(own)), light(ground(node))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), text.textContent.trim().slice(0, 40), own]);
  }
  return found;
}"""
NAMELESS = """[...document.querySelectorAll(
  'a[href], input, select, button, [role=img], [role=region], table, section, form, nav')].filter((e) =>
  !e.closest('.js-plotly-plot .modebar') && !(e.ariaLabel || e.labels?.length || e.textContent.trim()
  || e.getAttribute('aria-labelledby'))).map((e) => e.outerHTML.slice(0, 80))"""
SMALL = """[...document.querySelectorAll('main button, main input, main select, a.button')].filter((e) =>
  e.checkVisibility() && !e.matches('.sort') && !e.closest('.modebar') && e.getBoundingClientRect().height < 36)
  .map((e) => e.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def lab(folder):
    """A study in its first round: some measured, some out."""
    with study(folder / "access.study") as made:
        made.tell(rows_of(made, made.ask(25)))
        made.ask(5, by="Ann", lease=86400)
        yield made


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_and_everything_has_a_name(site, lab, chromium, scheme):
    assert lab.pending()
    visit = Visit(chromium, color_scheme=scheme)
    for address in (site.at("access"), site.address, f"{site.address}new"):
        page = visit.page
        page.goto(address)
        if "/s/" in address:
            visit.drawn()
            visit.picture(f"live-{scheme}")
        found = page.evaluate(CONTRAST)
        assert len(found) > 3
        assert [text for text in found if text[0] < 4.5] == []
        assert page.evaluate(NAMELESS) == []
        levels = "[...document.querySelectorAll('h1,h2,h3')].map((h) => Number(h.tagName[1]))"
        heads = page.evaluate(levels)
        assert heads[0] == 1
        assert all(b - a <= 1 for a, b in pairwise(heads))
        ids = page.evaluate("[...document.querySelectorAll('main [id]')].map((e) => e.id)")
        own = [name for name in ids if "-" not in name or name.startswith(("figure-", "title-"))]
        assert len(own) == len(set(own))
        assert page.get_attribute("html", "lang") == "en"


def test_a_phone_scrolls_in_one_direction_and_has_room_for_fingers(site, lab, chromium):
    assert lab.pending()
    visit = Visit(chromium, **PHONE)
    for name, address in (
        ("study", site.at("access")),
        ("list", site.address),
        ("new", f"{site.address}new"),
    ):
        page = visit.page
        page.goto(address)
        if name == "study":
            visit.drawn()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate(SMALL) == []
        visit.picture(f"phone-{name}")


def tab_to(page, wanted, most=80):
    """Go on by the Tab key until the focus is there; every stop can be seen."""
    for _ in range(most):
        page.keyboard.press("Tab")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        if page.evaluate(f"document.activeElement.matches({wanted!r})"):
            assert page.evaluate(outline) != "none"
            return
    raise AssertionError(f"{wanted} cannot be reached by Tab")


def test_a_measurement_by_keyboard_alone(site, folder, chromium):
    with study(folder / "keys.study") as made:
        visit = Visit(chromium)
        page = visit.open(site.at("keys"))
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        tab_to(page, "#who")
        page.keyboard.type("Eve")
        tab_to(page, "#ask [name=n]")
        page.keyboard.type("2")
        tab_to(page, "#ask button.second")
        page.keyboard.press("Enter")
        page.wait_for_selector("#ask .outcome:not(:empty)")
        stand_at(page, made)
        assert "2 measurements taken" in page.inner_text("#ask .outcome")
        first = made.pending()[0]
        tab_to(page, f"[data-fill={first.uid}]")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.dataset.metric") == "cost"
        row = made.described(first.candidate)
        values = measure(first.uid, row["a"], row["b"])
        page.keyboard.type(str(values["cost"]))
        page.keyboard.press("Tab")
        page.keyboard.type(str(values["gain"]))
        page.keyboard.press("Enter")
        page.wait_for_selector("#one .outcome:not(:empty)")
        stand_at(page, made)
        assert page.inner_text("#one .outcome") == f"{first.uid}: 1 measurement."
        told = [event for _, event in made.ledger.read() if event["kind"] == "told"]
        assert [(event["by"], event["rows"]) for event in told] == [
            ("Eve", [[first.uid, list(values.values())]])
        ]
        second = made.pending()[0]
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("ArrowDown")  # from values to failed
        page.keyboard.press("Tab")
        page.keyboard.type("the sample broke")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#one .outcome:has-text('{second.uid}')")
        stand_at(page, made)
        assert made.pending() == []
        assert made.reasons() == {second.candidate: "the sample broke"}
        assert visit.errors == []


def test_a_mistake_is_told_to_a_screen_reader(site, lab, chromium):
    page = Visit(chromium).page
    page.goto(site.at("access"))
    page.locator("#uid").select_option(lab.pending()[0].uid)
    page.locator("[data-metric=cost]").fill("much")
    page.locator("[data-metric=gain]").fill("1")
    page.locator("#one button").click()
    page.wait_for_selector("#one .outcome.bad")
    place = page.locator("#one .outcome")
    assert place.get_attribute("role") == "status"
    assert "'much' is no number" in place.inner_text()
    assert page.get_attribute("#said", "aria-live") == "polite"
