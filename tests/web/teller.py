"""Somebody who works at the command line: takes sheets, fills them in and hands them in, again and again.

Usage: python teller.py STUDY NAME CYCLES N; prints how many measurements were stored.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from click.testing import CliRunner

from paretoscope.cli import main
from tests.web.lab import filled


def call(*args):
    done = CliRunner().invoke(main, [*args, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def work(study, name, cycles, n):
    stored = 0
    for cycle in range(cycles):
        sheet = Path(study).parent / f"{name}{cycle}.csv"
        call("ask", study, "-n", str(n), "--csv", str(sheet), "--who", name)
        sheet.write_text(filled(sheet.read_text()))
        stored += call("tell", study, str(sheet), "--who", name)["accepted"]
    print(stored)


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
