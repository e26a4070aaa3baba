"""Whoever waits for more than a second sees what for; a log sees nothing."""

from __future__ import annotations

import io
import re
import threading
import time

import paretoscope as ps
from paretoscope.cli.busy import busy
from paretoscope.stages import listening, stage


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_appears_after_a_while_and_goes():
    screen = Terminal()
    with busy(screen, 0.05):
        stage("judging round 2")
        deadline = time.monotonic() + 10
        while "judging round 2 ... 0 s" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert re.fullmatch(r"(\r\x1b\[Kjudging round 2 \.\.\. \d s)+\r\x1b\[K", screen.getvalue())
    assert not [t for t in threading.enumerate() if "_rewrite" in t.name]


def test_quick_work_and_logs_show_nothing():
    for screen in (Terminal(), io.StringIO()):
        with busy(screen, 5.0 if screen.isatty() else 0.0):
            stage("reading")
        assert screen.getvalue() == ""


def test_a_study_says_what_it_does():
    said = []
    with listening(said.append):
        study = ps.Study.create(None, candidates=[[1], [2]], metrics=["y"], budget=10)
        study.tell([{"uid": r.uid, "y": k} for k, r in enumerate(study.ask())])
        study.result()
    stage("nobody hears this")
    assert said == [
        "reading the candidates",
        "making the features",
        "designing the first round",
        "judging round 1",
        "working out the result",
    ]
