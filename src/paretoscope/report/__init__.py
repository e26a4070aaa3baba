"""Pictures of a study where people would rather look: one file, figures for papers, a card in a notebook.

The room looks in through `Study.snapshot`, and changes nothing. Each name loads its file when it is
first used: figures need matplotlib, the page needs jinja2 and plotly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paretoscope.report.figures import Plots
    from paretoscope.report.files import write
    from paretoscope.report.notebook import result_html, study_html
    from paretoscope.report.page import page_html

_NAMES = {
    "Plots": "figures",
    "page_html": "page",
    "result_html": "notebook",
    "study_html": "notebook",
    "write": "files",
}

__all__ = ["Plots", "page_html", "result_html", "study_html", "write"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  (whatever the name stands for)
    """Load a public name when it is first used."""
    if name not in _NAMES:
        raise AttributeError(f"paretoscope.report has no {name!r}: see paretoscope.report.__all__")
    value = getattr(import_module(f"paretoscope.report.{_NAMES[name]}"), name)
    globals()[name] = value
    return value
