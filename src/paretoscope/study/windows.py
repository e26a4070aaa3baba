"""Doors from a study to its pictures.

The rooms that draw stand above this one and use it: arrows point down, so no file here imports them,
not even inside a function. What the doors below know is the name of a room; the package's own door,
which knows every address, loads it when somebody goes through.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import paretoscope
from paretoscope.stages import stage


class Windows:
    """What `Study` offers to look at; all of it is made in the room ``paretoscope.report``."""

    def report(
        self,
        path: str | Path,
        format: Literal["html", "png", "svg"] | None = None,  # noqa: A002
    ) -> Path:
        """The study as one file that opens offline: a page of HTML, or its front as PNG or SVG.

        Parameters
        ----------
        path : str or Path
            Where it is written; what is there is replaced.
        format : 'html', 'png' or 'svg', optional
            By default told from the name.

        Raises
        ------
        UsageError
            If the format is none of these, or what it needs is not installed.
        """
        stage("drawing the page")
        written = paretoscope.report.write(self, path, format)
        assert isinstance(written, Path)
        return written

    @property
    def plot(self) -> Any:  # noqa: ANN401  (`Plots` of a room above)
        """Figures for papers: ``plot.front()``, timeline, allocation, progress, residuals."""
        return paretoscope.report.Plots(self)

    def _repr_html_(self) -> str:
        """The study in a notebook: certificate, front, and what comes next."""
        return str(paretoscope.report.study_html(self))


class ResultWindows:
    """What `Result` shows in a notebook."""

    def _repr_html_(self) -> str:
        """The certificate in words, and the candidates that are not out."""
        return str(paretoscope.report.result_html(self))
