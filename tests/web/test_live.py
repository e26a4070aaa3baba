"""The page follows: what others tell, from this machine's other processes and from other browsers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import paretoscope as ps
from paretoscope.report.view import MOST
from tests.browser import Visit, shown_rows
from tests.report.lab import create, world
from tests.web.lab import measure, rows_of, serving, study
from tests.web.test_walk import equal, hand_in, stand_at, take_sheet

# When the page has drawn a version, by the clock that the test has too.
STAMP = """
    window.stamps = [];
    new MutationObserver(() => window.stamps.push([document.documentElement.dataset.version, Date.now()]))
      .observe(document.documentElement, { attributes: true, attributeFilter: ["data-version"] });
"""
# When the browser first painted something to read, in milliseconds from the click.
PAINTED = """
    () => new Promise((done) => new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.name === "first-contentful-paint") done(entry.startTime);
    }).observe({ type: "paint", buffered: true }))
"""


def test_a_page_follows_a_tell_within_a_second(site, folder, chromium):
    """The best of eight at most: the machine may be busy with other tests."""
    with study(folder / "followed.study", epsilon=0.05) as made:
        page = Visit(chromium).open(site.at("followed"))
        page.evaluate(STAMP)
        delays = []
        while len(delays) < 3 or (min(delays) >= 1.0 and len(delays) < 8):
            batch = made.ask(4)
            stand_at(page, made)
            made.tell(rows_of(made, batch))
            told = time.time()
            stand_at(page, made)
            equal(page, made)
            drawn = page.evaluate("window.stamps.at(-1)[1] / 1000")
            delays.append(drawn - told)
        print("seconds from told to drawn:", *(f"{delay:.2f}" for delay in sorted(delays)))
        assert min(delays) < 1.0


def test_two_browsers_and_two_tellers_keep_one_ledger(site, folder, chromium, tmp_path):
    path = folder / "shared.study"
    with study(path, K=20, features=None, epsilon=0.02, budget=2000, batches=4) as made:
        pages = [Visit(chromium).open(site.at("shared")) for _ in range(2)]
        script = [sys.executable, "-m", "tests.web.teller", str(path)]
        root = Path(__file__).resolve().parents[2]
        here = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        tellers = [
            subprocess.Popen([*script, name, "6", "5"], stdout=subprocess.PIPE, env=here, text=True)
            for name in ("Carl", "Dora")
        ]
        stored = 0
        for _ in range(2):
            for name, page in zip(("Ann", "Bob"), pages, strict=True):
                page.get_by_label("Your name").fill(name)
                page.get_by_label("Measurements", exact=True).fill("7")
                sheet, n = take_sheet(page, tmp_path)
                hand_in(page, sheet)
                stored += n
        for teller in tellers:
            assert teller.wait(timeout=60) == 0
            stored += int(teller.stdout.read())
            teller.stdout.close()
        assert stored == 4 * 7 + 2 * 6 * 5
        asked, told = [], {}
        for _, event in made.ledger.read():
            asked += event.get("uids", []) if event["kind"] == "asked" else []
            for uid, values in event.get("rows", []) if event["kind"] == "told" else []:
                assert uid not in told
                told[uid] = (event["by"], values)
        assert len(asked) == len(set(asked)) == len(told) == stored
        assert {by for by, _ in told.values()} == {"Ann", "Bob", "Carl", "Dora"}
        with ps.Study.open(path) as again:
            for uid, (_, values) in told.items():
                row = again.described(
                    again.problem.candidates.ids[int(uid.split("c")[1].split("n")[0])]
                )
                assert values == list(measure(uid, row["a"], row["b"]).values())
            assert again.result().table() == made.result().table()
            assert again.status().done == stored
        for page in pages:
            stand_at(page, made)
            equal(page, made)


def test_a_thousand_candidates_are_painted_within_a_second(site, folder, chromium):
    """First contentful paint, the best of eight loads at most; rows and marks are complete and exact."""
    where = folder / "thousand.study"
    with world(K=1000, features=4, noise=0.8, where=where, most=1) as made:
        times = []
        while len(times) < 8 and min(times, default=1000) >= 1000:
            for context in [*chromium.contexts]:
                context.close()
            visit = Visit(chromium)
            visit.page.goto(site.at("thousand"), wait_until="commit")
            times.append(visit.page.evaluate(PAINTED))
        print("first paint, ms:", *(f"{value:.0f}" for value in sorted(times)))
        assert min(times) < 1000
        visit.drawn()
        page = visit.page
        table = {row["candidate"]: row for row in made.result().table()}
        rows = shown_rows(page)
        assert len(rows) == 1000
        for name, row in rows.items():
            want = table[name]
            found = (row["verdict"], row["n"], *map(float, row["values"][:2]))
            assert found == (want["verdict"], want["n"], want["latency"], want["accuracy"])
        visit.picture("live-thousand", whole=False)


@pytest.mark.long
def test_a_hundred_thousand_candidates_are_followed(site, folder, chromium):
    method = {"epsilon": None, "method": ps.OneShot(budget=60)}
    with create(K=100_000, features=3, where=folder / "huge.study", **method)[0] as made:
        visit = Visit(chromium)
        visit.page.goto(site.at("huge"), wait_until="commit")
        painted = visit.page.evaluate(PAINTED)
        visit.drawn()
        visit.page.evaluate(STAMP)
        batch = made.ask(40)
        stand_at(visit.page, made)
        made.tell(
            [{"uid": r.uid, "latency": k % 7, "accuracy": k % 5} for k, r in enumerate(batch)]
        )
        told = time.time()
        stand_at(visit.page, made)
        drawn = visit.page.evaluate("window.stamps.at(-1)[1] / 1000")
        print(f"K = 100000: painted in {painted:.0f} ms, followed in {drawn - told:.2f} s")
        assert "Not every candidate is listed" in visit.page.inner_text("#thinned")
        assert len(shown_rows(visit.page)) == MOST


def zoom_in(page):
    """Draw a rectangle in the picture of the front."""
    plot = page.locator("[data-figure=front] .nsewdrag").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"], steps=4)
    page.mouse.up()
    page.wait_for_timeout(400)  # plotly draws the part a moment later


def test_what_a_reader_does_is_kept_when_the_study_moves(site, folder, chromium):
    """Sorting, searching, a zoomed picture, the chosen request and the focus."""
    with study(folder / "kept.study") as made:
        made.tell(rows_of(made, made.ask(30)))
        made.ask(6)
        page = Visit(chromium).open(site.at("kept"))
        page.get_by_role("button", name="cost").click()
        page.get_by_role("button", name="cost").click()
        page.get_by_label("Search").fill("c0")
        uid = made.pending()[3].uid
        page.locator("#uid").select_option(uid)
        range_ = "document.querySelector('[data-figure=front]').layout.xaxis.range"
        before = page.evaluate(range_)
        zoom_in(page)
        zoomed = page.evaluate(range_)
        assert zoomed != before
        page.focus(f"[data-fill='{uid}']")
        made.tell(rows_of(made, made.pending()[:1]))
        stand_at(page, made)
        cost = [float(row["values"][0]) for row in shown_rows(page).values()]
        assert cost == sorted(cost, reverse=True)
        assert page.inner_text("#found") == "10 of 12 rows"
        assert page.evaluate("document.querySelector('#uid').value") == uid
        assert page.evaluate(range_) == zoomed
        assert page.evaluate("document.activeElement.dataset.fill") == uid
        assert "Round 1, after 31 measurements" in page.text_content("#said")


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
def test_a_server_ends_at_once_though_somebody_follows(tmp_path, signal_):
    study(tmp_path / "w.study").close()
    with serving(tmp_path / "w.study") as site:
        line = HTTPConnection("127.0.0.1", urlsplit(site.address).port, timeout=10)
        line.request("GET", "/s/w/events", headers={"Host": site.host})
        answer = line.getresponse()
        assert answer.readline() == b"retry: 1000\n"
        begin = time.monotonic()
        site.process.send_signal(signal_)
        site.process.wait(timeout=10)
        assert time.monotonic() - begin < 3
        line.close()


def test_a_server_that_comes_back_is_followed_again(tmp_path, chromium):
    """The page loads itself anew: what it could send would be refused by the new server."""
    with study(tmp_path / "w.study") as made:
        with serving(tmp_path / "w.study") as site:
            visit = Visit(chromium)
            page = visit.open(site.at("w"))
            port = str(urlsplit(site.address).port)
            boot = page.get_attribute("html", "data-boot")
        page.wait_for_selector("#link.lost")
        assert "connection lost" in page.inner_text("#link")
        visit.picture("live-lost", whole=False)
        made.tell(rows_of(made, made.ask(2)))
        with serving(tmp_path / "w.study", port=port):
            page.wait_for_selector(f'html:not([data-boot="{boot}"])[data-drawn]', state="attached")
            assert "after 2 measurements" in page.inner_text("#certificate")
