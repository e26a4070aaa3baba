"""The report as one page: every script, style and number inside, nothing fetched, nothing run but ours.

Everything people wrote is escaped by jinja2. A policy in the page lets only the scripts run whose
digests it names, so that not even a mistake of ours could make a name run.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from paretoscope.errors import UsageError
from paretoscope.report import charts, words
from paretoscope.report.palette import LOOKS, VERDICTS, css
from paretoscope.report.view import View
from paretoscope.study.speech import SHORT, number
from paretoscope.study.trace import Snapshot

HERE = Path(__file__).parent


def page_html(snapshot: Snapshot, title: str) -> str:
    """The whole report of a snapshot.

    Raises
    ------
    UsageError
        If jinja2 or plotly is not installed.
    """
    scripts = [plotly_script(), asset("charts.js"), asset("table.js")]
    view = View(title, snapshot)
    return render(
        "report.html",
        **content(view),
        scripts=scripts,
        style=style(),
        policy=_policy(scripts),
    )


def content(view: View) -> dict[str, Any]:
    """What the templates show of a view, on paper and live."""
    made = charts.charts(view)
    return {
        "view": view,
        "headline": words.headline(view.snapshot),
        "facts": list(words.facts(view)),
        "tolerances": words.tolerances(view),
        "thinning": words.thinning(view),
        "charts": made,
        "figures": {chart.key: chart.figure for chart in made},
        "checks": view.result.assumptions,
        "assumed": words.assumed(view.result),
        "definition": list(words.definition(view)),
        "metric_rows": words.metric_rows(view),
    }


def style() -> str:
    """The style sheet, with the colours of the palette."""
    return css() + asset("style.css")


def render(name: str, folder: Path = HERE, **values: Any) -> str:  # noqa: ANN401
    """A template of ours, everything in it escaped."""
    text = environment(folder).get_template(name).render(values)
    assert isinstance(text, str)
    return text


@cache
def environment(folder: Path = HERE) -> Any:  # noqa: ANN401  (jinja2's environment)
    """Templates of a folder, and those of the report behind them; undefined names are errors."""
    try:
        jinja2 = import_module("jinja2")
    except ImportError:
        raise missing("jinja2") from None
    folders = [str(folder / "templates"), str(HERE / "templates")]
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    made.globals |= {"LOOKS": LOOKS, "VERDICTS": VERDICTS, "SHORT": SHORT, "titled": titled}
    made.filters |= {"number": number, "margin": words.margin}
    return made


def titled(metric: Any) -> str:  # noqa: ANN401  (a metric)
    """Name, direction and unit of a metric for the head of a column."""
    return f"{metric.goal}, {metric.unit}" if metric.unit else str(metric.goal)


def missing(what: str) -> UsageError:
    """What to install."""
    return UsageError(f"a report needs {what}: pip install 'paretoscope[report]'")


@cache
def asset(name: str) -> str:
    """A file of ours that goes into the page."""
    return (HERE / "assets" / name).read_text(encoding="utf-8")


@cache
def plotly_script() -> str:
    """Plotly's script from its own wheel; plotly itself, which is slow to import, is not."""
    found = find_spec("plotly")
    if found is None or not found.submodule_search_locations:
        raise missing("plotly")
    path = Path(found.submodule_search_locations[0]) / "package_data" / "plotly.min.js"
    text = path.read_text(encoding="utf-8")
    assert "</script" not in text.lower(), "this plotly would end its own script"
    return text


@cache
def _digest(script: str) -> str:
    """The digest by which a page allows a script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _policy(scripts: list[str]) -> str:
    """Nothing is fetched, and only these scripts run."""
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'"
    )
