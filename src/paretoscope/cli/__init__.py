"""The command ``paretoscope``: every command works on the file of the study alone."""

from __future__ import annotations

import click

from paretoscope import __version__
from paretoscope.cli.lazy import Entry, LazyGroup

_MAKE, _LAB = "paretoscope.cli.make", "paretoscope.cli.lab"
_LOOK, _KEEP = "paretoscope.cli.look", "paretoscope.cli.keep"
_CLINIC, _PICTURE = "paretoscope.cli.clinic", "paretoscope.cli.picture"

COMMANDS = {
    "init": Entry(_MAKE, "Write a commented study.toml to fill in."),
    "create": Entry(_MAKE, "Make a study from candidates and metrics."),
    "plan": Entry(_MAKE, "Predict what each method would measure."),
    "run": Entry("paretoscope.cli.run", "Measure by a command until the Pareto set is known."),
    "ask": Entry(_LAB, "Take the next measurements to make, as a sheet."),
    "tell": Entry(_LAB, "Hand a filled sheet in."),
    "status": Entry(_LOOK, "Where the study stands, and what comes next."),
    "result": Entry(_LOOK, "Verdicts, estimates and the certificate."),
    "report": Entry(_PICTURE, "The study as one page that opens offline."),
    "serve": Entry("paretoscope.cli.serve", "Studies in a browser, live while others measure."),
    "pending": Entry(_LAB, "Requests that are out, nothing told yet."),
    "release": Entry(_LAB, "Give requests back: they are asked again."),
    "withdraw": Entry(_LAB, "Write requests off: they will never be told."),
    "correct": Entry(_LAB, "Replace a value that was told wrongly."),
    "history": Entry(_LAB, "Add earlier measurements, for estimates only."),
    "export": Entry(_KEEP, "All events as JSON lines."),
    "import": Entry(_KEEP, "A new study from exported events."),
    "doctor": Entry(_CLINIC, "Check a study and what its certificate assumes."),
    "reframe": Entry(_CLINIC, "Go on with other features, the past as history."),
    "bench": Entry("paretoscope.cli.bench", "Run and compare the experiments of the paper."),
}

_EPILOG = """\b
Exit codes:
  0  done, or certified
  2  the call makes no sense
  3  stopped without a certificate
  4  data refused, nothing stored
  5  the store cannot be used
  6  nothing to ask now, but requests are out
  7  workers were lost too often
  130  interrupted; the study can go on
"""


_HELP = """Find the Pareto set among candidates with noisy metrics, from few measurements.

\b
paretoscope run -L level 1,6,9 -m wall:min:ms:log -m size:min::exact \\
    --epsilon wall=5% -- ./bench {level}

\b
paretoscope create lab.study --candidates c.csv -m yield:max --epsilon 0.05
paretoscope ask lab.study -n 12 --csv monday.csv
paretoscope tell lab.study monday.csv
paretoscope status lab.study
"""


@click.group(
    help=_HELP,
    cls=LazyGroup,
    entries=COMMANDS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="paretoscope")
def main() -> None:
    """All commands; each is loaded when it is called."""
