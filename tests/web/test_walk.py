"""A study from its first form to its certificate, as a person goes through it; each state is a picture."""

from __future__ import annotations

import time
from pathlib import Path

import paretoscope as ps
from tests.browser import Visit, shown_marks, shown_rows
from tests.web.lab import candidates, filled

OUTCOME = "#{} .outcome:not(:empty)"


def equal(page, study):
    """Rows and marks of the page are those of the result, exactly."""
    table = {row["candidate"]: row for row in study.result().table()}
    rows, marks = shown_rows(page), shown_marks(page)
    assert set(rows) == set(marks) == set(table)
    for name, row in rows.items():
        want = table[name]
        assert (row["verdict"], row["n"]) == (want["verdict"], want["n"])
        values = [float(v) if v else None for v in row["values"][:2]]
        assert values == [want["cost"], want["gain"]]
        assert marks[name] == (want["verdict"], want["cost"], want["gain"])


def stand_at(page, study):
    """Wait until a page shows the last event of the ledger."""
    number = len(study.ledger.read())
    page.wait_for_selector(f'html[data-version$=".{number}"]', state="attached", timeout=20_000)


def fill(visit, path):
    """Fill in the form of a new study, and send it."""
    page = visit.page
    page.get_by_label("Name of the study").fill("walk")
    page.get_by_label("Candidates, CSV").set_input_files(path)
    page.get_by_label("Features").fill("a, b")
    for n, (name, goal, unit) in enumerate([("cost", "less", "EUR"), ("gain", "more", "")], 1):
        metric = page.get_by_role("group", name=f"Metric {n}")
        metric.get_by_label("Name").fill(name)
        metric.get_by_label("Better is").select_option(goal)
        metric.get_by_label("Unit").fill(unit)
        metric.get_by_label("Tolerance").fill("0.3")
        metric.get_by_label("Noise (sigma)").fill("0.3")
    visit.picture("walk-1-new")
    page.get_by_role("button", name="Create the study").click()
    page.wait_for_url("**/s/walk/")


def take_sheet(page, tmp_path):
    """Download the next sheet; the path of the filled one, and how many rows it has."""
    with page.expect_download() as got:
        page.get_by_role("button", name="Take as a sheet").click()
    path = tmp_path / got.value.suggested_filename
    got.value.save_as(path)
    text = filled(path.read_text())
    path.write_text(text)
    return path, len(text.splitlines()) - 1


def hand_in(page, path):
    """Check a sheet and store it."""
    page.get_by_label("Filled sheet, CSV").set_input_files(path)
    page.get_by_role("button", name="Check the sheet").click()
    page.get_by_role("button", name="Store it").click()
    page.wait_for_selector(".outcome:has-text('Stored:')", timeout=20_000)


def test_from_a_form_to_a_certificate(site, folder, chromium, tmp_path):
    Path(tmp_path / "candidates.csv").write_text(candidates())
    visit, second = Visit(chromium), Visit(chromium)
    page = visit.page
    page.goto(site.address)
    page.get_by_role("link", name="New study").click()
    fill(visit, tmp_path / "candidates.csv")
    visit.drawn()
    visit.picture("walk-2-created")
    other = second.open(site.at("walk"))
    with ps.Study.open(folder / "walk.study") as study:
        assert "Round 1, after 0 measurements" in other.inner_text("#certificate")
        first, n = take_sheet(page, tmp_path)
        lines = first.read_text().splitlines()
        wrong = [*lines[:-1], ",".join([*lines[-1].split(",")[:-2], "about 5", ""])]
        sheet = {"name": "x.csv", "mimeType": "text/csv", "buffer": "\n".join(wrong).encode()}
        page.get_by_label("Filled sheet, CSV").set_input_files(sheet)
        page.get_by_role("button", name="Check the sheet").click()
        page.wait_for_selector("#mistakes td")
        assert page.inner_text("#mistakes td") == str(n + 1)
        assert "cannot be used. Nothing was stored." in page.inner_text(OUTCOME.format("upload"))
        visit.picture("walk-3-mistakes")
        assert study.status().done == 0
        hand_in(page, first)
        assert study.status().done == n
        stand_at(other, study)
        assert f"after {n} measurements" in other.inner_text("#certificate")
        equal(other, study)
        visit.picture("walk-4-first-round")
        second.picture("walk-5-second-tab")
        rounds, begin = 1, time.monotonic()
        while study.status().stop is None:
            assert time.monotonic() < begin + 60
            stand_at(page, study)
            hand_in(page, take_sheet(page, tmp_path)[0])
            rounds += 1
        assert rounds > 1
        for tab in (page, other):
            stand_at(tab, study)
            equal(tab, study)
            assert "Certified at 95 %" in tab.inner_text("#certificate h2")
        assert page.inner_text("#due").startswith("Nothing more to measure")
        visit.picture("walk-6-finished")
        with page.expect_download() as got:
            page.get_by_role("link", name="Report as a file").click()
        got.value.save_as(tmp_path / "walk.html")
        report = Visit(chromium).open((tmp_path / "walk.html").as_uri())
        equal(report, study)
    page.goto(site.address)
    visit.picture("walk-7-list")
    assert "Certified at 95 %" in page.inner_text("li.certified")
    assert visit.errors == second.errors == []
