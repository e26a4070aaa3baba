"""Names, notes, units, people, reasons and files that would run if anything took them for more than text."""

from __future__ import annotations

import csv
import io
import json

import pytest

import paretoscope as ps
from tests.browser import Visit, shown_rows
from tests.report.lab import HOSTILE
from tests.web.lab import serving
from tests.web.test_walk import stand_at

NAMES = [" ".join(name.split()) if name != name.strip() else name for name in HOSTILE]
SCRIPTS = "<script>alert(40)</script><img src=x onerror=alert(41)>"
UNIT = "</script><script>alert(42)</script>"
FOREIGN = "img, iframe, object, embed, base, form[action], template, noscript *"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder whose studies have hostile names as well."""
    folder = tmp_path_factory.mktemp("hostile")
    metrics = [
        ps.Metric("<img src=x onerror=alert(43)>", "min", unit=UNIT),
        ps.Metric("__proto__", "max", unit="%{x}"),
    ]
    where = folder / f"{SCRIPTS.replace('/', '')}.study"
    notes = [HOSTILE[k - 1] if HOSTILE[k - 1].strip() else "x" for k in range(50)]
    with (
        ps.Study.create(
            where, candidates={"id": NAMES, "<b>note": notes}, metrics=metrics, epsilon=0.3, seed=1
        ) as study,
        serving(folder) as site,
    ):
        yield site, study, where.stem


def console_of(visit):
    """What the browser says of its own accord: breaches of the policy, above all."""
    said = []
    visit.page.on("console", lambda message: said.append(message.text))
    return said


def calm(visit, said):
    """No script ran, nothing was built from text, and the policy had nothing to stop."""
    assert visit.page.evaluate("window.ran") == []
    assert visit.page.evaluate(f"document.querySelectorAll({FOREIGN!r}).length") == 0
    assert visit.page.evaluate("document.querySelectorAll('script:not([src])').length") == 0
    assert visit.errors == []
    assert said == []


def test_no_name_runs_in_the_page_nor_while_it_follows(place, chromium):
    assert len(NAMES) == 50
    site, study, name = place
    visit = Visit(chromium)
    said = console_of(visit)
    visit.page.goto(site.address)
    assert visit.page.inner_text("li a") == name
    calm(visit, said)
    page = visit.open(site.at(name))
    assert page.inner_text("h1") == name
    assert set(shown_rows(page)) == set(NAMES)
    calm(visit, said)
    path, first = (
        f"/s/{site.at(name).rsplit('/', 2)[1]}/",
        [metric.name for metric in study.problem.metrics],
    )
    assert site.write(f"{path}ask", {"n": 200, "who": SCRIPTS}, path)[0] == 200
    stand_at(page, study)
    batch = study.pending()
    study.tell(
        [
            {"uid": r.uid, first[0]: 1.0 + k % 7, first[1]: 2.0 + k % 5}
            for k, r in enumerate(batch[:150])
        ]
    )
    given = {"uid": batch[150].uid, "how": "failed", "reason": SCRIPTS, "who": SCRIPTS}
    assert site.write(f"{path}settle", given, path)[0] == 200
    stand_at(page, study)
    assert SCRIPTS in page.inner_text("#out")
    page.hover("[data-figure=front] .nsewdrag")
    for mark in page.query_selector_all("[data-figure=front] .points path")[:50]:
        box = mark.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visit.picture("live-hostile")
    calm(visit, said)


def test_a_hostile_sheet_is_listed_as_text(place, chromium):
    site, study, name = place
    visit = Visit(chromium)
    said = console_of(visit)
    page = visit.page
    page.goto(site.at(name))
    names = ",".join(f'"{metric.name}"' for metric in study.problem.metrics)
    lines = "".join(f'"{SCRIPTS}{k}","{SCRIPTS}",1,"{UNIT}",2,3,\n' for k in range(60))
    sheet = f'uid,candidate,replicate,"<b>note",{names},note\n{lines}'
    page.get_by_label("Filled sheet, CSV").set_input_files(
        {
            "name": "<img src=x onerror=alert(44)>.csv",
            "mimeType": "text/csv",
            "buffer": sheet.encode(),
        }
    )
    page.get_by_role("button", name="Check the sheet").click()
    page.wait_for_selector("#mistakes td")
    assert page.locator("#mistakes tbody tr").count() == 51
    assert "alert(40)" in page.inner_text("#mistakes")
    calm(visit, said)


def test_a_message_is_text(place, chromium):
    site, _, _ = place
    visit = Visit(chromium)
    visit.page.goto(f"{site.address}s/<script>alert(45)<script>/")
    assert "alert(45)" in visit.page.inner_text("main")
    assert visit.page.evaluate("window.ran") == []


def test_a_download_has_the_name_of_its_study(place):
    site, _, name = place
    path = f"/s/{site.at(name).rsplit('/', 2)[1]}/"
    status, headers, body = site.call("GET", f"{path}table.csv")
    assert status == 200
    assert headers["content-disposition"].startswith("attachment; filename*=UTF-8''%3Cscript%3E")
    assert len(list(csv.reader(io.StringIO(body.decode(), newline="")))) == 51
    assert json.loads(site.call("GET", f"{path}state")[2])["version"]


def test_the_policy_stops_a_script_that_got_in(place, chromium):
    """The last line: were a tag ever let through, it would not run."""
    page = Visit(chromium).page
    page.goto(place[0].address)
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'alert(46)'; document.body.append(s);"
        " document.body.insertAdjacentHTML('beforeend', '<b onclick=\"alert(47)\" id=b>b</b>');"
        " document.getElementById('b').click(); }"
    )
    assert page.evaluate("window.ran") == []
    # a moment later: what the driver itself evaluates is not under the policy
    later = "try { done(String(eval('1'))) } catch { done('refused') }"
    assert page.evaluate(f"new Promise((done) => setTimeout(() => {{ {later} }}, 0))") == "refused"
